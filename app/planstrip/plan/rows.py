"""Tool rows by turn and the plan's revisions: the newest window of them, folded from events (spec.md §5, §9)."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from planstrip.events import (
    Entry,
    SessionEnd,
    SessionRewind,
    TodoWrite,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnResume,
    TurnStart,
)
from planstrip.plan import fold as plan_fold
from planstrip.plan.fold import Plan
from planstrip.plan.outline import first_line
from planstrip.plan.revisions import MAX_REVISIONS, Revision, revise

RowState: TypeAlias = Literal["running", "ok", "error", "stopped"]

WINDOW_ROWS: Final = 100
MAX_LATE_ROWS: Final = 100


@dataclass(frozen=True, slots=True)
class Row:
    """One tool call. `position` is the call's, `changed` that of the last event it depends on.

    `revision` is what the call's accepted write made of the plan.
    `time` is the call's, `ended_at` that of its result or of the turn that stopped it; both ms, UTC.
    """

    position: int
    changed: int
    time: int
    call: ToolCall
    result: ToolResult | None = None
    state: RowState = "running"
    is_rewound: bool = False
    revision: Revision | None = None
    ended_at: int | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """`position` is its `turn/start`'s, 0 for what came before any turn; `changed` covers its label alone."""

    position: int
    changed: int
    time: int
    number: int | None = None
    prompt: str | None = None
    is_open: bool = True
    is_interrupted: bool = False
    is_rewound: bool = False
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class Window:
    """The newest rows. `late` holds running rows that slid out, until they settle: a live page still shows them.

    `dropped` is the position of the newest row that is in neither, 0 while none was dropped. `plan` is what stands at
    the window's end; `revisions` are the newest ones, the newest last, also those whose rows are not here.
    """

    turns: tuple[Turn, ...] = ()
    late: tuple[Row, ...] = ()
    dropped: int = 0
    size: int = WINDOW_ROWS
    plan: Plan | None = None
    revisions: tuple[Revision, ...] = ()

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(row for turn in self.turns for row in turn.rows)

    @property
    def changed(self) -> int:
        """The last event on which any row or turn label depends; 0 for none."""
        rows = (row.changed for row in (*self.rows, *self.late))
        return max((0, *rows, *(turn.changed for turn in self.turns)))


def fold(entries: Iterable[Entry], start: Window | None = None) -> Window:
    """The window after `entries`; equal to one fold over the whole log from the window's first turn on."""
    builder = Builder(start or Window())
    for entry in entries:
        builder.take(entry)
    return builder.window()


