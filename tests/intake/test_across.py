"""Across doors nothing is shown twice: hooks and transcripts of the same run, in every order (spec.md §2)."""

import json
import shutil
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Select

from planstrip.intake import across, hooks_others
from planstrip.intake.acp import Sink
from planstrip.intake.imports import import_file, import_paths, take_new
from planstrip.transcripts.acp import AcpWire
from planstrip.transcripts.deepseek_harness import BETWEEN_TURN_AND_PROMPT
from planstrip.transcripts.records import iso_time_at
from planstrip.transcripts.sources import source_of
from tests.databases import is_on_postgresql
from tests.intake.test_hooks import FIXTURES, PLAN_TOOLS, RUNS, expected, payloads, post
from tests.running import Panel, running

Events: TypeAlias = list[dict[str, Any]]
Payload: TypeAlias = dict[str, Any]
NAMED = {name: run for name, run in RUNS.items() if run[0] != "opencode"}
ENDS = ("Stop", "AfterAgent", "SubagentStop")
STARTS = ("UserPromptSubmit", "BeforeAgent", "SubagentStart")


def shown(events: Events) -> dict[str, object]:
    """What a reader sees of a session, but for the order in which late rows came."""
    calls = [event["data"] for event in events if event["type"] == "tool/call"]
    results = {event["data"]["call_id"] for event in events if event["type"] == "tool/result"}
    return {
        "turns": sum(event["type"] == "turn/start" for event in events),
        "plan rows": sum(call["name"] in PLAN_TOOLS for call in calls),
        "rows": sorted(call["name"] for call in calls),
        "answered": len(results & {call["call_id"] for call in calls}),
        "plans": [event["data"]["todos"] for event in events if event["type"] == "todo/write"],
        "final": final(events),
    }


def prompts(events: Events) -> set[str]:
    """Those that are known: no hook tells a subagent's."""
    return {event["data"].get("prompt", "") for event in events if event["type"] == "turn/start"} - {""}


def final(events: Events) -> object:
    """By the rules of spec.md §4 alone."""
    plan: list[dict[str, str]] = []
    for event in events:
        if event["type"] == "todo/write":
            plan = event["data"]["todos"]
        elif event["type"] == "turn/start" and all(todo["status"] == "completed" for todo in plan):
            plan = []
    return plan


def files_of(run: str) -> list[Path]:
    agent, names = RUNS[run]
    return [FIXTURES / agent / name for name in names]


def sessions_of(run: str) -> list[str]:
    agent, names = RUNS[run]
    return [expected(agent, name)["session"] for name in names]


@pytest.fixture(scope="module", params=NAMED)
def told(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, empty_log: bytes
) -> tuple[str, dict[str, Events]]:
    """A run, and what its transcripts alone give."""
    path = tmp_path_factory.mktemp("alone") / "log.sqlite3"
    path.write_bytes(empty_log)
    with running(path) as panel:
        import_paths(panel.parts.writer, files_of(request.param))
        return request.param, {session: panel.events(session) for session in sessions_of(request.param)}


def timed(run: str, alone: dict[str, Events]) -> Iterator[tuple[int, Payload]]:
    """Each payload with the time when its hook ran, by what its transcript says of the same thing."""
    times: dict[tuple[str, str], int] = {}
    turns: dict[tuple[str, str], list[int]] = {}
    for session, events in alone.items():
        for event in events:
            if event["type"] in ("tool/call", "tool/result"):
                times[event["type"], event["data"]["call_id"]] = event["time"]
            elif event["type"] in ("turn/start", "turn/end"):
                turns.setdefault((session, event["type"]), []).append(event["time"])
    now = 0
    for payload in payloads(run):
        name, child = payload["hook_event_name"], payload.get("agent_id") or payload["session_id"]
        kind = "turn/start" if name in STARTS else "turn/end" if name in ENDS else None
        found = None
        if (own := iso_time_at(payload, "timestamp")) is not None:
            found = own
        elif "tool_use_id" in payload:
            of = "tool/call" if name == "PreToolUse" else "tool/result"
            found = times.get((of, payload["tool_use_id"]))
        elif kind is not None and (queue := turns.get((child, kind))):
            found = queue.pop(0)
        now = now if found is None else found
        yield now, payload


def send(panel: Panel, run: str, at: int, payload: Payload) -> None:
    post(panel, RUNS[run][0], payload, planstrip_time=str(at), planstrip_delivery=str(id(payload)))


