"""The panel in all its languages: nothing is cut off, from right to left all is mirrored, an agent's text is not."""

import json
from typing import Final

import pytest
from playwright.sync_api import Page, expect

from planstrip.web.languages import HTML_TAGS, NAMES
from tests.browser.record import STRIP, wait_live
from tests.browser.states import DROPPED, STATES, session, with_children
from tests.browser.test_layout import MEASURE
from tests.running import Panel, new_session, todos

SIDEWAYS: Final = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
LONG: Final = "check_the_row_at_every_width_and_then_once_more_from_the_beginning"
NEXT: Final = f"after_that_{LONG}"

# How much of what must be whole is cut off, px: of the counts in a row's summary, and of the strip's header.
CUT: Final = """() => {
  const summary = document.querySelector("[data-plan] [data-field=summary]");
  const [text, counts] = [document.createTreeWalker(summary, NodeFilter.SHOW_TEXT).nextNode(), document.createRange()];
  const end = text.data.includes(" \\u00b7 ") ? text.data.indexOf(" \\u00b7 ") : text.data.length;
  counts.setStart(text, 0);
  counts.setEnd(text, end);
  const [inner, outer] = [counts.getBoundingClientRect(), summary.getBoundingClientRect()];
  const dots = summary.scrollWidth > summary.clientWidth ? parseFloat(getComputedStyle(summary).fontSize) : 0;
  const header = document.querySelector("[data-field=header]");
  return {
    counts: Math.max(outer.left - inner.left, inner.right - (outer.right - dots)),
    header: header.scrollWidth - header.clientWidth,
    lines: header.getBoundingClientRect().height / parseFloat(getComputedStyle(header).lineHeight),
  };
}"""


@pytest.mark.parametrize("lang", NAMES)
def test_counts_header_and_suffix_fit_on_a_narrow_page(page: Page, shared_panel: Panel, lang: str) -> None:
    """R109."""
    name = new_session()
    shared_panel.write(name, todos(f"{LONG}=i second=i third=c fourth=p"))
    page.goto(f"{shared_panel.url}/sessions/{name}?lang={lang}")
    wait_live(page)
    page.set_viewport_size({"width": 1000, "height": 700})
    wide = page.evaluate(MEASURE)
    page.set_viewport_size({"width": 320, "height": 700})
    narrow, cut = page.evaluate(MEASURE), page.evaluate(CUT)
    assert (narrow["isInside"], narrow["lines"], narrow["width"]) == (True, 1, wide["width"])
    assert cut["counts"] <= 0.5
    assert cut["header"] <= 0
    assert cut["lines"] < 1.9  # one line and its padding
    assert narrow["sideways"] <= 0
    page.locator(f"{STRIP} > summary").click()
    assert page.evaluate(SIDEWAYS) <= 0
    expect(page.locator("html")).to_have_attribute("lang", HTML_TAGS[lang])


@pytest.mark.parametrize("lang", NAMES)
def test_no_page_scrolls_sideways_in_any_language(page: Page, shared_panel: Panel, lang: str) -> None:
    page.set_viewport_size({"width": 320, "height": 700})
    for name in ("board", "session, to-dos dropped", "session with many children", "past", "docs", "sign-in", "error"):
        STATES[name].show(page, shared_panel, f"lang={lang}")
        assert page.evaluate(SIDEWAYS) <= 0, name
    page.set_viewport_size({"width": 240, "height": 300})
    page.goto(shared_panel.url + STATES["embed, open"].address(shared_panel) + f"&lang={lang}")
    assert page.evaluate(SIDEWAYS) <= 0
    assert page.evaluate(CUT.replace("[data-plan] [data-field=summary]", "[data-field=header]"))["header"] <= 0


