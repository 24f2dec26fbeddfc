"""Liveness with the store's state, and figures (spec.md §10)."""

import itertools
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest

from planstrip import db
from planstrip.db import open_engine
from planstrip.web import health
from tests import postgres
from tests.databases import SUFFIX, release, url_of
from tests.figures import figures, figures_in
from tests.running import Panel, running, todos


def test_health_tells_the_store_and_the_policy(shared_panel: Panel) -> None:
    answer = shared_panel.client.get("/healthz")
    assert answer.status_code == 200
    assert {"status": "ok", "store": "ok", "allow_parallel_in_progress": True}.items() <= answer.json().items()


def test_a_store_that_fails_is_told(panel: Panel, database: Path) -> None:
    with panel.parts.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE sessions RENAME TO elsewhere")
    answer = panel.client.get("/healthz")
    assert (answer.status_code, answer.json()["status"]) == (503, "failing")
    assert str(database) not in answer.text


def test_what_the_store_says_is_for_who_shows_the_token(database: Path) -> None:
    """It may name a host, or where a socket lies."""
    with running(database, token="s3cret") as panel:
        owner = {"Authorization": "Bearer s3cret"}
        made = panel.client.post("/api/tokens", json={"session": "mine"}, headers=owner).json()
        guest = {"Authorization": f"Bearer {made['token']}"}
        with panel.parts.engine.begin() as connection:
            connection.exec_driver_sql("ALTER TABLE sessions RENAME TO elsewhere")
        told = [
            panel.client.get("/healthz", headers=headers).json()["store"]
            for headers in ({}, {"Authorization": "Bearer wrong"}, guest, owner)
        ]
        assert told[:3] == [health.DOES_NOT] * 3
        assert "sessions" in told[3]
        said = [panel.client.get("/api/sessions/mine/plan", headers=headers).json() for headers in (guest, owner)]
        assert [answer["status"] for answer in said] == [503, 503]
        assert ["sessions" in answer["detail"] for answer in said] == [False, True]


@pytest.mark.sqlite
def test_a_store_that_cannot_be_written_is_told_and_heals(
    panel: Panel, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "time", SimpleNamespace(monotonic=itertools.count().__next__))  # a second each time
    monkeypatch.setattr(db, "HEALTH_TIMEOUT_MS", 10)
    other = sqlite3.connect(database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    answer = panel.client.get("/healthz")
    assert (answer.status_code, answer.json()["store"]) == (503, "database is locked")
    assert panel.client.get("/api/sessions").status_code == 200  # which can be read all the same
    other.execute("ROLLBACK")
    other.close()
    assert panel.client.get("/healthz").status_code == 200
    monkeypatch.setattr(db, "FULL_BYTES", 2**60)
    answer = panel.client.get("/healthz")
    assert (answer.status_code, answer.json()["store"]) == (503, "the disk is full")


def test_a_postgresql_that_is_read_only_is_told(tmp_path: Path) -> None:
    """As a standby is."""
    path = tmp_path / f"plans{SUFFIX}"
    found = []
    for setting in ("off", "on"):
        name = url_of(path).partition("@/")[2].partition("?")[0]
        postgres.server().execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = {setting}')
        engine = open_engine(url_of(path))
        found.append(db.unwritable(engine))
        engine.dispose()
    assert found == [None, "it is read-only: a standby, or set so"]
    release(path)


def test_figures_are_in_the_format_of_prometheus(panel: Panel) -> None:
    before = figures(panel)
    panel.write("a", todos("x=i"))
    panel.write("b", todos("x=i x=i"))
    with panel.stream("/api/sessions/a/stream") as stream:
        stream.next()
        answer = panel.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    now = figures_in(answer.text)
    assert (now["planstrip_sessions"], now["planstrip_events"], now["planstrip_store_up"]) == (2, 5, 1)
    assert now["planstrip_streams"] - before["planstrip_streams"] == 1
    added = 'planstrip_appends_total{outcome="added"}'
    assert now[added] - before[added] == 2
    openmetrics = panel.client.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert openmetrics.text.endswith("# EOF\n")


def test_figures_are_told_while_the_store_is_away(panel: Panel) -> None:
    with panel.parts.engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE sessions RENAME TO elsewhere")
    now = figures(panel)
    assert now["planstrip_store_up"] == 0
    assert "planstrip_sessions" not in now
    assert "planstrip_streams" in now


@pytest.mark.parametrize("path", ["/healthz", "/metrics"])
def test_nothing_is_kept_of_them_by_a_cache(shared_panel: Panel, path: str) -> None:
    assert "max-age" not in shared_panel.client.get(path).headers.get("cache-control", "")
