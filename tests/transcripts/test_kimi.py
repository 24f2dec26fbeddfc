"""Kimi wires: what expected.json says, whatever is done to the file; whose it is, prompts, ends, the store."""

import json
from pathlib import Path
from typing import Final

import pytest

from planstrip.events import ToolCall
from planstrip.transcripts.kimi import FORMAT
from tests.transcripts.walking import Told, Walk


class TestItsSamples(Walk):
    agent = "kimi"

    def is_plan(self, call: ToolCall) -> bool:
        return call.name == "TodoList" and "todos" in json.loads(call.arguments)


PLACE: Final = Path("/k/sessions/wd_p_1/session_1/agents/main/wire.jsonl")
HEADER: Final[dict[str, object]] = {"type": "metadata", "protocol_version": "1.5", "created_at": 7}
FILE: Final = Told(FORMAT, HEADER, PLACE)
adapted, types = FILE.adapted, FILE.types


def prompt(text: str, turn: int = 0, **more: object) -> dict[str, object]:
    return {"type": "turn.prompt", "input": [{"type": "text", "text": text}], "turnId": turn, "time": 8, **more}


def ended(turn: int = 0, reason: str = "completed") -> dict[str, object]:
    return {"type": "turn.ended", "turnId": turn, "reason": reason, "time": 9}


def loop(type_: str, **event: object) -> dict[str, object]:
    return {"type": "context.append_loop_event", "event": {"type": type_, **event}, "time": 8}


def call(call_id: str, args: object, name: str = "TodoList") -> dict[str, object]:
    return loop("tool.call", toolCallId=call_id, name=name, args=args)


def result(call_id: str, output: str = "ok", **more: object) -> dict[str, object]:
    return loop("tool.result", toolCallId=call_id, result={"output": output, **more})


def stored(*titles: str, key: str = "todo") -> dict[str, object]:
    value = [{"title": title, "status": "done"} for title in titles]
    return {"type": "tools.update_store", "key": key, "value": value, "time": 8}


@pytest.mark.parametrize(
    ("path", "session", "parent"),
    [
        (PLACE, "session_1", None),
        (PLACE.parents[1] / "agent-2" / "wire.jsonl", "session_1:agent-2", "session_1"),
        (Path("/elsewhere/copy/wire.jsonl"), "copy-7", None),
        (Path("/wire.jsonl"), "kimi-7", None),
    ],
)
def test_the_place_of_a_file_says_whose_it_is(path: Path, session: str, parent: str | None) -> None:
    header = FORMAT.adapter(HEADER, path).header
    assert header is not None
    assert (header.session, header.parent, header.created_at) == (session, parent, 7)


def test_the_sessions_state_says_where_it_works(tmp_path: Path) -> None:
    place = tmp_path / "session_1" / "agents" / "main" / "wire.jsonl"
    place.parent.mkdir(parents=True)
    for state, cwd in (
        ("{", None),
        ('{"cwd": 5}', None),
        ('{"version": 2, "cwd": "/home/user/project"}', "/home/user/project"),
    ):
        (tmp_path / "session_1" / "state.json").write_text(state)
        header = FORMAT.adapter(HEADER, place).header
        assert header is not None
        assert header.cwd == cwd


def test_a_wire_of_the_older_program_is_not_claimed() -> None:
    assert FORMAT.claims(HEADER)
    assert not FORMAT.claims({"type": "metadata", "protocol_version": "1.3"})


def test_a_turn_is_from_its_prompt_to_its_own_end() -> None:
    start, end = adapted(prompt("Fix it", promptId="p"), ended(3), ended(), ended(reason="cancelled"))
    assert (start.data, start.key) == ({"turn": 1, "prompt": "Fix it"}, "kimi:p/turn/start")
    assert (end.data, end.key) == ({"turn": 1, "reason": {"kind": "completed"}}, "1/-/turn/end")
    assert types(prompt("x", promptId="p"), prompt("x", promptId="p")) == ["turn/start"]


def test_a_list_is_its_oldest_call_that_writes_one() -> None:
    events = adapted(call("read", {}), call("a", {"todos": []}), stored("x"), result("a"), stored("y"))
    writes = [event for event in events if event.type == "todo/write"]
    assert [write.data.get("call_id") for write in writes] == ["a", None]
    assert writes[0].data["todos"] == [{"content": "x", "status": "completed"}]
    assert types(stored("x", key="other"), {"type": "tools.update_store", "key": "todo", "value": None}) == []


def test_a_rejected_call_writes_nothing() -> None:
    events = adapted(call("a", {"todos": [1]}), result("a", "Invalid args", isError=True), stored("later"))
    assert [(event.type, event.data.get("is_error")) for event in events[:2]] == [
        ("tool/call", None),
        ("tool/result", True),
    ]
    assert "call_id" not in events[2].data


def test_what_the_context_repeats_is_no_call() -> None:
    message = {"role": "assistant", "toolCalls": [{"id": "a", "name": "TodoList", "arguments": "{}"}]}
    assert types({"type": "agent.message.appended", "message": {"message": message}, "time": 9}) == []
