"""Going back in a session, and forward again to now (spec.md §9)."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.record import STRIP, wait_live
from tests.running import Panel, new_session, todos


def story(panel: Panel) -> str:
    session = new_session()
    for written in ("a=i b=p", "a=c b=i", "a=c b=c"):
        panel.write(session, todos(written))
    return session


def wait_at(page: Page, position: int) -> None:
    page.wait_for_function(
        "position => document.querySelector('#live').dataset.position === position", arg=str(position)
    )


def test_the_slider_steps_from_write_to_write_by_key(page: Page, shared_panel: Panel) -> None:
    session = story(shared_panel)
    page.goto(f"{shared_panel.url}/sessions/{session}?at=8")
    expect(page.get_by_role("slider")).to_be_focused()  # from the start: nothing else need be found first
    page.keyboard.press("ArrowLeft")
    wait_at(page, 5)
    assert page.url.endswith("at=5")
    assert page.locator(f"{STRIP} [data-field=header]").text_content() == "1 completed\u2002·\u20021 in progress"
    page.keyboard.press("ArrowLeft")  # the slider has kept the focus
    wait_at(page, 2)
    page.keyboard.press("j")  # and leaves the other keys what they are
    expect(page.locator(".tool-row > summary").first).to_be_focused()
    page.reload()
    assert page.locator("#live").get_attribute("data-position") == "2"


def test_a_replay_runs_to_the_last_write(page: Page, shared_panel: Panel) -> None:
    session = story(shared_panel)
    page.goto(f"{shared_panel.url}/sessions/{session}?at=2")
    page.get_by_role("link", name="Play").click()
    wait_at(page, 5)
    wait_at(page, 8)
    assert page.locator(STRIP).count() == 1


def test_the_past_leads_back_to_a_live_page(page: Page, shared_panel: Panel) -> None:
    session = story(shared_panel)
    page.goto(f"{shared_panel.url}/sessions/{session}?at=2")
    shared_panel.write(session, todos("c=i"))
    assert page.get_by_text("The past").is_visible()
    page.get_by_role("link", name="Back to now").click()
    wait_live(page)
    assert page.locator(f"{STRIP} [data-field=header]").text_content() == "1 in progress"
    assert not page.get_by_text("The past").is_visible()


@pytest.mark.parametrize("path", ["/sessions/{}?at=5", "/embed/{}?at=5&open=1"])
def test_the_past_tells_when_its_plan_was_written_also_on_a_phone(page: Page, shared_panel: Panel, path: str) -> None:
    session = story(shared_panel)
    page.set_viewport_size({"width": 360, "height": 640})
    page.goto(shared_panel.url + path.format(session))
    expect(page.locator(f"{STRIP} .written")).to_have_text(re.compile(r"^last write: \d\d:\d\d$"))
    if path.startswith("/sessions"):
        expect(page.locator(f"{STRIP} .written")).to_be_visible()
        expect(page.get_by_text("Write 2 of 3")).to_be_in_viewport(ratio=1)
        expect(page.locator(".past-time")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize(("width", "lang"), [(360, "en"), (360, "zh"), (360, "de"), (1180, "de")])
def test_the_plans_of_a_session_are_told_whole(page: Page, shared_panel: Panel, width: int, lang: str) -> None:
    session = new_session()
    for written in ("a=c b=c c=i d=i e=p f=p g=p", "a=c b=c c=i d=i e=p f=p", "k=i l=p", "x=c y=i z=p"):
        shared_panel.append(session, {"type": "turn/start", "data": {"turn": 1}})
        shared_panel.write(session, todos(written))
    page.set_viewport_size({"width": width, "height": 760})
    page.goto(f"{shared_panel.url}/sessions/{session}?lang={lang}")
    if width < 1080:
        page.locator(".aside-summary").click()
    lines = page.locator(".plan-line")
    assert lines.count() == 3
    for part in page.locator(".plan-line > *").all():
        assert part.is_visible()
        assert part.evaluate(
            "part => part.scrollWidth <= part.clientWidth || getComputedStyle(part).overflow === 'visible'"
        )
        assert part.evaluate(
            """part => {
              const [one, line] = [part, part.parentElement].map((each) => each.getBoundingClientRect());
              return one.left >= line.left && one.right <= line.right && one.bottom <= line.bottom;
            }"""
        )
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
