"""The layout pins of spec.md §7: the suffix is never clipped, and a page never scrolls sideways."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.record import STRIP, field, wait_live
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
    """R029, R109."""
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
    """R115."""
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
    """R106."""
    session = new_session()
    for n in range(60):
        shared_panel.write(session, [{"content": f"step {n}", "status": "in_progress"}])
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    page.evaluate("() => window.scrollTo(0, 400)")
    box = page.locator(STRIP).bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 100
    position = shared_panel.write(session, [{"content": "step 59", "status": "completed"}]).json()["position"]
    wait_live(page, position)
    assert page.locator(STRIP).bounding_box() == box
    assert field(page.locator(STRIP), "header") == "1 completed"
    assert page.locator("[data-plan]").count() == 61
    assert page.evaluate("() => window.scrollY") == 400


def test_a_phone_shows_the_plan_in_a_line_that_a_finger_can_open(browser: Browser, shared_panel: Panel) -> None:
    """R105, R115: without any action; opened, the list scrolls inside its own box."""
    session = new_session()
    names = [f"Проверить авторизацию и обновить документацию по шагу номер {n}" for n in range(30)]
    active = [{"content": name, "status": "in_progress" if n < 2 else "pending"} for n, name in enumerate(names)]
    shared_panel.write(session, active)
    context = browser.new_context(viewport={"width": 360, "height": 640}, locale="ru-RU", has_touch=True)
    page = context.new_page()
    page.goto(f"{shared_panel.url}/sessions/{session}")
    strip = page.locator(STRIP)
    header = strip.locator("[data-field=header]")
    expect(header).to_be_in_viewport()
    box = strip.bounding_box()
    assert box is not None
    assert 24 <= box["height"] <= 48
    strip.locator("summary").tap()
    listed = strip.locator("ul").first.evaluate("list => [list.scrollHeight, list.clientHeight]")
    assert listed[1] < listed[0]
    assert listed[1] <= 640 * 0.45
    for target in strip.locator("summary, button, a").all():
        target_box = target.bounding_box()
        assert target_box is not None
        assert target_box["height"] >= 24
    assert page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    context.close()


@pytest.mark.parametrize("width", [240, 320])
def test_a_narrow_strip_keeps_its_counts(page: Page, shared_panel: Panel, width: int) -> None:
    """R104: what does not fit is the word in front, for the eye alone."""
    session = new_session()
    shared_panel.write(session, [{"content": "a", "status": "in_progress"}, {"content": "b", "status": "pending"}])
    page.set_viewport_size({"width": width, "height": 500})
    page.goto(f"{shared_panel.url}/embed/{session}")
    strip = page.locator(STRIP)
    title, header = strip.locator("[data-field=title]").bounding_box(), strip.locator("[data-field=header]")
    assert title is not None
    assert title["width"] <= 1
    assert header.evaluate("header => header.scrollWidth <= header.clientWidth + 1")
    assert strip.get_by_text("To-dos").count() == 1


def test_a_frame_of_300_px_has_one_line_and_its_list_scrolls_inside(page: Page, shared_panel: Panel) -> None:
    """R103."""
    session = new_session()
    nine = [{"content": f"step {n}", "status": "in_progress" if n < 2 else "pending"} for n in range(9)]
    shared_panel.write(session, nine)
    page.set_viewport_size({"width": 400, "height": 300})
    page.goto(f"{shared_panel.url}/embed/{session}")
    wait_live(page)
    strip = page.locator(STRIP)
    folded = strip.bounding_box()
    assert folded is not None
    assert folded["height"] <= 48
    strip.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(strip.locator("[data-status]").first).to_be_visible()
    opened = strip.bounding_box()
    assert opened is not None
    assert opened["y"] + opened["height"] <= 300
    assert strip.locator("ul").first.evaluate("list => list.scrollHeight > list.clientHeight")
    assert page.evaluate("() => document.documentElement.scrollHeight") <= 300


@pytest.mark.parametrize("width", [360, 1180])
def test_long_lists_begin_at_what_is_in_progress_and_show_that_there_is_more(
    page: Page, shared_panel: Panel, width: int
) -> None:
    session = new_session()
    for active in range(41):
        status = [(n, "completed" if n < active else "in_progress" if n == active else "pending") for n in range(42)]
        shared_panel.write(session, [{"content": f"Task {n}", "status": of} for n, of in status])
    page.set_viewport_size({"width": width, "height": 640})
    page.goto(f"{shared_panel.url}/sessions/{session}")
    page.locator(f"{STRIP} > summary").click()
    listed = page.locator(f"{STRIP} > .todos")
    if width < 1080:
        page.locator(".aside-summary").click()
    lanes = page.locator(".plot")
    for scrolled, current in ((listed, ":scope > [data-status=in_progress]"), (lanes, "[data-kind=working]")):
        place = """(list, current) => {
          const [outer, inner] = [list, list.querySelector(current)].map((one) => one.getBoundingClientRect());
          return list.scrollTop > 0 && inner.top >= outer.top && inner.bottom <= outer.bottom;
        }"""
        assert scrolled.evaluate(place, current)
        assert scrolled.evaluate("list => getComputedStyle(list).backgroundImage !== 'none'")
