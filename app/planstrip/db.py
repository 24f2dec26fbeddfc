"""The engine, and whether the database behind it is one that this program can use: SQLite's or PostgreSQL's."""

import os
import shutil
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, exc
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from planstrip import postgresql, sqlite
from planstrip.errors import StoreUnusable
from planstrip.paths import alembic_dir
from planstrip.postgresql import Notice, is_held, is_lost, is_passing, is_readonly, is_stores, listening
from planstrip.sqlite import begin, configure, configure_impatient, sqlite_path
from planstrip.tables import SCHEMA_HEAD

if TYPE_CHECKING:
    from alembic.config import Config
__all__ = ["Notice", "is_held", "is_lost", "is_passing", "is_stores", "listening"]

HEALTH_TIMEOUT_MS: Final = 1_000
FULL_BYTES: Final = 1024 * 1024  # a commit of a large batch needs more than that
EXPECTED: Final = "expected an address such as sqlite:////home/me/plans.sqlite3 or postgresql://user@host/plans"
SCHEMA_LOCK: Final = "/schema"  # no session's id has a slash


def open_engine(url: str, *, is_patient: bool = True) -> Engine:
    """An engine whose transactions are snapshots. Raises StoreUnusable, with what to do, for an address that is none.

    `is_patient`: they wait a while for who holds a SQLite file.
    """
    shown = url.rpartition("@")[2].partition("?")[0][:200]  # without a password
    try:
        engine = _engine(make_url(url))
    except OSError as error:
        raise StoreUnusable(f"database {shown!r}: {error.strerror}; choose another with --database-url") from error
    except ImportError as error:
        needed = postgresql.NEEDS_PSYCOPG if error.name == "psycopg" else f"{error!s:.100}; {EXPECTED}"
        raise StoreUnusable(f"database {shown!r}: {needed}") from error
    except exc.ArgumentError as error:
        raise StoreUnusable(f"database {shown!r}: {error!s:.100}; {EXPECTED}") from error
    except ValueError:  # from a port that is no number, which may be a part of the password
        raise StoreUnusable(f"the database's address has a port that is no number; {EXPECTED}") from None
    # Many rows in one statement: sqlite3 lets go of the GIL at every row of an executemany.
    engine.dialect.use_insertmanyvalues_wo_returning = True
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", configure if is_patient else configure_impatient)
        event.listen(engine, "begin", begin)
    return engine


def open_log(url: str) -> Engine:
    """For who reads or takes away what is there: a log at this program's schema.

    Raises StoreUnusable where there is none, and makes none.
    """
    path = sqlite_path(url)
    if path is not None and not path.is_file():
        raise StoreUnusable(f"database {path}: there is no such file; name one that is there")
    engine = open_engine(url)
    try:
        prepare(engine, is_new=False)
    except StoreUnusable:
        engine.dispose()
        raise
    return engine


def open_file(path: Path) -> Engine:
    """A SQLite file as it lies there, which reading leaves as it is."""
    address = f"file:{quote(os.path.abspath(path))}?mode=rw"  # where it may not be written SQLite reads it all the same
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        creator=lambda: sqlite3.connect(address, uri=True, isolation_level=None),
        poolclass=NullPool,
    )
    event.listen(engine, "begin", begin)
    return engine


def for_writing(engine: Engine) -> Engine:
    """Transactions that write. On SQLite they hold the write lock from the start: one that begins by reading and then
    writes fails at once, whatever the busy timeout. On PostgreSQL they `hold` what they write."""
    is_sqlite = engine.dialect.name == "sqlite"
    return engine.execution_options(**({"planstrip_begin": "BEGIN IMMEDIATE"} if is_sqlite else postgresql.WRITERS))


def impatient(engine: Engine) -> Engine | None:
    """For reads of a moment, which who holds a SQLite file fails at once. None where a server reads."""
    url = engine.url.render_as_string(hide_password=False)
    return open_engine(url, is_patient=False) if engine.dialect.name == "sqlite" else None


def without_transaction(engine: Engine) -> Engine:
    """Each statement sees the newest commit."""
    is_sqlite = engine.dialect.name == "sqlite"
    return engine.execution_options(**({"planstrip_begin": None} if is_sqlite else postgresql.AUTOCOMMIT))


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "postgresql":
        return postgresql.open_postgresql(url)
    if url.get_backend_name() != "sqlite":
        raise exc.ArgumentError(f"there is no store on {url.get_backend_name()}")
    if not url.database or url.database == ":memory:":
        raise exc.ArgumentError("a database in memory is another one for each connection")
    if not url.database.startswith("file:"):  # SQLite's own form of an address, which may say `mode=ro`
        Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    return create_engine(url, pool_pre_ping=False)


def data_version(connection: Connection) -> int | None:
    """Changes when another connection has committed; None where the store has no such number."""
    is_sqlite = connection.dialect.name == "sqlite"
    return int(connection.exec_driver_sql("PRAGMA data_version").scalar_one()) if is_sqlite else None


def hold(connection: Connection, sessions: Iterable[str]) -> None:
    """Let nobody else append to these sessions until the transaction ends. A SQLite writer is alone anyway."""
    if connection.dialect.name == "postgresql":
        postgresql.lock(connection, sessions)


def renew(engine: Engine, error: exc.DBAPIError) -> None:
    """Let nobody be handed a connection that is as the one which failed."""
    if is_readonly(error):
        engine.dispose()


