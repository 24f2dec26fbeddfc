"""A site that is not the panel's: `localhost` while the panel is `127.0.0.1`, with pages that frame it."""

import contextlib
import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class Site:
    """Its pages by path: HTML, and the policy that the page is sent with."""

    url: str
    pages: dict[str, tuple[str, str]] = field(default_factory=dict)

    def put(self, html: str, *, path: str = "/", policy: str = "") -> str:
        """The page's address."""
        self.pages[path] = (f"<!doctype html><meta charset=utf-8><title>Elsewhere</title>{html}", policy)
        return self.url + path


@contextlib.contextmanager
def other_site() -> Iterator[Site]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            html, policy = site.pages.get(self.path, ("", ""))
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            if policy:
                self.send_header("Content-Security-Policy", policy)
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site = Site(f"http://localhost:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
