"""What assistive technology hears of an update, and that the focus survives one (reports.md R089, R125, R126)."""

from itertools import pairwise

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.record import STRIP, wait_live
from tests.browser.states import CUT, END, TURN, call, result
from tests.running import Panel, new_session, todos

LINE = "[role=status]"
LISTEN = """line => {
  window.heard = [];
  new MutationObserver(() => window.heard.push([performance.now(), line.textContent]))
    .observe(line, { childList: true, characterData: true, subtree: true });
}"""
PAUSE_MS = 3_000


def heard(page: Page) -> list[str]:
    return [text for _, text in page.evaluate("() => window.heard")]


def test_a_burst_is_one_message_and_what_changes_nothing_is_none(
    page: Page, browser: Browser, shared_panel: Panel
) -> None:
    """On a session's page and in a frame, both at once: what is waited for takes its time."""
    session = new_session()
    shared_panel.append(session, TURN)
    shared_panel.write(session, todos("a=i b=p c=p"))
    pages = [page, browser.new_page()]
    for one, kind in zip(pages, ("sessions", "embed"), strict=True):
        one.goto(f"{shared_panel.url}/{kind}/{session}")
        one.locator(LINE).evaluate(LISTEN)
        wait_live(one)
    page.wait_for_timeout(PAUSE_MS + 500)
    assert [heard(one) for one in pages] == [[], []]  # silent on arrival
    for number in range(10):
        shared_panel.write(session, todos("a=c b=i c=p" if number % 2 else "a=c c=p b=i"))
        page.wait_for_timeout(500)
    for one in pages:
        one.wait_for_function("() => window.heard.length")
    page.wait_for_timeout(PAUSE_MS + 500)
    for one in pages:
        assert set(heard(one)) == {"1 of 3 completed; now: b"}
        assert len(heard(one)) == 1  # ten writes, none of which changed what is said
    for number in range(12):
        shared_panel.write(session, todos("a=c b=c c=i d=i" if number % 2 else "a=c b=i c=p d=p"))
        page.wait_for_timeout(400)
    shared_panel.write(session, todos("a=c b=c c=c d=c"))
    for one in pages:
        one.wait_for_function("() => window.heard.at(-1)[1] === 'All 4 completed'")
        times = [time for time, _ in one.evaluate("() => window.heard")]
        assert min(later - earlier for earlier, later in pairwise(times)) >= PAUSE_MS - 200
    pages[1].close()


def test_a_lost_stream_is_said_and_so_is_where_the_plan_stands_after(page: Page, shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=c b=i"))
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    page.locator("#live").evaluate("live => live.dispatchEvent(new CustomEvent('htmx:sse:error'))")
    expect(page.locator(LINE)).to_contain_text("lost since")
    shared_panel.append(session, call("a"))
    expect(page.locator(LINE)).to_have_text("1 of 2 completed; now: b")


def test_no_region_that_announces_holds_the_rows_or_the_strip(page: Page, shared_panel: Panel) -> None:
    """R125."""
    session = new_session()
    shared_panel.append(session, TURN, call("a"))
    shared_panel.write(session, todos("a=i"))
    for kind in ("sessions", "embed"):
        page.goto(f"{shared_panel.url}/{kind}/{session}")
        announcing = page.locator("[aria-live], [role=status], [role=alert], [role=log], output")
        assert announcing.count() == 1
        assert announcing.locator("*").count() == 0


def focus(page: Page, selector: str) -> None:
    page.locator(selector).first.focus()
    page.locator(selector).first.evaluate("one => { window.held = one; }")


@pytest.mark.parametrize(
    "selector",
    [
        f"{STRIP} > summary",
        f"{STRIP} .content",
        f"{STRIP} .todo-row",
        ".dismiss",
        ".act:has-text('Retire')",
        ".act:has-text('Copy')",
        "a.revision-time",
        "[data-tool=bash] > summary",
        "[data-tool] dd",
        ".plot",
    ],
)
def test_the_focus_stays_where_it_is_through_frames(page: Page, shared_panel: Panel, selector: str) -> None:
    session = new_session()
    shared_panel.append(session, TURN, call("a"), result("a"))
    for written in ("z=i y=p", "a=i b=p c=p"):
        shared_panel.write(session, todos(written))
    page.set_viewport_size({"width": 1180, "height": 800})
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    for summary in (f"{STRIP} > summary", "[data-tool=bash] > summary"):
        page.locator(summary).click()
    focus(page, selector)
    for written in ("a=c b=i c=p", "a=c b=c c=i"):
        shared_panel.append(session, call(written))
        wait_live(page, shared_panel.write(session, todos(written)).json()["position"])
        assert page.evaluate("() => document.activeElement === window.held")


@pytest.mark.parametrize("selector", [".session-link", "[data-mark=pinned]", ".folded > summary", ".mini-name"])
def test_the_focus_stays_on_a_board_that_moves(page: Page, panel: Panel, selector: str) -> None:
    for name in ("other", "boss"):
        panel.append(name, {"type": "session/start", "data": {"agent": "codex", "title": name}}, TURN)
        panel.write(name, todos("a=i b=p"))
    panel.append("kid", {"type": "session/start", "data": {"agent": "codex", "title": "kid", "parent": "boss"}})
    page.goto(panel.url)
    wait_live(page)
    page.locator(".folded > summary").click()
    page.locator(".session", has_text="boss").locator(selector).first.focus()
    page.evaluate("() => { window.held = document.activeElement; }")
    for written, then in (("a=c b=i", CUT), ("a=c b=c", END)):
        panel.append("other", TURN)
        panel.write("boss", todos(written))
        panel.append("other", then)
        page.locator(".session", has_text="boss").get_by_text(f"{written.count('=c')} completed").first.wait_for()
        assert page.evaluate("() => document.activeElement === window.held")


def test_the_focus_goes_on_to_what_takes_the_place_of_what_is_gone(page: Page, shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, TURN)
    for written in ("x=i y=p z=p", "a=i"):
        shared_panel.write(session, todos(written))
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    page.locator(f"{STRIP} > summary").press("Enter")
    page.locator(".dismiss").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".dismiss")).to_have_count(2)
    page.wait_for_function("() => document.activeElement.matches('[data-unlisted] *')")


def test_the_focus_follows_a_plan_that_is_retired_and_comes_back(page: Page, shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    page.locator(f"{STRIP} > summary").press("Enter")
    page.get_by_role("button", name="Retire").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(f"{STRIP} > summary")).to_be_focused()
