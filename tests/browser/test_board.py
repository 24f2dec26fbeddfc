"""The board as a person watches it: it moves by itself, but never what they point at (issue: board, spec.md §8)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request

from tests.browser.record import wait_live
from tests.running import Panel, running, todos


@pytest.fixture
def panel(tmp_path: Path) -> Iterator[Panel]:
    with running(tmp_path / "plans.sqlite3") as panel:
        yield panel


def start(panel: Panel, session: str) -> None:
    panel.append(
        session,
        {"type": "session/start", "data": {"agent": "codex", "title": session}},
        {"type": "turn/start", "data": {"turn": 1}},
    )
    panel.write(session, todos("a=c b=i c=i"))


def wait(panel: Panel, session: str) -> None:
    panel.append(session, {"type": "turn/wait", "data": {"turn": 1, "for": "permission"}})


def wait_first(page: Page, title: str) -> None:
    page.wait_for_function("title => document.querySelector('.session-name')?.textContent.trim() === title", arg=title)


def test_sessions_appear_and_move_without_a_reload_on_one_stream(page: Page, panel: Panel) -> None:
    """R071, R077."""
    streams: list[str] = []
    page.on("request", lambda request: _note(request, streams))
    page.goto(panel.url)
    wait_live(page)
    assert page.get_by_text("No sessions yet").is_visible()
    start(panel, "older")
    page.wait_for_selector("text=older")
    start(panel, "newer")
    wait_first(page, "newer")
    wait(panel, "older")
    wait_first(page, "older")
    assert page.title() == "1 waiting for you · 1 working · planstrip"
    assert len(streams) == 1


def _note(request: Request, streams: list[str]) -> None:
    if "/stream" in request.url:
        streams.append(request.url)


def test_the_order_holds_still_under_the_pointer_and_is_made_good_after(page: Page, panel: Panel) -> None:
    start(panel, "older")
    start(panel, "newer")
    page.goto(panel.url)
    wait_live(page)
    page.locator(".session").first.hover()
    wait(panel, "older")
    page.wait_for_selector(".session:nth-of-type(2)[data-session-state=waiting]")  # what it has become is seen at once
    assert page.locator(".session-name").first.inner_text() == "newer"
    page.mouse.move(5, 5)
    wait_first(page, "older")


def test_what_was_opened_and_focused_survives(page: Page, panel: Panel) -> None:
    start(panel, "parent")
    panel.append("child", {"type": "session/start", "data": {"agent": "codex", "title": "child", "parent": "parent"}})
    page.goto(panel.url)
    wait_live(page)
    page.locator(".folded > summary").click()
    page.mouse.move(5, 5)
    panel.write("parent", todos("a=c b=c c=i"))
    page.wait_for_selector("text=2 completed")
    assert page.locator(".folded").get_attribute("open") is not None
    assert page.evaluate("() => document.activeElement.tagName") == "SUMMARY"


@pytest.mark.parametrize("width", [320, 360, 768, 1180])
def test_no_width_scrolls_sideways_or_clips_the_suffix(page: Page, panel: Panel, width: int) -> None:
    panel.append("s", {"type": "session/start", "data": {"agent": "codex", "title": "t" * 200, "cwd": "/" + "d" * 200}})
    contents = ["x" * 200, "y", "z"]
    panel.write("s", [{"content": content, "status": "in_progress"} for content in contents])
    page.set_viewport_size({"width": width, "height": 600})
    page.goto(panel.url)
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    suffix, row = page.locator("[data-field=suffix]").bounding_box(), page.locator(".session").bounding_box()
    assert suffix is not None
    assert row is not None
    assert suffix["x"] + suffix["width"] <= row["x"] + row["width"]
    assert suffix["height"] <= 24


def test_filters_that_are_cut_fade_out_there(page: Page, panel: Panel) -> None:
    mask = "() => getComputedStyle(document.querySelector('.filters')).maskImage"
    for agent in ("claude-code", "codex", "gemini-cli", "qwen-code", "kimi"):
        panel.append(agent, {"type": "session/start", "data": {"agent": agent}})
    page.goto(panel.url)
    assert page.evaluate(mask) == "none"
    page.set_viewport_size({"width": 320, "height": 600})
    page.wait_for_function(f"() => ({mask})() !== 'none'")
    at_start = page.evaluate(mask)
    page.locator(".filters").evaluate("filters => { filters.scrollLeft = 9999; }")
    page.wait_for_function(f"before => ({mask})() !== before", arg=at_start)


@pytest.mark.parametrize("width", [360, 600])
def test_a_phone_tells_whose_session_it_is_and_where(page: Page, panel: Panel, width: int) -> None:
    start = {"type": "session/start", "data": {"agent": "codex", "title": "t" * 80, "cwd": "/home/ann/" + "c" * 80}}
    panel.append("s", start)
    panel.write("s", todos("a=i b=p"))
    page.set_viewport_size({"width": width, "height": 640})
    page.goto(panel.url)
    place, agent = page.locator(".session .where").bounding_box(), page.locator(".session .agent").bounding_box()
    name = page.locator(".session .session-name").bounding_box()
    assert place is not None
    assert agent is not None
    assert name is not None
    assert place["width"] > 150
    assert agent["width"] > 20
    assert abs(place["y"] - agent["y"]) < 8
    assert place["y"] >= name["y"] + name["height"]
    assert page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
