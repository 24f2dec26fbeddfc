"""Gemini chats: what expected.json says, whatever is done to the file; repetitions, rewinds, ends that were none."""

from pathlib import Path
from typing import Final

import pytest

from planstrip.events import SessionStart, ToolCall
from planstrip.transcripts.gemini_cli import FORMAT, PLAN_TOOLS
from tests.intake.conftest import Store
from tests.transcripts.walking import FIXTURES, Told, Walk, expected_of


class TestItsSamples(Walk):
    agent = "gemini-cli"

    def is_plan(self, call: ToolCall) -> bool:
        return call.name in PLAN_TOOLS


PLACE: Final = Path("/chats/parent/session.jsonl")
HEADER: Final[dict[str, object]] = {
    "sessionId": "s",
    "projectHash": "h",
    "startTime": "1970-01-01T00:00:00.007Z",
    "kind": "main",
}
FILE: Final = Told(FORMAT, HEADER, PLACE)
adapted, types = FILE.adapted, FILE.types


def user(id_: str, *texts: str, **more: object) -> dict[str, object]:
    return {"id": id_, "type": "user", "content": [{"text": text} for text in texts], **more}


def model(id_: str, text: str = "", *calls: dict[str, object]) -> dict[str, object]:
    return {"id": id_, "type": "gemini", "content": text} | ({"toolCalls": list(calls)} if calls else {})


def plan(id_: str, *contents: str, status: str = "success") -> dict[str, object]:
    todos = [{"description": content, "status": "pending"} for content in contents]
    response = {"functionResponse": {"response": {"output": "Successfully updated"}}}
    return {"id": id_, "name": "write_todos", "args": {"todos": todos}, "status": status, "result": [response]}


def snapshot(*messages: dict[str, object]) -> dict[str, object]:
    return {"$set": {"messages": list(messages)}}


def test_the_header_says_whose_file_it_is_and_a_subagents_folder_its_parent() -> None:
    header = FORMAT.adapter(HEADER | {"kind": "subagent", "directories": ["/w"]}, PLACE).header
    assert header is not None
    assert (header.session, header.parent, header.cwd, header.created_at) == ("s", "parent", "/w", 7)
    assert FORMAT.claims(HEADER)
    assert not FORMAT.claims({"sessionId": "s", "type": "user"})


@pytest.mark.parametrize("name", ["chats/session-1.jsonl", "chats/parent/s.jsonl"])
def test_the_projects_folder_says_where_it_works(tmp_path: Path, name: str) -> None:
    (tmp_path / ".project_root").write_text("/home/user/project\n")
    header = FORMAT.adapter(HEADER, tmp_path / name).header
    assert header is not None
    assert header.cwd == "/home/user/project"


def test_a_second_file_of_the_session_does_not_contradict(store: Store, tmp_path: Path) -> None:
    """A resume in another minute leaves one, with the context alone."""
    first, second = tmp_path / "session-1.jsonl", tmp_path / "session-2.jsonl"
    sample = FIXTURES / "gemini-cli" / "write_todos-session.jsonl"
    first.write_bytes(sample.read_bytes())
    head, context, *_ = sample.read_text().splitlines(keepends=True)
    second.write_text(head.replace("16:46:36", "17:00:00") + context)
    for order in ((first, second), (second, first)):
        log = store.fresh()
        assert log.take(*order).failed == 0
        expected = expected_of("gemini-cli")[sample.name]
        assert log.plans(expected["session"]) == expected["plans"]
        starts = [entry for entry in log.entries(expected["session"]) if isinstance(entry.event, SessionStart)]
        assert len(starts) == 2
        assert log.take(*order).added == 0


def test_a_message_that_comes_again_adds_what_is_new_in_it() -> None:
    asked, answer = user("u", "Go"), model("m", "", plan("c", "a"))
    assert types(asked, model("m"), answer, answer, snapshot(asked, answer)) == [
        "turn/start",
        "tool/call",
        "todo/write",
        "tool/result",
    ]
    running = model("m", "", plan("c", "a", status="executing"))
    assert types(asked, running, running, answer)[1:] == ["tool/call", "todo/write", "tool/result"]


def test_messages_of_earlier_turns_that_come_again_say_nothing() -> None:
    first = [user("u", "Go"), model("m", "", plan("c", "a")), model("n", "Done.")]
    assert types(*first, user("v", "More"), snapshot(*first))[-1] == "turn/start"


def test_messages_that_only_a_snapshot_has_are_taken_from_it() -> None:
    assert types(snapshot(user("u", "Go"), model("m", "", plan("c", "a")))) == [
        "turn/start",
        "tool/call",
        "todo/write",
        "tool/result",
    ]


