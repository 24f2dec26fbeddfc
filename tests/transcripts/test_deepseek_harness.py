"""DeepSeek Harness records become events: when a turn is told, whose a list is, what a key is made of."""

import json
from pathlib import Path

from planstrip.transcripts.adapter import Adapted
from planstrip.transcripts.deepseek_harness import FORMAT

HEADER = {"type": "session", "version": 0, "id": "s", "createdAt": 7, "cwd": "/w", "delegationDepth": 0}


def adapted(*records: object) -> list[Adapted]:
    adapter = FORMAT.adapter(HEADER, Path("session.jsonl"))
    return [event for record in records if isinstance(record, dict) for event in adapter.take(record)]


def call(call_id: str, name: str = "todo_write", **more: object) -> dict[str, object]:
    return {"type": "tool/call", "data": {"callId": call_id, "name": name, "arguments": "{}"}, **more}


def result(call_id: str, *texts: str, **more: object) -> dict[str, object]:
    part = {"type": "tool-result", "toolCallId": call_id, "content": [{"type": "text", "text": text} for text in texts]}
    return {"type": "tool/result", "data": {"message": {"content": [part]}, **more}}


def write(*contents: str) -> dict[str, object]:
    return {"type": "todo/write", "data": {"todos": [{"content": text, "status": "pending"} for text in contents]}}


def user(text: str, kind: str = "user") -> dict[str, object]:
    return {"type": "user/message", "data": {"content": [{"type": "text", "text": text}], "source": {"kind": kind}}}


TURN = {"type": "turn/start", "data": {"turn": 1}}
STEP = {"type": "step/start", "data": {"turn": 1, "step": 1}}


def test_the_header_says_whose_file_it_is() -> None:
    header = FORMAT.adapter(HEADER | {"parentSession": "p"}, Path("x")).header
    assert header is not None
    assert (header.session, header.agent, header.created_at, header.cwd) == ("s", "deepseek-harness", 7, "/w")
    assert (header.parent, header.key) == ("p", "dsh:header")
    assert FORMAT.claims(HEADER)
    assert not FORMAT.claims({"type": "session", "id": "pi-session", "timestamp": "2026"})


def test_a_turn_waits_for_its_prompt() -> None:
    assert adapted(TURN, STEP) == []
    (start,) = adapted(TURN, STEP, user("context", "runtime"), user("\n Fix the bug \nnow"))
    assert start.data == {"turn": 1, "prompt": "Fix the bug"}


def test_a_turn_waits_no_longer_than_for_the_next_record() -> None:
    events = adapted(TURN, STEP, call("a"))
    assert [(event.type, event.data.get("prompt")) for event in events] == [("turn/start", None), ("tool/call", None)]


def test_a_long_prompt_is_cut_to_a_label() -> None:
    (start,) = adapted(TURN, user("x" * 5_000))
    assert len(str(start.data["prompt"])) == 200


def test_a_list_is_its_oldest_open_plan_calls() -> None:
    events = adapted(call("a"), call("b", "bash"), call("c"), write("1"), write("2"), result("a"), result("c"))
    assert [event.data.get("call_id") for event in events if event.type == "todo/write"] == ["a", "c"]


def test_a_list_of_no_open_call_names_none() -> None:
    (event,) = adapted(write("1"))
    assert "call_id" not in event.data
    events = adapted(call("a"), result("a"), write("1"))
    assert "call_id" not in events[-1].data


def test_a_result_joins_its_parts_and_names_its_error() -> None:
    (event,) = adapted(result("a", "one", "two", error={"name": "ToolArgsError", "code": "INVALID_ARGS"}))
    assert event.data["text"] == "one\ntwo"
    assert event.data["error"] == {"name": "ToolArgsError", "code": "INVALID_ARGS"}


def test_arguments_are_kept_as_they_were_sent_and_long_ones_cut_but_a_plans() -> None:
    long = json.dumps({"text": "x" * 50_000})
    plan, other = adapted(
        *({"type": "tool/call", "data": {"callId": "a", "name": n, "arguments": long}} for n in ("todo_write", "bash"))
    )
    assert plan.data["arguments"] == long
    assert str(other.data["arguments"]).endswith("… [trimmed 33628 bytes]")


def test_a_key_is_the_records_number_or_its_place() -> None:
    assert [event.key for event in adapted(call("a", seq=12))] == ["dsh:12"]
    end = {"type": "turn/end", "data": {"reason": {"kind": "completed"}}}
    keys = [event.key for event in adapted(TURN, call("a"), call("a"), result("a"), end, TURN, call("a"))]
    assert keys == [
        "1/-/turn/start",
        "1/a/tool/call",
        "1/a/tool/call~2",
        "1/a/tool/result",
        "1/-/turn/end",
        "2/-/turn/start",
        "2/a/tool/call",
    ]
    (event,) = adapted(call("c" * 5_000))
    assert len(event.key) <= 400


def test_rows_of_chunks_and_unknown_records_are_passed_over() -> None:
    chunks = {"type": "tool-call-chunks", "seq0": 3, "data": {"name": "todo_write", "args": ["{"]}}
    assert adapted(chunks, {"type": "team/task", "data": {}}, {"type": 5}, {}, HEADER) == []


def test_the_very_same_record_counts_once_and_another_under_its_number_does_not() -> None:
    first, second = TURN | {"seq": 1}, write("a") | {"seq": 2}
    events = adapted(first, user("Go"), second, first, second, write("b") | {"seq": 2})
    assert [(event.type, event.key) for event in events] == [
        ("turn/start", "dsh:1"),
        ("todo/write", "dsh:2"),
        ("todo/write", "dsh:2"),
    ]
