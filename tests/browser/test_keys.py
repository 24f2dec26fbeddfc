"""What a person does with keys, marks and notifications, kept in their browser (spec.md §9; reports.md R105, R153)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from planstrip.web.board import ROWS
from tests.browser.record import STRIP, wait_live
from tests.running import Panel, new_session, running, todos

TURN = {"type": "turn/start", "data": {"turn": 1}}
WAIT = {"type": "turn/wait", "data": {"turn": 1, "for": "permission"}}
RESUME = {"type": "turn/resume", "data": {"turn": 1}}
CAUGHT = """() => {
  window.told = [];
  window.Notification = class {
    static permission = "granted";
    static requestPermission = async () => "granted";
    constructor(title, options) { window.told.push([title, options.body, options.tag]); }
  };
}"""


@pytest.fixture
def panel(tmp_path: Path) -> Iterator[Panel]:
    with running(tmp_path / "plans.sqlite3") as panel:
        yield panel


def start(panel: Panel, session: str) -> None:
    panel.append(session, {"type": "session/start", "data": {"agent": "codex", "title": session}}, TURN)
    panel.write(session, todos("a=i"))


def focused(page: Page) -> str:
    return str(page.evaluate("() => document.activeElement.textContent.trim()"))


def test_keys_go_from_session_to_session_and_open_one(page: Page, panel: Panel) -> None:
    for session in ("third", "second", "first"):
        start(panel, session)
    page.goto(panel.url)
    wait_live(page)
    for key, expected in (("j", "first"), ("j", "second"), ("j", "third"), ("j", "third"), ("k", "second")):
        page.keyboard.press(key)
        assert focused(page) == expected
    page.keyboard.press("/")
    page.keyboard.type("jk?")
    assert page.locator("[type=search]").input_value() == "jk?"
    page.keyboard.press("Tab")
    page.keyboard.press("j")
    page.keyboard.press("o")
    page.wait_for_url("**/sessions/*")


def test_keys_open_the_plan_and_the_rows_and_tell_themselves(page: Page, shared_panel: Panel) -> None:
    """R105."""
    session = new_session()
    shared_panel.append(session, TURN)
    shared_panel.write(session, todos("a=i"))
    page.goto(f"{shared_panel.url}/sessions/{session}")
    page.keyboard.press("o")
    assert page.locator(STRIP).get_attribute("open") is not None
    page.keyboard.press("j")
    page.keyboard.press("o")
    assert page.locator("[data-tool]").get_attribute("open") is not None
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    assert page.locator("#keys kbd").all_text_contents() == ["j", "k", "o", "?"]  # nothing to search here
    page.keyboard.press("Escape")
    assert not page.locator("#keys").is_visible()
    page.keyboard.press("Control+o")  # the browser's own are left alone
    assert page.locator("[data-tool]").get_attribute("open") is not None


def test_a_pinned_session_stays_on_top_and_a_muted_one_below(page: Page, panel: Panel) -> None:
    for session in ("third", "second", "first"):
        start(panel, session)
    page.goto(panel.url)
    wait_live(page)

    def shown() -> list[str]:
        boxes = [
            (row.bounding_box(), row.locator(".session-name").inner_text()) for row in page.locator(".session").all()
        ]
        return [name for box, name in sorted(boxes, key=lambda pair: pair[0]["y"] if pair[0] else 0)]

    row = page.locator(".session", has_text="third")
    row.hover()
    row.get_by_role("button", name="Pin").click()
    page.locator(".session", has_text="first").get_by_role("button", name="Mute").click()
    page.mouse.move(2, 2)
    assert shown() == ["third", "second", "first"]
    panel.append("second", WAIT)
    page.wait_for_selector(".session[data-session-state=waiting]")
    assert shown() == ["third", "second", "first"]
    page.reload()
    assert shown() == ["third", "second", "first"]
    expect(row.get_by_role("button", name="Pin")).to_have_attribute("aria-pressed", "true")


def test_a_pinned_session_comes_to_the_first_page_from_beyond_it_and_goes_back(page: Page, panel: Panel) -> None:
    for number in range(ROWS + 2):
        start(panel, f"s{number:02}")
    page.goto(panel.url)
    wait_live(page)
    page.get_by_role("link", name="More sessions").click()
    row, first = page.locator(".session", has_text="s00"), page.locator(".session-name").first
    row.hover()
    row.get_by_role("button", name="Pin").click()
    page.goto(panel.url)
    assert first.inner_text() == "s00"  # as it comes, before any script or stream
    wait_live(page)
    assert page.locator(".session").count() == ROWS + 1
    panel.append(f"s{ROWS + 1}", WAIT)
    page.wait_for_selector(".session[data-session-state=waiting]")
    assert first.inner_text() == "s00"
    row.hover()
    row.get_by_role("button", name="Pin").click()
    page.mouse.move(2, 2)
    expect(row).to_have_count(0)  # over the stream that was asked anew
    assert first.inner_text() == f"s{ROWS + 1}"


def test_a_muted_session_does_not_count_in_the_tab_from_the_click_on(page: Page, panel: Panel) -> None:
    for session in ("still", "loud"):
        start(panel, session)
        panel.append(session, WAIT)
    page.goto(panel.url)
    wait_live(page)
    assert page.title() == "2 waiting for you · planstrip"
    row = page.locator(".session", has_text="still")
    row.hover()
    row.get_by_role("button", name="Mute").click()
    expect(page).to_have_title("1 waiting for you · planstrip")
    page.reload()
    assert page.title() == "1 waiting for you · planstrip"
    wait_live(page)
    panel.append("still", RESUME)
    panel.append("loud", RESUME)
    expect(page).to_have_title("1 working · planstrip")


def test_a_session_that_waits_or_is_done_tells_so_once_with_the_readers_leave(page: Page, panel: Panel) -> None:
    """R153."""
    page.add_init_script(f"({CAUGHT})()")
    start(panel, "s")
    page.goto(f"{panel.url}/sessions/s")
    wait_live(page)
    panel.append("s", WAIT)
    expect(page.locator("[data-field=state]")).to_have_text("waiting for you")
    assert page.evaluate("() => window.told") == []  # nobody asked for it
    panel.append("s", RESUME)
    page.get_by_role("button", name="Notifications").click()
    page.wait_for_function("() => document.querySelector('[data-notify]')?.getAttribute('aria-pressed') === 'true'")
    wait_live(page)
    panel.append("s", WAIT)
    page.wait_for_function("() => window.told.length === 1")
    assert page.evaluate("() => window.told[0].slice(0, 2)") == ["s", "waiting for you"]
    panel.append("s", {"type": "tool/call", "data": {"call_id": "c", "name": "b", "arguments": "{}"}})
    page.wait_for_selector("[data-tool=b]")
    page.reload()
    wait_live(page)
    assert page.evaluate("() => window.told") == []  # what stood on arrival is no news
    panel.write("s", todos("a=c"))
    panel.append("s", {"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "completed"}}})
    page.wait_for_function("() => window.told.some(([, body]) => body === 'done')")
    assert page.title() == "\u2713 1/1 s · planstrip"


def test_a_tab_that_asked_to_be_told_hears_in_the_background(context: BrowserContext, panel: Panel) -> None:
    """R153."""
    page = context.new_page()
    page.add_init_script(f"({CAUGHT})(); localStorage.setItem('planstrip:notify', '1')")
    start(panel, "s")
    page.goto(panel.url)
    wait_live(page)
    page.evaluate(
        "() => { Object.defineProperty(document, 'hidden', { get: () => true });"
        " document.dispatchEvent(new Event('visibilitychange')); }"
    )
    panel.append("s", WAIT)
    page.wait_for_function("() => window.told.length === 1")
    assert panel.parts.hub.viewers == 1


def test_a_session_tells_that_it_waits_also_one_that_the_page_had_not_shown(page: Page, panel: Panel) -> None:
    """R153: one beyond the board's first page, and one that is new; once each, and nothing on a reload."""
    page.add_init_script(f"({CAUGHT})(); localStorage.setItem('planstrip:notify', '1')")
    start(panel, "beyond")
    for number in range(52):
        panel.append(f"s{number}", {"type": "session/start", "data": {"agent": "codex"}}, TURN)
    page.goto(panel.url)
    wait_live(page)
    assert page.locator(".session", has_text="beyond").count() == 0
    panel.append("beyond", WAIT)
    page.wait_for_function("() => window.told.length === 1")
    start(panel, "new")
    panel.append("new", WAIT)
    page.wait_for_function("() => window.told.length === 2")
    old = {"type": "turn/start", "data": {"turn": 1}, "time": 1_700_000_000_000}
    panel.append("imported", old, WAIT | {"time": 1_700_000_000_000})
    panel.append("new", RESUME)
    page.wait_for_selector(".session[data-session-state=working] >> text=new")
    assert [name for name, *_ in page.evaluate("() => window.told")] == ["beyond", "new"]
    panel.append("new", WAIT)
    page.wait_for_function("() => window.told.length === 3")
    page.reload()
    wait_live(page)
    assert page.evaluate("() => window.told") == []


def test_a_frame_has_no_keys(page: Page, shared_panel: Panel) -> None:
    """R105."""
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    page.goto(f"{shared_panel.url}/embed/{session}")
    page.keyboard.press("o")
    assert page.locator(STRIP).get_attribute("open") is None
