"""What a narrow page or frame shows is whole or says that it is cut: measured over widths (reports.md R109)."""

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from planstrip.web.languages import NAMES
from tests.browser.record import STRIP
from tests.browser.states import END, TURN
from tests.running import Panel, new_session, todos

# Widths are set on an element, which container queries follow, in one task: no script of the page comes between.
SWEEP = """(widths) => {
  const live = document.querySelector("[data-live]"), region = document.querySelector(".strip-region"), faults = [];
  const strip = region.querySelector("details"), summary = strip.querySelector("summary");
  const isRtl = getComputedStyle(summary).direction === "rtl";
  const ago = new Intl.RelativeTimeFormat(document.documentElement.lang, { style: "short" }).format(-29, "minute");
  for (const time of region.querySelectorAll("time.ago")) [time.textContent, time.dataset.old] = [ago, ""];
  for (const sign of region.querySelectorAll("time[data-sign]")) sign.textContent = "16:25";
  for (const state of ["live", "lost", "new", "long"]) for (const isOpen of [false, true]) for (const width of widths) {
    live.dataset.live = state === "lost" ? "lost" : "live";
    if (["new", "long"].includes(state)) live.dataset.quiet = state; else delete live.dataset.quiet;
    strip.open = isOpen;
    region.style.inlineSize = `${width}px`;
    const say = (what) => faults.push(`${what}: ${state}, ${isOpen ? "open" : "folded"}, ${width}`);
    const counts = summary.querySelector(".strip-counts"), words = [...counts.querySelectorAll(".count")];
    const [box, at, of] = [summary, summary.querySelector(".chevron"), counts].map((it) => it.getBoundingClientRect());
    const end = isRtl ? at.left - box.left : box.right - at.right;
    const after = isRtl ? of.left - at.right : at.left - of.right;
    if (end < 0 || end > 14) say(`the chevron is ${end} from the end`);
    if (at.top >= of.bottom || at.bottom <= of.top || after < 0) say("the chevron is not in the first line");
    const lines = words.map((word) => new Set([...word.getClientRects()].map(({ top }) => top)).size);
    if (lines.some((count) => count > 1)) say("a count breaks");
    if (counts.scrollWidth > counts.clientWidth + 1) say("counts are cut");
  }
  return faults;
}"""


def told(panel: Panel) -> str:
    session = new_session()
    panel.append(session, TURN)
    panel.write(session, todos(" ".join(f"step{n}={'ccccciiippppp'[n]}" for n in range(13))))
    return session


@pytest.mark.parametrize("lang", ["en", "de", "ru", "ar", "ja"])
@pytest.mark.parametrize("path", ["/sessions/{}", "/embed/{}"])
def test_the_chevron_ends_the_strips_first_line_and_no_count_breaks_at_any_width(
    page: Page, shared_panel: Panel, path: str, lang: str
) -> None:
    page.goto(f"{shared_panel.url}{path.format(told(shared_panel))}?lang={lang}")
    expect(page.locator(f"{STRIP} .chevron")).to_be_visible()
    first = 180 if "embed" in path else 200
    assert page.evaluate(SWEEP, list(range(first, 701, 10))) == []


CUT = """() => {
  const cut = [];
  for (const one of document.body.querySelectorAll("*")) {
    const style = getComputedStyle(one);
    if (!one.checkVisibility() || !one.clientWidth || one.closest("svg") || style.clipPath !== "none") continue;
    if (style.overflowX === "visible" || style.textOverflow === "ellipsis") continue;
    if (one.scrollWidth > one.clientWidth) cut.push(`${one.className}: ${one.textContent.trim()}`);
  }
  for (const time of document.querySelectorAll(".chip time")) if (time.getClientRects().length > 1) cut.push("a time");
  const room = document.documentElement.clientWidth;
  for (const chip of document.querySelectorAll(".chip, .signal")) {
    const { left, right } = chip.getBoundingClientRect();
    if (left < 0 || right > room) cut.push(`beyond the frame: ${chip.textContent.trim()}`);
  }
  return cut;
}"""


