"""Subagents on their parent's page, in the browser (issue 3, R068)."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.record import STRIP, field, wait_live
from tests.running import Panel, new_session, todos

CALL = {"call_id": "c", "name": "Task", "arguments": '{"description": "Survey the parser"}'}
LONG = "Survey every single module of the parser and of all that it is used by, " * 3


def family(panel: Panel, title: str = "Survey the parser") -> tuple[str, str, str]:
    """A parent with a plan whose row, the selector is given, began a child."""
    boss, kid = new_session(), new_session()
    panel.append(boss, {"type": "turn/start", "data": {"turn": 1}})
    panel.write(boss, todos("a=i b=p"))
    row = panel.append(boss, {"type": "tool/call", "data": CALL}).json()["first_position"]
    panel.append(
        kid,
        {"type": "session/start", "data": {"agent": "codex", "title": title, "parent": boss, "parent_call": "c"}},
        {"type": "turn/start", "data": {"turn": 1}},
    )
    return boss, kid, f"[id='row-{row}-children']"


def test_the_mini_strip_moves_live_and_leaves_the_parents_own(page: Page, shared_panel: Panel) -> None:
    """R068."""
    boss, kid, row = family(shared_panel)
    page.goto(f"{shared_panel.url}/sessions/{boss}")
    wait_live(page)
    page.evaluate("() => { window.stayed = true; }")
    position = page.locator("#live").get_attribute("data-position")
    shared_panel.write(kid, todos("x=c y=i z=i"))
    for place in (row, "#children"):
        expect(page.locator(place).locator("[data-field=child]")).to_have_text("1/3 completed · y")
        expect(page.locator(place).locator("[data-field=suffix]")).to_have_text("+1")
    shared_panel.write(kid, todos("x=c y=c z=i"))
    expect(page.locator(row).locator("[data-field=child]")).to_have_text("2/3 completed · z")
    expect(page.locator(row).locator("[data-field=suffix]")).to_have_count(0)
    assert page.locator("#live").get_attribute("data-position") == position
    assert field(page.locator(STRIP), "header") == "1 in progress\u2002·\u20021 pending"
    assert page.evaluate("() => window.stayed")


def test_a_row_that_comes_and_its_child_show_without_a_reload(page: Page, shared_panel: Panel) -> None:
    boss, kid = new_session(), new_session()
    page.goto(f"{shared_panel.url}/sessions/{boss}")
    wait_live(page)
    shared_panel.append(boss, {"type": "turn/start", "data": {"turn": 1}}, {"type": "tool/call", "data": CALL})
    expect(page.locator("[data-tool=Task]")).to_be_visible()
    shared_panel.append(kid, {"type": "session/start", "data": {"agent": "codex", "title": "Kid", "parent": boss}})
    expect(page.locator("[id='row-2-children'] .mini-name")).to_have_text("Kid")
    shared_panel.append(boss, {"type": "tool/result", "data": {"call_id": "c", "is_error": False, "text": "fine"}})
    wait_live(page, 3)
    live = page.locator("#turns").inner_text()
    assert "Kid" in live
    page.reload()
    assert page.locator("#turns").inner_text() == live


def test_the_name_leads_to_the_childs_page_and_that_leads_back(page: Page, shared_panel: Panel) -> None:
    boss, kid, row = family(shared_panel)
    page.goto(f"{shared_panel.url}/sessions/{boss}")
    page.locator(row).locator("a").click()
    page.wait_for_url(f"**/sessions/{kid}*")
    wait_live(page)
    page.locator(".head-parent").click()
    page.wait_for_url(f"**/sessions/{boss}*")


def test_the_list_stays_as_the_reader_left_it(page: Page, shared_panel: Panel) -> None:
    boss, kid, _ = family(shared_panel)
    for _ in range(3):
        start = {"agent": "codex", "parent": boss}
        shared_panel.append(new_session(), {"type": "session/start", "data": start})
    page.goto(f"{shared_panel.url}/sessions/{boss}")
    wait_live(page)
    listed = page.locator("#children details")
    assert field(listed, "children") == "4 agents, 1 running"
    expect(listed.locator(".mini-strip").first).not_to_be_visible()
    listed.locator("summary").click()
    shared_panel.write(kid, todos("x=c"))
    expect(listed.locator("[data-field=child]").first).to_have_text("1/1 completed")
    assert listed.evaluate("list => list.open")


def test_a_child_at_work_is_a_sign_of_a_parent_that_has_ended(page: Page, shared_panel: Panel) -> None:
    boss, kid = new_session(), new_session()
    ended = [{"type": "turn/start", "data": {"turn": 1}}]
    ended.append({"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "completed"}}})
    shared_panel.append(boss, *[event | {"time": 1_000} for event in ended])
    start = {"type": "session/start", "data": {"agent": "codex", "parent": boss}}
    shared_panel.append(kid, start, {"type": "turn/start", "data": {"turn": 1}})
    page.goto(f"{shared_panel.url}/sessions/{boss}")
    wait_live(page)
    assert page.locator("#live").get_attribute("data-quiet") is None
    expect(page.locator("#children .state-dot")).to_have_attribute("data-state", "working")
    expect(page.locator("[data-field=quiet]")).not_to_be_visible()


@pytest.mark.parametrize("width", [240, 320, 360, 480, 1000])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_suffix_stays_whole_and_the_page_never_scrolls_sideways(
    page: Page, shared_panel: Panel, width: int, lang: str
) -> None:
    boss, kid, row = family(shared_panel, title=LONG)
    shared_panel.write(kid, [{"content": f"{n}" + "x" * 200, "status": "in_progress"} for n in range(12)])
    page.set_viewport_size({"width": width, "height": 700})
    page.goto(f"{shared_panel.url}/sessions/{boss}?lang={lang}")
    for place in (row, "#children"):
        line = page.locator(place).locator(".mini-strip")
        suffix, whole = line.locator("[data-field=suffix]").bounding_box(), line.bounding_box()
        assert suffix
        assert whole
        assert whole["x"] <= suffix["x"]
        assert suffix["x"] + suffix["width"] <= whole["x"] + whole["width"]
        assert suffix["height"] <= 24
        assert line.locator("[data-field=child]").evaluate("it => it.clientWidth") > 20
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
