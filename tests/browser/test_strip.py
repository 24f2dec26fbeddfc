"""The strip's honesty and acts in a browser: notes, the finished moment, retire and undo, copying (spec.md §9)."""

import time
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.browser.record import STRIP, wait_live
from tests.running import Panel, new_session, todos

TURN = {"type": "turn/start", "data": {"turn": 1}}
END = {"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "completed"}}}
GLOW = f"() => Number(getComputedStyle(document.querySelector('{STRIP}')).getPropertyValue('--finale'))"


def opened(page: Page, panel: Panel, written: str) -> str:
    session = new_session()
    panel.append(session, TURN)
    panel.write(session, todos(written))
    page.goto(f"{panel.url}/sessions/{session}")
    wait_live(page)
    return session


def test_a_turn_that_ends_with_open_todos_says_so_and_rests(page: Page, shared_panel: Panel) -> None:
    """R013, R016."""
    session = opened(page, shared_panel, "a=c b=i c=p")
    expect(page.locator("[data-field=turn]")).to_have_text("turn running")
    shared_panel.append(session, END)
    expect(page.locator("[data-field=notes]")).to_have_text("turn ended with 2 open")
    assert page.locator("[data-field=turn]").count() == 0  # said once
    assert page.locator(f"{STRIP}[data-moving]").count() == 0


def test_all_done_is_seen_once_as_it_happens_and_not_on_arrival(page: Page, shared_panel: Panel) -> None:
    """R059, R097. R054, R060."""
    session = opened(page, shared_panel, "a=i")
    shared_panel.write(session, todos("a=c"))
    page.wait_for_selector(f"{STRIP}[data-complete]")
    page.wait_for_function(f"() => {{ const at = ({GLOW})(); return at > 0.02 && at < 0.98; }}", polling=10)
    page.wait_for_function(f"() => ({GLOW})() === 1")
    page.reload()
    page.wait_for_selector(f"{STRIP}[data-complete]")
    assert page.evaluate(GLOW) == 1
    wait_live(page)
    assert page.evaluate(GLOW) == 1


@pytest.mark.parametrize("path", ["sessions/{}", "embed/{}?open=1"])
def test_what_the_reader_folded_stays_folded_whatever_is_written(page: Page, shared_panel: Panel, path: str) -> None:
    """R102."""
    session = new_session()
    shared_panel.write(session, todos("a=i b=p"))
    page.goto(f"{shared_panel.url}/{path.format(session)}")
    wait_live(page)
    strip = page.locator(STRIP)
    if not strip.evaluate("strip => strip.open"):
        strip.locator("summary").click()
    strip.locator("summary").click()
    for n in range(10):
        position = shared_panel.write(session, todos("a=i b=p" if n % 2 else "a=c b=i")).json()["position"]
    wait_live(page, position)
    assert not strip.evaluate("strip => strip.open")
    page.reload()
    wait_live(page)
    assert not strip.evaluate("strip => strip.open")


def test_a_plan_is_retired_and_brought_back_without_a_reload(page: Page, shared_panel: Panel) -> None:
    """R047, R064."""
    session = opened(page, shared_panel, "a=i b=p")
    page.locator(f"{STRIP} > summary").click()
    page.get_by_role("button", name="Retire").click()
    page.wait_for_selector(STRIP, state="detached")
    assert page.get_by_text("Plan 1 was retired").is_visible()
    page.get_by_role("button", name="Undo").click()
    page.wait_for_selector(STRIP)
    expect(page.get_by_text("Plan 1 was retired")).to_have_count(0)
    assert [event["type"] for event in shared_panel.events(session)[-2:]] == ["viewer/retire", "viewer/restore"]


def test_what_cannot_reach_the_server_is_not_offered_and_what_fails_is_said(page: Page, shared_panel: Panel) -> None:
    opened(page, shared_panel, "a=i b=p")
    page.locator(f"{STRIP} > summary").click()
    retire, said = page.get_by_role("button", name="Retire"), page.locator("[data-signal] [data-field=live]")
    for fails in (lambda route: route.abort(), lambda route: route.fulfill(status=500)):
        page.route("**/retire?*", fails)
        retire.click()
        expect(said).to_have_text("request failed")
        expect(said).to_be_visible()
        expect(retire).to_be_disabled()
        page.unroute("**/retire?*")
        page.locator("#live").evaluate("live => live.dispatchEvent(new CustomEvent('htmx:sse:error'))")
        expect(retire).to_be_disabled()
        shared_panel.write(page.url.rpartition("/")[2], todos("a=i b=p c=p"))  # which is a sign of the server
        expect(retire).to_be_enabled()
    retire.click()
    page.wait_for_selector(STRIP, state="detached")


def test_the_plan_is_copied_as_markdown(page: Page, context: BrowserContext, shared_panel: Panel) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    session = opened(page, shared_panel, "a=c b=i")
    page.locator(f"{STRIP} > summary").click()
    page.get_by_role("button", name="Copy as Markdown").click()
    page.get_by_role("button", name="Copied").wait_for()
    expected = shared_panel.client.get(f"/api/sessions/{session}/plan.md").text
    assert page.evaluate("() => navigator.clipboard.readText()") == expected


def test_a_todo_leads_to_its_row_and_the_address_survives_a_reload(page: Page, shared_panel: Panel) -> None:
    """R158."""
    session = opened(page, shared_panel, "a=i b=p")
    for number in range(60):
        shared_panel.append(
            session, {"type": "tool/call", "data": {"call_id": f"{number}", "name": "b", "arguments": "{}"}}
        )
    page.reload()
    page.locator(f"{STRIP} > summary").click()
    page.locator("li[data-status=in_progress]").hover()
    page.locator("li[data-status=in_progress] .todo-row").click()
    expect(page.locator("#row-2")).to_be_in_viewport()
    page.reload()
    expect(page.locator("#row-2")).to_be_in_viewport()


def test_the_plan_of_a_running_turn_is_told_with_more_caution_as_it_ages(page: Page, shared_panel: Panel) -> None:
    """R009, R063: in minutes, by the reader's own clock."""
    session, now = new_session(), time.time_ns() // 1_000_000
    call = {"type": "tool/call", "data": {"call_id": "c", "name": "b", "arguments": "{}"}, "time": now}
    write = {"type": "todo/write", "data": {"todos": todos("a=i")}, "time": now - 11 * 60_000}
    shared_panel.append(session, TURN | {"time": now - 12 * 60_000}, write, call)
    page.goto(f"{shared_panel.url}/sessions/{session}")
    expect(page.locator(".strip-ago")).to_have_attribute("data-old", "")
    colour = "() => getComputedStyle(document.querySelector('.strip-ago')).color"
    cautious = page.evaluate(colour)
    shared_panel.write(session, todos("a=c b=i"))
    page.wait_for_function(f"cautious => ({colour})() !== cautious", arg=cautious)


def test_a_plan_row_leads_back_to_the_plan(page: Page, shared_panel: Panel) -> None:
    session = opened(page, shared_panel, "a=i")
    page.locator("#row-2 > summary").click()
    page.get_by_role("link", name="To the plan").click()
    assert page.url.endswith(f"/sessions/{session}#strip")


def named(node: dict[str, Any]) -> bool:
    """Whether a node of the accessibility tree is the strip's control."""
    name: str = node["name"]["value"]
    return name.startswith("To-dos")


def test_the_strip_is_opened_closed_and_read_by_key_alone(page: Page, shared_panel: Panel) -> None:
    """R101, R124: a control that says whether it is expanded, and a list whose items begin with their status."""
    session = new_session()
    shared_panel.write(session, todos("a=c b=i c=i d=p"))
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    summary, strip = page.locator(f"{STRIP} > summary"), page.locator(STRIP)
    summary.focus()
    for key, is_open in (("Enter", True), ("Space", False), ("Enter", True)):
        page.keyboard.press(key)
        assert strip.evaluate("strip => strip.open") == is_open
        nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
        (control,) = [node for node in nodes if node["role"]["value"] == "DisclosureTriangle" and named(node)]
        assert {"name": "expanded", "value": {"type": "booleanOrUndefined", "value": is_open}} in control["properties"]
    expect(summary).to_be_focused()
    items = strip.get_by_role("list").first.get_by_role("listitem")
    read = ["Completed: a", "In progress: b", "In progress: c", "Pending: d"]
    assert [text.strip()[: len(said)] for text, said in zip(items.all_text_contents(), read, strict=True)] == read
