"""The timeline in a browser: it moves while it is watched, names times in the reader's zone and fits any width."""

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.record import STRIP, wait_live
from tests.running import Panel, new_session, todos

LANES = "#timeline .lane"
MINUTE_MS = 60_000
START_MS = 1_764_500_400_000  # 2025-11-30T11:00:00Z


def write(text: str, minute: float) -> dict[str, object]:
    return {"type": "todo/write", "data": {"todos": todos(text)}, "time": int(START_MS + minute * MINUTE_MS)}


def test_a_task_completed_while_watching_ends_its_bar_in_a_ring_and_shifts_nothing(
    page: Page, shared_panel: Panel
) -> None:
    session = new_session()
    shared_panel.append(session, write("a=i b=p", 0), write("a=i b=i", 2))
    page.set_viewport_size({"width": 1180, "height": 760})
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    page.locator(f"{STRIP} > summary").click()
    first = page.locator(LANES).first
    assert first.locator(".now").count() == 1
    assert first.locator(".finished").count() == 0
    before = [page.locator(STRIP).bounding_box(), page.locator("#timeline").bounding_box()]
    shared_panel.append(session, write("a=c b=i", 4))
    page.wait_for_selector(f"{LANES} .finished", state="attached")
    assert first.locator(".now").count() == 0
    ring, bar = first.locator(".finished").bounding_box(), first.locator(".working").bounding_box()
    assert ring is not None
    assert bar is not None
    assert ring["x"] + ring["width"] / 2 == pytest.approx(bar["x"] + bar["width"] - bar["height"] / 2, abs=1)
    assert [page.locator(STRIP).bounding_box(), page.locator("#timeline").bounding_box()] == before
    assert page.locator(f"{STRIP}[open]").count() == 1
    assert page.locator(f"{STRIP} [data-status=completed] .worked").text_content() == "4 min"


def test_times_are_named_in_the_readers_zone(browser: Browser, shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, write("a=i", 0), write("a=c", 20))
    context = browser.new_context(timezone_id="Asia/Kolkata", locale="en-GB", viewport={"width": 1180, "height": 700})
    page = context.new_page()
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    names = [name.text_content() for name in page.locator("#timeline time").all()]
    assert names[0] == "16:30"
    assert len(names) >= 3
    context.close()


@pytest.mark.parametrize("width", [240, 360, 768, 1080, 1400])
def test_sixty_tasks_fit_any_width(page: Page, shared_panel: Panel, width: int) -> None:
    session = new_session()
    listed = " ".join(f"{'long' * 20}{number}={'c' if number < 30 else 'i'}" for number in range(70))
    ended = {
        "type": "turn/end",
        "data": {"turn": 1, "reason": {"kind": "completed"}},
        "time": START_MS + 40 * MINUTE_MS,
    }
    shared_panel.append(session, write(listed.replace("=i", "=p").replace("=c", "=i"), 0), write(listed, 30), ended)
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    if width < 1080:
        assert not page.locator("#timeline").is_visible()
        page.locator(".aside-summary").click()
    assert page.locator(LANES).count() == 60
    assert page.locator("#timeline .timeline-hidden").text_content() == "10 more tasks"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    plot, drawing = page.locator("#timeline .plot").bounding_box(), page.locator("#timeline .drawing").bounding_box()
    assert plot is not None
    assert drawing is not None
    assert drawing["width"] >= plot["width"] / 3
    assert drawing["x"] + drawing["width"] <= plot["x"] + plot["width"]


def test_without_a_script_the_timeline_is_all_there(browser: Browser, shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, write("a=i", 0), write("a=c", 20))
    context = browser.new_context(java_script_enabled=False, viewport={"width": 360, "height": 700})
    page = context.new_page()
    page.goto(f"{shared_panel.url}/sessions/{session}")
    page.locator(".aside-summary").click()
    assert page.get_by_text("1 task at a time over 20 min of work").is_visible()
    assert page.locator("#timeline time").first.text_content() == "11:00"
    context.close()
