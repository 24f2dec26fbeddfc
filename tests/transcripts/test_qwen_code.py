"""Qwen Code sessions: what expected.json says, whatever is done to the file; prompts, answers, results."""

from pathlib import Path
from typing import Final

from planstrip.transcripts.qwen_code import FORMAT
from tests.transcripts.walking import Told, Walk


class TestItsSamples(Walk):
    agent = "qwen-code"
    plan_tool = "todo_write"


PLACE: Final = Path("s.jsonl")


def row(uuid: str, type_: str, *parts: object, **more: object) -> dict[str, object]:
    base = {"uuid": uuid, "sessionId": "s", "type": type_, "timestamp": "1970-01-01T00:00:00.007Z", "cwd": "/w"}
    return base | {"message": {"parts": list(parts)}} | more


def prompt(uuid: str, text: str = "Go", provenance: str = "real_user") -> dict[str, object]:
    return row(uuid, "user", {"text": text}, provenance=provenance)


def call(uuid: str, call_id: str, name: str = "todo_write") -> dict[str, object]:
    return row(uuid, "assistant", {"text": "Plan."}, {"functionCall": {"id": call_id, "name": name, "args": {}}})


def result(uuid: str, call_id: str, status: str = "success", name: str = "todo_write") -> dict[str, object]:
    response = {"functionResponse": {"id": call_id, "name": name, "response": {"output": "modified"}}}
    shown = {"type": "todo_list", "todos": [{"id": "1", "content": "a", "status": "pending"}]}
    outcome = {"callId": call_id, "status": status, "resultDisplay": shown}
    return row(uuid, "tool_result", response, toolCallResult=outcome)


HEADER: Final = prompt("0")
FILE: Final = Told(FORMAT, HEADER, PLACE)
adapted, types = FILE.adapted, FILE.types
ANSWER: Final = row("z", "assistant", {"text": "Done."})


def test_the_first_row_says_whose_file_it_is() -> None:
    header = FORMAT.adapter(HEADER, PLACE).header
    assert header is not None
    assert (header.session, header.cwd, header.created_at, header.parent) == ("s", "/w", 7, None)
    assert FORMAT.claims(row("a", "system", provenance="system"))
    assert not FORMAT.claims({"uuid": "a", "sessionId": "s", "type": "user", "message": {"content": "a Claude row"}})


def test_only_a_person_starts_a_turn() -> None:
    assert types(prompt("a"), prompt("a"), prompt("b", provenance="hook")) == ["turn/start"]
    (start,) = adapted(prompt("a", "\n Fix it \nnow"))
    assert (start.data, start.key) == ({"turn": 1, "prompt": "Fix it"}, "qwen-code:a/turn/start")


def test_rows_of_another_session_and_telemetry_say_nothing() -> None:
    telemetry = {"uiEvent": {"function_name": "todo_write", "function_args": {"todos": []}}}
    assert types(prompt("a") | {"sessionId": "t"}, row("b", "system", systemPayload=telemetry)) == []


def test_an_answer_without_a_call_ends_the_turn() -> None:
    thought = row("b", "assistant", {"text": "Hm", "thought": True})
    assert types(prompt("a"), call("c", "1"), thought, row("d", "assistant")) == ["turn/start", "tool/call"]
    assert types(prompt("a"), ANSWER, ANSWER) == ["turn/start", "turn/end"]
    assert types(prompt("a"), ANSWER, call("c", "1"))[1:] == ["turn/end", "turn/resume", "tool/call"]


def test_a_result_says_by_its_status_whether_the_list_was_taken() -> None:
    write, told = adapted(call("a", "1"), result("b", "1"))[1:]
    assert write.data == {"todos": [{"content": "a", "status": "pending"}], "call_id": "1"}
    assert told.data == {"call_id": "1", "is_error": False, "text": "modified"}
    assert types(call("a", "1"), result("b", "1", "error"))[1:] == ["tool/result"]
    assert types(call("a", "1", "mcp__plan__todo_write"), result("b", "1", name="mcp__plan__todo_write"))[1:] == [
        "tool/result"
    ]


def test_several_calls_of_one_row_have_keys_of_their_own() -> None:
    calls = [{"functionCall": {"id": id_, "name": "read_file", "args": {"path": "a"}}} for id_ in ("1", "2")]
    assert [event.key for event in adapted(row("a", "assistant", *calls))] == [
        "qwen-code:a/1/tool/call",
        "qwen-code:a/2/tool/call",
    ]
