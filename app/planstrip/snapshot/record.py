"""What a session's page shows, field by field, made from the page's own labels (spec.md §7). Pure: no clock."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from gettext import NullTranslations
from typing import Final

from planstrip.events import Entry, Event, SessionRewind, TodoWrite, ViewerRestore, ViewerRetire
from planstrip.plan.rows import Row, RowState, Turn, Window
from planstrip.plan.tools import plan_of
from planstrip.plan.view import View, advance
from planstrip.web import labels, strip_labels

# The writes that a step follows, as time travel stops at them: by their type in the log.
WRITES: Final[dict[type[Event], str]] = {
    TodoWrite: "todo/write",
    SessionRewind: "session/rewind",
    ViewerRetire: "viewer/retire",
    ViewerRestore: "viewer/restore",
}
END: Final = "end"


@dataclass(frozen=True, slots=True)
class RowRecord:
    """A tool row; `tool` is the recorded name. `dropped` says how many open to-dos its write left out.

    `marks`: `rewound`, or none.
    """

    tool: str
    title: str
    summary: str
    suffix: str | None
    state: RowState
    dropped: str | None
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """`label` is None for what came before any turn; `marks`: `interrupted`, `rewound`, in this order."""

    label: str | None
    prompt: str | None
    marks: tuple[str, ...]
    rows: tuple[RowRecord, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """`turns` holds every row, where that was asked for; else `row` the newest plan row. `panel` is the strip's header.

    Without a plan `panel` is None and `items` (status and content) are empty.
    """

    row: RowRecord | None
    turns: tuple[TurnRecord, ...] | None
    panel: str | None
    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Step:
    """`event` is the type of the write that the record follows, `END` for what stands at the log's end."""

    event: str
    record: Record


def final_record(entries: Iterable[Entry], tr: NullTranslations, *, has_all_rows: bool = False) -> Record:
    return _record(advance(_START, entries), tr, has_all_rows=has_all_rows)


def steps(entries: Iterable[Entry], tr: NullTranslations, *, has_all_rows: bool = False) -> list[Step]:
    """The record after every write, and the one at the end."""
    found, view, since = list[Step](), _START, list[Entry]()
    for entry in entries:
        since.append(entry)
        write = WRITES.get(type(entry.event))
        if write is not None:
            view, since = advance(view, since), []
            found.append(Step(write, _record(view, tr, has_all_rows=has_all_rows)))
    return [*found, Step(END, _record(advance(view, since), tr, has_all_rows=has_all_rows))]


_START: Final = View(window=Window(size=sys.maxsize))


def _record(view: View, tr: NullTranslations, *, has_all_rows: bool) -> Record:
    strip = strip_labels.strip(view, tr)
    plan_rows = (row for row in reversed(view.window.rows) if plan_of(row.call) is not None)
    newest = None if has_all_rows else next(plan_rows, None)
    return Record(
        row=None if newest is None else _row(newest, tr),
        turns=tuple(_turn(turn, tr) for turn in view.window.turns) if has_all_rows else None,
        panel=strip.header if strip else None,
        items=tuple((item.status, item.content) for item in strip.items) if strip else (),
    )


def _turn(turn: Turn, tr: NullTranslations) -> TurnRecord:
    shown = labels.turn(turn, tr)
    found = tuple(_row(row, tr) for row in turn.rows)
    marks = _marks(interrupted=shown.is_interrupted, rewound=shown.is_rewound)
    return TurnRecord(shown.label, shown.prompt, marks, found)


def _row(row: Row, tr: NullTranslations) -> RowRecord:
    shown = labels.row(row, tr)
    marks = _marks(rewound=shown.is_rewound)
    return RowRecord(shown.tool, shown.title, shown.summary, shown.suffix, shown.state, shown.dropped, marks)


def _marks(**claims: bool) -> tuple[str, ...]:
    return tuple(mark for mark, is_so in claims.items() if is_so)
