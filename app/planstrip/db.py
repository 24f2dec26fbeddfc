"""The engine, and whether the database behind it is one that this program can use."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, exc
from sqlalchemy.engine import make_url

from planstrip.errors import StoreUnusable
from planstrip.paths import alembic_dir
from planstrip.tables import SCHEMA_HEAD

if TYPE_CHECKING:
    from alembic.config import Config

BUSY_TIMEOUT_MS: Final = 5_000
WRITES: Final = {"planstrip_begin": "BEGIN IMMEDIATE"}
NO_TRANSACTION: Final = {"planstrip_begin": None}  # each statement sees the newest commit


def open_engine(url: str) -> Engine:
    """An engine whose transactions are snapshots; with the option `WRITES` they hold the write lock from the start.

    A SQLite transaction that begins by reading and then writes fails at once, whatever the busy timeout.
    Raises StoreUnusable, with what to do, for an address that is none.
    """
    shown = url.rpartition("@")[2][:200]  # without a password
    try:
        engine = _engine(make_url(url))
    except OSError as error:
        raise StoreUnusable(f"database {shown!r}: {error.strerror}; choose another with --database-url") from error
    except (exc.ArgumentError, ImportError) as error:
        raise StoreUnusable(
            f"database {shown!r}: {error!s:.100}; expected an address such as sqlite:////home/me/plans.sqlite3"
        ) from error
    # Many rows in one statement: sqlite3 lets go of the GIL at every row of an executemany.
    engine.dialect.use_insertmanyvalues_wo_returning = True
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _configure_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "sqlite":
        if not url.database or url.database == ":memory:":
            raise exc.ArgumentError("a database in memory is another one for each connection")
        if not url.database.startswith("file:"):  # SQLite's own form of an address, which may say `mode=ro`
            Path(url.database).parent.mkdir(parents=True, exist_ok=True)
    return create_engine(url, pool_pre_ping=False)


def _configure_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # transactions are begun by us, below, not by the driver at a guess
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")  # what is acknowledged survives a power cut


def _begin_sqlite(connection: Connection) -> None:
    statement = connection.get_execution_options().get("planstrip_begin", "BEGIN")
    if statement:
        connection.exec_driver_sql(statement)


def data_version(connection: Connection) -> int | None:
    """Changes when another connection has committed; None where the store has no such number."""
    if connection.dialect.name != "sqlite":
        return None
    return int(connection.exec_driver_sql("PRAGMA data_version").scalar_one())


def prepare(engine: Engine) -> None:
    """Bring the schema to this program's. Raises StoreUnusable, with what to do, when that cannot be."""
    shown = engine.url.render_as_string(hide_password=True)
    try:
        found = revision(engine)
        if found == SCHEMA_HEAD:
            _try_writing(engine)
        else:
            upgrade(engine, found)
    except exc.DatabaseError as error:
        raise StoreUnusable(f"database {shown}: {_advice(error)}") from error
    except OSError as error:
        raise StoreUnusable(f"database {shown}: {error.strerror}; choose another with --database-url") from error


def upgrade(engine: Engine, found: str | None) -> None:
    from alembic import command  # a second of start time that a current database need not pay

    config = _migrations()
    if found is not None and found not in known_revisions():
        raise StoreUnusable(
            f"database {engine.url.render_as_string()}: its schema {found!r} is newer than this program's"
            f" {SCHEMA_HEAD!r}; upgrade planstrip, or choose another database with --database-url"
        )
    with engine.execution_options(**WRITES).begin() as connection:
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
        f"database {engine.url.render_as_string()} is not planstrip's: it has the tables {sorted(names)[:5]};"
        " choose another with --database-url"
    )


def _try_writing(engine: Engine) -> None:
    with engine.execution_options(**WRITES).connect() as connection, connection.begin() as transaction:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = version_num")
        transaction.rollback()


def _advice(error: exc.DatabaseError) -> str:
    said = str(error.orig)
    if "readonly" in said or "read-only" in said:
        return f"{said}; make the file and its folder writable, or choose another with --database-url"
    if "locked" in said:
        return f"{said}; another program holds it: stop that program, or choose another with --database-url"
    if "not a database" in said or "malformed" in said:
        return f"{said}; it is not planstrip's or it is damaged: choose another with --database-url"
    return f"{said}; check the path and its permissions, or choose another with --database-url"
