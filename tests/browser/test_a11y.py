"""WCAG 2.2 AA on every page in every state: what axe-core can judge, and what it can't (reports.md, kind a11y)."""

from importlib.resources import files
from typing import Any, Final

import pytest
from playwright.sync_api import Page, ViewportSize

from tests.browser.states import STATES
from tests.running import Panel

AXE: Final = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
RUN: Final = """() => axe.run(document, {
  resultTypes: ["violations"],
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
})"""
MAIN: Final = ("board", "session, all open", "session, to-dos dropped", "past", "embed, open")
WIDE: Final = ViewportSize(width=1180, height=800)
NARROW: Final = ViewportSize(width=360, height=640)


def faults(page: Page) -> list[str]:
    """What axe-core finds, a line an element."""
    page.evaluate("() => window.scrollTo(0, 0)")  # what is docked covers nothing there
    found: dict[str, Any] = page.evaluate(RUN)
    return [f"{fault['id']}: {node['html'][:200]}" for fault in found["violations"] for node in fault["nodes"]]


@pytest.mark.parametrize("name", STATES)
def test_axe_finds_nothing_in_light_and_in_dark(page: Page, shared_panel: Panel, name: str) -> None:
    page.set_viewport_size(WIDE)
    STATES[name].show(page, shared_panel)
    page.evaluate(AXE)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        assert faults(page) == [], theme


@pytest.mark.parametrize("lang", ["en", "zh", "ar"])
@pytest.mark.parametrize("name", MAIN)
def test_axe_finds_nothing_on_a_phone_in_any_direction(page: Page, shared_panel: Panel, name: str, lang: str) -> None:
    page.set_viewport_size(NARROW)
    STATES[name].show(page, shared_panel, f"lang={lang}")
    page.evaluate(AXE)
    assert faults(page) == []


def test_axe_finds_nothing_on_a_board_without_sessions(page: Page, panel: Panel) -> None:
    page.goto(panel.url)
    page.evaluate(AXE)
    assert faults(page) == []


TARGETS: Final = """() => [...document.querySelectorAll("a[href], button, summary, input:not([type=hidden])")]
  .filter((one) => one.checkVisibility({ opacityProperty: false }) && !one.matches(".session-link"))
  .map((one) => [one, one.getBoundingClientRect()])
  .filter(([one, box]) => box.width > 2 && (box.width < 23.9 || box.height < 23.9))
  .map(([one, box]) => `${one.outerHTML.slice(0, 120)} ${box.width} x ${box.height}`)"""


@pytest.mark.parametrize("name", [*MAIN, "session with children", "session, retired", "session of a child", "sign-in"])
def test_what_is_pressed_has_24_pixels(page: Page, shared_panel: Panel, name: str) -> None:
    STATES[name].show(page, shared_panel)
    for size in (WIDE, NARROW):
        page.set_viewport_size(size)
        assert page.evaluate(TARGETS) == [], size


