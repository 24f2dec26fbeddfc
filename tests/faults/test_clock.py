"""A clock that jumps back: it decides no order, and makes nothing look fresher than it did (spec.md §2)."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.running import Panel, running, todos

NOW_MS = 1_790_000_000_000
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS


class Clock:
    """Says what it was set to."""

    def __init__(self) -> None:
        self.now = NOW_MS

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("planstrip.main.now_ms", clock)
    return clock


@pytest.fixture
def panel(database: Path, clock: Clock) -> Iterator[Panel]:
    with running(database) as panel:
        yield panel


@pytest.mark.parametrize("jump_ms", [MINUTE_MS, NOW_MS])
def test_a_clock_that_jumps_back_under_writes(panel: Panel, clock: Clock, jump_ms: int) -> None:
    """Positions rise without a gap in the order of the appends, the last list stands, streams go on; no age is negative
    and nothing is dated later than its event."""
    with panel.stream("/api/sessions/a/stream") as stream:
        stream.next()
        for number in range(6):
            clock.now = NOW_MS + number * 1_000 - (jump_ms if number >= 3 else 0)
            panel.write("a", todos(f"t{number}=i"))
            assert f"t{number}" in stream.next().data
    events = panel.events("a")
    assert [event["position"] for event in events] == list(range(1, 19))
    assert panel.plan("a")["todos"] == todos("t5=i")
    assert [event["data"]["todos"][0]["content"] for event in events[1::3]] == [f"t{number}" for number in range(6)]
    assert [event["time"] for event in events[9::3]] == [NOW_MS + n * 1_000 - jump_ms for n in range(3, 6)]
    look(panel, "a")


def test_an_old_plan_is_as_old_after_a_jump_back(panel: Panel, clock: Clock) -> None:
    """It is at least as old as its session's last event is younger, whatever the clock says now; no age is negative."""
    panel.append("b", {"type": "turn/start", "data": {"turn": 1}})
    panel.write("b", todos("x=i"))
    assert caution(panel) == "fresh"
    clock.now += 4 * HOUR_MS
    panel.append("b", {"type": "tool/call", "data": {"call_id": "a", "name": "bash", "arguments": "{}"}})
    assert caution(panel) == "stale"
    for jump_ms in (MINUTE_MS, 4 * HOUR_MS, 26 * HOUR_MS):
        clock.now = NOW_MS - jump_ms
        assert caution(panel) == "stale"
        look(panel, "b")


def caution(panel: Panel) -> str:
    found = re.search(r'data-caution="(\w+)"', panel.client.get("/sessions/b").text)
    assert found is not None
    return found[1]


def look(panel: Panel, session: str) -> None:
    """No page or answer has a negative number of anything, and every duration of the timeline is 0 or more."""
    for path in (f"/sessions/{session}", f"/sessions/{session}?at=2", f"/embed/{session}?rows=5", "/"):
        answer = panel.client.get(path)
        assert answer.status_code == 200
        text = re.sub(r"<[^>]*>", " ", answer.text)
        assert not re.search(r"(?<![\w.])[-\u2212]\d", text), re.findall(r".{20}[-\u2212]\d.{20}", text)
        assert not re.search(r'(?:width|height)="-', answer.text)
