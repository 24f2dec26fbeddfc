"""Codex rollouts: what expected.json says of each sample, whatever is done to it; turns, calls, outputs."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

from planstrip.transcripts.codex import FORMAT
from tests.transcripts.walking import Told, Walk


class TestItsSamples(Walk):
    agent = "codex"
    plan_tool = "update_plan"


PLACE: Final = Path("rollout.jsonl")
HEADER: Final[dict[str, object]] = {
    "timestamp": "2026-11-30T16:30:47.780Z",
    "type": "session_meta",
    "payload": {"id": "own", "session_id": "the parent's", "timestamp": "1970-01-01T00:00:00.007Z", "cwd": "/w"},
}
FILE: Final = Told(FORMAT, HEADER, PLACE)
adapted, types = FILE.adapted, FILE.types


def line(type_: str, kind: str, ordinal: int | None = None, **payload: Any) -> dict[str, object]:
    number = {} if ordinal is None else {"ordinal": ordinal}
    return {"timestamp": "1970-01-01T00:00:01Z", "type": type_, "payload": {"type": kind, **payload}, **number}


def event(kind: str, **payload: Any) -> dict[str, object]:
    return line("event_msg", kind, **payload)


def call(call_id: str, arguments: str = "{}", name: str = "update_plan", **more: Any) -> dict[str, object]:
    return line("response_item", "function_call", call_id=call_id, name=name, arguments=arguments, **more)


def output(call_id: str, text: object = "Plan updated") -> dict[str, object]:
    return line("response_item", "function_call_output", call_id=call_id, output=text)


STARTED: Final = event("task_started", turn_id="t1")
ANSWER: Final = line("response_item", "message", role="assistant", content=[{"type": "output_text", "text": "Done."}])
USED: Final = event("token_count")
ASKED: Final = event("user_message", message="\n Fix it \nnow")
PLAN: Final = json.dumps({"plan": [{"step": " a ", "status": "inProgress"}, {"step": "a", "status": "done"}]})


def test_a_child_is_told_by_its_own_id_and_its_parents() -> None:
    child = HEADER | {"payload": {"id": "own", "session_id": "p", "parent_thread_id": "p"}}
    header = FORMAT.adapter(child, PLACE).header
    assert header is not None
    assert (header.session, header.parent) == ("own", "p")
    header = FORMAT.adapter(HEADER, PLACE).header
    assert header is not None
    assert (header.session, header.parent, header.created_at, header.cwd) == ("own", None, 7, "/w")


def test_a_turn_waits_for_its_prompt_or_for_work() -> None:
    context = line("response_item", "message", role="user", content=[{"text": "<environment_context>"}])
    assert adapted(STARTED, context, line("turn_context", "")) == []
    item = {"type": "UserMessage", "content": [{"type": "text", "text": "Fix it"}]}
    (start,) = adapted(STARTED, context, event("item_completed", item=item))
    assert start.data == {"turn": 1, "prompt": "Fix it"}
    assert [e.data.get("prompt") for e in adapted(STARTED, call("c"))] == [None, None]


def test_a_prompt_told_before_its_turn_starts_no_second_one() -> None:
    (start,) = adapted(ASKED, line("turn_context", ""), STARTED)
    assert start.data == {"turn": 1, "prompt": "Fix it"}
    second = [event("task_complete", turn_id="t1"), ASKED, event("task_started", turn_id="t2")]
    assert adapted(STARTED, ASKED, *second)[-1].data == {"turn": 2, "prompt": "Fix it"}


def test_the_first_end_of_a_turn_counts_and_no_other_turns() -> None:
    aborted, complete = event("turn_aborted", turn_id="t1", reason="interrupted"), event("task_complete", turn_id="t1")
    ends = [e.data["reason"] for e in adapted(STARTED, aborted, complete) if e.type == "turn/end"]
    assert ends == [{"kind": "interrupted"}]
    assert "turn/end" not in types(STARTED, ASKED, event("task_complete", turn_id="t0"))
    failed = adapted(STARTED, event("task_complete", turn_id="t1", error={"message": "503"}))
    assert failed[-1].data["reason"] == {"kind": "error"}


def test_a_turn_start_written_twice_is_one_turn() -> None:
    assert types(STARTED, ASKED, STARTED, call("c")) == ["turn/start", "tool/call"]


def test_an_old_turn_ends_with_the_usage_after_its_answer() -> None:
    assert types(ASKED, call("c"), USED, ANSWER, USED)[-1] == "turn/end"
    assert "turn/end" not in types(ASKED, ANSWER, call("c"), USED)
    assert types(ASKED, ANSWER, ASKED) == ["turn/start", "turn/end", "turn/start"]
    assert types(ASKED, ANSWER, USED, call("c"))[1:] == ["turn/end", "turn/resume", "tool/call"]


def test_a_plan_is_accepted_by_these_words_alone() -> None:
    write, result = adapted(call("c", PLAN), output("c"))[1:]
    first, second = {"content": "a", "status": "in_progress"}, {"content": "a (2)", "status": "completed"}
    assert write.data["todos"] == [first, second]
    assert result.data["is_error"] is False
    for text in ("Plan updated.", "unsupported call: update_plan", ""):
        (result,) = adapted(call("c", PLAN), output("c", text))[1:]
        assert result.data["is_error"] is True
    assert types(call("c", "{}"), output("c")) == ["tool/call", "tool/result"]
    custom = line("response_item", "custom_tool_call", call_id="c", name="update_plan", input=PLAN)
    assert types(custom, output("c")) == ["tool/call", "tool/result"]


def test_a_list_over_the_limits_is_a_call_that_was_not_accepted() -> None:
    long = json.dumps({"plan": [{"step": f"{number}", "status": "pending"} for number in range(1_001)]})
    (result,) = adapted(call("c", long), output("c"))[1:]
    assert result.data["is_error"] is True
    assert str(result.data["text"]).startswith("not kept: invalid todos")


def test_a_call_of_our_own_tool_over_mcp_writes_no_second_list() -> None:
    first, result = adapted(call("c", PLAN, "todo_write", namespace="mcp__plan"), output("c", "Updated todo list"))
    assert first.data["name"] == "mcp__plan__todo_write"
    assert result.data["is_error"] is False


@pytest.mark.parametrize(
    ("text", "is_error"),
    [
        ("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nboom", True),
        ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nExit code: 1", False),
        ("Wall time: 5.3 seconds\naborted by user", True),
        ('{"output":"x","metadata":{"exit_code":2,"duration_seconds":0.1}}', True),
        ('{"output":"x","metadata":{"exit_code":0,"duration_seconds":0.1}}', False),
        ([{"type": "input_text", "text": "unsupported call: x"}], True),
        ({"content": "no", "success": False}, True),
    ],
)
def test_what_failed_is_told_by_what_codex_writes_around_an_output(text: object, is_error: bool) -> None:
    assert adapted(call("c", name="shell"), output("c", text))[1].data["is_error"] is is_error


def test_calls_of_every_kind_become_rows() -> None:
    items = [
        line("response_item", "local_shell_call", call_id="a", action={"command": ["ls"]}, status="completed"),
        line("response_item", "custom_tool_call", call_id="b", name="apply_patch", input="*** Begin Patch"),
        line("response_item", "web_search_call", id="c", action={"query": "q"}, status="completed"),
        line("response_item", "tool_search_call", call_id="d", arguments={"query": "q"}),
    ]
    events = adapted(*items)
    assert [(e.data["name"], e.data["arguments"]) for e in events if e.type == "tool/call"] == [
        ("local_shell", '{"command":["ls"]}'),
        ("apply_patch", "*** Begin Patch"),
        ("web_search", '{"query":"q"}'),
        ("tool_search", '{"query":"q"}'),
    ]
    assert [e.data["call_id"] for e in events if e.type == "tool/result"] == ["c"]


def test_a_key_is_the_number_of_the_line_or_its_place() -> None:
    keys = [e.key for e in adapted(line("event_msg", "task_started", 1), call("c"), call("c"))]
    assert keys == ["codex:1/turn/start", "1/c/tool/call", "1/c/tool/call~2"]


def test_a_thread_that_is_named_names_the_session() -> None:
    names = [event("thread_name_updated", thread_id=thread, thread_name=thread) for thread in ("own", "another")]
    assert [e.data for e in adapted(*names)] == [{"title": "own"}]