LOOK: Final = """() => {
  const seen = (selector, name) => {
    const one = document.querySelector(selector);
    return one && getComputedStyle(one)[name];
  };
  return {
    paper: seen("body", "backgroundColor"),
    meter: ["completed", "in_progress", "pending"].map((status) => seen(`.plan-strip .meter .${status}`, "fill")),
    glyphs: ["completed", "in_progress", "pending"].map((status) => seen(`[data-status=${status}] > .glyph`, "stroke")),
    dot: seen(".signal-dot", "backgroundColor"),
    failed: seen(".tool-row[data-state=error] .leading", "display") && getComputedStyle(
      document.querySelector(".tool-row[data-state=error] .leading"), "::before").backgroundColor,
    bar: seen(".drawing .working", "stroke"),
    point: seen(".drawing .finished", "stroke"),
    edge: seen(".plan-strip", "borderTopColor"),
  };
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_forced_colours_leave_every_shape_in_sight(page: Page, shared_panel: Panel, theme: str) -> None:
    page.set_viewport_size(WIDE)
    page.emulate_media(forced_colors="active", color_scheme=theme)  # type: ignore[arg-type]
    STATES["session, all open"].show(page, shared_panel, "theme=light")
    look = page.evaluate(LOOK)
    paper = look.pop("paper")
    assert len(set(look["meter"])) == 3  # which no shape tells apart
    shown = [*look.pop("meter"), *look.pop("glyphs"), *look.values()]
    assert None not in shown
    assert paper not in shown
    assert "rgba(0, 0, 0, 0)" not in shown
    assert (
        page.locator("[data-status] > .glyph use").evaluate_all("all => new Set(all.map(one => one.href.baseVal)).size")
        == 3
    )


def test_statuses_differ_by_shape_and_word_and_not_by_colour_alone(page: Page, shared_panel: Panel) -> None:
    """R128, also for a session's state: a dot's outline, corners and turn."""
    STATES["board"].show(page, shared_panel)
    look = "[style.borderTopWidth, style.borderTopLeftRadius, style.rotate, style.boxShadow !== 'none', style.height,"
    look += " style.borderTopStyle]"
    dots = page.locator(".filters .state-dot").evaluate_all(
        f"dots => dots.map(dot => {{ const style = getComputedStyle(dot); return {look}.join(); }})"
    )
    assert len(dots) >= 5
    assert len(set(dots)) == len(dots)
    STATES["session, strip open"].show(page, shared_panel)
    items = page.locator("[data-status]")
    assert items.locator("> .visually-hidden").all_text_contents() == [
        "Completed: ",
        "In progress: ",
        "In progress: ",
        "Pending: ",
    ]


# By the clock: what a reader's own scrolling shows or hides does not move.
MOVING: Final = """() => document.getAnimations()
  .filter((one) => one.playState === "running" && one.timeline === document.timeline).length"""


def test_nothing_moves_for_who_asked_for_less_motion(page: Page, shared_panel: Panel) -> None:
    """R127."""
    page.emulate_media(reduced_motion="reduce")
    for name in ("session, all open", "session, all done", "board, children open", "embed, open"):
        STATES[name].show(page, shared_panel)
        assert page.evaluate(MOVING) == 0


# The filters scroll by themselves.
CUT_OFF: Final = """() => [...document.querySelectorAll("a[href], button, summary, h1, h2, [data-field]")]
  .filter((one) => one.checkVisibility() && !one.closest(".visually-hidden, .plot, .filters"))
  .filter((one) => { const box = one.getBoundingClientRect(); return box.width > 2 && box.right > innerWidth + 1; })
  .map((one) => one.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize("name", [*MAIN, "session with children", "docs", "sign-in", "error"])
def test_zoomed_to_200_percent_and_to_400_nothing_is_lost(page: Page, shared_panel: Panel, name: str) -> None:
    """Of 1280 pixels: a browser's zoom leaves a page that many."""
    STATES[name].show(page, shared_panel)
    for width in (640, 320):
        page.set_viewport_size(ViewportSize(width=width, height=400))
        assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0, width
        assert page.evaluate(CUT_OFF) == [], width


REACHED: Final = """() => {
  const one = document.activeElement, box = one.getBoundingClientRect();
  if (one === document.body) return null;
  const [x, y] = [box.left + Math.min(box.width / 2, 40), box.top + Math.min(box.height, 20) / 2];
  const top = document.elementFromPoint(x, y);
  const ring = getComputedStyle(one.matches(".session-link") ? one.closest(".session") : one);
  return [one.outerHTML.slice(0, 100), ring.outlineStyle !== "none" && parseFloat(ring.outlineWidth) >= 2,
    Boolean(top && (one.contains(top) || top.contains(one) || one.closest(".session")?.contains(top)))];
}"""


@pytest.mark.parametrize(
    "name", ["session, all open", "session, to-dos dropped", "board, children open", "past", "embed, open"]
)
@pytest.mark.parametrize("key", ["Tab", "Shift+Tab"])
def test_every_control_is_reached_by_key_seen_and_not_covered(page: Page, panel: Panel, name: str, key: str) -> None:
    page.set_viewport_size(WIDE)
    STATES[name].show(page, panel)
    controls = page.locator("a[href], button, summary, input:not([type=hidden])")
    count = controls.evaluate_all("all => all.filter(one => one.checkVisibility()).length")
    controls.first.focus()
    page.keyboard.press("Shift+Tab")  # before the first, and after the last
    reached: list[list[Any]] = []
    for _ in range(count * 3):
        page.keyboard.press(key)
        found = page.evaluate(REACHED)
        if found is None:
            break
        reached.append(found)
    assert len(reached) >= count
    assert [what for what, is_ringed, _ in reached if not is_ringed] == []
    assert [what for what, _, is_seen in reached if not is_seen] == []


SQUEEZED: Final = """() => [...document.querySelectorAll("[data-field], summary, button, .chip, h1, h2, time")]
  .filter((one) => one.checkVisibility() && !one.closest(".visually-hidden, .plot, .keys"))
  .filter((one) => one.clientHeight > 2 && one.scrollHeight > one.clientHeight + 3)
  .map((one) => `${one.outerHTML.slice(0, 120)} ${one.scrollHeight} in ${one.clientHeight}`)"""


@pytest.mark.parametrize("name", [*MAIN, "session with children", "docs", "sign-in"])
def test_text_alone_at_200_percent_is_not_cut(page: Page, shared_panel: Panel, name: str) -> None:
    page.set_viewport_size(WIDE)
    STATES[name].show(page, shared_panel)
    page.evaluate("() => { document.documentElement.style.fontSize = '32px'; }")  # a reader's own size of text
    title = page.locator("h1, .session-name").first
    assert title.evaluate("one => parseFloat(getComputedStyle(one).fontSize)") >= 24
    assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.evaluate(SQUEEZED) == []
    assert page.evaluate(CUT_OFF) == []
