"""Copies a log into an empty database, of either store, and proves that the two are equal."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Connection, Row, Table, bindparam, delete, func, insert, select, tuple_

from planstrip.db import address_of, for_writing, open_engine, open_log, prepare, stay
from planstrip.errors import UnusableSettings
from planstrip.sqlite import is_own, sqlite_path
from planstrip.tables import checkpoints, events, search_texts, sessions, signing_keys, view_tokens

ROWS: Final = 1_000
KEPT: Final = (sessions, search_texts, checkpoints)  # made of the log: copied too, so that nothing is folded again
LINKS: Final = (view_tokens, signing_keys)  # a link that was given out opens the copy as well
EVENT: Final = (events.c.session, events.c.position, events.c.type, events.c.time, events.c.key, events.c.data)

Progress = Callable[[int, int], None]  # events copied, of how many


@dataclass(frozen=True, slots=True)
class Sum:
    """How many events a session has, and a hash over all that is stored of each, in order."""

    count: int
    digest: str


@dataclass(frozen=True, slots=True)
class Copied:
    """`unequal`: the sessions that are not the same in both; then nothing was kept of the copy."""

    sessions: int
    events: int
    unequal: Sequence[str]


def copy_log(source_url: str, target_url: str, on_progress: Progress | None = None) -> Copied:
    """All or nothing. Raises StoreUnusable for either database, UnusableSettings for a target that holds events."""
    path = sqlite_path(target_url)
    if source_url == target_url or (path is not None and is_own(source_url, path)):
        raise UnusableSettings("the same database is named by --from and by --to; copy into another, an empty one")
    with ExitStack() as stack:
        source = open_log(source_url)
        stack.callback(source.dispose)
        target = open_engine(target_url)
        stack.callback(target.dispose)
        prepare(target)
        with source.connect() as reading, for_writing(target).connect() as writing, writing.begin() as transaction:
            stay(reading)
            stay(writing)
            if is_in_use(writing):
                raise UnusableSettings(f"{address_of(target)} holds events already; copy into an empty database")
            copy_rows(reading, writing, on_progress)
            copied = compared(sums_of(reading), sums_of(writing))
            if copied.unequal:
                transaction.rollback()
        return copied


def is_in_use(connection: Connection) -> bool:
    """Whether there is anything that a copy would destroy."""
    return any(connection.execute(select(table).limit(1)).first() is not None for table in (events, view_tokens))


def compared(sums: Mapping[str, Sum], copies: Mapping[str, Sum]) -> Copied:
    unequal = sorted(session for session in {*sums, *copies} if sums.get(session) != copies.get(session))
    return Copied(len(sums), sum(each.count for each in sums.values()), unequal)


def copy_rows(reading: Connection, writing: Connection, on_progress: Progress | None = None) -> None:
    """Into tables without rows. Who calls it compares, and commits."""
    total = reading.execute(select(func.count()).select_from(events)).scalar_one()
    copied = 0
    for rows in _events(reading):
        writing.execute(insert(events), [dict(zip(_NAMES, row[1:], strict=True)) for row in rows])
        copied += len(rows)
        if on_progress is not None:
            on_progress(copied, total)
    for table in LINKS:
        writing.execute(delete(table))
    for table in (*KEPT, *LINKS):
        for rows in _rows(reading, table):
            writing.execute(insert(table), [dict(row._mapping) for row in rows])


def _events(connection: Connection) -> Iterator[Sequence[Row[*tuple[Any, ...]]]]:
    """In the order of all sessions together, which the copy's own numbers keep."""
    after = 0
    while rows := connection.execute(_BY_NUMBER, {"after": after}).all():
        yield rows
        after = rows[-1].id


def _rows(connection: Connection, table: Table) -> Iterator[Sequence[Row[*tuple[Any, ...]]]]:
    """A table of derived rows, a chunk at a time."""
    keys = list(table.primary_key)
    query = select(table).order_by(*keys).limit(ROWS)
    asked = query
    while rows := connection.execute(asked).all():
        yield rows
        asked = query.where(tuple_(*keys) > tuple(rows[-1]._mapping[key] for key in keys))


@dataclass(slots=True)
class _Summing:
    count: int = 0
    hash: Any = field(default_factory=hashlib.sha256)

    def add(self, row: Row[*tuple[Any, ...]]) -> None:
        self.count += 1
        self.hash.update(repr(tuple(row)).encode())


def sums_of(connection: Connection) -> dict[str, Sum]:
    """By session. Read anew from both: what was sent is no proof of what is stored."""
    sums: dict[str, _Summing] = {}
    session, position = "", 0
    while rows := connection.execute(_BY_SESSION, {"session": session, "position": position}).all():
        for row in rows:
            sums.setdefault(row.session, _Summing()).add(row)
        session, position = rows[-1].session, rows[-1].position
    return {session: Sum(summing.count, summing.hash.hexdigest()) for session, summing in sums.items()}


_NAMES: Final = [column.name for column in EVENT]
_BY_NUMBER: Final = (
    select(events.c.id, *EVENT).where(events.c.id > bindparam("after")).order_by(events.c.id).limit(ROWS)
)
_AFTER_SESSION: Final = bindparam("session", type_=events.c.session.type)
_AFTER_POSITION: Final = bindparam("position", type_=events.c.position.type)
_BY_SESSION: Final = (
    select(*EVENT)
    .where(tuple_(events.c.session, events.c.position) > tuple_(_AFTER_SESSION, _AFTER_POSITION))
    .order_by(events.c.session, events.c.position)
    .limit(ROWS)
)
