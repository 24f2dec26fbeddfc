"""The layout pins of spec.md §7: the suffix is never clipped, and a page never scrolls sideways."""

import pytest
from playwright.sync_api import Page

from tests.browser.record import STRIP
from tests.running import Panel, new_session

NAMES = {"words": "check the row at every width " * 7, "unbroken": "x" * 200}
WIDTHS = (200, 240, 320, 480)
MEASURE = """() => {
  const row = document.querySelector("[data-plan]");
  const box = (element) => element.getBoundingClientRect();
  const inner = (name) => row.querySelector(`[data-field=${name}]`);
  const [outer, suffix, summary, style] = [box(row), box(inner("suffix")), box(inner("summary")), getComputedStyle];
  return {
    isInside: suffix.left >= outer.left && suffix.right <= outer.right && suffix.top >= outer.top,
    lines: suffix.height / parseFloat(style(inner("suffix")).lineHeight),
    width: suffix.width,
    type: [style(inner("suffix")).fontSize, style(inner("suffix")).lineHeight],
    sameType: [style(inner("summary")).fontSize, style(inner("summary")).lineHeight],
    summaryWidth: summary.width,
    font: parseFloat(style(inner("summary")).fontSize),
    sideways: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  };
}"""


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", NAMES)
def test_the_suffix_is_whole_at_every_width(page: Page, shared_panel: Panel, lang: str, name: str) -> None:
    session = new_session()
    active = [{"content": f"{NAMES[name].strip()} {n}", "status": "in_progress"} for n in range(12)]
    assert shared_panel.write(session, active).status_code == 200
    page.goto(f"{shared_panel.url}/sessions/{session}?lang={lang}")
    page.set_viewport_size({"width": 1000, "height": 700})
    wide = page.evaluate(MEASURE)
    assert wide["type"] == wide["sameType"] == ["14px", "24px"]
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 700})
        narrow = page.evaluate(MEASURE)
        assert narrow["isInside"], width
        assert narrow["lines"] == 1, width
        assert narrow["width"] == wide["width"], width
        assert narrow["summaryWidth"] >= 4 * narrow["font"] / 2, width  # four characters of half a square each
        assert narrow["sideways"] <= 0, width
        page.locator(STRIP).locator("summary").click()
        assert page.evaluate(MEASURE)["sideways"] <= 0, width
        page.locator(STRIP).locator("summary").click()


def test_a_narrow_row_gives_its_width_to_the_summary(page: Page, shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, [{"content": "a", "status": "in_progress"}, {"content": "b", "status": "in_progress"}])
    page.set_viewport_size({"width": 240, "height": 700})
    page.goto(f"{shared_panel.url}/sessions/{session}")
    row = page.locator("[data-plan]")
    title = row.locator("[data-field=title]").bounding_box()
    assert title is not None
    assert title["width"] <= 1  # hidden to the eye, still said to assistive technology
    assert not row.locator("time").is_visible()


@pytest.mark.parametrize("path", ["/", "/embed/{}?open=1", "/docs", "/sign-in", "/nowhere"])
@pytest.mark.parametrize("width", [200, 360])
def test_no_page_scrolls_sideways(page: Page, shared_panel: Panel, path: str, width: int) -> None:
    session = new_session()
    shared_panel.append(
        session, {"type": "session/start", "data": {"agent": "codex", "title": "t" * 300, "cwd": "/" + "c" * 300}}
    )
    shared_panel.write(
        session, [{"content": "x" * 300, "status": "in_progress"}, {"content": "y", "status": "pending"}]
    )
    page.set_viewport_size({"width": width, "height": 700})
    page.goto(shared_panel.url + path.format(session))
    assert page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_the_header_of_an_open_strip_stays_docked_above_a_long_session(page: Page, shared_panel: Panel) -> None:
    session = new_session()
    for n in range(60):
        shared_panel.write(session, [{"content": f"step {n}", "status": "in_progress"}])
    page.goto(f"{shared_panel.url}/sessions/{session}")
    page.evaluate("() => window.scrollTo(0, 400)")
    box = page.locator(STRIP).bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 100
