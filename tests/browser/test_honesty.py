"""How sure the panel is, in the browser: silence, hours, agents below, and what a person brings back (spec.md §9)."""

import re
import time
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.record import STRIP, field, wait_live
from tests.running import Panel, new_session, todos

MINUTE_MS = 60_000
PLAN = "a=c b=i c=i d=p"


def ago(minutes: float, type_: str, **data: Any) -> dict[str, Any]:
    return {"type": type_, "data": data, "time": int(time.time() * 1_000 - minutes * MINUTE_MS)}


def show(page: Page, panel: Panel, *events: dict[str, Any]) -> str:
    session = new_session()
    assert panel.append(session, *events).status_code == 201
    page.goto(f"{panel.url}/sessions/{session}")
    wait_live(page)
    return session


def call(minutes: float, call_id: str = "c", name: str = "bash") -> dict[str, Any]:
    return ago(minutes, "tool/call", call_id=call_id, name=name, arguments="{}")


def turn(minutes: float, number: int = 1) -> dict[str, Any]:
    return ago(minutes, "turn/start", turn=number)


def plan(minutes: float) -> dict[str, Any]:
    return ago(minutes, "todo/write", todos=todos(PLAN))


def begin(panel: Panel, parent: str, *events: dict[str, Any], minutes: float = 12) -> str:
    kid = new_session()
    panel.append(kid, ago(minutes, "session/start", agent="codex", parent=parent, parent_call="t"), *events)
    return kid


def test_a_plan_that_is_retired_and_brought_back_is_no_fresher(page: Page, shared_panel: Panel) -> None:
    cut = ago(80, "turn/end", turn=1, reason={"kind": "aborted"})
    calls = [call(60 - number / 2, f"c{number}") for number in range(90)]
    show(page, shared_panel, turn(95), plan(90), cut, turn(70, 2), *calls, turn(2, 3))
    strip = page.locator(STRIP)
    before = strip.locator(".strip-ago").get_attribute("datetime"), field(strip, "notes")
    assert "may be out of date" in before[1]
    strip.locator("summary").click()
    page.get_by_role("button", name="Retire").click()
    page.get_by_role("button", name="Undo").click()
    expect(strip).to_have_attribute("data-caution", "stale")
    assert (strip.locator(".strip-ago").get_attribute("datetime"), field(strip, "notes")) == before


def test_the_turn_and_the_age_of_the_plan_are_no_one_sentence(page: Page, shared_panel: Panel) -> None:
    end = ago(2, "turn/end", turn=1, reason={"kind": "completed"})
    show(page, shared_panel, turn(200), plan(190), end)
    expect(page.locator(".strip-since")).to_have_text(re.compile(r"^last write: 3 hr\.? ago$"))
    expect(page.locator("[data-field=notes]")).to_have_text("turn ended with 3 open")


def test_a_long_silence_is_told_with_its_beginning(page: Page, shared_panel: Panel) -> None:
    session = show(page, shared_panel, turn(200), plan(190), call(185))
    since = page.locator("[data-field=quiet-since]")
    expect(since).to_have_text(re.compile(r"^no sign since .*\d\d:\d\d$"))
    expect(since).to_be_visible()
    expect(page.locator("[data-field=quiet]")).not_to_be_visible()
    expect(page.locator(".turn-unsure")).to_have_text("turn unknown")
    expect(page.locator(".sign")).to_have_text(re.compile(r"^no sign since .*\d\d:\d\d$"))
    expect(page.locator(".sign")).to_be_visible()
    expect(page.get_by_text("may be out of date")).to_be_visible()
    assert page.title().startswith("… 1/4 ")
    shared_panel.append(session, call(0, "d"))
    expect(since).not_to_be_visible()
    expect(page.locator(".turn-said")).to_be_visible()
    expect(page.locator(".sign")).not_to_be_visible()
    expect(page).to_have_title(f"1/4 {session} · planstrip")


def test_who_waits_for_a_person_is_not_called_silent(page: Page, shared_panel: Panel) -> None:
    show(page, shared_panel, turn(90), plan(80), call(61), ago(60, "turn/wait", turn=1, **{"for": "permission"}))
    expect(page.locator("[data-live]")).to_have_attribute("data-quiet", "long")
    expect(page.locator("[data-field=state]")).to_have_text("waiting for you")
    assert page.locator(".quiet:visible").count() == 0
    expect(page.locator(".strip-since")).to_have_text(re.compile(r"^last write: 1 hr\.? ago$"))