def hooks_first(panel: Panel, run: str, hooks: list[tuple[int, Payload]], _folder: Path) -> None:
    for at, payload in hooks:
        send(panel, run, at, payload)
    import_paths(panel.parts.writer, files_of(run))


def transcript_first(panel: Panel, run: str, hooks: list[tuple[int, Payload]], _folder: Path) -> None:
    import_paths(panel.parts.writer, files_of(run))
    for at, payload in hooks:
        send(panel, run, at, payload)


def interleaved(lag_ms: int) -> Callable[[Panel, str, list[tuple[int, Payload]], Path], None]:
    """The files grow as they did; what is written is read `lag_ms` after its time, or before it."""

    def take(panel: Panel, run: str, hooks: list[tuple[int, Payload]], folder: Path) -> None:
        lines: list[tuple[int, Path, bytes]] = []
        for file in files_of(run):
            now = 0
            for line in file.read_bytes().splitlines(keepends=True):
                now = max(now, iso_time_at(json.loads(line), "timestamp") or 0)
                lines.append((now, folder / file.name, line))
        sources = {path: source_of(path) for _, path, _ in lines}
        lines.sort(key=lambda line: line[0])
        for at, payload in [*hooks, (10**15, None)]:
            while lines and lines[0][0] + lag_ms <= at:
                _, path, line = lines.pop(0)
                with path.open("ab") as target:
                    target.write(line)
                take_new(panel.parts.writer, sources[path])
            if payload is not None:
                send(panel, run, at, payload)

    return take


ORDERS = {
    "hooks first": hooks_first,
    "transcript first": transcript_first,
    "transcript a little late": interleaved(20),
    "transcript a little early": interleaved(-20),
    "transcript late by seconds": interleaved(2_000),
}


@pytest.mark.parametrize("order", ORDERS)
def test_a_run_that_hooks_and_transcripts_tell_is_shown_once(
    told: tuple[str, dict[str, Events]], order: str, panel: Panel, tmp_path: Path
) -> None:
    run, alone = told
    hooks = list(timed(run, alone))
    ORDERS[order](panel, run, hooks, tmp_path)
    found = {session: panel.events(session) for session in alone}
    for session, events in alone.items():
        assert shown(found[session]) == shown(events)
        assert prompts(found[session]) <= prompts(events)
        assert panel.plan(session)["todos"] == (final(events) or None)
    for at, payload in hooks:
        send(panel, run, at, payload)
    for file in files_of(run):
        assert import_file(panel.parts.writer, file).added == 0
    assert {session: panel.events(session) for session in alone} == found


def apart(run: str, database: Path, folder: Path) -> tuple[dict[str, Events], list[tuple[int, Payload]]]:
    """What the run's transcripts alone give, in `folder / "alone"`, and its hooks; `folder / "both"` is still empty."""
    for name in ("alone", "both"):
        if not is_on_postgresql(database):
            shutil.copy(database, folder / name)
    with running(folder / "alone") as panel:
        import_paths(panel.parts.writer, files_of(run))
        alone = {session: panel.events(session) for session in sessions_of(run)}
    return alone, list(timed(run, alone))


