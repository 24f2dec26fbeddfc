"""Whose call it is when the client names no session: the one its agent works in (spec.md §2; agents.md §3)."""

import asyncio
import itertools
import json
from dataclasses import replace
from typing import Any, Final

import pytest

from planstrip.events import TodoWrite, ToolCall, ToolResult
from planstrip.intake.check import check_data
from planstrip.intake.mcp_caller import Caller
from planstrip.intake.mcp_calls import new_call_id
from planstrip.intake.mcp_log import Known, LoggedPlans
from planstrip.intake.record import take_in
from tests.intake.conftest import Log
from tests.mcp_client import PROTOCOLS, call, over_http, use, write
from tests.running import Panel, new_session, todos

LIST: Final = todos("a=c b=i c=i")
_folders = itertools.count()


def folder() -> str:
    """One that no other test works in."""
    return f"/work/anonymous-{next(_folders)}"


def works(panel: Panel, cwd: str, agent: str = "kimi", **turn: Any) -> str:
    """A session with an open turn, as a transcript tells it."""
    session = new_session()
    panel.append(
        session,
        {"type": "session/start", "data": {"agent": agent, "cwd": cwd}, "key": f"{agent}:header"},
        {"type": "turn/start", "data": {"turn": 1}, "key": "1/-/turn/start", **turn},
    )
    return session


def calls(panel: Panel, session: str, call_id: str, name: str = "mcp__plan__todo_write") -> None:
    arguments = json.dumps({"todos": LIST}, indent=1)
    data = {"call_id": call_id, "name": name, "arguments": arguments}
    panel.append(session, {"type": "tool/call", "data": data, "key": f"1/{call_id}/tool/call"})


def writes(panel: Panel, cwd: str, name: str = "kimi-code", times: int = 1, mode: str = "legacy") -> None:
    async def each(client: Any) -> None:
        for _ in range(times):
            await write(client, LIST)

    use(over_http(f"{panel.url}/mcp?cwd={cwd}", mode=mode, name=name), each)


def types(panel: Panel, session: str) -> list[str]:
    return [event["type"] for event in panel.events(session)][2:]


@pytest.mark.parametrize("mode", PROTOCOLS)
def test_the_call_is_of_the_session_that_its_agent_works_in_there(shared_panel: Panel, mode: str) -> None:
    cwd = folder()
    session = works(shared_panel, cwd)
    writes(shared_panel, cwd, mode=mode)
    assert types(shared_panel, session) == ["tool/call", "todo/write", "tool/result"]
    found = shared_panel.client.get("/api/sessions", params={"cwd": cwd}).json()["sessions"]
    assert [(each["id"], each["counts"]["in_progress"]) for each in found] == [(session, 2)]


def test_a_refused_call_is_too(shared_panel: Panel) -> None:
    cwd = folder()
    session = works(shared_panel, cwd)
    client = over_http(f"{shared_panel.url}/mcp?cwd={cwd}", mode="legacy", name="kimi-code")
    assert use(client, lambda opened: call(opened, {"todos": todos("x=i x=p")}))[0]
    assert types(shared_panel, session) == ["tool/call", "tool/result"]


def test_a_call_that_the_transcript_told_is_told_once(shared_panel: Panel) -> None:
    cwd = folder()
    session = works(shared_panel, cwd)
    calls(shared_panel, session, "k-1")
    writes(shared_panel, cwd)
    assert types(shared_panel, session) == ["tool/call", "todo/write", "tool/result"]
    assert {event["data"].get("call_id") for event in shared_panel.events(session)[2:]} == {"k-1"}


def test_a_list_that_comes_again_is_a_call_of_its_own(shared_panel: Panel) -> None:
    cwd = folder()
    session = works(shared_panel, cwd)
    calls(shared_panel, session, "k-1")
    writes(shared_panel, cwd, times=2)
    assert types(shared_panel, session).count("todo/write") == 2
    assert types(shared_panel, session).count("tool/call") == 2


