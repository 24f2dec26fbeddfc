"""PostgreSQL restarted, crashed and failed over under load: what the panel, its writers and its viewers see of it."""

import contextlib
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from planstrip import db
from planstrip.db import open_engine, prepare
from tests import postgres
from tests.databases import SUFFIX, release
from tests.faults.load import RECOVERY_S, RUNS, Load, Write, check, loaded, some
from tests.faults.viewers import Viewer, standing, viewing
from tests.faults.waiting import wait_until
from tests.running import Program, serving

VIEWERS = 4


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    path = tmp_path_factory.mktemp("away") / f"log{SUFFIX}"
    with serving(path) as program:
        yield program
    release(path)


@pytest.fixture(scope="module")
def earlier() -> list[Write]:
    """What was written in this module before."""
    return []


def get(url: str, path: str) -> httpx.Response:
    return httpx.get(url + path, trust_env=False, timeout=20)


def assert_away(url: str) -> None:
    """What is asked for while the store is away says so, and nothing hangs."""
    assert get(url, "/healthz").status_code == 503
    plan = get(url, "/api/sessions/s0/plan")
    assert plan.status_code == 503
    assert plan.headers["retry-after"] == "1"
    assert "the store did not answer" in plan.json()["detail"]
    page = httpx.get(f"{url}/sessions/s0", headers={"accept": "text/html"}, trust_env=False, timeout=20)
    assert page.status_code == 503
    assert "Store unavailable" in page.text


def settle(url: str, load: Load, viewers: list[Viewer]) -> list[Write]:
    """Once the store is back: writers are acknowledged again, and viewers converge, each within the time promised."""
    end = time.monotonic() + RECOVERY_S
    load.recover()
    writes = load.stop()
    for viewer in viewers:
        viewer.until(standing(url, viewer.session) or [], end - time.monotonic())
    return writes


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT], ids=["fast", "immediate"])
def test_postgresql_may_be_restarted_under_load(program: Program, earlier: list[Write], number: signal.Signals) -> None:
    """Acknowledged writes are there once, refused ones are not; viewers are told `behind` while it is away, and
    converge within 5 s of its return; frames never go backward."""
    for _ in range(RUNS):
        with (
            loaded(program.url, 0.01) as load,
            viewing(program.url, "s0", VIEWERS) as viewers,
            viewing(program.url, "silent") as silent,
        ):
            load.wait(some(10, 100))
            for viewer in silent:
                viewer.until_told("live")
            with postgres.stopped(number):
                for viewer in (*viewers, *silent):  # also where no event is due that would wake them
                    viewer.until_told("behind", RECOVERY_S)
                assert_away(program.url)
                with viewing(program.url, "s0") as late:
                    for viewer in late:
                        viewer.until_told("behind")
                time.sleep(random.uniform(0, 1))
            writes = settle(program.url, load, viewers)
            for viewer in silent:
                viewer.until_told("live", RECOVERY_S)
        for viewer in viewers:
            assert viewer.positions == sorted(viewer.positions)
            assert viewer.connections == 1
        with httpx.Client(base_url=program.url, trust_env=False) as client:
            assert all(write.status for write in writes)
            earlier += writes
            check(client, earlier)


def test_a_standby_may_take_the_primarys_place_under_load() -> None:
    """With synchronous replication, nothing that was acknowledged is lost. The address leads to the standby before it
    is promoted: writes are 503 then, as they are while nobody is there."""
    with replicated() as (primary, standby, address):
        url = primary.url("plans", address)
        engine = open_engine(url)
        prepare(engine)
        primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.execute("SELECT pg_reload_conf()")
        with serving(url) as program:
            with loaded(program.url, 0.01) as load, viewing(program.url, "s0", VIEWERS) as viewers:
                load.wait(some(10, 100))
                with engine.connect() as connection:  # one that the standby never hears of
                    lost = db.announce(connection, {"s0": 1}) or ""
                    primary.stop(signal.SIGQUIT)
                    connection.invalidate()
                for viewer in viewers:
                    viewer.until_told("behind", RECOVERY_S)
                assert_away(program.url)
                point(address, standby)
                wait_until(lambda: get(program.url, "/api/sessions").status_code == 200, RECOVERY_S)
                wait_until(lambda: "read-only" in get(program.url, "/healthz").json()["store"], RECOVERY_S)
                refused = len(load.writes)
                wait_until(lambda: len(load.writes) > refused + 5, RECOVERY_S)
                assert {write.status for write in load.writes[refused:]} == {503}
                standby.execute("SELECT pg_promote()")
                writes = settle(program.url, load, viewers)
            with httpx.Client(base_url=program.url, trust_env=False) as client:
                check(client, writes)
        assert db.has_committed(engine, lost) is None
        engine.dispose()


@contextlib.contextmanager
def replicated() -> Iterator[tuple[postgres.Server, postgres.Server, Path]]:
    """A primary, its standby, and the address that leads to the one that serves, at first to the primary."""
    folder, programs = Path(tempfile.mkdtemp(prefix="planstrip-failover-")), postgres.server().programs
    folder.chmod(0o755)  # the server runs as somebody else
    primary, standby = (postgres.Server(folder / name, programs) for name in ("primary", "standby"))
    postgres.initialise(primary)
    primary.start()
    try:
        primary.execute("CREATE DATABASE plans")
        postgres.copy_running(primary, standby)
        standby.start()
        address = folder / "address"
        point(address, primary)
        yield primary, standby, address
    finally:
        standby.stop(signal.SIGQUIT)
        primary.stop(signal.SIGQUIT)
        shutil.rmtree(folder)


def point(address: Path, server: postgres.Server) -> None:
    address.unlink(missing_ok=True)
    address.symlink_to(server.folder)
