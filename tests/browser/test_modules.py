"""Each script of ours in the browser: times, theme, origin, and motion that only truth moves."""

import time

from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.record import STRIP, field, wait_live
from tests.running import Panel, new_session, todos

MINUTE_MS = 60_000
MOVING = """() => document.getAnimations()
  .filter((animation) => animation.effect.getComputedTiming().iterations === Infinity)
  .map((animation) => animation.effect.target.closest("[data-tool], [data-status]").dataset)
  .map((data) => data.tool ?? data.status)"""
ANIMATION = "glyph => getComputedStyle(glyph).animationName"


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def working(panel: Panel, session: str, age_ms: int = 0) -> None:
    """A running turn with a running call and a plan, its last event `age_ms` ago."""
    at = now_ms() - age_ms
    todo = {"content": "a", "status": "in_progress"}
    panel.append(
        session,
        {"type": "turn/start", "data": {"turn": 1}, "time": at},
        {"type": "tool/call", "data": {"call_id": "a", "name": "bash", "arguments": "{}"}, "time": at},
        {"type": "todo/write", "data": {"todos": [todo]}, "time": at},
    )


def open_strip(page: Page) -> None:
    page.locator(STRIP).locator("summary").click()


def test_times_are_shown_in_the_readers_zone_also_those_that_a_push_brings(
    browser: Browser, shared_panel: Panel
) -> None:
    session = new_session()
    noon = {"type": "turn/start", "data": {"turn": 1}, "time": 1_796_040_000_000}  # 2026-11-30T12:00Z
    shared_panel.append(session, noon)
    context = browser.new_context(timezone_id="Asia/Tokyo")
    page = context.new_page()
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    assert "21:00" in (page.locator(".turn-label time").text_content() or "")
    shared_panel.append(session, noon | {"data": {"turn": 2}})
    page.wait_for_function("() => document.querySelectorAll('.turn-label').length === 2")
    assert "21:00" in (page.locator(".turn-label time").last.text_content() or "")
    context.close()


def test_the_theme_is_chosen_once_and_kept_and_the_address_wins(page: Page, shared_panel: Panel) -> None:
    page.goto(shared_panel.url)
    background = "() => getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    for _ in range(2):  # system, light, dark
        page.locator("[data-theme-switch]").click()
    dark = page.evaluate(background)
    assert dark != light
    page.reload()
    assert page.evaluate(background) == dark
    page.goto(f"{shared_panel.url}/?theme=light")
    assert page.evaluate(background) == light


def test_the_first_page_names_the_command_for_this_very_panel(page: Page, panel: Panel) -> None:
    page.goto(panel.url)
    assert f"curl {panel.url}/api/sessions/demo/todo_write" in (page.locator("pre").first.text_content() or "")


def test_a_glyph_turns_while_a_turn_runs_and_rests_when_it_has_ended(page: Page, shared_panel: Panel) -> None:
    """R016."""
    session = new_session()
    working(shared_panel, session)
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    open_strip(page)
    glyph = page.locator(f"{STRIP} [data-status=in_progress] > .glyph")
    assert glyph.evaluate(ANIMATION) == "turn"
    ended = shared_panel.append(session, {"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "completed"}}})
    wait_live(page, ended.json()["last_position"])
    assert glyph.evaluate(ANIMATION) == "none"


def test_after_five_minutes_without_an_event_motion_stops_and_the_page_says_so(page: Page, shared_panel: Panel) -> None:
    session = new_session()
    working(shared_panel, session, age_ms=6 * MINUTE_MS)
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    open_strip(page)
    assert page.get_by_text("no sign for 5 min").is_visible()
    assert page.locator(f"{STRIP} [data-status=in_progress] > .glyph").evaluate(ANIMATION) == "none"
    shared_panel.append(session, {"type": "tool/result", "data": {"call_id": "a", "is_error": False, "text": ""}})
    page.get_by_text("no sign for 5 min").wait_for(state="hidden")
    assert page.locator(f"{STRIP} [data-status=in_progress] > .glyph").evaluate(ANIMATION) == "turn"


def test_nothing_moves_but_what_is_worked_on_now(page: Page, shared_panel: Panel) -> None:
    """R007, R015, R017: no row of the past, and no to-do once none is in progress, though the turn goes on."""
    session = new_session()
    working(shared_panel, session)
    shared_panel.write(session, todos("a=i b=p"))
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    open_strip(page)
    assert sorted(page.evaluate(MOVING)) == ["bash", "in_progress"]
    position = shared_panel.write(session, todos("a=c b=c")).json()["position"]
    wait_live(page, position)
    expect(page.locator("[data-plan]")).to_have_count(2)
    assert page.evaluate(MOVING) == ["bash"]
    shared_panel.append(session, {"type": "tool/result", "data": {"call_id": "a", "is_error": False, "text": ""}})
    page.wait_for_selector("[data-tool=bash][data-state=ok]")
    assert page.evaluate(MOVING) == []
    assert page.get_by_text("turn running").is_visible()


def test_reduced_motion_changes_the_shape_and_moves_nothing(browser: Browser, shared_panel: Panel) -> None:
    """R127, R164: who takes pictures waits for a position, and nothing moves afterwards."""
    session = new_session()
    working(shared_panel, session)
    context: BrowserContext = browser.new_context(reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page, 3)
    open_strip(page)
    assert page.evaluate(MOVING) == []
    assert page.screenshot() == page.screenshot()
    glyph = page.locator(f"{STRIP} [data-status=in_progress] > .glyph")
    assert glyph.evaluate(ANIMATION) == "none"
    assert glyph.evaluate("glyph => getComputedStyle(glyph).getPropertyValue('--arc')") != "1"  # no stuck spinner
    context.close()


def test_a_page_that_was_hidden_catches_up_and_is_live_again(page: Page, shared_panel: Panel) -> None:
    """R075."""
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    hide = """isHidden => {
      Object.defineProperty(document, "hidden", { value: isHidden, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    page.evaluate(hide, True)
    page.wait_for_selector("[data-live=catching-up]")
    for written in ("a=i b=p", "a=c b=i", "a=c"):
        position = shared_panel.write(session, todos(written)).json()["position"]
    page.evaluate(hide, False)
    wait_live(page, position)
    assert field(page.locator(STRIP), "header") == "1 completed"
