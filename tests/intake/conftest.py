"""A log in a real SQLite file, transcripts taken into it, and what came of them read from the log alone."""

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from planstrip import projection
from planstrip.db import open_engine
from planstrip.eventlog import read
from planstrip.events import Entry, SessionStart, Todo, TodoWrite, ToolCall, TurnEnd, TurnStart
from planstrip.intake.imports import ImportReport, import_paths
from planstrip.plan.fold import fold
from planstrip.projection import StandingProjector
from planstrip.writer import Writer
from tests.databases import url_of

SAMPLES = Path(__file__).parents[2] / "fixtures" / "deepseek-harness"


@dataclass
class Store:
    """`fresh()` gives another, empty one: copied, since migrating anew would be most of a test's time."""

    folder: Path
    empty_log: bytes
    writers: list[Writer] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def fresh(self) -> "Log":
        path = self.folder / f"taken-{next(self.numbers)}.sqlite3"
        path.write_bytes(self.empty_log)
        writer = Writer(open_engine(url_of(path)), StandingProjector(), lambda: time.time_ns() // 1_000_000)
        writer.start()
        self.writers.append(writer)
        return Log(writer)

    def close(self) -> None:
        for writer in self.writers:
            writer.stop()
            writer.engine.dispose()


def is_todo_write(call: ToolCall) -> bool:
    return call.name == "todo_write"


@dataclass
class Log:
    writer: Writer

    def take(self, *paths: Path) -> ImportReport:
        return import_paths(self.writer, paths)

    def entries(self, session: str) -> list[Entry]:
        with self.writer.engine.connect() as connection:
            return list(read(connection, session))

    def rows(self) -> list[tuple[object, ...]]:
        """Every stored event, byte for byte."""
        with self.writer.engine.connect() as connection:
            query = "SELECT session, position, type, time, key, data FROM events ORDER BY session, position"
            return [tuple(row) for row in connection.exec_driver_sql(query)]

    def plans(self, session: str) -> list[list[dict[str, str]]]:
        return [listed(e.event.todos) for e in self.entries(session) if isinstance(e.event, TodoWrite)]

    def summary(self, session: str, is_plan: Callable[[ToolCall], bool] = is_todo_write) -> dict[str, object]:
        """What expected.json says of a file."""
        entries = self.entries(session)
        with self.writer.engine.connect() as connection:
            standing = projection.current(connection, session)
        plan = fold(entries)
        assert plan == standing.plan
        starts = [entry.event for entry in entries if isinstance(entry.event, SessionStart)]
        return {
            "agent": standing.outline.agent,
            "session": session,
            "parent": starts[0].parent,
            "turns": _turns(entries),
            "plans": self.plans(session),
            "rejected": _rejected(entries, is_plan),
            "final": None if plan is None else listed(plan.todos),
        }


def listed(todos: Sequence[Todo]) -> list[dict[str, str]]:
    return [{"content": todo.content, "status": todo.status} for todo in todos]


def _turns(entries: Sequence[Entry]) -> list[dict[str, object]]:
    turns: list[dict[str, object]] = []
    for entry in entries:
        if isinstance(entry.event, TurnStart):
            turns.append({"turn": len(turns) + 1, "interrupted": True})
        if isinstance(entry.event, TurnEnd):
            turns[-1]["interrupted"] = entry.event.reason.kind != "completed"
    return turns


def _rejected(entries: Sequence[Entry], is_plan: Callable[[ToolCall], bool]) -> int:
    """Plan calls that were recorded and not accepted."""
    calls = sum(isinstance(entry.event, ToolCall) and is_plan(entry.event) for entry in entries)
    return calls - sum(isinstance(entry.event, TodoWrite) and entry.event.call_id is not None for entry in entries)


@pytest.fixture
def store(tmp_path: Path, empty_log: bytes) -> Iterator[Store]:
    store = Store(tmp_path, empty_log)
    yield store
    store.close()


@pytest.fixture
def log(store: Store) -> Log:
    return store.fresh()
