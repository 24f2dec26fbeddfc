"""What PostgreSQL alone has: several writers at once, notices, a server that goes away (spec.md §2, §8)."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, Engine, Executable, event, inspect
from sqlalchemy import text as sql

from alembic import command
from planstrip import eventlog, heads, marks, projection
from planstrip.db import for_writing, open_engine, prepare
from planstrip.errors import StoreUnusable, Unavailable
from planstrip.eventlog import Append, position_of
from planstrip.forgetting import forget_session
from planstrip.tables import metadata, sessions
from tests import postgres
from tests.databases import SUFFIX, release, url_of
from tests.running import run, running, todos
from tests.stores import Store, opened, turn, write
from tests.stores import event as entry
from tests.test_db import config_for

ROOT = Path(__file__).parents[1]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / f"log{SUFFIX}"
    url_of(path)
    yield path
    release(path)


@pytest.fixture
def store(database: Path) -> Iterator[Store]:
    with opened(database) as store:
        yield store


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[str]:
    """The address of a database without a table."""
    name = postgres.name_for(tmp_path / "empty")
    postgres.server().execute(f"CREATE DATABASE {name}")
    yield postgres.server().url(name)
    postgres.server().drop(name)


# What cannot be used


def test_without_psycopg_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreUnusable, match=r"planstrip\[postgresql\]"):
        open_engine("postgresql://somebody:s3cret@127.0.0.1/plans")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://somebody:s3cret@127.0.0.1:1/plans",
        "postgresql+psycopg://somebody:s3cret@127.0.0.1:1/plans",
        "postgresql://127.0.0.1:1/plans?user=somebody&password=s3cret",
        "postgresql://somebody:s3cret/plans",  # which reads as a port
        "postgresql+asyncpg://somebody:s3cret@127.0.0.1:1/plans",
    ],
)
def test_the_password_is_in_no_message(url: str) -> None:
    code, out, err = run("migrate", "--database-url", url)
    assert (code, out) == (2, "")
    assert err.startswith("planstrip: ")
    assert err.count("\n") == 1, err
    assert "s3cret" not in err


def test_a_database_that_is_not_there_says_how_it_is_made() -> None:
    engine = open_engine(postgres.server().url("nowhere"))
    with pytest.raises(StoreUnusable, match="createdb"):
        prepare(engine)


def test_a_database_that_does_not_take_every_character_is_refused(tmp_path: Path) -> None:
    name = postgres.name_for(tmp_path)
    postgres.server().execute(
        f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    engine = open_engine(postgres.server().url(name))
    with pytest.raises(StoreUnusable, match="SQL_ASCII"):
        prepare(engine)
    engine.dispose()
    postgres.server().drop(name)


# The schema


def test_several_processes_may_begin_a_database_at_once(empty: str) -> None:
    code = "import sys; from planstrip.db import open_engine, prepare; prepare(open_engine(sys.argv[1]))"
    begun = [subprocess.Popen([sys.executable, "-c", code, empty], stderr=subprocess.PIPE) for _ in range(3)]
    assert [process.communicate(timeout=100)[1] for process in begun] == [b""] * 3
    with opened(empty) as store:
        assert store.append("a", write("x=i")).positions == (1,)


def test_the_migrations_make_the_tables_and_go_down_and_up_again(empty: str) -> None:
    engine = open_engine(empty)
    with for_writing(engine).begin() as connection:
        command.upgrade(config_for(connection), "head")
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        made = _schema(connection)
        command.downgrade(config_for(connection), "base")
        assert "events" not in inspect(connection).get_table_names()
        command.upgrade(config_for(connection), "head")
        assert _schema(connection) == made
    engine.dispose()


def _schema(connection: Connection) -> set[tuple[str, ...]]:
    columns = connection.execute(
        sql(
            "SELECT table_name, column_name, data_type, is_nullable, coalesce(collation_name, '')"
            " FROM information_schema.columns WHERE table_schema = 'public'"
        )
    )
    indexes = connection.execute(sql("SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"))
    return {tuple(row) for row in columns} | {tuple(row) for row in indexes}


def test_a_commit_is_durable_whatever_the_server_is_set_to(database: Path) -> None:
    name = postgres.name_for(database)
    postgres.server().execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
    engine = open_engine(url_of(database))
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
    engine.dispose()


# What is stored


def test_every_character_survives_wherever_it_stands(store: Store) -> None:
    odd = "a\0b\x1a0\x1ac\x1f\ufeffé𝔘\U0010ffff"
    key = f"k{odd}"
    drafts = [entry("session/start", agent=odd, title=odd, cwd=odd), write("x=i", key=key), entry(odd)]
    store.append("a", *drafts)
    assert store.append("a", write("x=i", key=key)).positions == (2,)
    with store.reading() as connection:
        outline = projection.current(connection, "a").outline
        assert position_of(connection, "a", key) == 2
        (row,) = connection.execute(sessions.select()).all()
    assert (outline.agent, outline.title, outline.cwd) == (row.agent, row.title, row.cwd) == (odd,) * 3
    assert [found.event for found in store.entries("a")][1].todos[0].content == "x"  # type: ignore[union-attr]


def test_no_key_and_no_name_is_too_long_for_an_index(store: Store) -> None:
    import random

    chars = random.Random(1)
    long = "".join(chr(chars.randrange(0x4E00, 0x9FFF)) for _ in range(20_000))
    session = long[:200]  # with a key of as many bytes as fit, it must still be one entry of an index
    first = store.append(session, entry("session/start", agent=long, parent=session), write("x=i", key=long[:1000]))
    again = store.append(session, write("x=i", key=long[:1000]), write("y=i", key=long[:999]))
    assert (first.positions, again.positions) == ((1, 2), (2, 3))


@pytest.mark.parametrize("has_statistics", [False, True])
def test_what_a_page_asks_for_is_found_by_an_index(store: Store, has_statistics: bool) -> None:
    """However long the log is."""
    with for_writing(store.engine).begin() as connection:
        connection.execute(
            sql(
                "INSERT INTO events (session, position, type, time, data) SELECT 's' || s, p, CASE p % 50 WHEN 0 THEN"
                " 'todo/write' WHEN 1 THEN 'turn/start' ELSE 'tool/result' END, 0, '{}'"
                " FROM generate_series(1, 5) s, generate_series(1, 8000) p"
            )
        )
        if has_statistics:
            connection.execute(sql("ANALYZE events"))
    of_type: dict[str, object] = {"until": marks.NEWEST, "after": 0, "limit": 100, "skip": 0}
    tail: dict[str, object] = {"after": 7_990, "until": marks.NEWEST, "limit": 2_000}
    asked: list[tuple[Executable, dict[str, object]]] = [
        (heads._HEAD, {}),
        (heads._SIGN, {"position": marks.NEWEST}),
        (eventlog._TAIL, tail),
        (eventlog._KNOWN_TAIL, tail),
        (marks.BETWEEN, {"type": "turn/start", "after": 7_900, "before": 8_000}),
    ]
    for types in (("todo/write",), marks.PLAN_SETTERS, ("tool/call", "turn/start")):
        asked.append((marks.newest_statement(types), of_type))
    for statement, given in asked:
        assert _rows_touched(store.engine, statement, given | {"session": "s3"}) <= 500, str(statement)


def _rows_touched(engine: Engine, statement: Executable, given: dict[str, object]) -> int:
    """Rows that were looked at, over the leaves of the plan."""
    with engine.connect() as connection:
        event.listen(connection, "before_cursor_execute", _explained, retval=True)
        found: Any = connection.execute(statement, given).cursor.fetchone()
    return _leaves(found[0][0]["Plan"])


def _explained(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> tuple[str, Any]:
    return f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters


def _leaves(node: dict[str, Any]) -> int:
    if inner := node.get("Plans"):
        return sum(_leaves(child) for child in inner)
    return int((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"])


# Several writers


def test_processes_that_write_the_same_sessions_lose_and_double_nothing(database: Path) -> None:
    """Some of it under keys that all of them use: each is stored once."""
    code = (
        "import sys\n"
        "from planstrip.errors import Unavailable\n"
        "from planstrip.eventlog import Append\n"
        "from tests.stores import opened, write\n"
        "me = sys.argv[2]\n"
        "def position(append, future):\n"
        "    try:\n"
        "        return future.result().positions[0]\n"
        "    except Unavailable:  # on a busy machine the others hold a session for longer than anybody waits\n"
        "        return position(append, store.writer.begin_append(append))\n"
        "with opened(sys.argv[1]) as store:\n"
        "    begun = []\n"
        "    for n in range(40):\n"
        "        for s in range(4) if int(me) % 2 else reversed(range(4)):\n"
        "            draft = write(f'shared{n}=i', key=f'k{n}') if n % 4 == 0 else write(f'w{me}-{n}=i')\n"
        "            append = Append(f's{s}', [draft])\n"
        "            begun.append((s, n, append, store.writer.begin_append(append)))\n"
        "    for s, n, append, future in begun:\n"
        "        print(s, n, position(append, future))\n"
    )
    command = [sys.executable, "-c", code, url_of(database)]
    writers = [subprocess.Popen([*command, str(n)], stdout=subprocess.PIPE, text=True, cwd=ROOT) for n in range(4)]
    said = [process.communicate(timeout=200)[0] for process in writers]
    assert [process.returncode for process in writers] == [0] * 4
    with opened(database) as store:
        for session in range(4):
            stored = {each.position: each.event.todos[0].content for each in store.entries(f"s{session}")}  # type: ignore[union-attr]
            assert list(stored) == list(range(1, 4 * 30 + 10 + 1))
            assert len(set(stored.values())) == len(stored)
            for me, text in enumerate(said):
                mine = [line.split() for line in text.splitlines() if line.startswith(f"{session} ")]
                for _, n, position in mine:
                    assert stored[int(position)] == (f"shared{n}" if int(n) % 4 == 0 else f"w{me}-{n}")
        assert store.plan("s0") == [store.entries("s0")[-1].event.todos[0].content]  # type: ignore[union-attr]


def test_what_was_forgotten_elsewhere_is_not_remembered(store: Store, database: Path) -> None:
    """Also where the session has begun anew and grown longer than it was."""
    store.append("a", entry("session/start", agent="x", title="secret"), write("secret=i"))
    store.append("a", turn())
    forget_session(url_of(database), "a")
    with opened(database) as other:
        other.append("a", *[entry("session/title", title=f"new{number}") for number in range(5)])
    store.append("a", turn())
    assert store.execute("SELECT title, position, pending + in_progress FROM sessions") == [("new4", 6, 0)]
    assert store.plan("a") is None


# A connection that is lost as it commits


def _driver(connection: Connection) -> "psycopg.Connection[object]":
    driver = connection.connection.driver_connection
    assert isinstance(driver, psycopg.Connection)
    return driver


@pytest.mark.parametrize("has_arrived", [True, False])
def test_an_append_whose_commit_loses_its_connection_is_stored_once(store: Store, has_arrived: bool) -> None:
    """The server tells afterwards whether the commit had come to it."""
    lost = list[int]()

    def lose(connection: Connection) -> None:
        if lost or threading.current_thread().name != "planstrip-writer":
            return
        driver = _driver(connection)
        lost.append(driver.info.backend_pid)
        if has_arrived:
            driver.commit()
        driver.close()

    store.append("a", write("x=i"))
    event.listen(store.engine, "commit", lose)
    assert store.append("a", write("y=i")).positions == (2,)
    assert lost
    assert len(store.entries("a")) == 2
    assert store.append("a", write("z=i")).positions == (3,)


def test_an_outcome_that_nobody_knows_is_not_called_a_failure(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planstrip.db.has_committed", lambda *_: None)
    event.listen(store.engine, "commit", lambda connection: _driver(connection).close())
    with pytest.raises(Unavailable, match="may have been written or not"):
        store.append("a", write("y=i", key="k"))


# Notices


def test_a_notice_has_the_session_and_its_position_and_nothing_else(store: Store, database: Path) -> None:
    with psycopg.connect(url_of(database), autocommit=True) as listener:
        listener.execute("LISTEN planstrip")
        store.append("a b", write("secret=i"), write("more=i"))
        store.append("a b", write("secret=i", key="k"))
        store.append("a b", write("secret=i", key="k"))  # adds nothing
        told = [notice.payload for notice in listener.notifies(timeout=1)]
    assert told == ["2 a b", "3 a b"]


def test_a_stream_goes_on_when_its_connection_for_notices_was_cut(database: Path) -> None:
    name = postgres.name_for(database)
    cut = (
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        f" WHERE datname = '{name}' AND query LIKE 'LISTEN%'"
    )
    with running(database) as panel:
        panel.write("a", todos("x=i"))
        with panel.stream("/api/sessions/a/stream") as stream, opened(database) as other:
            stream.next()
            for number in range(3):
                while not postgres.server().execute(cut):  # it is not back yet
                    time.sleep(0.05)
                other.append("a", write(f"y{number}=i"))
                assert json.loads(stream.next().data)["todos"] == todos(f"y{number}=i")


def test_an_append_may_be_one_of_many_of_one_commit(store: Store) -> None:
    """Each session that grew has its notice."""
    begun = [store.writer.begin_append(Append(f"s{number}", [write("x=i")])) for number in range(50)]
    assert [one.result().positions for one in begun] == [(1,)] * 50


def test_a_panel_on_sqlite_loads_nothing_of_it(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from planstrip.main import create_app\n"
        "from planstrip.settings import load\n"
        "create_app(load(allow_parallel_in_progress=True, database_url=sys.argv[1]))\n"
        "print(sorted({'psycopg', 'sqlalchemy.dialects.postgresql', 'planstrip.workers'} & set(sys.modules)))\n"
    )
    path = tmp_path / "plans.sqlite3"
    assert run("migrate", "--database-url", f"sqlite:///{path}")[0] == 0  # Alembic loads every dialect
    command = [sys.executable, "-c", code, f"sqlite:///{path}"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"
