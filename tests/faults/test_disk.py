"""A full disk, files that nobody may write, a database that somebody else holds: what is told, and what is kept."""

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psycopg
import pytest

from tests import postgres
from tests.faults.load import RECOVERY_S, RUNS, WRITERS, Write, check, loaded, some, write_one
from tests.faults.viewers import standing, viewing
from tests.faults.volume import filled, immutable, mounted
from tests.faults.waiting import wait_until
from tests.running import Program, serving

PATIENCE_S = 5.0  # for a lock: sqlite.BUSY_TIMEOUT_MS, postgresql.LOCK_TIMEOUT_MS


@dataclass(frozen=True, slots=True)
class Place:
    """A running panel whose database lies on a volume of its own, and what was written there so far."""

    program: Program
    volume: Path
    database: str
    writes: list[Write]


@pytest.fixture(scope="module")
def on_sqlite(empty_log: bytes) -> Iterator[Place]:
    with mounted(24) as volume:
        path = volume / "plans.sqlite3"
        path.write_bytes(empty_log)
        with serving(f"sqlite:///{path}") as program:
            yield Place(program, volume, str(path), [])


@pytest.fixture(scope="module")
def on_postgresql() -> Iterator[Place]:
    server, name = postgres.server(), "t_full"
    with mounted(48) as volume:
        postgres.own(volume / "space")
        server.execute(f"CREATE TABLESPACE small LOCATION '{volume}/space'")
        server.execute(f"CREATE DATABASE {name} TEMPLATE {postgres.TEMPLATE} TABLESPACE small STRATEGY file_copy")
        try:
            with serving(server.url(name)) as program:
                yield Place(program, volume, server.url(name), [])
        finally:
            server.drop(name)
            server.execute("DROP TABLESPACE small")


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.getfixturevalue(f"on_{request.param}")
    return found


def suffer(place: Place, fault: Callable[[], AbstractContextManager[None]], said: str) -> None:
    """Under load: while the fault lasts writers hear 503 with what is wrong, and pages and streams go on; within 5 s of
    its end writers are acknowledged again; nothing acknowledged is lost, nothing refused or in part is there."""
    url = place.program.url
    for _ in range(RUNS):
        with loaded(url, 0.005) as load, viewing(url, "s0") as viewers:
            load.wait(some(10, 50))
            with fault():
                wait_until(lambda: load.refused >= WRITERS, 3 * PATIENCE_S, "each of the writers is told")
                answer = httpx.get(f"{url}/api/sessions/s0/plan", trust_env=False)
                page = httpx.get(f"{url}/sessions/s0", trust_env=False)
                assert (answer.status_code, page.status_code) == (200, 200)
            load.recover()
            writes = load.stop()
            for viewer in viewers:
                viewer.until(standing(url, "s0") or [], RECOVERY_S)
        refused = [write for write in writes if not write.is_acknowledged]
        assert all(write.is_refused and said in write.detail for write in refused), refused[:3]
        place.writes.extend(writes)
        with httpx.Client(base_url=url, trust_env=False) as client:
            check(client, place.writes)


def test_a_full_disk(place: Place) -> None:
    """See `suffer`."""
    suffer(place, lambda: filled(place.volume), "disk is full" if "sqlite" in place.database else "No space left")


def test_files_that_nobody_may_write(on_sqlite: Place) -> None:
    """See `suffer`."""
    files = [Path(on_sqlite.database + suffix) for suffix in ("", "-wal")]
    suffer(on_sqlite, lambda: immutable(*files), "")


def test_one_writer_alone_is_served_again_at_once_after_files_could_not_be_written(on_sqlite: Place) -> None:
    """However many connections were opened meanwhile, which can only read: none of them is used for writing."""
    url = on_sqlite.program.url
    files = [Path(on_sqlite.database + suffix) for suffix in ("", "-wal")]
    with httpx.Client(base_url=url, trust_env=False) as client:
        assert write_one(client, "alone").is_acknowledged
        with immutable(*files), ThreadPoolExecutor(16) as readers:
            assert write_one(client, "alone").is_refused
            pages = readers.map(
                lambda _: httpx.get(f"{url}/api/sessions/alone/plan", trust_env=False, timeout=20), range(64)
            )
            assert {page.status_code for page in pages} == {200}
        assert write_one(client, "alone").is_acknowledged


def test_a_database_that_somebody_else_holds(place: Place) -> None:
    """See `suffer`. The writers wait together, and not one after another, for as long as a lock is waited for."""
    suffer(place, lambda: held(place.database), "lock")


@contextlib.contextmanager
def held(database: str) -> Iterator[None]:
    if database.startswith("postgresql"):
        with psycopg.connect(database) as connection:
            connection.execute("LOCK TABLE events IN EXCLUSIVE MODE")
            yield
    else:
        with contextlib.closing(sqlite3.connect(database, isolation_level=None)) as file:
            file.execute("BEGIN EXCLUSIVE")
            yield