def test_of_two_sessions_there_the_one_that_called_is_it(shared_panel: Panel) -> None:
    cwd = folder()
    one, other = works(shared_panel, cwd), works(shared_panel, cwd)
    calls(shared_panel, other, "k-1")
    calls(shared_panel, one, "k-1", "todo_write")  # its own tool
    writes(shared_panel, cwd)
    assert "todo/write" in types(shared_panel, other)
    assert "todo/write" not in types(shared_panel, one)


def test_it_stays_with_its_connection_where_that_is_not_certain(shared_panel: Panel) -> None:
    cwd = folder()
    two = [works(shared_panel, cwd), works(shared_panel, cwd)]
    long_ago = works(shared_panel, f"{cwd}/old", time=1_000)
    over = works(shared_panel, f"{cwd}/over")
    shared_panel.append(over, {"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "completed"}}})
    another = works(shared_panel, f"{cwd}/other", agent="gemini-cli")
    for place in (cwd, f"{cwd}/old", f"{cwd}/over", f"{cwd}/other"):
        writes(shared_panel, place)
    assert all("todo/write" not in types(shared_panel, each) for each in (*two, long_ago, over, another))
    found = shared_panel.client.get("/api/sessions", params={"cwd": f"{cwd}/other", "agent": "kimi"}).json()
    assert [each["id"].startswith("mcp-") for each in found["sessions"]] == [True]


class Overtaken(LoggedPlans):
    """Whose log another door writes to, once, after the call was placed and before it is recorded."""

    def _place(self, caller: Caller, arguments: str) -> tuple[Caller, Known]:
        found = super()._place(caller, arguments)
        draft = check_data("tool/call", {"call_id": "k-1", "name": "plan_todo_write", "arguments": arguments}, key="k")
        take_in(self.writer, "ses_a", [draft])
        return found


def test_a_call_that_the_transcript_tells_meanwhile_is_told_once(log: Log) -> None:
    start = {"agent": "opencode", "cwd": "/w"}
    take_in(log.writer, "ses_a", [check_data("session/start", start, key="s"), check_data("turn/start", {"turn": 1})])
    plans = Overtaken(log.writer.engine, log.writer, allow_parallel_in_progress=True)
    reply = asyncio.run(plans.write(Caller("mcp-k", "opencode", "/w", connection="k", own="mcp-k"), {"todos": LIST}))
    assert not reply.is_error
    told = [(type(entry.event), getattr(entry.event, "call_id", None)) for entry in log.entries("ses_a")][2:]
    assert told == [(ToolCall, "k-1"), (TodoWrite, "k-1"), (ToolResult, "k-1")]


def test_a_call_that_planstrip_mcp_named_is_the_told_one_and_recorded_once(log: Log) -> None:
    """It gives ids to calls without, so that one it sends twice is one."""
    start = {"agent": "opencode", "cwd": "/w"}
    told = {"call_id": "k-1", "name": "plan_todo_write", "arguments": json.dumps({"todos": LIST})}
    take_in(
        log.writer,
        "ses_a",
        [check_data("session/start", start), check_data("turn/start", {"turn": 1}), check_data("tool/call", told)],
    )
    plans = LoggedPlans(log.writer.engine, log.writer, allow_parallel_in_progress=True)
    caller = Caller("mcp-k", "opencode", "/w", call_id=new_call_id(), connection="k", own="mcp-k")
    for each in (caller, caller, replace(caller, call_id=new_call_id())):
        assert not asyncio.run(plans.write(each, {"todos": LIST})).is_error
    events = [entry.event for entry in log.entries("ses_a")]
    assert [event.call_id for event in events if isinstance(event, ToolCall)][:1] == ["k-1"]
    assert sum(isinstance(event, ToolCall) for event in events) == 2
    assert sum(isinstance(event, TodoWrite) for event in events) == 2
