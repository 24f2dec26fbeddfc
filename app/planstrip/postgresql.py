"""What PostgreSQL needs otherwise than SQLite; only `db` asks which of the two it is (spec.md §2, §8)."""

import contextlib
import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from sqlalchemy import URL, Connection, Engine, create_engine, event, exc, text

from planstrip.errors import Unavailable

CHANNEL: Final = "planstrip"
DRIVERS: Final = ("postgresql", "postgresql+psycopg")
NEEDS_PSYCOPG: Final = "PostgreSQL needs psycopg: install planstrip with it, as planstrip[postgresql]"
LOCK_TIMEOUT_MS: Final = 5_000
STILL_MS: Final = 4_000  # who stands still while it holds a lock is cut before the others' patience ends
CONNECTIONS: Final = 10  # kept; as many again for a while. A read never waits for another longer than it lasts
READERS: Final = {"isolation_level": "REPEATABLE READ"}  # every statement of a read sees the same snapshot
WRITERS: Final = {"isolation_level": "READ COMMITTED"}  # what is read after `lock` is what its last holder left
AUTOCOMMIT: Final = {"isolation_level": "AUTOCOMMIT"}

# Defaults for what the address leaves open: a server that is gone is noticed within seconds, not after two hours.
CONNECTING: Final = {
    "connect_timeout": 5,
    "client_encoding": "utf8",
    "application_name": "planstrip",
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
_CONFIGURE: Final = """
SELECT set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), false),
       set_config('lock_timeout', %s, false),
       set_config('jit', 'off', false)
"""  # compiling takes longer than any statement of ours

HELD: Final = "55P03"  # a lock did not come free in time
PASSING: Final = frozenset({"40001", "40P01", "23505"})  # serialization, deadlock, a position that was just taken
UNREADY: Final = frozenset({"42P01", "25006"})  # there is no table, or it is a standby that is not promoted yet
GONE: Final = ("08", "57P", "25P03")  # how the codes begin of a connection that was lost or cut


def open_postgresql(url: URL) -> Engine:
    """Raises ArgumentError for another driver than psycopg, ImportError where it is missing."""
    if url.drivername not in DRIVERS:
        raise exc.ArgumentError(f"the driver of {url.drivername} is not used here; write postgresql://…")
    connecting = {name: value for name, value in CONNECTING.items() if name not in url.query}
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        connect_args=connecting,
        pool_size=CONNECTIONS,
        max_overflow=CONNECTIONS,
        pool_pre_ping=True,  # what a restart of the server has cut is replaced before anybody uses it
        **READERS,
    )
    event.listen(engine, "connect", _configure)
    return engine


def _configure(connection: Any, _record: object) -> None:
    connection.execute(_CONFIGURE, [str(LOCK_TIMEOUT_MS)])
    connection.commit()


def lock(connection: Connection, names: Iterable[str]) -> None:
    """Until the transaction ends nobody else holds any of `names`. All at once and in one order: no deadlock."""
    keys = sorted({_lock_key(name) for name in names})
    if keys:
        connection.execute(_LOCK, {"keys": keys, "still": str(STILL_MS)})


def lock_all(connection: Connection) -> int:
    """Nobody else writes the log until the transaction ends; how many others are connected as this program is."""
    connection.exec_driver_sql("LOCK TABLE events IN EXCLUSIVE MODE")
    return int(connection.execute(_OTHERS).scalar_one())


def _lock_key(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8, person=b"planstrip").digest(), signed=True)


def announce(connection: Connection, heads: Mapping[str, int]) -> str:
    """Tell every listener where the sessions stand, once this transaction has committed; returns its id, which no other
    transaction has, on this server or on one that takes its place."""
    told = [f"{position} {session}" for session, position in heads.items()]
    transaction, _ = connection.execute(_ANNOUNCE, {"channel": CHANNEL, "told": told}).one()
    return str(transaction)


def has_committed(engine: Engine, transaction: str) -> bool | None:
    """What became of a transaction whose connection was lost as it committed; None where the server cannot tell."""
    with engine.connect() as connection:
        status = connection.execute(_STATUS, {"transaction": transaction}).scalar()
    return {"committed": True, "aborted": False}.get(str(status))


class Notice(NamedTuple):
    """`backend` has committed what brought the session to `position`."""

    session: str
    position: int
    backend: int