@given(run=st.sampled_from(sorted(NAMED)), cut=st.integers(0, 60))
@example(run="claude-code-subagents", cut=4)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_transcript_that_is_read_whole_between_two_hooks_is_shown_once(
    run: str, cut: int, database: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What a hook has begun to tell, a call or a turn, may be over in the transcript before the next hook comes."""
    folder = tmp_path_factory.mktemp("midst")
    alone, hooks = apart(run, database, folder)
    with running(folder / "both") as panel:
        for at, payload in hooks[:cut]:
            send(panel, run, at, payload)
        import_paths(panel.parts.writer, files_of(run))
        assert import_paths(panel.parts.writer, files_of(run)).added == 0
        for at, payload in hooks[cut:]:
            send(panel, run, at, payload)
        assert import_paths(panel.parts.writer, files_of(run)).added == 0
        for session, events in alone.items():
            assert shown(panel.events(session)) == shown(events)
            assert panel.plan(session)["todos"] == (final(events) or None)


@st.composite
def gaps(draw: st.DrawFn) -> tuple[str, str, int, int]:
    """A run, an order, and which of its hooks were never delivered."""
    start = draw(st.integers(0, 40))
    return draw(st.sampled_from(sorted(NAMED))), draw(st.sampled_from(sorted(ORDERS))), start, draw(st.integers(0, 40))


@given(gap=gaps())
@example(gap=("claude-code-subagents", "hooks first", 0, 2))  # a finished list comes after the turn that cleared it
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hooks_that_were_missed_are_made_up_for_by_the_transcript(
    gap: tuple[str, str, int, int], database: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run, order, start, size = gap
    folder = tmp_path_factory.mktemp("gap")
    alone, hooks = apart(run, database, folder)
    del hooks[start : start + size]
    with running(folder / "both") as panel:
        ORDERS[order](panel, run, hooks, folder)
        for session, events in alone.items():
            found, wanted = shown(panel.events(session)), shown(events)
            plans, wanted_plans = found.pop("plans"), wanted.pop("plans")
            assert found == wanted
            assert isinstance(plans, list) and isinstance(wanted_plans, list)  # noqa: PT018 - for mypy
            assert all(plan in plans for plan in wanted_plans)  # one that came late may stand there again
            assert panel.plan(session)["todos"] == (final(events) or None)


DSH = ("real-parallel-multi-turn", "real-rejected-writes", "real-killed-then-resumed")
HANDED_ON = ("turn/start", "turn/end", "tool/call", "todo/write", "tool/result", "session/title")


def dsh_payloads(name: str) -> Iterator[Payload]:
    """What `hooks/dsh.mjs` makes of the events of a session."""
    header, *events = map(json.loads, (FIXTURES / "deepseek-harness" / f"{name}.jsonl").read_text().splitlines())
    common = {"session_id": header["id"], "cwd": header.get("cwd"), "parent": header.get("parentSession")}
    held: Payload | None = None
    for event in events:
        is_prompt = event["type"] == "user/message" and event["data"]["source"]["kind"] == "user"
        if held is not None and (is_prompt or event["type"] not in BETWEEN_TURN_AND_PROMPT):
            texts = [part["text"] for part in event["data"]["content"] if part.get("text")] if is_prompt else []
            yield common | {"event": held, "prompt": "\n".join(texts)}
            held = None
        if event["type"] == "turn/start":
            held = event
        elif event["type"] in HANDED_ON:
            yield common | {"event": event}


@pytest.mark.parametrize("name", DSH)
@pytest.mark.parametrize("order", ["hooks first", "transcript first", "from the second turn on"])
def test_dshs_plugin_and_its_transcript_tell_a_session_once(
    panel: Panel, name: str, order: str, empty_log: bytes, tmp_path: Path
) -> None:
    file = FIXTURES / "deepseek-harness" / f"{name}.jsonl"
    (tmp_path / "alone").write_bytes(empty_log)
    hooks = list(dsh_payloads(name))
    session = hooks[0]["session_id"]
    with running(tmp_path / "alone") as other:
        import_paths(other.parts.writer, [file])
        alone = other.events(session)
    if order == "transcript first":
        import_paths(panel.parts.writer, [file])
    starts = [index for index, payload in enumerate(hooks) if payload["event"]["type"] == "turn/start"]
    for payload in hooks[starts[1] if order.startswith("from") and len(starts) > 1 else 0 :]:
        post(panel, "dsh", payload)
    import_paths(panel.parts.writer, [file])
    found, wanted = shown(panel.events(session)), shown(alone)
    if order.startswith("from"):
        plans, wanted_plans = found.pop("plans"), wanted.pop("plans")
        assert isinstance(plans, list) and isinstance(wanted_plans, list)  # noqa: PT018 - for mypy
        assert all(plan in plans for plan in wanted_plans)
    assert found == wanted


WIRE = FIXTURES / "acp" / "qwen-acp-wire.jsonl"
BEHIND = "20c8cd7e-b9ca-4197-a937-4818712c27d7"
START = 1_796_000_000_000


def wire_events(name: str, turns: int = 0) -> Events:
    """What `planstrip acp` posts of the recorded connection, a second between its messages."""
    wire = AcpWire(name, turns_of=lambda _: turns)
    found: Events = []
    for number, line in enumerate(WIRE.read_bytes().splitlines()):
        record = json.loads(line)
        for event in wire.hear(record["dir"], record["msg"], START + number * 1_000):
            found.append({"type": event.type, "data": event.data, "time": event.time, "key": event.key})
    return found


def transcript_of(events: Events, path: Path) -> Path:
    """The chat file that Qwen Code writes of the same turns: other ids, its own tool, a little later."""
    common: Payload = {"sessionId": BEHIND, "cwd": "/home/user/project", "version": "0.24.4"}
    with path.open("a") as target:
        for event in events:
            at = datetime.fromtimestamp((event["time"] + 40) / 1000, UTC).isoformat()
            row = common | {"timestamp": at, "uuid": str(uuid.uuid4())}
            todos = event["data"].get("todos")
            if event["type"] == "turn/start":
                parts: list[Payload] = [{"text": event["data"]["prompt"]}]
                row |= {"type": "user", "provenance": "real_user", "message": {"role": "user", "parts": parts}}
            elif event["type"] == "todo/write":
                call = {"id": f"call_{uuid.uuid4().hex}", "name": "todo_write", "args": {"todos": todos}}
                said = row | {"uuid": str(uuid.uuid4()), "type": "assistant", "provenance": "assistant_output"}
                target.write(json.dumps(said | {"message": {"parts": [{"functionCall": call}]}}) + "\n")
                answer = {"id": call["id"], "name": "todo_write", "response": {"output": "ok"}}
                row |= {"type": "tool_result", "message": {"parts": [{"functionResponse": answer}]}}
                row["toolCallResult"] = {"callId": call["id"], "status": "success", "resultDisplay": {"todos": todos}}
            elif event["type"] == "turn/end":
                row |= {"type": "assistant", "message": {"parts": [{"text": "Done."}]}}
            else:
                continue
            target.write(json.dumps(row) + "\n")
    return path


@pytest.mark.parametrize("is_live", [True, False])
def test_a_session_that_a_wire_and_its_agents_own_file_tell_is_shown_once(
    panel: Panel, tmp_path: Path, is_live: bool
) -> None:
    events = wire_events("acp-one")
    path = tmp_path / "chat.jsonl"
    source = source_of(path)
    for event in events:
        panel.append(BEHIND, event)
        transcript_of([event], path)
        if is_live:
            assert take_new(panel.parts.writer, source).failure is None
    report = import_file(panel.parts.writer, path)
    assert (report.failure, report.problems) == (None, ())
    found = [event for event in panel.events(BEHIND) if event["type"] != "session/start"]
    assert [event["data"] for event in found] == [event["data"] for event in events[1:]]


def test_turns_before_a_wire_are_kept_and_counted_on(panel: Panel, tmp_path: Path) -> None:
    """Begun in a terminal, read from its file, then loaded by an editor, and gone on with in the terminal."""
    path = tmp_path / "chat.jsonl"
    before = wire_events("before")
    transcript_of(before, path)
    import_file(panel.parts.writer, path)
    sink = Sink(panel.url, "sqlite:///unused")
    assert sink.turns_of(BEHIND) == 2
    assert sink.turns_of("a-session-that-is-not-there") == 0
    wire = wire_events("acp-two", sink.turns_of(BEHIND))
    for event in wire:
        event["time"] += 3_600_000
    panel.append(BEHIND, *wire)
    after = [event | {"time": event["time"] + 7_200_000} for event in before]
    transcript_of([event for event in wire if event["type"] != "session/start"], path)
    transcript_of(after, path)
    for _ in range(2):
        assert import_file(panel.parts.writer, path).failure is None
    turns = [event["data"]["turn"] for event in panel.events(BEHIND) if event["type"] == "turn/start"]
    assert turns == [1, 2, 3, 4, 5, 6]
    assert len([event for event in panel.events(BEHIND) if event["type"] == "todo/write"]) == 6
    assert panel.plan(BEHIND)["todos"] == (final(panel.events(BEHIND)) or None)


@pytest.mark.parametrize(
    ("query", "index"),
    [
        (across._TOLD.params(session="s", since="hook/", until="hook0"), "uq_events_session_key (session=? AND key>?"),
        (across._MARKED.params(session="s", type="turn/start"), "ix_events_marked (session=? AND type=?"),
        (hooks_others._TURNS.params(session="s"), "ix_events_marked (session=? AND type=?"),
    ],
)
@pytest.mark.sqlite
def test_what_was_told_is_found_without_a_walk_through_the_session(
    panel: Panel, query: Select[Any], index: str
) -> None:
    with panel.parts.engine.connect() as connection:
        text = query.compile(connection, compile_kwargs={"literal_binds": True})
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}").all()
    assert all(index in str(step) for step in plan), plan
