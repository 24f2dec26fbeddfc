"""What a full panel does not take holds up nothing else, costs hardly a request, and comes once there is room."""

import json
import time
from pathlib import Path

import pytest

from planstrip.errors import Full
from planstrip.hooks import spool as module
from planstrip.hooks.held import FULL, HELD_S, try_again
from planstrip.hooks.payload import session_of
from planstrip.hooks.post import Panel as Sender
from planstrip.hooks.send import deliver
from planstrip.hooks.spool import Outcome, Parcel, Spool
from tests.hooks.running import Home, prompt
from tests.running import Panel, running


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "spool")


def put(spool: Spool, payload: dict[str, object]) -> None:
    data = json.dumps(payload).encode()
    spool.put("claude-code", data, f"claude-code/{session_of(data)}")


def said(panel: Panel, session: str) -> list[str]:
    answer = panel.client.get(f"/api/sessions/{session}/events")
    told = answer.json().get("events", [])
    return [event["data"]["prompt"] for event in told if event["type"] == "turn/start"]


def drain(spool: Spool, full: str = "", stop_at: int = 1_000) -> list[str]:
    """What was offered of `agent/session:payload`; sessions in `full` are refused. Each payload is one byte."""
    offered: list[str] = []

    def send(parcel: Parcel) -> Outcome:
        offered.append(parcel.payload.decode())
        return "full" if parcel.payload.decode()[0] in full else "taken"

    spool.drain(send, until=lambda: len(offered) >= stop_at)
    return offered


def test_a_full_panel_takes_what_its_sessions_say_and_the_rest_when_there_is_room(
    tmp_path: Path, database: Path
) -> None:
    with running(database, max_sessions=1) as panel:
        spool = Spool(tmp_path / "spool")
        names = ("a", "b", "a", "c", "b", "a")
        for number, session in enumerate(names):
            put(spool, prompt(f"{session}{number}", number) | {"session_id": session})
        deliver(spool, Sender(panel.url), time.monotonic() + 10)
        assert said(panel, "a") == ["a0", "a2", "a5"]
        assert len(spool.names()) == 3
        put(spool, prompt("a6", 6) | {"session_id": "a"})
        deliver(spool, Sender(panel.url), time.monotonic() + 10)
        assert said(panel, "a") == ["a0", "a2", "a5", "a6"]
    with running(database) as panel:
        try_again(spool.folder)
        deliver(spool, Sender(panel.url), time.monotonic() + 10)
        assert [said(panel, session) for session in "bc"] == [["b1", "b4"], ["c3"]]
        assert spool.names() == []
    assert spool.take_note() is None
    assert not (spool.folder / FULL).exists()


def test_a_hook_of_a_session_that_stands_arrives_past_those_that_wait(tmp_path: Path, database: Path) -> None:
    with running(database, max_sessions=1) as panel:
        home = Home(tmp_path, panel.url, is_there=True)
        for number, session in enumerate(("a", "b", "a")):
            home.hook(prompt(f"{session}{number}", number) | {"session_id": session})
        assert said(panel, "a") == ["a0", "a2"]
        assert len(home.spool.names()) == 1


def test_a_subagent_that_is_not_taken_does_not_hold_up_the_one_that_it_works_for(
    tmp_path: Path, database: Path
) -> None:
    with running(database, max_sessions=1) as panel:
        spool = Spool(tmp_path / "spool")
        put(spool, prompt("first", 1) | {"session_id": "a"})
        put(spool, {"session_id": "a", "agent_id": "child", "hook_event_name": "SubagentStart"})
        put(spool, prompt("second", 2) | {"session_id": "a"})
        deliver(spool, Sender(panel.url), time.monotonic() + 10)
        assert said(panel, "a") == ["first", "second"]
        assert len(spool.names()) == 1


def test_what_is_held_back_is_offered_again_when_the_time_has_passed_and_costs_one_request(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    for payload in ("a1", "b1", "a2", "c1", "b2"):
        spool.put("codex", payload.encode(), payload[0])
    assert drain(spool, full="ab") == ["a1", "b1", "c1"]
    assert drain(spool, full="ab") == []
    now += HELD_S - 1
    spool.put("codex", b"d1", "d")
    assert drain(spool, full="ab") == ["d1"]
    now += 2
    assert drain(spool, full="ab") == ["a1"]
    now += HELD_S + 1
    assert drain(spool, full="b") == ["a1", "b1", "a2"]
    now -= 10 * HELD_S  # a clock that is set back
    assert drain(spool) == ["b1", "b2"]
    assert spool.names() == []
    assert not (spool.folder / FULL).exists()


def test_time_that_is_up_while_they_are_offered_again_changes_no_order(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    for payload in ("a1", "b1", "a2", "b2"):
        spool.put("codex", payload.encode(), payload[0])
    assert drain(spool, full="ab") == ["a1", "b1"]
    now += HELD_S + 1
    offered = [drain(spool, stop_at=1) for _ in range(4)]
    assert offered == [["a1"], ["b1"], ["a2"], ["b2"]]


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"until": "x", "sessions": 1}', b"\xff"])
def test_a_file_of_them_that_does_not_read_holds_nothing_back(spool: Spool, content: bytes) -> None:
    spool.put("codex", b"a1", "a")
    (spool.folder / FULL).write_bytes(content)
    assert drain(spool) == ["a1"]


def test_what_waits_for_a_full_panel_leaves_room_for_the_others(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FILES", 8)
    for number in range(12):
        spool.put("codex", b"a%d" % number, "a")
        drain(spool, full="a")
        assert spool.put("codex", b"b", "b") is not None
        assert drain(spool, full="a")[-1] == "b"
    assert len(spool.names()) == 4
    note = spool.take_note()
    assert note is not None
    assert note["count"] == 8
    assert "full panel" in str(note["why"])


@pytest.mark.parametrize(
    ("payload", "session"),
    [
        ({"session_id": "s"}, "s"),
        ({"session_id": "s", "agent_id": "child"}, "child"),
        ({"session_id": "s", "event": {"type": "turn/start"}}, "s"),
        ({"type": "session.idle", "properties": {"sessionID": "s"}}, "s"),
        ({"type": "message.part.updated", "properties": {"part": {"sessionID": "s", "id": "p"}}}, "s"),
        ({"type": "permission.asked", "properties": {"id": "p", "sessionID": "s"}}, "s"),
        ({"type": "session.updated", "properties": {"info": {"id": "s"}}}, "s"),
        ({"session_id": 3, "properties": [1]}, ""),
    ],
)
def test_a_payload_says_whose_it_is(payload: dict[str, object], session: str) -> None:
    assert session_of(json.dumps(payload).encode()) == session


def test_it_is_tried_again_when_the_panel_said() -> None:
    assert Full.retry_after_s == HELD_S