@contextlib.contextmanager
def listening(engine: Engine) -> Iterator[Callable[[float], list[Notice]]]:
    """Gives a function that waits so many seconds for notices. Raises Unavailable where the connection is lost."""
    from psycopg import Error

    pooled = None
    try:
        pooled = engine.raw_connection()
        driver: Any = pooled.driver_connection
        pooled.detach()  # it is nobody else's from here on
        driver.rollback()
        driver.autocommit = True
        driver.execute(f"LISTEN {CHANNEL}")
        yield partial(_hear, driver)
    except Error as error:
        raise Unavailable(f"no notices come: {' '.join(str(error).split())}") from error
    finally:
        if pooled is not None:
            pooled.close()


def _hear(driver: Any, timeout_s: float) -> list[Notice]:
    notices = []
    for told in driver.notifies(timeout=timeout_s, stop_after=1):
        position, _, session = told.payload.partition(" ")
        notices.append(Notice(session, int(position), told.pid))
    return notices


def backend(connection: Connection) -> int:
    """The number of the server's process behind a connection."""
    driver: Any = connection.connection.driver_connection
    return int(driver.info.backend_pid)


def is_passing(error: exc.DBAPIError) -> bool:
    """Whether the same transaction may succeed if it is tried again at once."""
    return is_lost(error) or is_readonly(error) or getattr(error.orig, "sqlstate", "") in PASSING


def is_lost(error: exc.DBAPIError) -> bool:
    """Whether it was the connection that failed, or none could be had."""
    code = getattr(error.orig, "sqlstate", "")  # None where libpq itself failed; other drivers have no such thing
    is_gone = code is None or code.startswith(GONE)
    is_drivers = isinstance(error, exc.OperationalError | exc.InternalError)
    return error.connection_invalidated or (is_drivers and is_gone)


def is_held(error: exc.DBAPIError) -> bool:
    """Whether somebody else held the store for longer than anybody waits: each that tries again waits as long."""
    busy = getattr(error.orig, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
    return busy or getattr(error.orig, "sqlstate", "") == HELD


def is_readonly(error: exc.DBAPIError) -> bool:
    """Whether SQLite opened the file when it could not be written: such a connection never will write."""
    return bool(getattr(error.orig, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY)


def is_stores(error: exc.DBAPIError) -> bool:
    """Whether it is the store's failure, and no statement's."""
    is_unready = getattr(error.orig, "sqlstate", "") in UNREADY
    return is_unready or isinstance(error, exc.OperationalError) or is_lost(error)


def advice(error: exc.DBAPIError, said: str) -> str:
    if "does not exist" in said and "database" in said:
        return f"{said}; create it, with createdb --encoding=UTF8, or choose another with --database-url"
    if "authentication" in said or "no password" in said or "role" in said:
        return f"{said}; check the user and the password in --database-url"
    if "read-only" in said:
        return f"{said}; it is a standby: name the primary, or target_session_attrs=read-write, in --database-url"
    if is_lost(error):
        return f"{said}; is the server running, and do host and port in --database-url name it?"
    return f"{said}; check --database-url and the rights of its user"


def check_encoding(connection: Connection) -> None:
    """Raises ArgumentError for a database that cannot hold every character."""
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar()
    if encoding != "UTF8":
        raise exc.ArgumentError(f"its encoding is {encoding}; create one with createdb --encoding=UTF8")


_LOCK: Final = text(
    "SELECT count(pg_advisory_xact_lock(key)), set_config('idle_in_transaction_session_timeout', :still, true)"
    " FROM unnest(CAST(:keys AS bigint[])) AS key"
)
# The first eight digits of a file of the server's own log are its timeline. After a failover the numbers of
# transactions that the standby had not heard of are given out again.
_TIMELINE: Final = "substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"
_ANNOUNCE: Final = text(
    f"SELECT CAST(pg_current_xact_id() AS text) || '@' || {_TIMELINE}, count(pg_notify(:channel, told))"  # noqa: S608
    " FROM unnest(CAST(:told AS text[])) AS told"
)
_OTHERS: Final = text(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    " AND application_name = current_setting('application_name')"
)
_STATUS: Final = text(
    "SELECT CASE WHEN split_part(:transaction, '@', 2) = " + _TIMELINE + " THEN"
    " pg_xact_status(CAST(split_part(:transaction, '@', 1) AS xid8)) END"
)
