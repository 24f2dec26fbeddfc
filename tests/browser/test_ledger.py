"""The ledger over time: what a write drops stays in sight until a person dismisses it (spec.md §9)."""

from playwright.sync_api import Page, expect

from tests.browser.record import STRIP, wait_live
from tests.running import Panel, new_session, todos


def test_a_dropped_to_do_is_listed_live_until_it_is_dismissed_and_stays_dismissed(
    page: Page, shared_panel: Panel
) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=i b=p c=p"))
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    page.locator(STRIP).locator("summary").click()
    unlisted, revisions = page.locator("[data-unlisted]"), page.locator(".revision")
    assert (unlisted.count(), revisions.count()) == (0, 1)
    shared_panel.write(session, todos("a=c"))
    expect(unlisted).to_have_count(2)
    expect(page.get_by_text("2 unfinished items no longer listed")).to_be_visible()
    expect(revisions).to_have_count(2)
    expect(page.locator("[data-plan]").last.locator("[data-field=dropped]")).to_have_text("2 dropped")
    unlisted.first.get_by_role("button", name="Dismiss").click()
    expect(unlisted).to_have_count(1)
    expect(unlisted).to_contain_text("c")
    assert page.locator(STRIP).evaluate("strip => strip.open")
    page.reload()
    wait_live(page)
    expect(unlisted).to_have_count(1)
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(revisions.first).to_be_visible()
    revisions.first.get_by_role("link").click()
    assert page.evaluate("() => document.querySelector(':target').matches('[data-plan]')")


def test_the_list_is_folded_below_the_strip_on_a_narrow_page_and_beside_the_rows_on_a_wide_one(
    page: Page, shared_panel: Panel
) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    page.set_viewport_size({"width": 360, "height": 700})
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    revision = page.locator(".revision")
    expect(revision).not_to_be_visible()
    page.locator(".aside-summary").click()
    expect(revision).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")
    page.set_viewport_size({"width": 1100, "height": 700})
    expect(page.locator(".aside-summary")).not_to_be_visible()
    aside, rows = page.locator(".aside").bounding_box(), page.locator("#turns").bounding_box()
    assert aside
    assert rows
    assert aside["x"] >= rows["x"] + rows["width"]
    assert aside["width"] == 380
    page.reload()
    expect(revision).to_be_visible()  # also where nobody opened it


def test_without_javascript_a_dropped_to_do_is_dismissed_by_its_form(page: Page, shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=i b=p"))
    shared_panel.write(session, [])
    assert page.context.browser
    context = page.context.browser.new_context(java_script_enabled=False)
    plain = context.new_page()
    plain.goto(f"{shared_panel.url}/sessions/{session}")
    plain.locator("[data-unlisted]").first.get_by_role("button", name="Dismiss").click()
    expect(plain.locator("[data-unlisted]")).to_have_count(1)
    context.close()


def test_the_newest_revision_is_in_view_and_moves_none_of_those_before_it(page: Page, shared_panel: Panel) -> None:
    session = new_session()
    for number in range(20):
        shared_panel.write(session, todos("a=i b=p" if number % 2 else "a=p b=i"))
    page.set_viewport_size({"width": 1180, "height": 760})
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    revisions = page.locator(".revision")
    expect(revisions.last).to_be_in_viewport(ratio=1)
    shared_panel.write(session, todos("a=i b=c"))
    expect(revisions.last).to_contain_text("Completed: b")
    expect(revisions.last).to_be_in_viewport(ratio=1)
    box = page.locator(".newest-last")
    box.evaluate("box => { box.scrollTop -= 100; }")  # whoever reads back is left where they are
    seen = revisions.nth(10)
    before = seen.bounding_box()
    shared_panel.write(session, todos("a=c b=c"))
    expect(revisions).to_have_count(22)
    assert seen.bounding_box() == before