@dataclass(slots=True)
class Builder:
    """Folds in place: a tuple copied per event would make a turn of n rows cost n squared."""

    start: Window
    turns: list[Turn] = field(init=False)
    rows: dict[int, dict[int, Row]] = field(init=False)
    late: dict[int, Row] = field(init=False)
    unanswered: dict[str, tuple[int, int]] = field(init=False)  # call id -> its turn, its row: ids repeat, newest wins
    dropped: int = field(init=False)
    count: int = field(init=False)
    plan: Plan | None = field(init=False)
    revisions: deque[Revision] = field(init=False)

    def __post_init__(self) -> None:
        self.turns = list(self.start.turns)
        self.rows = {turn.position: {row.position: row for row in turn.rows} for turn in self.turns}
        self.late = {row.position: row for row in self.start.late}
        self.dropped = self.start.dropped
        self.count = sum(len(rows) for rows in self.rows.values())
        self.plan = self.start.plan
        self.revisions = deque(self.start.revisions, MAX_REVISIONS)
        self.unanswered = {}
        for row in self.start.late:
            self._await(0, row)
        for turn, rows in self.rows.items():
            for row in rows.values():
                self._await(turn, row)

    def window(self) -> Window:
        turns = tuple(replace(turn, rows=tuple(self.rows[turn.position].values())) for turn in self.turns)
        late, revisions = tuple(self.late.values()), tuple(self.revisions)
        return Window(turns, late, self.dropped, self.start.size, self.plan, revisions)

    def taking(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """The same entries, each taken on its way to another fold."""
        take = self.take
        for entry in entries:
            take(entry)
            yield entry

    def take(self, entry: Entry) -> None:
        event = entry.event
        if isinstance(event, ToolCall):
            self._call(entry, event)
        elif isinstance(event, ToolResult):
            self._result(entry, event)
        else:
            self._revise(entry)
            self._mark(entry)

    def _mark(self, entry: Entry) -> None:
        """What an event other than a call or its result says of turns and rows."""
        event = entry.event
        if isinstance(event, TurnStart):
            self._end(entry, is_interrupted=True)
            prompt = first_line(event.prompt) if event.prompt else None
            self._open(Turn(entry.position, entry.position, entry.time, event.turn, prompt))
        elif isinstance(event, TurnEnd):
            self._end(entry, is_interrupted=event.reason.kind != "completed")
        elif isinstance(event, SessionEnd):
            self._end(entry, is_interrupted=True)
        elif isinstance(event, TurnResume):
            self._resume(entry)
        elif isinstance(event, SessionRewind):
            self._rewind(entry, event.to_position)

    def _await(self, turn: int, row: Row) -> None:
        if row.result is None:
            self.unanswered[row.call.call_id] = turn, row.position
        else:
            self.unanswered.pop(row.call.call_id, None)

    def _rows_of(self, turn: int, position: int) -> dict[int, Row]:
        return self.late if position in self.late else self.rows.get(turn, {})

    def _call(self, entry: Entry, call: ToolCall) -> None:
        if not self.turns:
            self._open(Turn(0, entry.position, entry.time))
        turn = self.turns[-1]
        at = entry.position
        row = Row(at, at, entry.time, call, None, "running" if turn.is_open else "stopped")
        self.rows[turn.position][at] = row
        self.unanswered[call.call_id] = turn.position, at
        self.count += 1
        if self.count >= self.start.size:
            self._trim()

    def _result(self, entry: Entry, result: ToolResult) -> None:
        turn, position = self.unanswered.pop(result.call_id, (0, 0))
        rows = self._rows_of(turn, position)
        if position in rows:
            state: RowState = "error" if result.is_error else "ok"
            row = rows[position]
            # As `dataclasses.replace` would, which takes four times as long: half of a refold.
            at, time = entry.position, entry.time
            rows[position] = Row(position, at, row.time, row.call, result, state, row.is_rewound, row.revision, time)

    def _revise(self, entry: Entry) -> None:
        revision = revise(self.plan, entry, self.turns[-1].number if self.turns else None)
        self.plan = plan_fold.step(self.plan, entry)
        if revision is None:
            return
        self.revisions.append(revision)
        if isinstance(entry.event, TodoWrite) and entry.event.call_id is not None:
            self._write(entry.event.call_id, revision)

    def _write(self, call_id: str, revision: Revision) -> None:
        """Attach it to its call, the newest of that id; a second write of one call adds to the first."""
        for rows in (*(self.rows[turn.position] for turn in reversed(self.turns)), self.late):
            for row in reversed(rows.values()):
                if row.call.call_id == call_id:
                    before = row.revision.before if row.revision else revision.before
                    whole = replace(revision, before=before)
                    rows[row.position] = replace(row, changed=revision.position, revision=whole)
                    return

    def _open(self, turn: Turn) -> None:
        self.turns.append(turn)
        self.rows[turn.position] = {}
        self._trim()

    def _end(self, entry: Entry, *, is_interrupted: bool) -> None:
        turn = self.turns[-1] if self.turns else None
        if turn is not None and turn.position and turn.is_open:  # the first end counts
            self.turns[-1] = replace(turn, changed=entry.position, is_open=False, is_interrupted=is_interrupted)
        for at, position in self.unanswered.values():
            rows = self._rows_of(at, position)
            if position in rows and rows[position].state == "running":
                rows[position] = replace(rows[position], changed=entry.position, state="stopped", ended_at=entry.time)

    def _resume(self, entry: Entry) -> None:
        """What looked like the turn's end was none."""
        turn = self.turns[-1] if self.turns else None
        if turn is not None and turn.position and not turn.is_open and not turn.is_interrupted:
            self.turns[-1] = replace(turn, changed=entry.position, is_open=True)

    def _rewind(self, entry: Entry, to_position: int) -> None:
        for index, turn in enumerate(self.turns):
            if turn.position > to_position and not turn.is_rewound:
                self.turns[index] = replace(turn, changed=entry.position, is_rewound=True)
        for rows in (self.late, *self.rows.values()):
            for position, row in rows.items():
                if position > to_position and not row.is_rewound:
                    rows[position] = replace(row, changed=entry.position, is_rewound=True)

    def _trim(self) -> None:
        """Keep the newest `size` rows and turns; a full window starts with a turn that has rows."""
        while len(self.turns) > self.start.size:
            self._drop_turn()
        while self.count > self.start.size:
            rows = self.rows[self.turns[0].position]
            if rows:
                self.count -= 1
                self._drop(rows.pop(next(iter(rows))))
            else:
                self._drop_turn()
        while self.count == self.start.size and not self.rows[self.turns[0].position]:
            self._drop_turn()

    def _drop_turn(self) -> None:
        rows = self.rows.pop(self.turns.pop(0).position)
        self.count -= len(rows)
        for row in rows.values():
            self._drop(row)

    def _drop(self, row: Row) -> None:
        if row.state == "running":
            self.late[row.position] = row
            if len(self.late) > MAX_LATE_ROWS:
                del self.late[next(iter(self.late))]
            return
        self.dropped = row.position
        if self.unanswered.get(row.call.call_id, (0, 0))[1] == row.position:
            del self.unanswered[row.call.call_id]
