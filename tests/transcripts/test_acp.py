"""ACP's wire: what expected.json says of each log, and what each message of both versions becomes."""

import json
import random
from pathlib import Path
from typing import Any, Final

import pytest

from planstrip.events import TodoWrite, ToolCall, ToolResult
from planstrip.intake.check import check_data
from planstrip.plan.tools import describe, plan_of
from planstrip.transcripts.acp import CLIENT, SERVER, AcpWire
from planstrip.transcripts.adapter import Adapted
from planstrip.transcripts.records import parse
from tests.intake.conftest import Log, Store
from tests.transcripts.walking import FIXTURES, FUZZ, expected_of

SAMPLES: Final = FIXTURES / "acp"
EXPECTED: Final = expected_of("acp")


class Wire:
    """A connection with one session, whose events are gathered."""

    def __init__(self) -> None:
        self.wire = AcpWire()
        self.numbers = iter(range(1, 1000))
        self.events: list[tuple[str, Adapted]] = []
        self.answer(self.ask("session/new", cwd="/w"), sessionId="s")

    def hear(self, direction: str, **message: Any) -> list[Adapted]:
        return list(self.wire.hear(direction, {"jsonrpc": "2.0"} | message, 7))

    def ask(self, method: str, direction: str = CLIENT, **params: Any) -> int:
        number = next(self.numbers)
        self.told = self.hear(direction, id=number, method=method, params=params)
        return number

    def answer(self, number: int, direction: str = SERVER, **result: Any) -> list[Adapted]:
        return self.hear(direction, id=number, result=result)

    def update(self, what: str, /, session: str = "s", **more: Any) -> list[Adapted]:
        update = {"sessionUpdate": what} | more
        return self.hear(SERVER, method="session/update", params={"sessionId": session, "update": update})

    def prompt(self, text: str = "Go") -> int:
        return self.ask("session/prompt", sessionId="s", prompt=[{"type": "text", "text": text}])


@pytest.fixture
def wire() -> Wire:
    return Wire()


def summary(log: Log, session: str) -> dict[str, object]:
    results = [entry.event for entry in log.entries(session) if isinstance(entry.event, ToolResult)]
    rejected = sum(result.is_error for result in results if result.call_id.startswith("plan-"))
    return log.summary(session) | {"rejected": rejected}


def types(events: list[Adapted]) -> list[str]:
    return [event.type for event in events]


@pytest.mark.parametrize("name", EXPECTED)
def test_each_log_gives_what_is_expected_of_it(store: Store, name: str) -> None:
    log = store.fresh()
    (file,) = log.take(SAMPLES / name).files
    assert (file.failure, file.problems) == (None, ())
    assert summary(log, file.session or "") == EXPECTED[name]
    assert log.take(SAMPLES / name).added == 0


def test_the_walk_leaves_out_no_log() -> None:
    assert {path.name for path in SAMPLES.glob("*.jsonl")} == set(EXPECTED)


def test_a_log_whose_records_hold_lines_is_the_same(store: Store, tmp_path: Path) -> None:
    name = "qwen-acp-wire.jsonl"
    records = [json.loads(line) for line in (SAMPLES / name).read_text().splitlines()]
    lines = [json.dumps({"dir": record["dir"], "line": json.dumps(record["msg"])}) for record in records]
    (tmp_path / "wire.jsonl").write_text("\n".join(lines) + "\n")
    log = store.fresh()
    (file,) = log.take(tmp_path / "wire.jsonl").files
    assert summary(log, file.session or "") == EXPECTED[name]


def test_a_turn_is_a_prompt_and_its_answer(wire: Wire) -> None:
    number = wire.prompt("\nFix it\nnow")
    assert [(event.type, event.data, event.time) for event in wire.told] == [
        ("turn/start", {"turn": 1, "prompt": "Fix it"}, 7)
    ]
    (end,) = wire.answer(number, stopReason="max_tokens")
    assert end.data == {"turn": 1, "reason": {"kind": "max_tokens"}}
    number = wire.prompt()
    (end,) = wire.hear(SERVER, id=number, error={"code": 1, "message": "x"})
    assert end.data["reason"] == {"kind": "error"}


def test_the_agents_own_requests_have_ids_of_their_own(wire: Wire) -> None:
    number = wire.prompt()
    wire.hear(SERVER, id=number, method="fs/read_text_file", params={"sessionId": "s"})
    assert wire.answer(number, CLIENT, content="x", stopReason="end_turn") == []
    assert types(wire.answer(number, stopReason="end_turn")) == ["turn/end"]


def test_version_2_ends_a_turn_when_the_agent_is_idle(wire: Wire) -> None:
    number = wire.prompt()
    assert wire.answer(number) == []
    assert wire.update("state_update", state="idle") == []  # of before the prompt
    assert wire.update("state_update", state="running") == []
    assert types(wire.update("state_update", state="requires_action")) == ["turn/wait"]
    assert types(wire.update("state_update", state="running")) == ["turn/resume"]
    (end,) = wire.update("state_update", state="idle", stopReason="cancelled")
    assert end.data["reason"] == {"kind": "cancelled"}


def test_a_request_for_permission_waits_for_a_person(wire: Wire) -> None:
    wire.prompt()
    number = wire.ask("session/request_permission", SERVER, sessionId="s")
    assert [event.data for event in wire.told] == [{"turn": 1, "for": "permission"}]
    assert types(wire.answer(number, CLIENT, outcome={})) == ["turn/resume"]


