"""Somebody opens a link that shows them one session, in a real browser (spec.md §10)."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from planstrip.web import view_watch
from tests.browser.record import STRIP, wait_live
from tests.browser.test_a11y import AXE, faults
from tests.running import Panel, new_session, running, todos
from tests.views import revoke, view, view_of

OWN = {"Authorization": "Bearer s3cret"}


@pytest.fixture
def guarded(database: Path) -> Iterator[Panel]:
    with running(database, token="s3cret") as panel:
        panel.client.headers.update(OWN)
        yield panel


def story(panel: Panel, rows: int = 0) -> str:
    session = new_session()
    call = {"type": "tool/call", "data": {"name": "bash", "arguments": "{}"}}
    calls = [{**call, "data": {**call["data"], "call_id": f"c{number}"}} for number in range(rows)]  # type: ignore[dict-item]
    for written in ("a=i b=p", "a=c b=i"):
        panel.write(session, todos(written))
    if calls:
        assert panel.append(session, *calls).status_code == 201
    return session


def counts(page: Page) -> str | None:
    return page.locator(f"{STRIP} [data-field=header]").text_content()


def token_of(page: Page) -> list[str]:
    return parse_qs(urlsplit(page.url).query)["token"]


def test_a_guest_follows_a_session_live_and_finds_no_button_that_does_nothing(page: Page, guarded: Panel) -> None:
    """R138, R141: under the page's policy, which fails this test when it is broken, and with no way to act."""
    session = story(guarded, rows=130)
    token = view(guarded, session)
    page.goto(f"{guarded.url}/sessions/{session}?token={token}")
    wait_live(page)
    page.locator(f"{STRIP} > summary").click()
    for name in ("Retire", "Dismiss"):
        assert page.get_by_role("button", name=name).count() == 0
    guarded.write(session, todos("a=c b=c c=i"))
    expect(page.locator(f"{STRIP} [data-field=header]")).to_have_text("2 completed\u2002·\u20021 in progress")
    assert page.get_by_role("button", name="Retire").count() == 0  # nor after a push
    page.get_by_role("button", name="Show older rows").click()
    expect(page.locator("#row-1")).to_be_attached()
    page.get_by_role("button", name="Language").click()
    page.get_by_role("link", name="中文").click()
    wait_live(page)
    assert (token_of(page), page.locator("html").get_attribute("lang")) == ([token], "zh-Hans")


def test_a_guest_goes_back_in_time_and_forward_again(page: Page, guarded: Panel) -> None:
    session = story(guarded)
    token = view(guarded, session)
    page.goto(f"{guarded.url}/sessions/{session}?token={token}")
    wait_live(page)
    page.locator(f"{STRIP} > summary").click()
    page.get_by_role("link", name="Step through").click()
    slider = page.get_by_role("slider")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("() => document.querySelector('#live').dataset.position === '2'")
    assert counts(page) == "1 in progress\u2002·\u20021 pending"
    assert token_of(page) == [token]
    page.get_by_role("link", name="The next write").click()
    page.wait_for_function("() => document.querySelector('#live').dataset.position === '5'")
    page.reload()
    assert counts(page) == "1 completed\u2002·\u20021 in progress"
    page.get_by_role("link", name="Back to now").click()
    wait_live(page)
    assert token_of(page) == [token]


def test_a_link_to_a_row_that_is_far_up_keeps_the_token(page: Page, guarded: Panel) -> None:
    session = story(guarded, rows=130)
    token = view(guarded, session)
    page.goto(f"{guarded.url}/sessions/{session}?token={token}&lang=zh#row-10")
    expect(page.locator("#row-10")).to_be_in_viewport()
    page.goto(f"{guarded.url}/sessions/{session}?token={token}&lang=zh&theme=dark#0")  # before any row
    page.wait_for_url("**at=0*")
    assert token_of(page) == [token]
    assert "theme=dark" in page.url
    assert page.locator(STRIP).count() == 0


@pytest.mark.parametrize("path", ["/sessions/{}?", "/embed/{}?", "/embed?session={}&"])
def test_a_page_whose_token_is_revoked_says_that_it_has_ended_and_asks_no_more(
    page: Page, guarded: Panel, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(view_watch, "LOOK_S", 0.05)
    session = story(guarded)
    token, text = view_of(guarded, session)
    page.goto(f"{guarded.url}{path.format(session)}token={text}")
    wait_live(page)
    revoke(guarded, token)
    expect(page.get_by_role("heading", name="Nothing is open here")).to_be_visible()
    assert "This link has ended" in page.locator("main").inner_text()
    assert (
        page.get_by_role("link").count()
        == page.get_by_role("button").count()
        == page.locator("[data-live]").count()
        == 0
    )
    assert page.locator(STRIP).count() == 0
    assert page.locator("[data-embed]").count() == path.startswith("/embed")


def test_a_page_that_was_opened_just_before_its_token_ended_says_so_too(page: Page, guarded: Panel) -> None:
    """The first request of its stream is refused already."""
    session = story(guarded)
    token, text = view_of(guarded, session)

    def revoke_first(route: Route) -> None:
        revoke(guarded, token)
        route.continue_()

    page.route("**/stream?*", revoke_first)
    page.goto(f"{guarded.url}/sessions/{session}?token={text}")
    expect(page.get_by_role("heading", name="Nothing is open here")).to_be_visible()


def test_a_stream_that_is_refused_alone_leaves_its_page_as_it_is(page: Page, guarded: Panel) -> None:
    """By a proxy, say: a page that would load again and again could not be read."""
    session, loads = story(guarded), list[str]()
    page.on("request", lambda request: loads.append(request.url) if request.is_navigation_request() else None)
    page.route("**/stream?*", lambda route: route.fulfill(status=403))
    page.goto(f"{guarded.url}/sessions/{session}?token={view(guarded, session)}")
    with page.expect_request(lambda request: request.method == "HEAD"):
        expect(page.locator("#live")).to_have_attribute("data-live", "lost")
    with page.expect_request(lambda request: request.method == "HEAD"):
        expect(page.locator(STRIP)).to_be_visible()
    assert len(loads) == 1


def test_a_guest_of_a_board_goes_from_it_to_a_session_and_back(page: Page, guarded: Panel) -> None:
    session = story(guarded)
    guarded.append(session, {"type": "session/start", "data": {"agent": "codex", "title": "Shown", "cwd": "/shown"}})
    token = view(guarded, {"cwd": "/shown"})
    page.goto(f"{guarded.url}/?token={token}")
    wait_live(page)
    assert page.get_by_role("searchbox").count() == page.locator(".filter").count() == 0
    page.get_by_role("link", name="Shown").click()
    wait_live(page)
    assert counts(page) == "1 completed\u2002·\u20021 in progress"
    page.get_by_role("link", name="planstrip").click()
    wait_live(page)
    assert token_of(page) == [token]
    page.get_by_role("link", name="Shown").wait_for()


def test_axe_finds_nothing_on_what_guests_see(page: Page, guarded: Panel) -> None:
    session = story(guarded)
    for path, text in (
        (f"/sessions/{session}", view(guarded, session)),
        (f"/sessions/{session}?at=2&", view(guarded, session)),
        ("/", view(guarded, {"q": "a"})),
        ("/", view(guarded, {"q": "nothing like it"})),
        (f"/sessions/{session}", view(guarded, "another")),
    ):
        page.goto(f"{guarded.url}{path}{'' if '?' in path else '?'}token={text}")
        page.evaluate(AXE)
        assert faults(page) == [], path