@pytest.mark.parametrize("lang", NAMES)
def test_a_narrow_frames_caption_is_never_cut_within_a_word(page: Page, shared_panel: Panel, lang: str) -> None:
    """Least of all within a time of day."""
    going, ended = told(shared_panel), told(shared_panel)
    shared_panel.append(ended, END)
    for path in (f"/embed/{going}?", f"/embed/{ended}?", f"/embed?session={going}&session={ended}&"):
        page.set_viewport_size(ViewportSize(width=320, height=400))
        page.goto(f"{shared_panel.url}{path}lang={lang}")
        page.wait_for_selector("[data-live=live]")
        for state in ("live", "catching-up", "lost", "new", "long"):
            found = page.evaluate(
                f"""(state) => {{
                  const live = document.querySelector("[data-live]"), say = document.querySelector("[data-field=live]");
                  const isLost = state === "lost", text = isLost || state === "catching-up" ? state : "live";
                  live.dataset.live = text;
                  say.textContent = say.parentElement.getAttribute(`data-${{text}}-text`).replace("{{time}}", "16:25");
                  for (const one of document.querySelectorAll("[data-session]"))
                    if (["new", "long"].includes(state)) one.dataset.quiet = state; else delete one.dataset.quiet;
                  for (const sign of document.querySelectorAll("time[data-sign]")) sign.textContent = "16:25";
                  const found = [];
                  for (let width = 200; width <= 320; width += 20) {{
                    document.documentElement.style.inlineSize = `${{width}}px`;
                    found.push(...({CUT})().map((cut) => `${{width}}: ${{cut}}`));
                  }}
                  return found;
                }}""",
                state,
            )
            assert found == [], (path, state)


TASK = """() => {
  const summary = document.querySelector("[data-plan] [data-field=summary]"), range = document.createRange();
  const words = document.createTreeWalker(summary, NodeFilter.SHOW_TEXT);
  while (!words.nextNode().data.includes("Refactor"));
  const at = words.currentNode.data.indexOf("Refactor"), room = summary.getBoundingClientRect();
  range.setStart(words.currentNode, at);
  range.setEnd(words.currentNode, at + 2);
  const seen = range.getBoundingClientRect();
  return seen.left >= room.left && seen.right <= room.right;
}"""


@pytest.mark.parametrize("lang", NAMES)
def test_a_narrow_row_keeps_the_beginning_of_its_task(page: Page, shared_panel: Panel, lang: str) -> None:
    session = new_session()
    written = "Refactor the middleware=i " + " ".join(f"step{n}={'cip'[n % 3]}" for n in range(31))
    shared_panel.write(session, todos(written.replace(" the ", "-the-")))
    page.goto(f"{shared_panel.url}/sessions/{session}?lang={lang}")
    page.wait_for_selector("[data-live=live]")
    for width in (320, 400):
        page.set_viewport_size(ViewportSize(width=width, height=600))
        assert page.evaluate(TASK), width


def test_a_placeholder_too_long_for_its_field_ends_in_an_ellipsis(page: Page, shared_panel: Panel) -> None:
    page.goto(shared_panel.url)
    assert page.get_by_role("searchbox").evaluate("one => getComputedStyle(one).textOverflow") == "ellipsis"


def test_what_is_pressed_on_the_apis_page_and_in_a_narrow_frame_has_24_pixels(page: Page, shared_panel: Panel) -> None:
    session = told(shared_panel)
    for path, link in (("/docs", ".docs p > a"), (f"/embed/{session}", ".head-link")):
        page.set_viewport_size(ViewportSize(width=200, height=400))
        page.goto(f"{shared_panel.url}{path}")
        box = page.locator(link).first.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= 24, (path, box)


CUT_CHIPS = """(state) => {
  const live = document.querySelector("[data-session]"), cut = [];
  if (live) delete live.dataset.quiet;
  if (live && state) live.dataset.quiet = state;
  for (const sign of document.querySelectorAll(".chip time[data-sign]")) sign.textContent = "16:25";
  for (const one of document.querySelectorAll(".chip, .chip *")) {
    const style = getComputedStyle(one);
    if (!one.checkVisibility() || style.display === "inline" || one.scrollWidth <= one.clientWidth) continue;
    const isSaid = style.textOverflow === "ellipsis" && /^(inline-)?block$/.test(style.display);
    if (!isSaid || one.querySelector("time")) cut.push(one.textContent.trim());
  }
  return cut;
}"""


@pytest.mark.parametrize("lang", ["de", "ru", "ar"])
def test_a_chip_that_is_cut_says_so_and_keeps_its_time(page: Page, shared_panel: Panel, lang: str) -> None:
    """A flex box would not: its text has no box of its own that could end in an ellipsis."""
    session, agent = told(shared_panel), "an agent of a very long name, indeed longer than any chip"
    shared_panel.append(session, {"type": "session/start", "data": {"agent": agent, "title": "Mend the parser"}})
    for path in (f"/sessions/{session}", "/"):
        page.goto(f"{shared_panel.url}{path}?lang={lang}")
        for width in (320, 480, 700):
            page.set_viewport_size(ViewportSize(width=width, height=600))
            for state in ("", "new", "long"):
                assert page.evaluate(CUT_CHIPS, state) == [], (path, width, state)
