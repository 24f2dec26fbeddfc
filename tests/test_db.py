"""Whether a database is one that this program can use, and its migrations (spec.md §10, house style)."""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, inspect

from alembic import command
from planstrip.db import for_writing, open_engine, prepare
from planstrip.errors import StoreUnusable, UnusableSettings
from planstrip.paths import alembic_dir
from planstrip.tables import MARKED, SCHEMA_HEAD, metadata
from tests.running import run
from tests.stores import Store, opened, write

pytestmark = pytest.mark.sqlite


def refusal(url: str) -> str:
    """What `planstrip migrate` says as it ends with 2."""
    code, out, err = run("migrate", "--database-url", url)
    assert (code, out) == (2, ""), err
    assert err.startswith("planstrip: ")
    assert err.count("\n") == 1, err
    return err


@contextlib.contextmanager
def engine_of(url: str) -> Iterator[Engine]:
    engine = open_engine(url)
    try:
        yield engine
    finally:
        engine.dispose()


# What cannot be used


def test_a_locked_database_says_who_holds_it(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planstrip.sqlite.BUSY_TIMEOUT_MS", 50)
    holder = sqlite3.connect(database, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with engine_of(f"sqlite:///{database}") as engine, pytest.raises(StoreUnusable, match="another program holds it"):
        prepare(engine)
    holder.close()


def test_a_read_only_database_says_so(database: Path) -> None:
    address = f"sqlite:///file:{database}?mode=ro&uri=true"
    with engine_of(address) as engine, pytest.raises(StoreUnusable, match="writable"):
        prepare(engine)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_a_file_that_may_not_be_written_says_so(database: Path) -> None:
    database.chmod(0o444)
    assert "writable" in refusal(f"sqlite:///{database}")


def test_a_newer_schema_asks_for_an_upgrade(database: Path) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '20990101_later'")
    connection.close()
    assert "upgrade planstrip" in refusal(f"sqlite:///{database}")


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE customers (id INTEGER)")
    connection.close()
    before = path.read_bytes()
    assert "not planstrip's" in refusal(f"sqlite:///{path}")
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("customers",)]
    connection.close()
    assert path.stat().st_size == len(before)


def test_another_programs_alembic_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
        connection.execute("INSERT INTO alembic_version VALUES ('abc')")
    connection.close()
    assert "not planstrip's" in refusal(f"sqlite:///{path}")


@pytest.mark.parametrize(
    "content", [b"hello, I am a text file of some length\n" * 100, b"SQLite format 3\x00" + b"x" * 5000]
)
def test_what_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    assert "choose another" in refusal(f"sqlite:///{path}")
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "url",
    [
        "plans.sqlite3",
        "",
        "nonsense://x",
        "sqlite:////dev/null/plans.sqlite3",
        "sqlite:////dev/null/deeper/plans.sqlite3",
        "sqlite:////proc/nowhere/plans.sqlite3",
        "sqlite:////",
        "sqlite://",
        "sqlite:///:memory:",
        "mysql://user:secret@localhost/plans",
    ],
)
def test_an_address_that_is_none_is_named_in_one_line(url: str) -> None:
    with pytest.raises(UnusableSettings) as raised, engine_of(url) as engine:
        prepare(engine)
    assert "\n" not in raised.value.detail
    assert "database" in raised.value.detail
    assert "secret" not in raised.value.detail


def test_an_address_that_is_none_ends_the_program_with_2(tmp_path: Path) -> None:
    assert "plans.sqlite3" in refusal("plans.sqlite3")
    assert "file" in refusal(f"sqlite:///{tmp_path}")  # a folder


# What can


