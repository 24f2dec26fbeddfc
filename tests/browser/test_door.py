"""A web page elsewhere can neither write to a panel on localhost nor read from it (spec.md §10)."""

import http.server
import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from tests.browser.record import wait_live
from tests.running import Panel, new_session, todos


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """The origin of somebody else's page, empty."""

    class Empty(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>elsewhere</title>")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Empty)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://localhost:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


WRITE = """([url, type]) => fetch(url, {
  method: "POST", mode: "no-cors", headers: {"content-type": type}, body: JSON.stringify({todos: []}),
}).then(() => "sent", () => "failed")"""
READ = """url => fetch(url).then(answer => answer.text(), () => "refused")"""


def test_it_cannot_write(page: Page, shared_panel: Panel, elsewhere: str) -> None:
    session = new_session()
    page.goto(elsewhere)
    for media_type in ("application/json", "text/plain"):
        page.evaluate(WRITE, [f"{shared_panel.url}/api/sessions/{session}/todo_write", media_type])
    assert shared_panel.events(session) == []


def test_it_cannot_read(context, shared_panel: Panel, elsewhere: str) -> None:  # type: ignore[no-untyped-def]
    session = new_session()
    shared_panel.write(session, todos("secret=i"))
    page = context.new_page()  # its console complains, as it should
    page.goto(elsewhere)
    for path in (
        f"/api/sessions/{session}/plan",
        f"/sessions/{session}/stream",
        "/",
        f"/api/sessions/{session}/stream",
    ):
        assert page.evaluate(READ, shared_panel.url + path) == "refused"


def test_pages_ask_nothing_of_another_host_and_break_no_policy(page: Page, shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=i b=i"))
    hosts: set[str] = set()
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    for path in ("/", f"/sessions/{session}", f"/embed/{session}", "/docs", "/sign-in", "/nowhere"):
        page.goto(shared_panel.url + path)
        if page.locator("[data-live]").count():
            wait_live(page)
    assert hosts == {shared_panel.origin.removeprefix("http://")}