def test_what_no_person_asked_starts_no_turn() -> None:
    response = {"id": "r", "type": "user", "content": [{"functionResponse": {"id": "c"}}, {"text": "x"}]}
    context, summary = user("a", "<session_context>\n…"), user("b", "<state_snapshot>…")
    assert types(context, summary, response, user("c"), user("d", " "), {"id": "i", "type": "info"}) == []


def test_a_prompt_is_what_the_person_saw() -> None:
    (start,) = adapted(user("u", "Read @a.txt", "--- a.txt ---", displayContent=[{"text": "Read a"}]))
    assert start.data == {"turn": 1, "prompt": "Read a"}


def test_an_answer_ends_a_turn_until_its_calls_are_added() -> None:
    events = adapted(user("u", "Go"), model("m", "Plan."), model("m", "Plan.", plan("c", "a")), model("n", "Done."))
    assert [event.type for event in events] == [
        "turn/start",
        "turn/end",
        "turn/resume",
        "tool/call",
        "todo/write",
        "tool/result",
        "turn/end",
    ]
    thought = {"id": "m", "type": "gemini", "content": [{"text": "Hm", "thought": True}]}
    calling = {"id": "n", "type": "gemini", "content": [{"text": "I read"}, {"functionCall": {"name": "x"}}]}
    assert types(user("u", "Go"), thought, calling) == ["turn/start"]


@pytest.mark.parametrize("status", ["error", "cancelled"])
def test_a_call_that_failed_is_no_plan(status: str) -> None:
    _, result = adapted(model("m", "", plan("c", "a", status=status)))
    assert (result.type, result.data["is_error"]) == ("tool/result", True)


def test_a_rewind_names_the_first_event_that_it_takes_back() -> None:
    """Its position is found at the door."""
    first = [user("u", "Go"), model("m", "", plan("c", "a")), model("n", "Done.")]
    second = [user("v", "More"), model("o", "", plan("d", "b"))]
    (*_, rewind) = adapted(*first, *second, {"$rewindTo": "v"})
    assert (rewind.type, rewind.data, rewind.before) == ("session/rewind", {}, "gemini-cli:v/turn/start")
    (*_, rewind) = adapted(*first, *second, {"$rewindTo": "n"})
    assert rewind.before == "gemini-cli:n/turn/end"
    assert "session/rewind" not in types(*first, {"$rewindTo": "unknown"})
    assert types(*first, *second, {"$rewindTo": "v"}, {"$rewindTo": "v"}).count("session/rewind") == 1


def test_messages_that_were_taken_back_are_new_when_they_come_again() -> None:
    assert types(user("u", "Go"), {"$rewindTo": "u"}, user("u", "Go")) == ["turn/start", "session/rewind", "turn/start"]


def test_a_summary_names_the_session() -> None:
    assert [event.data for event in adapted({"$set": {"summary": "Fix the parser"}})] == [{"title": "Fix the parser"}]


def tracked(id_: str, name: str, output: str, **args: object) -> dict[str, object]:
    response = {"functionResponse": {"response": {"output": output}}}
    return {"id": id_, "name": f"tracker_{name}_task", "args": args, "status": "success", "result": [response]}


def lists(*calls: dict[str, object]) -> list[object]:
    return [event.data["todos"] for event in adapted(model("m", "", *calls)) if event.type == "todo/write"]


def test_each_change_of_a_tracked_task_tells_the_whole_list() -> None:
    first = tracked("a", "create", "Created task d76419: Alpha", title="Alpha")
    second = tracked("b", "create", "Created task 0f0f0f: Beta", title="Beta")
    closed = tracked("c", "update", "Updated task d76419. Status: closed", id="d76419", status="closed")
    named = tracked("d", "update", "Updated task 0f0f0f. Status: open", id="0f0f0f", title="Gamma")
    assert lists(first, second, closed, named)[-1] == [
        {"content": "Alpha", "status": "completed"},
        {"content": "Gamma", "status": "pending"},
    ]
    assert len(lists(first, second, closed, named)) == 4


def test_what_names_no_task_of_the_session_changes_no_list() -> None:
    missing = tracked("a", "update", "Task with ID ffffff not found.", id="d76419", status="closed")
    missing["status"] = "error"
    created = tracked("d", "create", "Created task d76419: Alpha", title="Alpha")
    strange = tracked("b", "update", "Updated task ffffff. Status: closed", id="ffffff", status="closed")
    unnamed = tracked("c", "create", "Created.", title="Alpha")
    assert lists(created, missing, strange, unnamed) == lists(created)
