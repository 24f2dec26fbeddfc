"""A page while its server's store is away: it says so, keeps what it shows, and comes back by itself (spec.md §8)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests import postgres
from tests.browser.record import STRIP, wait_live
from tests.databases import SUFFIX, release
from tests.running import Panel, running, todos


@pytest.fixture
def panel(tmp_path: Path) -> Iterator[Panel]:
    path = tmp_path / f"log{SUFFIX}"
    with running(path) as panel:
        yield panel
    release(path)


def test_a_page_whose_store_is_away_says_so_and_is_live_when_it_is_back(page: Page, panel: Panel) -> None:
    panel.write("s", todos("x=i y=p"))
    page.goto(f"{panel.url}/sessions/s")
    wait_live(page)
    streams: list[str] = []
    page.on("request", lambda request: streams.append(request.url) if "/stream" in request.url else None)
    with postgres.stopped():
        expect(page.locator("[data-live=lost]")).to_be_visible(timeout=5_000)
        expect(page.locator("[data-field=live]")).to_contain_text("lost since")
        expect(page.locator(STRIP)).to_be_visible()
    wait_live(page)
    position = panel.write("s", todos("x=c y=i")).json()["position"]
    wait_live(page, position)
    assert streams == []
