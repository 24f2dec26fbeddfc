"""Below a prefix, behind a proxy that keeps it or takes it off: no page asks for, or leads to, anything outside.

PLANSTRIP_TEST_ROOT=/plans puts the whole browser suite there (tests/running.py); this is the part that always runs.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Page, expect

from tests.browser.record import STRIP, wait_live
from tests.browser.states import PLAN, STATES, call, result, session
from tests.running import Panel, running, todos

ROOT: Final = "/plans"
PAGES: Final = (
    *("board", "board, filtered", "session with children", "session of a child", "session, to-dos dropped"),
    *("session, retired", "past", "embed, open", "docs", "sign-in", "error"),
)
ADDRESSES: Final = """() => [...document.querySelectorAll("*")].flatMap((one) => [...one.attributes]
  .filter(({ name }) => /^(href|src|action|data-copy|hx-(get|post|sse:connect))$/.test(name))
  .map(({ name, value }) => [name === "action" && one.method === "post" ? "hx-post" : name, value]))"""


@pytest.fixture
def below(request: pytest.FixtureRequest, database: Path) -> Iterator[Panel]:
    """Behind a proxy that takes the prefix off, or, where a test asks for that, keeps it."""
    with running(database, strips=getattr(request, "param", "stripped") == "stripped", root_path=ROOT) as panel:
        yield panel


@pytest.fixture
def asked(page: Page) -> list[str]:
    """What the page asks for, while the test runs."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    return asked


def addresses(page: Page) -> set[tuple[str, str]]:
    """Kind and path of all that the page leads to; a link within it, and a command that it shows, leads nowhere."""
    found: Sequence[Sequence[str]] = page.evaluate(ADDRESSES)
    return {(kind, urljoin(page.url, value)) for kind, value in found if not value.startswith(("#", "data:"))}


def check(panel: Panel, known: set[str], found: set[tuple[str, str]]) -> None:
    """Each stands below the prefix, and answers: what writes is not tried here."""
    assert [url for _, url in found if not url.startswith(f"{panel.origin}{ROOT}/")] == []
    for kind, url in sorted(found):
        path = url.removeprefix(panel.url)
        if kind == "hx-post" or path in known:
            continue
        known.add(path)
        if kind == "hx-sse:connect":
            with panel.stream(path) as stream:
                assert (stream.status, stream.next().event) == (200, "message"), path
        else:
            assert panel.client.get(path.partition("#")[0]).status_code == 200, path


def test_every_page_stays_below_it(page: Page, below: Panel, asked: list[str]) -> None:
    """R137."""
    known: set[str] = set()
    for name in PAGES:
        STATES[name].show(page, below)
        found = addresses(page)
        assert found
        check(below, known, found)
    assert {path.partition("?")[0].split("/")[1] for path in known} >= {"sessions", "embed", "stream", "static"}
    assert [url for url in asked if not url.startswith(f"{below.origin}{ROOT}/")] == []


@pytest.mark.parametrize("below", ["kept"], indirect=True)
def test_so_does_what_a_push_brings_and_what_a_reader_does(page: Page, below: Panel, asked: list[str]) -> None:
    many = [event for number in range(120) for event in (call(f"{number}"), result(f"{number}"))]
    path = session(PLAN, todos("read_the_grammar=c run_the_build=i"), then=tuple(many))(below)
    page.goto(below.url + path)
    wait_live(page)
    wait_live(page, below.write(path.rpartition("/")[2], PLAN).json()["position"])  # a push brings all anew
    check(below, set(), addresses(page))
    page.get_by_role("button", name="Show older rows").click()
    page.wait_for_function("() => !document.querySelector('#older button')")
    page.locator(f"{STRIP} > summary").click()
    page.get_by_role("button", name="Retire").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(STRIP)).to_be_visible()
    page.get_by_role("button", name="Language").click()
    page.get_by_role("link", name="中文").click()
    page.wait_for_url(f"{below.url}{path}?lang=zh")
    page.goto(f"{below.url}{path}?at=9")
    page.locator(".past-slider").fill("0")
    page.wait_for_url(f"{below.url}{path}?*at=*")
    page.locator(".brand").click()
    page.wait_for_url(f"{below.url}/")
    assert [url for url in asked if not url.startswith(f"{below.origin}{ROOT}/")] == []


def test_a_person_signs_in_below_it(page: Page, database: Path, asked: list[str]) -> None:
    """The cookie is for the prefix, and the way back leads there."""
    with running(database, strips=True, root_path=ROOT, token="s3cret") as panel:
        page.goto(f"{panel.url}/sessions/a")
        page.get_by_label("Token").fill("s3cret")
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{panel.url}/sessions/a")
        wait_live(page)
        assert [cookie["path"] for cookie in page.context.cookies()] == [ROOT]
        assert [url for url in asked if not url.startswith(f"{panel.url}/")] == []