def test_caution_grows_by_the_hour_though_no_frame_comes(page: Page, shared_panel: Panel) -> None:
    page.clock.install()
    show(page, shared_panel, turn(1), plan(1), call(0))
    strip = page.locator(STRIP)
    expect(strip).to_have_attribute("data-caution", "fresh")
    late = strip.get_by_text("may be out of date")
    expect(late).not_to_be_visible()
    height = strip.evaluate("strip => strip.closest('.dock').offsetHeight")
    for hours, caution in ((1, "aging"), (2, "stale")):
        page.clock.fast_forward(hours * 60 * MINUTE_MS)
        expect(strip).to_have_attribute("data-caution", caution)
    expect(late).to_be_visible()
    assert strip.evaluate("strip => strip.closest('.dock').offsetHeight") == height  # nothing moved


def test_silence_is_said_too(page: Page, shared_panel: Panel) -> None:
    page.clock.install()
    show(page, shared_panel, turn(1), plan(1), call(0))
    page.clock.fast_forward(6 * MINUTE_MS)
    said = page.locator("[data-saying]")
    expect(said).to_have_text("1 of 4 completed; no sign for 5 min; was at: b and 1 more", timeout=30_000)
    expect(page.locator("[data-field=quiet]")).to_be_visible()


def test_an_agent_that_waits_is_seen_on_its_parents_page(page: Page, shared_panel: Panel) -> None:
    boss = show(page, shared_panel, turn(30), plan(3), call(1, "t", "Task"))
    kid = begin(shared_panel, boss, turn(1))
    notes, word = page.locator("[data-field=notes]"), page.locator("#children .mini-state")
    expect(notes).to_have_text("1 agent working")
    shared_panel.append(kid, ago(0, "todo/write", todos=todos("x=i")))
    expect(word).to_have_text("working")
    shared_panel.append(kid, ago(0, "turn/wait", turn=1, **{"for": "permission"}))
    expect(notes).to_have_text("1 agent waits for you")
    expect(word).to_have_text("waiting for you")
    expect(page).to_have_title(f"? 1/4 {boss} · planstrip")
    expect(page.locator("[data-field=state]")).to_have_text("working")
    shared_panel.append(kid, ago(0, "turn/resume", turn=1), ago(0, "turn/end", turn=1, reason={"kind": "completed"}))
    expect(notes).to_have_count(0)
    expect(page).to_have_title(f"1/4 {boss} · planstrip")


def test_who_delegates_is_not_silent_while_the_agent_works(page: Page, shared_panel: Panel) -> None:
    boss = new_session()
    shared_panel.append(boss, turn(30), plan(29), call(12, "t", "Task"))
    kid = begin(shared_panel, boss, turn(12), call(0.2))
    page.goto(f"{shared_panel.url}/sessions/{boss}")
    wait_live(page)
    for step in range(2):
        assert page.locator("[data-quiet]").count() == 0
        expect(page.locator(".turn-said")).to_be_visible()
        shared_panel.append(kid, ago(0, "todo/write", todos=todos(f"x{step}=i")))
        expect(page.locator("#children [data-field=child]")).to_have_text(f"0/1 completed · x{step}")


@pytest.mark.parametrize(("width", "lines"), [(1180, 1), (768, 1), (360, 4)])
def test_the_strip_has_one_line_of_notes_and_nothing_of_it_is_cut_off(
    page: Page, shared_panel: Panel, width: int, lines: int
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    calls = [call(20, f"c{number}") for number in range(45)]
    boss = show(page, shared_panel, turn(200), plan(190), turn(60, 2), *calls, call(1, "t", "Task"))
    for state in ({"type": "turn/wait", "data": {"turn": 1, "for": "permission"}}, call(0)):
        begin(shared_panel, boss, turn(1), state)
    page.get_by_text("1 agent working").wait_for()
    boxes = page.locator(".strip-notes > :visible, .notes > .note").evaluate_all(
        "notes => notes.map((note) => note.getBoundingClientRect()).map(({ top, right }) => [top, right])"
    )
    assert len({round(top) for top, _ in boxes if top}) <= lines
    assert all(right <= width for _, right in boxes)
    counts = page.locator("[data-field=header]")
    assert counts.evaluate("it => it.scrollWidth <= it.clientWidth && it.getBoundingClientRect().right <= innerWidth")
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("case", ["running", "quiet", "done"])
def test_a_folded_strip_on_a_phone_tells_its_age(page: Page, shared_panel: Panel, case: str) -> None:
    """Once it is one to tell: younger than ten minutes it is one line (R115), unless the agent fell silent."""
    done = [ago(12, "todo/write", todos=todos("a=c")), ago(11, "turn/end", turn=1, reason={"kind": "completed"})]
    page.set_viewport_size({"width": 360, "height": 640})
    show(page, shared_panel, turn(30), *(done if case == "done" else [plan(8 if case == "quiet" else 12)]))
    if case == "running":
        shared_panel.append(page.url.rpartition("/")[2], call(0))
    age = page.locator(f"{STRIP} .note-age")
    expect(age).to_be_visible()
    expect(age).to_have_text(re.compile(r"^last write: \d+ min\.? ago$"))
    assert page.locator(STRIP).evaluate("strip => !strip.open")