def test_an_empty_file_becomes_a_database(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "plans.sqlite3"
    code, _, err = run("migrate", "--database-url", f"sqlite:///{path}")
    assert code == 0, err
    assert path.exists()
    assert run("migrate", "--database-url", f"sqlite:///{path}")[0] == 0


def test_two_programs_may_begin_a_database_at_once(tmp_path: Path) -> None:
    faults: list[BaseException] = []

    def begin() -> None:
        with engine_of(f"sqlite:///{tmp_path / 'plans.sqlite3'}") as engine:
            try:
                prepare(engine)
            except Exception as error:  # noqa: BLE001 - told below
                faults.append(error)

    begin_both = [threading.Thread(target=begin) for _ in range(2)]
    for thread in begin_both:
        thread.start()
    for thread in begin_both:
        thread.join()
    assert not faults
    with opened(tmp_path / "plans.sqlite3") as store:
        assert store.append("a", write("x=i")).positions == (1,)


def test_what_is_acknowledged_survives_a_power_cut(database: Path) -> None:
    with engine_of(f"sqlite:///{database}") as engine, engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


def test_a_reader_sees_a_snapshot(database: Path) -> None:
    with opened(database) as store, store.reading() as connection:
        assert _count(connection) == 0
        store.append("a", write("x=i"))
        assert _count(connection) == 0
    with opened(database) as store, store.reading() as connection:
        assert _count(connection) == 1


# Migrations


def config_for(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(alembic_dir()))
    config.attributes["connection"] = connection
    return config


def test_the_migrations_make_the_tables_that_the_program_uses(tmp_path: Path) -> None:
    with engine_of(f"sqlite:///{tmp_path / 'plans.sqlite3'}") as engine:
        with for_writing(engine).begin() as connection:
            command.upgrade(config_for(connection), "head")
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            assert compare_metadata(context, metadata) == []
            made = _schema(connection)
    with engine_of(f"sqlite:///{tmp_path / 'tables.sqlite3'}") as engine:
        metadata.create_all(engine)
        with engine.connect() as connection:
            assert made == _schema(connection)
            sql = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE name = 'ix_events_marked'").scalar()
            assert MARKED in str(sql)


def test_the_migrations_go_down_and_up_again(tmp_path: Path) -> None:
    with engine_of(f"sqlite:///{tmp_path / 'plans.sqlite3'}") as engine:
        with for_writing(engine).begin() as connection:
            command.upgrade(config_for(connection), "head")
            made = _schema(connection)
        for target in ("-1", "base"):
            with for_writing(engine).begin() as connection:
                command.downgrade(config_for(connection), target)
                assert _schema(connection) != made
                assert ("events" in inspect(connection).get_table_names()) == (target != "base")
                command.upgrade(config_for(connection), "head")
                assert _schema(connection) == made


def test_the_newest_migration_is_the_one_that_the_program_knows() -> None:
    config = Config()
    config.set_main_option("script_location", str(alembic_dir()))
    assert ScriptDirectory.from_config(config).get_current_head() == SCHEMA_HEAD


def test_what_a_page_looks_for_is_found_by_the_index(database: Path) -> None:
    wanted = f"session = 'a' AND {MARKED} AND type = 'tool/call' AND position < 9"
    with opened(database) as store:
        plan = _plan(store, f"SELECT position FROM events WHERE {wanted} ORDER BY position DESC")
    assert "ix_events_marked" in plan
    assert "TEMP B-TREE" not in plan


def test_a_sessions_children_are_found_by_the_index(database: Path) -> None:
    with opened(database) as store:
        joined = "sessions JOIN events ON session = sessions.id AND events.position = 1"
        plan = _plan(store, f"SELECT * FROM {joined} WHERE parent = 'a'")
    assert "ix_sessions_parent" in plan
    assert "SCAN" not in plan


def _plan(store: Store, query: str) -> str:
    return " ".join(str(row) for row in store.execute(f"EXPLAIN QUERY PLAN {query}"))


def _count(connection: Connection) -> int:
    return int(connection.exec_driver_sql("SELECT count(*) FROM events").scalar_one())


def _schema(connection: Connection) -> set[tuple[str, str]]:
    """Every table and index with its definition, but for its layout and Alembic's own."""
    rows = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE tbl_name NOT LIKE 'alembic%'")
    return {(name, " ".join(str(sql).replace('"', "").split())) for name, sql in rows}
