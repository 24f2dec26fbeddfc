"""paint: from the request of `todo_write` until the new header stands in the page, against htmx fed by a bare app."""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page, sync_playwright

from tests.bench import servers
from tests.bench.client import Client, Stream
from tests.bench.lines import Line, Pair, Scale, percentile
from tests.bench.logs import seed, todos

TARGET = 2.0
SESSION = "paint"
PAUSE_MS = 150  # longer than the program's frame interval: what is measured is a frame, not the wait for the next
CHROMIUM_ARGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking")

# The clock stands in the page, on both sides alike: from `fetch` until an observer sees the text.
PAINT = """({path, body, header}) => new Promise((resolve, reject) => {
  const observer = new MutationObserver(() => {
    if (document.querySelector('[data-field="header"]')?.textContent !== header) return;
    observer.disconnect();
    resolve(performance.now() - began);
  });
  observer.observe(document.body, {subtree: true, childList: true, characterData: true});
  setTimeout(() => reject(new Error(`no header ${header} in 10 s`)), 10_000);
  const began = performance.now();
  fetch(path, {method: "POST", headers: {"Content-Type": "application/json"}, body});
})"""
IS_LIVE = """() => document.querySelector('[data-live="live"]') !== null"""


def measure(scale: Scale) -> Iterator[Line]:
    writes = scale.pick(15, 2)
    with tempfile.TemporaryDirectory(prefix="planstrip-bench-") as folder:
        database = Path(folder) / "log.sqlite3"
        seed(database, {SESSION: 300})
        with servers.planstrip(database) as ours, servers.bare("stream") as bare, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=_chromium(), args=CHROMIUM_ARGS)
            stage = Stage(browser, ours.port, bare.port)
            pairs, painted = stage.play(scale.rounds, writes)
            browser.close()
    note = f"ours: median {median(painted):.1f} ms, p95 {percentile(painted, 0.95):.1f} ms of {len(painted)} paints"
    yield Line("paint", pairs, "ms", TARGET, note=note)


class Stage:
    """Both pages, open beside each other, with the same content; each frame of ours is the bare app's next one."""

    def __init__(self, browser: Browser, ours: int, bare: int) -> None:
        self._bare_client = Client(bare)
        with Client(ours) as client:
            html = client.request("GET", f"/sessions/{SESSION}?lang=en")
        self._bare_client.request("POST", "/page", bare_page(html.decode()).encode())
        self._stream = Stream(ours, f"/sessions/{SESSION}/stream?lang=en&after=300")
        self._stream.frame()
        self._ours = browser.new_page(locale="en-US")
        self._ours.goto(f"http://127.0.0.1:{ours}/sessions/{SESSION}?lang=en")
        self._ours.wait_for_function(IS_LIVE)
        self._bare = browser.new_page(locale="en-US")
        with self._bare.expect_response("**/stream"):
            self._bare.goto(f"http://127.0.0.1:{bare}/")
        self._step = 0

    def play(self, rounds: int, writes: int) -> tuple[list[Pair], list[float]]:
        """The rounds, and every paint of ours in ms."""
        pairs, painted = [], []
        for number in range(-1, rounds):  # the first only warms up
            both = [self._write() for _ in range(writes)]
            if number >= 0:
                pairs.append(Pair(median(own for own, _ in both), median(other for _, other in both)))
                painted += [own for own, _ in both]
        return pairs, painted

    def _write(self) -> tuple[float, float]:
        self._step += 1
        listed = todos(self._step)
        body, header = json.dumps({"todos": listed}), _header(listed)
        self._ours.wait_for_timeout(PAUSE_MS)
        own = _paint(self._ours, f"/api/sessions/{SESSION}/todo_write", body, header)
        self._bare_client.request("POST", "/frame", self._stream.frame())
        self._bare.wait_for_timeout(PAUSE_MS)
        return own, _paint(self._bare, "/write", body, header)


def bare_page(html: str) -> str:
    """Our page with htmx and hx-sse as they come, and nothing else of ours: no styles, no scripts."""
    vendor = sorted(path.name for path in (servers.ROOT / "static" / "vendor").glob("*.js"))  # htmx before hx-sse
    scripts = "".join(f'<script src="/vendor/{name}"></script>\n' for name in vendor)
    html = re.sub(r'<link rel="stylesheet"[^>]*>', "", html)
    html = re.sub(r"<script src=[^>]*></script>", scripts, html)
    return re.sub(r'hx-sse:connect="[^"]*"', 'hx-sse:connect="/stream"', html)


def _paint(page: Page, path: str, body: str, header: str) -> float:
    return float(page.evaluate(PAINT, {"path": path, "body": body, "header": header}))


def _header(listed: list[dict[str, str]]) -> str:
    """The counts as the strip shows them (spec.md §6)."""
    statuses = [todo["status"] for todo in listed]
    words = (("completed", "completed"), ("in_progress", "in progress"), ("pending", "pending"))
    counts = [f"{statuses.count(status)} {word}" for status, word in words if status in statuses]
    return "\u2002·\u2002".join(counts)


def _chromium() -> str | None:
    """A system browser; None: the one that Playwright has installed."""
    return os.environ.get("PLANSTRIP_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
