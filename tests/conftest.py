"""A panel with an empty database, for each test of its own."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from planstrip.db import open_engine, prepare
from tests.databases import ON_BOTH, POSTGRESQL, SQLITE, STORE, SUFFIX, is_on_postgresql, release
from tests.running import Panel, running

pytest.register_assert_rewrite("tests.transcripts.walking")  # before any folder's tests import it

# A machine that does other work makes any example slow once, and Hypothesis would call that a failure. One commit has
# one result: who asks for more examples gets new ones each time.
EXAMPLES = int(os.environ.get("PLANSTRIP_EXAMPLES", "30"))
settings.register_profile("planstrip", deadline=None, max_examples=EXAMPLES, derandomize=EXAMPLES <= 30, database=None)
settings.load_profile("planstrip")


@pytest.fixture(scope="session")
def empty_log(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A database of this program without a session: copied, since migrating anew takes a second."""
    path = tmp_path_factory.mktemp("empty") / "log.sqlite3"
    engine = open_engine(f"sqlite:///{path}")
    prepare(engine)
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    engine.dispose()
    return path.read_bytes()


@pytest.fixture
def database(tmp_path: Path, empty_log: bytes, store_kind: str) -> Iterator[Path]:
    path = tmp_path / (f"log{SUFFIX}" if store_kind == POSTGRESQL else "log.sqlite3")
    if not is_on_postgresql(path):
        path.write_bytes(empty_log)
    yield path
    release(path)


@pytest.fixture
def store_kind() -> str:
    return STORE


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    is_chosen = metafunc.definition.nodeid.partition("::")[0] in ON_BOTH
    if is_chosen and "store_kind" in metafunc.fixturenames:
        metafunc.parametrize("store_kind", [SQLITE, POSTGRESQL] if STORE == SQLITE else [STORE])


@pytest.fixture
def panel(database: Path) -> Iterator[Panel]:
    """A panel that allows parallel work, with an empty database."""
    with running(database) as panel:
        yield panel


@pytest.fixture(scope="session")
def shared_panel(tmp_path_factory: pytest.TempPathFactory, empty_log: bytes) -> Iterator[Panel]:
    """One panel for all tests that keep to a session of their own."""
    path = tmp_path_factory.mktemp("shared") / "log.sqlite3"
    path.write_bytes(empty_log)
    with running(path) as panel:
        yield panel


@pytest.fixture
def unused_port() -> int:
    """A port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The browser's tests come last in a process: from the first on, Playwright keeps an event loop running there."""
    for item in items:
        if "tests/browser" in item.nodeid:
            item.add_marker(pytest.mark.browser)
        if STORE != SQLITE and item.get_closest_marker("sqlite"):
            item.add_marker(pytest.mark.skip(reason="about SQLite itself"))
    items.sort(key=lambda item: "tests/browser" in item.nodeid)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than cores: the browser's tests spend much of their time waiting for what a page does by the clock."""
    return (os.cpu_count() or 1) + 1
