"""A page over time: updates, what a reader has opened, reconnection, and honesty about it (spec.md §8)."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Page, Request, expect

from tests.browser.record import STRIP, field, wait_live
from tests.running import Panel, new_session, running, serving, todos

HIDE = """() => {
  Object.defineProperty(document, "hidden", { value: true, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""
TURN = {"type": "turn/start", "data": {"turn": 1, "prompt": "Do it"}}


def call(call_id: str, name: str = "bash") -> dict[str, object]:
    return {"type": "tool/call", "data": {"call_id": call_id, "name": name, "arguments": '{"command": "make"}'}}


def result(call_id: str) -> dict[str, object]:
    return {"type": "tool/result", "data": {"call_id": call_id, "is_error": False, "text": "done"}}


def test_a_page_that_waits_for_its_session_fills_live(page: Page, shared_panel: Panel) -> None:
    session = new_session()
    page.goto(f"{shared_panel.url}/sessions/{session}")
    assert page.locator(STRIP).count() == 0
    assert page.get_by_text("Waiting for this session").is_visible()
    wait_live(page)
    shared_panel.append(session, TURN, call("a"))
    page.wait_for_selector("[data-tool=bash][data-state=running]")
    shared_panel.write(session, todos("a=i b=p"))
    page.wait_for_selector(STRIP)
    assert not page.get_by_text("Waiting for this session").is_visible()


def test_the_strip_goes_with_its_plan_and_leaves_no_height(page: Page, shared_panel: Panel) -> None:
    """R057."""
    session = new_session()
    shared_panel.write(session, todos("a=c"))
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    shared_panel.append(session, TURN)
    page.wait_for_selector(STRIP, state="detached")
    box = page.locator("#strip").bounding_box()
    assert box is None or box["height"] == 0


def test_rows_appear_run_and_end_and_a_turn_is_marked(page: Page, shared_panel: Panel) -> None:
    session = new_session()
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    shared_panel.append(session, TURN, call("a"), call("b"))
    page.wait_for_function("() => document.querySelectorAll('[data-state=running]').length === 2")
    shared_panel.append(session, result("a"), {"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "aborted"}}})
    page.wait_for_selector("[data-state=stopped]")
    states = [row.get_attribute("data-state") for row in page.locator("[data-tool]").all()]
    assert states == ["ok", "stopped"]
    assert "interrupted" in (page.locator(".turn-label").text_content() or "")


def test_what_the_reader_opened_focused_and_scrolled_survives_frames_and_one_stream_serves_them(
    page: Page, shared_panel: Panel
) -> None:
    """R077, R085, R087, R089."""
    session = new_session()
    streams: list[str] = []
    page.on("request", lambda request: streams.append(request.url) if "/stream" in request.url else None)
    shared_panel.append(session, TURN, *[event for n in range(40) for event in (call(f"{n}"), result(f"{n}"))])
    shared_panel.write(session, todos("a=i b=p"))
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    row, strip = page.locator("[data-tool=bash]").nth(20), page.locator(STRIP)
    strip.locator("summary").click()
    row.locator("summary").click()
    row.locator("summary").focus()
    page.evaluate("() => window.scrollTo(0, 300)")
    page.wait_for_function("() => window.scrollY === 300")
    for n in range(10):
        position = shared_panel.write(session, todos("a=i b=p" if n % 2 else "a=c b=i")).json()["position"]
        wait_live(page, position)
    assert strip.evaluate("strip => strip.open")
    assert row.evaluate("row => row.open")
    assert row.locator("summary").evaluate("summary => summary === document.activeElement")
    assert page.evaluate("() => window.scrollY") == 300
    assert len(streams) == 1


def test_what_is_shown_is_never_taken_away_to_be_shown_anew(page: Page, shared_panel: Panel) -> None:
    """R091: a stream of tool events updates in place; nothing is blank in between, and no element is another one."""
    session = new_session()
    shared_panel.append(session, TURN, call("first"), result("first"))
    shared_panel.write(session, todos("a=i b=p"))
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    page.evaluate(
        """strip => {
          window.kept = [strip, "[data-tool=bash]", "#turns"].map((name) => document.querySelector(name));
          window.isBlank = false;
          new MutationObserver(() => {
            const header = document.querySelector(`${strip} [data-field=header]`)?.textContent;
            window.isBlank ||= !header || !document.querySelector("[data-tool]");
          }).observe(document.querySelector("#live"), { subtree: true, childList: true, characterData: true });
        }""",
        STRIP,
    )
    for n in range(12):
        shared_panel.append(session, call(f"{n}"), result(f"{n}"))
        position = shared_panel.write(session, todos("a=i b=p" if n % 2 else "a=c b=i")).json()["position"]
        wait_live(page, position)
    assert page.evaluate("() => window.kept.every((element) => element.isConnected)")
    assert not page.evaluate("() => window.isBlank")
    assert page.locator("[data-tool=bash]").count() == 13


def test_who_comes_back_sees_what_stands_by_then(page: Page, shared_panel: Panel) -> None:
    """R044: by a link and by the browser's Back; nothing of it is the page's own memory."""
    session = new_session()
    shared_panel.write(session, todos("a=i b=p"))
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    page.locator(".brand").click()
    page.wait_for_url(f"{shared_panel.url}/")
    shared_panel.write(session, todos("a=c b=i"))
    page.go_back()
    expect(page.locator(f"{STRIP} [data-field=header]")).to_have_text("1 completed\u2002·\u20021 in progress")
    wait_live(page)


def test_the_readers_choice_is_kept_when_the_strip_goes_and_comes_back_and_over_a_reload(
    page: Page, shared_panel: Panel
) -> None:
    """R102."""
    session = new_session()
    shared_panel.write(session, todos("a=c"))
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    assert not page.locator(STRIP).evaluate("strip => strip.open")  # collapsed by default
    page.locator(STRIP).locator("summary").click()
    shared_panel.append(session, TURN)
    page.wait_for_selector(STRIP, state="detached")
    shared_panel.write(session, todos("b=i"))
    page.wait_for_selector(f"{STRIP}[open]")
    page.reload()
    page.wait_for_selector(f"{STRIP}[open]")


def test_the_readers_choice_is_kept_in_a_frame_that_has_no_storage(page: Page, shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=c"))
    page.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('refused'); } })")
    page.goto(f"{shared_panel.url}/embed/{session}")
    wait_live(page)
    page.locator(STRIP).locator("summary").click()
    shared_panel.append(session, TURN)
    page.wait_for_selector(STRIP, state="detached")
    shared_panel.write(session, todos("b=i"))
    page.wait_for_selector(f"{STRIP}[open]")


def test_a_reader_at_the_end_follows_new_rows(page: Page, shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, TURN, *[event for n in range(60) for event in (call(f"{n}"), result(f"{n}"))])
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    at_end = "() => window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 2"
    page.wait_for_function(at_end)
    wait_live(page, shared_panel.write(session, todos("a=i")).json()["position"])
    page.wait_for_function(at_end)
    assert page.locator("[data-plan]").last.is_visible()


def test_a_page_comes_back_after_the_server_and_says_so_meanwhile(page: Page, database: Path, unused_port: int) -> None:
    """R016."""
    port = str(unused_port)
    with serving(database, "--port", port) as program:
        url = f"{program.url}/sessions/kept"
        page.request.post(f"{program.url}/api/sessions/kept/events", data={"events": [TURN]})
        page.request.post(f"{program.url}/api/sessions/kept/todo_write", data={"todos": todos("a=i b=p")})
        page.goto(url)
        wait_live(page)
        expect(page.get_by_text("turn running")).to_be_visible()
        assert program.stop() == 0
        page.wait_for_selector("[data-live=lost]")
        expect(page.get_by_text("turn unknown")).to_be_visible()
        expect(page.get_by_text("turn running")).to_be_hidden()
        glyph = page.locator(f"{STRIP} [data-status=in_progress] > .glyph")
        assert glyph.evaluate("glyph => getComputedStyle(glyph).animationName") == "none"
        assert "lost since" in field(page.locator("[data-signal]"), "live")
    with serving(database, "--port", port) as program:
        answer = page.request.post(f"{program.url}/api/sessions/kept/todo_write", data={"todos": todos("a=c b=i")})
        wait_live(page, answer.json()["position"])
        assert field(page.locator(STRIP), "header").startswith("1 completed")
        assert field(page.locator("[data-signal]"), "live") == "live"


def test_a_stream_of_which_nothing_is_heard_is_called_lost_and_taken_up_anew(page: Page, shared_panel: Panel) -> None:
    """R075, R082: half open, or held back on its way; until then the page does not say that it is live."""
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    page.clock.install()
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    page.clock.fast_forward(40_000)  # a heartbeat comes every fifteen seconds
    page.wait_for_selector("[data-live=lost]")
    position = shared_panel.write(session, todos("a=c")).json()["position"]
    page.clock.resume()
    wait_live(page, position)
    assert field(page.locator(STRIP), "header") == "1 completed"


def test_tabs_that_nobody_sees_leave_their_connection_to_the_one_that_is_seen(
    context: BrowserContext, shared_panel: Panel
) -> None:
    """R076: a browser opens six connections to a server over HTTP/1.1, and a seventh page could not even load."""
    session = new_session()
    shared_panel.write(session, todos("a=i b=p"))
    for _ in range(7):
        tab = context.new_page()
        tab.goto(f"{shared_panel.url}/sessions/{session}")
        wait_live(tab)
        shown = tab
        if len(context.pages) < 7:
            tab.evaluate(HIDE)
            tab.wait_for_selector("[data-live=catching-up]")
    position = shared_panel.write(session, todos("a=c b=i")).json()["position"]
    wait_live(shown, position)


def test_a_tab_that_was_opened_unseen_shows_its_plan_and_leaves_its_connection_to_others(
    context: BrowserContext, shared_panel: Panel
) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=i b=p"))
    tab = context.new_page()
    tab.add_init_script("Object.defineProperty(document, 'hidden', { value: true, configurable: true })")
    places = shared_panel.parts.hub.places
    before = places.total
    tab.goto(f"{shared_panel.url}/sessions/{session}")
    expect(tab.locator(f"{STRIP} [data-field=header]")).to_have_text("1 in progress\u2002·\u20021 pending")
    tab.wait_for_function("() => document.querySelector('#live')._htmx?.sse?.attempt")  # it waits to be seen
    for _ in range(250):
        if places.total == before:
            break
        tab.wait_for_timeout(20)
    assert places.total == before
    shared_panel.write(session, todos("a=c b=i"))
    tab.evaluate(
        """() => {
          Object.defineProperty(document, "hidden", { value: false });
          document.dispatchEvent(new Event("visibilitychange"));
        }"""
    )
    wait_live(tab)
    expect(tab.locator(f"{STRIP} [data-field=header]")).to_have_text("1 completed\u2002·\u20021 in progress")


def test_a_first_connection_that_fails_is_tried_again(page: Page, shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    refused: list[Request] = []

    def refuse_once(route, request) -> None:  # type: ignore[no-untyped-def]
        if refused:
            route.continue_()
        else:
            refused.append(request)
            route.abort()

    page.route("**/stream*", refuse_once)
    page.goto(f"{shared_panel.url}/sessions/{session}")
    page.wait_for_selector("[data-live=lost]")
    wait_live(page)
    assert len(refused) == 1


@pytest.mark.parametrize("limit", ["max_client_streams", "max_streams"])
def test_a_page_for_whose_stream_there_is_no_room_says_so_and_is_live_when_there_is(
    page: Page, database: Path, limit: str
) -> None:
    settings: dict[str, Any] = {limit: 1}
    with running(database, **settings) as panel:
        panel.write("a", todos("a=i"))
        with panel.stream("/stream") as other:
            assert other.status == 200
            page.goto(f"{panel.url}/sessions/a")
            page.wait_for_selector("[data-live=lost]")
            assert "lost since" in field(page.locator("[data-signal]"), "live")
            assert field(page.locator(STRIP), "header") == "1 in progress"
        wait_live(page, panel.write("a", todos("a=c")).json()["position"])
        assert field(page.locator("[data-signal]"), "live") == "live"


def test_a_burst_leaves_the_last_state_and_loses_no_row(page: Page, shared_panel: Panel) -> None:
    session = new_session()
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    for n in range(30):
        position = shared_panel.write(session, todos(f"step{n}=i")).json()["position"]
    wait_live(page, position + 1)
    assert field(page.locator(STRIP), "content") == "step29"
    assert page.locator("[data-plan]").count() == 30
    live = page.locator("#live").evaluate("live => live.querySelector('#turns').textContent")
    page.reload()
    fresh = page.locator("#live").evaluate("live => live.querySelector('#turns').textContent")
    assert "".join(live.split()) == "".join(fresh.split())


def test_older_rows_come_on_demand_into_the_turns_that_they_belong_to(page: Page, shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, TURN, *[event for n in range(130) for event in (call(f"{n}"), result(f"{n}"))])
    page.goto(f"{shared_panel.url}/sessions/{session}")
    assert page.locator("[data-tool]").count() == 100
    page.get_by_role("button", name="Show older rows").click()
    page.wait_for_function("() => document.querySelectorAll('[data-tool]').length === 130")
    ids = page.locator("[data-tool]").evaluate_all("rows => rows.map(row => Number(row.id.slice(4)))")
    assert ids == sorted(ids)
    assert page.locator("section[id='turn-1']").count() == 1
    assert page.get_by_role("button", name="Show older rows").count() == 0


def test_a_link_to_a_position_leads_to_the_row_that_holds_it_also_after_a_reload(
    page: Page, shared_panel: Panel
) -> None:
    """R158: of a call or of what came of it; what has not happened yet leaves the reader at the end."""
    session = new_session()
    shared_panel.append(session, TURN, *[event for n in range(230) for event in (call(f"{n}"), result(f"{n}"))])
    for position, row in ((201, 200), (460, 460), (3, 2)):
        page.goto("about:blank")
        page.goto(f"{shared_panel.url}/sessions/{session}#{position}")
        for _ in range(2):
            expect(page.locator(f"#row-{row}:target")).to_be_in_viewport()
            assert page.url.endswith(f"#row-{row}")
            page.reload()
    wait_live(page, shared_panel.append(session, call("more")).json()["last_position"])
    expect(page.locator("#row-2")).to_be_in_viewport()
    page.goto("about:blank")
    page.goto(f"{shared_panel.url}/sessions/{session}#999999")
    wait_live(page)
    expect(page.locator("[data-tool]").last).to_be_in_viewport()
    assert page.locator("[data-tool]").count() == 100


@pytest.mark.parametrize(
    "text", ["<img src=x onerror=alert(1)>", "\u202eevil\u202c", "\x1b[31mred", "line\none", "a\0b"]
)
def test_hostile_text_is_shown_as_text(page: Page, shared_panel: Panel, text: str) -> None:
    session = new_session()
    shared_panel.append(session, {"type": "session/start", "data": {"agent": text, "title": text}})
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    wait_live(page, shared_panel.write(session, [{"content": text, "status": "in_progress"}]).json()["position"])
    shown = field(page.locator(STRIP), "content")
    assert shown == text.replace("\0", "\u2400")  # which HTML cannot hold
    assert page.locator("img").count() == 0


def test_the_tab_is_named_as_the_session_is_by_now(page: Page, shared_panel: Panel) -> None:
    """R072."""
    session = new_session()
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    assert page.title() == f"{session} · planstrip"
    shared_panel.append(session, {"type": "session/title", "data": {"title": "Mend \u202ethe build"}})
    page.wait_for_function("() => document.title === 'Mend the build · planstrip'")


def test_no_older_rows_are_offered_when_there_are_none(page: Page, shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, TURN, *[call(f"{n}") for n in range(100)])
    page.goto(f"{shared_panel.url}/sessions/{session}")
    assert page.locator("[data-tool]").count() == 100
    assert page.get_by_role("button", name="Show older rows").count() == 0


@pytest.mark.parametrize(("kind", "shown"), [("sessions", "main"), ("embed", "#live")])
def test_an_event_that_shows_nothing_leaves_a_page_as_a_fresh_one(
    page: Page, shared_panel: Panel, kind: str, shown: str
) -> None:
    session = new_session()
    page.goto(f"{shared_panel.url}/{kind}/{session}")
    wait_live(page)
    shared_panel.append(session, {"type": "later/type", "data": {}})
    watched = page.locator(shown).inner_text()
    assert "Waiting for this session" in watched
    page.reload()
    wait_live(page)
    assert page.locator(shown).inner_text() == watched


GAP = "() => document.documentElement.scrollHeight - window.innerHeight - window.scrollY"


def long_session(panel: Panel, calls: int = 60) -> str:
    session = new_session()
    panel.append(session, TURN, *[event for n in range(calls) for event in (call(f"{n}"), result(f"{n}"))])
    panel.write(session, todos("a=i b=p c=p d=p e=p f=p"))
    return session


def test_only_the_reader_leaves_the_end(page: Page, shared_panel: Panel) -> None:
    """A strip that opens, a window that shrinks and rows that come do not; scrolling back or opening a row does."""
    session = long_session(shared_panel)
    page.goto(f"{shared_panel.url}/sessions/{session}")
    wait_live(page)
    page.mouse.click(400, 95)  # where the strip is docked: a locator's click would first scroll to where it began
    expect(page.locator(STRIP)).to_have_attribute("open", "")
    page.wait_for_function(f"() => ({GAP})() <= 2")
    page.set_viewport_size({"width": 700, "height": 500})
    page.wait_for_function(f"() => ({GAP})() <= 2")
    page.mouse.move(300, 450)  # not above the strip, whose list scrolls as well
    page.mouse.wheel(0, -300)
    page.wait_for_function(f"() => ({GAP})() >= 250")
    wait_live(page, shared_panel.write(session, todos("a=c")).json()["position"])
    assert page.evaluate(GAP) >= 250
    page.get_by_role("link", name="Newest").click()
    page.wait_for_function(f"() => ({GAP})() <= 2")
    wait_live(page, shared_panel.write(session, todos("b=i")).json()["position"])
    page.wait_for_function(f"() => ({GAP})() <= 2")
    row = page.locator("[data-tool]").last
    top = row.bounding_box()
    row.locator("summary").click()
    page.wait_for_timeout(100)
    assert row.bounding_box()["y"] == top["y"]  # type: ignore[index] # what was opened is read from its start


def test_a_retired_plan_leaves_its_undo_in_view(page: Page, shared_panel: Panel) -> None:
    page.goto(f"{shared_panel.url}/sessions/{long_session(shared_panel)}")
    wait_live(page)
    page.locator(f"{STRIP} > summary").click()
    page.get_by_role("button", name="Retire").click()
    expect(page.get_by_role("button", name="Undo")).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(STRIP)).to_be_in_viewport()