def test_an_unknown_status_is_kept_in_the_call(wire: Wire) -> None:
    entries = [{"content": "a", "status": "_waiting"}, {"content": "b", "status": "cancelled"}, {"content": " "}]
    call, write, result = wire.update("plan_update", plan={"type": "items", "planId": "p", "entries": entries})
    assert json.loads(str(call.data["arguments"])) == {"type": "items", "planId": "p", "entries": entries}
    assert write.data == {
        "todos": [{"content": "a", "status": "pending"}],
        "omitted": [{"content": "b", "status": "cancelled"}],
        "call_id": "plan-1",
    }
    assert result.data["is_error"] is False
    draft = check_data(call.type, call.data, path="x")
    assert isinstance(draft.event, ToolCall)
    assert plan_of(draft.event) == [
        {"content": "a", "status": "_waiting"},
        {"content": "b", "status": "cancelled"},
        {"content": " ", "status": None},
    ]


def test_several_plans_stand_one_at_a_time(wire: Wire) -> None:
    for name in ("one", "two"):
        plan = {"type": "items", "planId": name, "entries": [{"content": name, "status": "pending"}]}
        assert types(wire.update("plan_update", plan=plan)) == ["tool/call", "todo/write", "tool/result"]
    assert types(wire.update("plan_removed", planId="one")) == ["tool/call", "tool/result"]
    _, write, _ = wire.update("plan_removed", planId="two")
    assert write.data["todos"] == []
    assert types(wire.update("plan_update", plan={"type": "markdown", "planId": "m", "content": "x"})) == [
        "tool/call",
        "tool/result",
    ]


def test_a_tool_call_is_told_when_its_arguments_are_known(wire: Wire) -> None:
    assert wire.update("tool_call", toolCallId="a", title="bash", status="pending", rawInput={}) == []
    (call,) = wire.update("tool_call_update", toolCallId="a", status="in_progress", rawInput={"command": "ls"})
    assert call.data == {"call_id": "a", "name": "bash", "arguments": '{"command":"ls"}'}
    assert wire.update("tool_call_update", toolCallId="a", status="in_progress", rawInput={"command": "ls -l"}) == []
    content = [{"type": "content", "content": {"type": "text", "text": "out"}}, {"type": "diff", "path": "/w/a.py"}]
    (result,) = wire.update("tool_call_update", toolCallId="a", status="failed", content=content)
    assert result.data == {"call_id": "a", "is_error": True, "text": "out\n/w/a.py"}


@pytest.mark.parametrize(
    ("update", "name", "kind", "summary"),
    [
        ({"title": "`ls -l`", "kind": "execute"}, "execute", "run", "`ls -l`"),
        ({"title": "Read a.py", "kind": "read", "locations": [{"path": "/a.py"}]}, "read", "read", "/a.py"),
        ({"title": "Read", "rawInput": {"file_path": "b"}}, "Read", "read", "b"),
        (
            {"title": "X y", "_meta": {"claudeCode": {"toolName": "Grep"}}, "rawInput": {"pattern": "q"}},
            "Grep",
            "search",
            "q",
        ),
    ],
)
def test_a_row_says_what_the_agent_says(wire: Wire, update: dict[str, Any], name: str, kind: str, summary: str) -> None:
    (call,) = wire.update("tool_call", toolCallId="a", status="in_progress", **update)
    draft = check_data(call.type, call.data, path="x")
    assert isinstance(draft.event, ToolCall)
    assert (draft.event.name, describe(draft.event).kind, describe(draft.event).summary) == (name, kind, summary)


def test_what_a_loaded_session_replays_is_not_new(wire: Wire) -> None:
    number = wire.ask("session/load", sessionId="old", cwd="/w")
    assert types(wire.told) == ["session/start"]
    assert wire.update("plan", session="old", entries=[{"content": "a", "status": "pending"}]) == []
    wire.answer(number)
    assert len(wire.update("plan", session="old", entries=[{"content": "a", "status": "pending"}])) == 3


def test_sessions_of_one_connection_are_kept_apart(wire: Wire) -> None:
    wire.answer(wire.ask("session/new", cwd="/x"), sessionId="t")
    assert wire.wire.header is not None
    assert (wire.wire.header.session, wire.wire.header.cwd) == ("t", "/x")
    wire.update("plan", session="s", entries=[])
    assert wire.wire.header.session == "s"


def test_a_log_of_several_sessions_gives_each_its_own(store: Store, tmp_path: Path) -> None:
    def update(session: str, content: str) -> dict[str, Any]:
        plan = {"sessionUpdate": "plan", "entries": [{"content": content, "status": "pending"}]}
        return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": plan}}

    messages = [update("a", "1"), update("b", "2"), update("a", "3")]
    (tmp_path / "wire.jsonl").write_text("".join(json.dumps(message) + "\n" for message in messages))
    log = store.fresh()
    (file,) = log.take(tmp_path / "wire.jsonl").files
    assert (file.session, file.others, file.failure) == ("a", ("b",), None)
    plans = {session: [plan[0]["content"] for plan in log.plans(session)] for session in ("a", "b")}
    assert plans == {"a": ["1", "3"], "b": ["2"]}


def test_random_changes_crash_nothing_and_every_plan_is_valid() -> None:
    content, chance = (SAMPLES / "qwen-acp-wire.jsonl").read_bytes(), random.Random(5)
    content += (SAMPLES / "spec-examples.jsonl").read_bytes()
    for _ in range(FUZZ):
        data = bytearray(content)
        for _ in range(chance.randrange(1, 200)):
            data[chance.randrange(len(data))] = chance.choice(b'{}[]",:0xnull\xff')
        wire = AcpWire()
        for line in data.split(b"\n"):
            record = parse(bytes(line))
            for event in wire.take(record) if record is not None else ():
                draft = check_data(event.type, event.data, time=event.time, key=event.key, path="x")
                assert draft.type != "todo/write" or isinstance(draft.event, TodoWrite)
