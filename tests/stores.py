"""A log in a real SQLite file with its writer, for tests below the web."""

import contextlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy import text as sql

from planstrip import projection
from planstrip.db import open_engine
from planstrip.eventlog import Append, Appended, Draft, read, read_stored
from planstrip.events import TYPES, Entry, Event, TurnWait, Unknown, decode
from planstrip.intake.check import check_data
from planstrip.projection import StandingProjector
from planstrip.writer import Writer
from tests.databases import url_of
from tests.running import todos


@dataclass(slots=True)
class Store:
    """`clock` counts up by a second a commit."""

    engine: Engine
    writer: Writer

    def append(self, session: str, *drafts: Draft, **more: Any) -> Appended:
        return self.writer.append_blocking(Append(session, drafts, **more))

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        with self.engine.connect() as connection:
            yield connection

    def entries(self, session: str) -> list[Entry]:
        with self.reading() as connection:
            return list(read(connection, session))

    def plan(self, session: str) -> list[str] | None:
        """The contents of the plan, as a fresh read finds it."""
        with self.reading() as connection:
            plan = projection.current(connection, session).plan
        return [todo.content for todo in plan.todos] if plan else None

    def execute(self, statement: str, **parameters: object) -> Sequence[Any]:
        with self.engine.begin() as connection:
            result = connection.execute(sql(statement), parameters)
            return result.all() if result.returns_rows else []


@contextlib.contextmanager
def opened(database: Path | str) -> Iterator[Store]:
    """`database`: a file, or the address of a database."""
    engine = open_engine(database if isinstance(database, str) else url_of(database))
    ticks = itertools.count(1_000, 1_000)
    writer = Writer(engine, StandingProjector(), lambda: next(ticks))
    writer.start()
    try:
        yield Store(engine, writer)
    finally:
        writer.stop()
        engine.dispose()


def events_of(store: Store, session: str) -> list[dict[str, Any]]:
    """As the API lists them, but for their times."""
    with store.reading() as connection:
        found = read_stored(connection, session, 0, 1_000_000)
    return [{"position": event.position, "type": event.type, "data": json.loads(event.data)} for event in found]


def write(text: str, **more: Any) -> Draft:
    return check_data("todo/write", {"todos": todos(text)}, **more)


def event(type_: str, key: str | None = None, /, **data: Any) -> Draft:
    return check_data(type_, data, key=key)


def turn() -> Draft:
    return event("turn/start", turn=1)


def draft_of(event: Event) -> Draft:
    """An event of tests/logs.py as it would be stored, past the door's checks: logs outlive them."""
    if isinstance(event, Unknown):
        return Draft(event.type, event, "{}")
    type_ = next(name for name, class_ in TYPES.items() if isinstance(event, class_))
    data: Mapping[str, Any] = (
        {"turn": event.turn, "for": event.subject} if isinstance(event, TurnWait) else asdict(event)
    )
    text = json.dumps(data, ensure_ascii=False)
    return Draft(type_, decode(type_, text), text)
