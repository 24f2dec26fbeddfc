"""A session's children, the agents that it delegated to, and the rows of its own that began them."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from planstrip.plan.outline import State
from planstrip.plan.rows import Row
from planstrip.plan.todos import Counts
from planstrip.plan.tools import TASK_WORDS, is_delegating

MAX_CHILDREN: Final = 100  # the newest of a session, for its page
HEARD_STEP_MS: Final = 10_000  # what a page is told of its children's signs: not each of them
MAX_LINKS: Final = 200  # rows that a live view remembers, also once they have slid out of its window


@dataclass(frozen=True, slots=True)
class Child:
    """`active` is the first to-do in progress; `started_at` the first event's time, ms, UTC.

    `call` is the parent's call id, where the child's own `session/start` says so as `parent_call`. `is_past`: its
    parent has gone on without it.
    """

    id: str
    title: str | None
    state: State
    counts: Counts
    active: str | None
    started_at: int
    call: str | None = None
    is_past: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """Who a delegating row began. `serial`: that of the family in which this last changed."""

    children: tuple[Child, ...] = ()
    serial: int = 0


@dataclass(frozen=True, slots=True)
class Family:
    """What a page shows of other sessions. `serial` counts the changes that a live view has seen.

    `lines`: a delegating row's position -> its children; a row that has lost them keeps an empty line. `heard_at` is
    the last sign of a child that runs: ms, UTC, 0 for none.
    """

    children: tuple[Child, ...] = ()
    parent: str | None = None
    parent_title: str | None = None
    lines: Mapping[int, Line] = field(default_factory=dict)
    serial: int = 0
    heard_at: int = 0

    @property
    def present(self) -> tuple[Child, ...]:
        return tuple(child for child in self.children if not child.is_past)

    @property
    def is_waiting(self) -> bool:
        """Whether a child waits for a person."""
        return any(child.state == "waiting" for child in self.present)

    def of(self, position: int) -> tuple[Child, ...]:
        line = self.lines.get(position)
        return line.children if line else ()


Rule: TypeAlias = Callable[[Row, Child], bool]


def succeed(old: Family, new: Family, rows: Iterable[Row]) -> Family:
    """The family after `old`, with its children linked to the rows; the very same object when nothing has changed.

    Its serial rises with what a page shows of it, and not with a sign alone.
    """
    rows = [row for row in rows if is_delegating(row.call)]
    by_id = {child.id: child for child in new.children}
    held = {position: [child.id for child in line.children] for position, line in old.lines.items()}
    found = link(rows, new.children, held)
    serial = old.serial + 1
    lines: dict[int, Line] = {}
    for position in sorted({*old.lines, *found})[-MAX_LINKS:]:
        line = Line(tuple(by_id[id_] for id_ in found.get(position, ()) if id_ in by_id), serial)
        before = old.lines.get(position)
        lines[position] = before if before and before.children == line.children else line
    if (new.children, new.parent, new.parent_title, lines) == (old.children, old.parent, old.parent_title, old.lines):
        is_heard = new.heard_at < old.heard_at or new.heard_at >= old.heard_at + HEARD_STEP_MS
        return replace(old, heard_at=new.heard_at) if is_heard else old
    return Family(new.children, new.parent, new.parent_title, lines, serial, new.heard_at)


def link(
    rows: Sequence[Row], children: Sequence[Child], held: Mapping[int, Sequence[str]] | None = None
) -> dict[int, tuple[str, ...]]:
    """The delegating rows' positions, each with the ids of the children that it began.

    What is told goes first: the child names the call, or the call's answer or one of its arguments is the child's id.
    What is left is guessed, one child a row, in the order of both: by the words that the child was given, and by the
    time of its first event. `held`: the links of rows that are no longer among `rows`, which stand.
    """
    shown = {row.position for row in rows}
    found = {position: tuple(ids) for position, ids in (held or {}).items() if position not in shown}
    for rule in (_is_named_by_child, _is_named_in_answer, _is_named_in_arguments):
        for row in rows:
            told = tuple(child.id for child in children if row.position not in found and rule(row, child))
            if told:
                found[row.position] = told
    taken = {id_ for ids in found.values() for id_ in ids}
    free = sorted((child for child in children if child.id not in taken), key=lambda child: child.started_at)
    for rule in (_fits_both, _fits_in_words, _fits_in_time):
        for row in rows:
            fitting = next((child for child in free if row.position not in found and rule(row, child)), None)
            if fitting is not None:
                found[row.position] = (fitting.id,)
                free.remove(fitting)
    return found


def _is_named_by_child(row: Row, child: Child) -> bool:
    return child.call is not None and child.call == row.call.call_id


def _is_named_in_answer(row: Row, child: Child) -> bool:
    text = row.result.text if row.result else ""
    return child.id in text and re.search(rf"(?<![\w-]){re.escape(child.id)}(?![\w-])", text) is not None


def _is_named_in_arguments(row: Row, child: Child) -> bool:
    """An agent that is called again. A whole argument: a prompt may speak of any other agent."""
    return child.id in row.call.arguments and child.id in _arguments(row).values()


def _fits_both(row: Row, child: Child) -> bool:
    return _fits_in_time(row, child) and _has_its_words(row, child)


def _fits_in_words(row: Row, child: Child) -> bool:
    """For clocks that tell nothing. A call that still runs may have a child yet to come."""
    title = _title(child)
    return row.result is not None and bool(title) and any(words.startswith(title) for words in _words(row))


def _fits_in_time(row: Row, child: Child) -> bool:
    return row.time <= child.started_at and (row.ended_at is None or child.started_at <= row.ended_at)


def _has_its_words(row: Row, child: Child) -> bool:
    """A child's title is its prompt's first line, or begins with the call's short description."""
    title = _title(child)
    return bool(title) and any(words.startswith(title) or title.startswith(words) for words in _words(row))


def _title(child: Child) -> str:
    return (child.title or "").removesuffix("…").strip()


def _words(row: Row) -> list[str]:
    said = [value.strip() for key, value in _arguments(row).items() if key in TASK_WORDS and isinstance(value, str)]
    return [words for words in said if words]


def _arguments(row: Row) -> dict[str, object]:
    try:
        arguments = json.loads(row.call.arguments)
    except (ValueError, RecursionError):
        return {}
    return arguments if isinstance(arguments, dict) else {}
