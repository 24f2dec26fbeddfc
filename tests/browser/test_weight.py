"""What a session's page weighs on the wire, and that no update of it moves what a reader looks at."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import CDPSession, Page

from planstrip.intake.record import take_in
from tests.bench.logs import make
from tests.browser.record import STRIP, wait_live
from tests.running import Panel, new_session, todos

MAX_BYTES = 70_000
MAX_REQUESTS = 8
EVENTS = 300  # three turns of calls: more rows than a page shows
UPDATES = 20
MINUTE_MS = 60_000
START_MS = 1_764_500_400_000

MAX_SHIFT = 0.005  # of all updates together: what reads as 0.00

# Every shift that no key or click of the reader's own brought about: its score, and what moved from where to where.
WATCH = """() => {
  const rect = ({x, y, width, height}) => [x, y, width, height].map(Math.round);
  const told = ({node, previousRect, currentRect}) =>
    `${node?.nodeName} ${node?.className} ${rect(previousRect)} > ${rect(currentRect)}`;
  window.shifts = [];
  new PerformanceObserver((list) => {
    for (const {value, hadRecentInput, sources} of list.getEntries())
      if (!hadRecentInput) window.shifts.push([value, sources.map(told)]);
  }).observe({type: "layout-shift"});
}"""


def weighing(session: CDPSession) -> dict[str, tuple[str, int]]:
    """Fills as answers come: by request its address and its bytes on the wire, of a stream those so far."""
    urls, sizes = dict[str, str](), dict[str, tuple[str, int]]()

    def add(event: dict[str, Any]) -> None:
        url, size = sizes.get(event["requestId"], (urls[event["requestId"]], 0))
        sizes[event["requestId"]] = url, size + (event["encodedDataLength"] or event["dataLength"])

    def settle(event: dict[str, Any], size: int) -> None:
        sizes[event["requestId"]] = urls[event["requestId"]], size

    session.send("Network.enable")
    session.on("Network.requestWillBeSent", lambda event: urls.update({event["requestId"]: event["request"]["url"]}))
    session.on("Network.responseReceived", lambda event: settle(event, event["response"]["encodedDataLength"]))
    session.on("Network.dataReceived", add)
    session.on("Network.loadingFinished", lambda event: settle(event, event["encodedDataLength"]))
    return sizes


def test_the_first_load_is_light(page: Page, shared_panel: Panel) -> None:
    session = new_session()
    take_in(shared_panel.parts.writer, session, make(EVENTS))
    sizes = weighing(page.context.new_cdp_session(page))
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page, EVENTS)
    page.wait_for_load_state("load")
    page.wait_for_timeout(300)
    assert page.locator("[data-tool]").count() == 100
    streams = [size for url, size in sizes.values() if "/stream" in url]
    assert len(streams) == 1
    assert streams[0] > 1_000  # its first frame counts
    assert len(sizes) <= MAX_REQUESTS, sizes
    assert sum(size for _, size in sizes.values()) <= MAX_BYTES, sizes


def at(minute: float, type_: str, **data: Any) -> dict[str, Any]:
    return {"type": type_, "data": data, "time": int(START_MS + minute * MINUTE_MS)}


def life(minute: int) -> list[dict[str, Any]]:
    """What comes in a minute: a call with its result, and a write that ticks one to-do, drops or adds another."""
    text = " ".join(f"task{number}={'c' if number < minute % 6 else 'i'}" for number in range(6))
    call = at(minute, "tool/call", call_id=f"c{minute}", name="bash", arguments='{"command": "make"}')
    done = at(minute, "tool/result", call_id=f"c{minute}", is_error=minute % 5 == 0, text="ok")
    wrote = at(minute, "tool/call", call_id=f"w{minute}", name="todo_write", arguments="{}")
    return [call, done, wrote, at(minute, "todo/write", todos=todos(text), call_id=f"w{minute}")]


def updates() -> Iterator[list[dict[str, Any]]]:
    """Rows, writes, notes that come and go, turns that are cut, and plans that end."""
    yield [at(1, "turn/start", turn=1, prompt="Build it"), *life(1)]
    for minute in range(2, UPDATES):
        if minute % 6 == 0:
            yield [at(minute, "turn/end", turn=minute, reason={"kind": "aborted"}), *life(minute)[:2]]
        elif minute % 6 == 1:
            yield [at(minute, "turn/start", turn=minute, prompt="Go on"), *life(minute)]
        else:
            yield life(minute)


@pytest.mark.parametrize("is_open", [False, True], ids=["closed", "open"])
@pytest.mark.parametrize("width", [1180, 360])
def test_an_update_shifts_nothing_that_an_eye_follows(
    page: Page, shared_panel: Panel, width: int, is_open: bool
) -> None:
    session = new_session()
    shared_panel.append(session, at(0, "turn/start", turn=0), *life(0))
    page.set_viewport_size({"width": width, "height": 760})
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    if is_open:
        page.locator(f"{STRIP} > summary").click()
        page.wait_for_timeout(700)  # longer than a shift counts as the reader's own
    page.evaluate(WATCH)
    for events in updates():
        answer = shared_panel.append(session, *events).json()
        wait_live(page, answer["last_position"] - 1)
        page.wait_for_timeout(60)
    shifts = page.evaluate("window.shifts")
    assert sum(score for score, _ in shifts) < MAX_SHIFT, shifts
    page.evaluate("[...document.querySelectorAll('.tool-row')].at(-1).before(document.createElement('hr'))")
    page.wait_for_function("before => window.shifts.length > before", arg=len(shifts))  # it is watched


def told(type_: str, **data: Any) -> dict[str, Any]:
    return {"type": type_, "data": data}


def called(*names: str) -> list[dict[str, Any]]:
    """Calls with their results, each a row; a delegating one is awaited."""
    calls = [told("tool/call", call_id=name, name=name.partition("-")[0], arguments="{}") for name in names]
    results = [told("tool/result", call_id=name, is_error=False, text="ok") for name in names if name[:4] != "Task"]
    return [*calls, *results]


def born(panel: Panel, parent: str, number: int, **start: str) -> None:
    panel.append(
        f"{parent}-{number}", told("session/start", agent="codex", parent=parent, **start), told("turn/start", turn=1)
    )


def transitions(panel: Panel, session: str) -> Iterator[str]:
    """What makes a plan begin, agents appear, and a plan end, each named once it is done, with a new row or turn."""

    def write(notation: str, call: str) -> None:
        panel.append(session, *called(call), told("todo/write", todos=todos(notation), call_id=call))

    write("a=i b=p", "todo_write-1")
    yield "a first plan begins"
    panel.append(session, *called("Task-1"))
    born(panel, session, 1, title="Look around", parent_call="Task-1")
    yield "an agent appears below the newest row"
    panel.write(f"{session}-1", todos("x=i y=p"))
    yield "an agent's plan begins"
    born(panel, session, 2, title="Check the links")
    yield "an agent of no row appears"
    write("a=c b=c", "todo_write-2")
    panel.append(session, told("turn/end", turn=1, reason={"kind": "completed"}))
    yield "a plan is completed"
    panel.append(session, told("turn/start", turn=2, prompt="Go on"), *called("bash-z"))
    yield "a plan ends"
    write("c=i d=p", "todo_write-3")
    yield "a second plan begins"
    panel.append(session, told("viewer/retire"), *called("bash-y"))
    yield "a plan is retired"


@pytest.mark.parametrize(("width", "rows"), [(1180, 60), (360, 2), (360, 60)])
def test_a_plan_or_an_agent_that_comes_or_goes_shifts_nothing(
    page: Page, shared_panel: Panel, width: int, rows: int
) -> None:
    session = new_session()
    start = [told("session/start", agent="codex", title="Build"), told("turn/start", turn=1, prompt="Build it")]
    shared_panel.append(session, *start, *called(*(f"bash-{number}" for number in range(rows))))
    page.set_viewport_size({"width": width, "height": 760})
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    page.evaluate(WATCH)
    found = dict[str, Any]()
    for name in transitions(shared_panel, session):
        page.wait_for_timeout(200)  # longer than a frame of the stream
        found[name] = page.evaluate("window.shifts.splice(0)")
    assert page.evaluate("() => innerHeight + scrollY >= document.documentElement.scrollHeight - 1")  # at the newest
    assert sum(score for shifts in found.values() for score, _ in shifts) < MAX_SHIFT, found
    assert page.locator("#children .mini-strip").count() == 2