def stay(connection: Connection) -> None:
    """Let a long transaction be: no server is to cut it because it rests between two statements."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")


def hold_all(connection: Connection) -> int:
    """Let nobody else write until the transaction ends; how many other connections of this program the store has."""
    return postgresql.lock_all(connection) if connection.dialect.name == "postgresql" else 0


def announce(connection: Connection, heads: Mapping[str, int]) -> str | None:
    """Wake who follows the log once this transaction has committed; returns its id, where the store has ids."""
    return postgresql.announce(connection, heads) if connection.dialect.name == "postgresql" else None


def tells_commits(engine: Engine) -> bool:
    """Whether `listening` hears what others commit; else `data_version` is to be asked."""
    return engine.dialect.name == "postgresql"


def has_committed(engine: Engine, transaction: str) -> bool | None:
    """What became of a transaction that was `announce`d; None where the store cannot tell."""
    return postgresql.has_committed(engine, transaction)


def backend(connection: Connection) -> int | None:
    """The number of the server's process behind a connection, where there is one."""
    return postgresql.backend(connection) if connection.dialect.name == "postgresql" else None


def address_of(engine: Engine) -> str:
    """The database's address as it may be shown: the password may stand in its query as well."""
    shown = engine.url.set(drivername=engine.url.get_backend_name(), query={})
    return shown.render_as_string(hide_password=True)


def prepare(engine: Engine, *, is_new: bool = True) -> None:
    """Bring the schema to this program's. Raises StoreUnusable, with what to do, when that cannot be.

    `is_new`: an empty database is given one.
    """
    shown = address_of(engine)
    try:
        found = revision(engine)
        if found is None and not is_new:
            raise StoreUnusable(f"database {shown} holds no log; name one that does")
        if found == SCHEMA_HEAD:
            _try_writing(engine)
        else:
            upgrade(engine, found)
    except exc.DatabaseError as error:
        raise StoreUnusable(f"database {shown}: {_advice(engine, error)}") from error
    except exc.ArgumentError as error:
        raise StoreUnusable(f"database {shown}: {error}") from error
    except OSError as error:
        raise StoreUnusable(f"database {shown}: {error.strerror}; choose another with --database-url") from error


def upgrade(engine: Engine, found: str | None) -> None:
    from alembic import command  # a second of start time that a current database need not pay

    config = _migrations()
    if found is not None and found not in known_revisions():
        raise StoreUnusable(
            f"database {address_of(engine)}: its schema {found!r} is newer than this program's"
            f" {SCHEMA_HEAD!r}; upgrade planstrip, or choose another database with --database-url"
        )
    with for_writing(engine).begin() as connection:
        hold(connection, [SCHEMA_LOCK])  # of several that upgrade at once the first does, the others find it done
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def known_revisions() -> set[str]:
    """Every schema that this program can start from."""
    from alembic.script import ScriptDirectory

    return {script.revision for script in ScriptDirectory.from_config(_migrations()).walk_revisions()}


def _migrations() -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(alembic_dir()).replace("%", "%%"))
    return config


def revision(engine: Engine) -> str | None:
    """The schema that the database stands at; None for an empty one. Raises StoreUnusable for somebody else's."""
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            postgresql.check_encoding(connection)
        names = set(engine.dialect.get_table_names(connection))
        if "alembic_version" not in names:
            if not names:
                return None
            raise _not_ours(engine, names)
        revision = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
        if revision is not None and "events" not in names:
            raise _not_ours(engine, names)
        return str(revision) if revision is not None else None


def _not_ours(engine: Engine, names: set[str]) -> StoreUnusable:
    return StoreUnusable(
        f"database {address_of(engine)} is not planstrip's: it has the tables {sorted(names)[:5]};"
        " choose another with --database-url"
    )


def unwritable(engine: Engine) -> str | None:
    """What would keep an append from being stored; None for nothing. Raises SQLAlchemyError, within about a second."""
    if engine.dialect.name == "postgresql":
        with engine.connect() as connection:
            is_read_only = connection.exec_driver_sql("SHOW transaction_read_only").scalar() == "on"
        return "it is read-only: a standby, or set so" if is_read_only else None
    with for_writing(engine).connect() as connection:
        try:
            _wait_for_others(connection, HEALTH_TIMEOUT_MS)
            with connection.begin() as transaction:
                connection.exec_driver_sql("UPDATE alembic_version SET version_num = version_num")
                transaction.rollback()
        finally:
            _wait_for_others(connection, sqlite.BUSY_TIMEOUT_MS)
    folder = Path(engine.url.database or "").parent
    full = folder.is_dir() and shutil.disk_usage(folder).free < FULL_BYTES
    return "the disk is full" if full else None


def _wait_for_others(connection: Connection, time_ms: int) -> None:
    driver: Any = connection.connection.driver_connection
    driver.execute(f"PRAGMA busy_timeout = {time_ms}")


def _try_writing(engine: Engine) -> None:
    with for_writing(engine).connect() as connection, connection.begin() as transaction:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = version_num")
        transaction.rollback()


def _advice(engine: Engine, error: exc.DatabaseError) -> str:
    said = said_by(error)
    if engine.dialect.name == "postgresql":
        return postgresql.advice(error, said)
    if "readonly" in said or "read-only" in said:
        return f"{said}; make the file and its folder writable, or choose another with --database-url"
    if "locked" in said:
        return f"{said}; another program holds it: stop that program, or choose another with --database-url"
    if "not a database" in said or "malformed" in said:
        return f"{said}; it is not planstrip's or it is damaged: choose another with --database-url"
    return f"{said}; check the path and its permissions, or choose another with --database-url"


def said_by(error: exc.SQLAlchemyError) -> str:
    """The driver's own words, in one line."""
    return " ".join(str(getattr(error, "orig", error)).split())


def logged(error: Exception) -> str:
    """What a log may tell: the words of a store that fails; of an error about data, which they quote, its type."""
    orig = getattr(error, "orig", None)
    is_told = isinstance(error, exc.DBAPIError) and is_stores(error)
    return str(orig).partition("\n")[0] if is_told else type(orig or error).__name__
