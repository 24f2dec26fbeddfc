"""What a session's page shows, field by field, made from the page's own labels (spec.md §7). Pure: no clock."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from gettext import NullTranslations
from typing import Final

from planstrip.events import Entry, Event, SessionRewind, TodoWrite, ToolResult, ViewerRestore, ViewerRetire
from planstrip.masks import NO_MASKS, Masks
from planstrip.plan.rows import Builder, Row, RowState, Window
from planstrip.plan.tools import plan_of
from planstrip.plan.view import Standing, View, stand
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


def final_record(
    entries: Iterable[Entry], tr: NullTranslations, *, has_all_rows: bool = False, masks: Masks = NO_MASKS
) -> Record:
    page = _Page(masks)
    page.take(entries)
    return page.record(tr, 0 if has_all_rows else None)


def steps(
    entries: Iterable[Entry], tr: NullTranslations, *, has_all_rows: bool = False, masks: Masks = NO_MASKS
) -> list[Step]:
    """The record after every write, and the one at the end. All rows are those that the step brought or changed."""
    found, page = list[Step](), _Page(masks)
    for event, run in _runs(entries):
        since = page.standing.position
        page.take(run)
        found.append(Step(event, page.record(tr, since if has_all_rows else None)))
    return found


def _runs(entries: Iterable[Entry]) -> Iterator[tuple[str, list[Entry]]]:
    """The entries up to each write, with its call's result where that comes next; last those after the last write."""
    run, write, call = list[Entry](), None, None
    for entry in entries:
        event = entry.event
        if write is not None and not (isinstance(event, ToolResult) and event.call_id == call):
            yield write, run
            run, write = [], None
        run.append(entry)
        if type(event) in WRITES:
            write, call = WRITES[type(event)], event.call_id if isinstance(event, TodoWrite) else None
    if write is not None:
        yield write, run
        run = []
    yield END, run


@dataclass(slots=True)
class _Page:
    """Folded forward in place, with every row: a view made anew at each of many writes would cost their square."""

    masks: Masks
    standing: Standing = field(default_factory=Standing)
    rows: Builder = field(default_factory=lambda: Builder(Window(size=sys.maxsize)))

    def take(self, entries: Iterable[Entry]) -> None:
        self.standing = stand(self.rows.taking(entries), self.standing)

    def record(self, tr: NullTranslations, since: int | None) -> Record:
        """With every row and turn that changed after the position `since`, or with the newest plan row alone."""
        strip = strip_labels.strip(View(self.masks.of(self.standing)), tr)
        newest = self.newest_plan_row() if since is None else None
        return Record(
            row=None if newest is None else _row(self.masks.of(newest), tr),
            turns=None if since is None else tuple(self._turns(since, tr)),
            panel=strip.header if strip else None,
            items=tuple((item.status, item.content) for item in strip.items) if strip else (),
        )

    def newest_plan_row(self) -> Row | None:
        newest_first = (
            row for turn in reversed(self.rows.turns) for row in reversed(self.rows.rows[turn.position].values())
        )
        return next((row for row in newest_first if plan_of(row.call) is not None), None)

    def _turns(self, since: int, tr: NullTranslations) -> Iterator[TurnRecord]:
        for turn in self.rows.window().turns:
            changed = tuple(_row(self.masks.of(row), tr) for row in turn.rows if row.changed > since)
            if changed or turn.changed > since:
                shown = labels.turn(self.masks.of(replace(turn, rows=())), tr)
                marks = _marks(interrupted=shown.is_interrupted, rewound=shown.is_rewound)
                yield TurnRecord(shown.label, shown.prompt, marks, changed)


def _row(row: Row, tr: NullTranslations) -> RowRecord:
    shown = labels.row(row, tr)
    marks = _marks(rewound=shown.is_rewound)
    return RowRecord(shown.tool, shown.title, shown.summary, shown.suffix, shown.state, shown.dropped, marks)


def _marks(**claims: bool) -> tuple[str, ...]:
    return tuple(mark for mark, is_so in claims.items() if is_so)