@pytest.mark.parametrize("width", [320, 1000])
def test_every_language_is_in_the_menu_and_keeps_the_page(page: Page, shared_panel: Panel, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    path = session(*DROPPED)(shared_panel)
    page.goto(f"{shared_panel.url}{path}?theme=dark")
    menu, button = page.locator("#languages"), page.locator("[popovertarget=languages]")
    expect(menu).to_be_hidden()
    button.focus()
    page.keyboard.press("Enter")
    expect(menu).to_be_visible()
    assert menu.get_by_role("link").all_text_contents() == list(NAMES.values())
    box = menu.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    page.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(button).to_be_focused()
    button.click()
    menu.get_by_role("link", name="العربية").click()
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    assert page.url == f"{shared_panel.url}{path}?theme=dark&lang=ar"
    expect(page.locator("#languages [aria-current]")).to_have_text("العربية")


# Of each: whether its box begins at the right, and how the text in it runs.
MIRRORED: Final = """() => {
  const box = (selector) => [...document.querySelectorAll(selector)].at(-1).getBoundingClientRect();
  const middle = (selector) => box(selector).left + box(selector).width / 2;
  return {
    brand: middle(".brand") > middle("[data-theme-switch]"),
    strip: middle(".plan-strip .lead") > middle(".plan-strip .chevron"),
    meter: middle(".plan-strip .meter .completed") > middle(".plan-strip .meter .in_progress"),
    glyph: middle(".todos .glyph") > middle(".todos [data-field=content]"),
    row: middle("[data-plan] .leading") > middle("[data-plan] [data-field=title]"),
    summary: middle("[data-plan] [data-field=title]") > middle("[data-plan] [data-field=summary]"),
    suffix: middle("[data-plan] [data-field=summary]") > middle("[data-plan] [data-field=suffix]"),
    aside: middle(".turns") > middle(".timeline"),
    names: middle(".lane-names") > middle(".drawing"),
  };
}"""
TIMES: Final = """() => [...document.querySelectorAll(".drawing + .axis-row time")].map(
  (time) => [Date.parse(time.dateTime), time.getBoundingClientRect().left])"""
BARS: Final = """() => [...document.querySelectorAll(".drawing .working")].map(
  (bar) => bar.getBoundingClientRect()).map(({ left, right }) => [left, right])"""


def lived(panel: Panel) -> str:
    """A session over ten minutes, in which one to-do came after the other."""
    name, minute, start = new_session(), 60_000, 1_764_500_400_000
    lists = (f"{LONG}=i {NEXT}=p third=p", f"{LONG}=c {NEXT}=i third=p", f"{LONG}=c {NEXT}=i third=i مهمة=p")
    panel.append(name, {"type": "turn/start", "data": {"turn": 1, "prompt": LONG}, "time": start})
    for number, written in enumerate(lists):
        at, plan = start + 5 * number * minute, {"todos": todos(written)}
        call = {"call_id": f"c{number}", "name": "todo_write", "arguments": json.dumps(plan)}
        panel.append(
            name,
            {"type": "tool/call", "data": call, "time": at},
            {"type": "todo/write", "data": {**plan, "call_id": f"c{number}"}, "time": at},
        )
    return f"/sessions/{name}"


def test_from_right_to_left_everything_is_mirrored(page: Page, shared_panel: Panel) -> None:
    path = lived(shared_panel)
    page.set_viewport_size({"width": 1280, "height": 800})
    seen = {}
    for lang in ("en", "ar"):
        page.goto(f"{shared_panel.url}{path}?lang={lang}")
        wait_live(page)
        page.locator(f"{STRIP} > summary").click()
        seen[lang] = (page.evaluate(MIRRORED), page.evaluate(TIMES), page.evaluate(BARS))
    assert set(seen["en"][0].values()) == {False}
    assert set(seen["ar"][0].values()) == {True}
    for lang, is_mirrored in (("en", False), ("ar", True)):
        places = [left for _, left in sorted(seen[lang][1])]
        assert len(places) >= 2
        assert places == sorted(places, reverse=is_mirrored)
    first, last = seen["ar"][2][0], seen["ar"][2][-1]
    assert first[1] > last[1]  # what was worked on first begins further at the right


# Whether the first and the last letter of each agent's text are seen, by where it stands.
SEEN: Final = """(selectors) => Object.fromEntries(selectors.map((selector) => {
  const element = document.querySelector(selector), text = element.firstChild, box = element.getBoundingClientRect();
  const isSeen = (at) => {
    const letter = document.createRange();
    letter.setStart(text, at);
    letter.setEnd(text, at + 1);
    const { left, right } = letter.getBoundingClientRect();
    return left >= box.left - 1 && right <= box.right + 1;
  };
  return [selector, [isSeen(0), isSeen(text.data.length - 1)]];
}))"""
CUT_TEXTS: Final = (
    ".todos [data-field=content]",
    ".row-name",
    ".lane-names bdi",
    ".revisions > :first-child .change-text",
    ".prompt",
    ".head-title bdi",
    ".mini-name bdi",
)


def test_an_agent_s_text_is_cut_off_at_its_own_end_on_a_page_that_runs_the_other_way(
    page: Page, shared_panel: Panel
) -> None:
    title = {"type": "session/start", "data": {"agent": "codex", "title": f"{LONG} {LONG}"}}
    path = lived(shared_panel)
    shared_panel.append(path.rpartition("/")[2], title)
    kid = new_session()
    shared_panel.append(kid, {"type": "session/start", "data": {**title["data"], "parent": path.rpartition("/")[2]}})  # type: ignore[dict-item]
    page.set_viewport_size({"width": 340, "height": 700})
    page.goto(f"{shared_panel.url}{path}?lang=ar")
    wait_live(page)
    page.locator(f"{STRIP} > summary").click()
    page.locator(".aside-summary").click()
    assert page.evaluate(SEEN, CUT_TEXTS) == {text: [True, False] for text in CUT_TEXTS}
    page.goto(f"{shared_panel.url}/?lang=ar&q={LONG}")
    assert page.evaluate(SEEN, [".session-link bdi"]) == {".session-link bdi": [True, False]}


def test_an_arabic_to_do_is_cut_off_at_its_own_end_on_an_english_page(page: Page, shared_panel: Panel) -> None:
    name = new_session()
    shared_panel.write(name, todos("اكتب_الوثائق_العربية_للمستخدمين_الجدد_في_كل_مكان_ثم_راجعها=i b=i"))
    page.set_viewport_size({"width": 320, "height": 700})
    page.goto(f"{shared_panel.url}/sessions/{name}?lang=en")
    assert page.evaluate(SEEN, [".row-name"]) == {".row-name": [True, False]}
    assert page.locator("[data-plan] [data-field=summary]").text_content() == (
        "0/2 completed · اكتب_الوثائق_العربية_للمستخدمين_الجدد_في_كل_مكان_ثم_راجعها"
    )


def test_a_number_keeps_its_sign_in_front_and_code_its_direction(page: Page, shared_panel: Panel) -> None:
    path = with_children(2)(shared_panel)
    page.goto(f"{shared_panel.url}{path}?lang=ar")
    wait_live(page)
    for suffix in page.locator(".suffix").all():
        assert suffix.evaluate("suffix => getComputedStyle(suffix).direction") == "ltr"
    for selector in (".where", ".io dd"):
        assert page.locator(selector).first.evaluate("one => getComputedStyle(one).direction") == "ltr", selector
    page.goto(f"{shared_panel.url}/docs?lang=ar")
    assert page.locator("code").first.evaluate("one => getComputedStyle(one).direction") == "ltr"


def test_a_replay_s_arrows_point_the_way_of_time(page: Page, shared_panel: Panel) -> None:
    page.set_viewport_size({"width": 1000, "height": 700})
    path = session(*DROPPED)(shared_panel)
    page.goto(f"{shared_panel.url}{path}?at=9&lang=ar")
    icons = page.locator(".past-steps .icon")
    assert icons.count() >= 1
    assert {icon.evaluate("icon => getComputedStyle(icon).scale") for icon in icons.all()} == {"-1 1"}
    before, after = page.locator(".past-mark").bounding_box(), page.locator(".past-now").bounding_box()
    assert before is not None
    assert after is not None
    assert before["x"] > after["x"]
