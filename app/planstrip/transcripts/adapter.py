"""What an agent's own file gives: its header and its events, in planstrip's vocabulary only (spec.md §2)."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from planstrip.plan.outline import first_line
from planstrip.transcripts.mapping import kept, kept_plan, map_list
from planstrip.transcripts.records import Record, parse

MAX_KEY_CHARS: Final = 400
MAX_UNANSWERED: Final = 100  # plan calls of one turn whose arguments are remembered


@dataclass(frozen=True, slots=True)
class Header:
    """Whose file it is. `created_at` in ms since the epoch, UTC. `key` names the file's `session/start`."""

    session: str
    agent: str
    key: str
    created_at: int | None = None
    cwd: str | None = None
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Adapted:
    """An event as it goes to the door. `time` None: the record has none.

    `before`, of a `session/rewind` alone: the key of the first event that it takes back. Its `to_position` is made of
    it at the door, since no file knows positions.
    `is_state`: the list is made of what was known by then, so that its key alone tells whether it was told.
    """

    type: str
    data: dict[str, object]
    time: int | None
    key: str
    before: str | None = None
    is_state: bool = False


class Adapter(Protocol):
    """Made for one file. Takes its records in order, the first one included; never raises for what stands in one.

    `header` is None while the file has not said whose it is; `take` then gives the `session/start` itself.
    """

    @property
    def header(self) -> Header | None: ...

    def take(self, record: Record) -> Iterator[Adapted]: ...


@runtime_checkable
class LooksBeside(Protocol):
    """An adapter that reads other files as well, whose sessions' `parent` its own is."""

    def look(self) -> None:
        """Before each reading."""
        ...

    def rest(self) -> Iterator[Adapted]:
        """After it."""
        ...


@dataclass(frozen=True, slots=True)
class Format:
    """One agent's transcripts. `claims`: whether a file whose first record this is, is the agent's.

    `parse`: of a line that follows; it may leave out what the adapter does not read.
    """

    agent: str
    claims: Callable[[Record], bool]
    adapter: Callable[[Record, Path], Adapter]
    parse: Callable[[bytes], Record | None] = parse


def session_start(header: Header) -> Adapted:
    data: dict[str, object] = {"agent": header.agent}
    data |= {key: value for key, value in (("cwd", header.cwd), ("parent", header.parent)) if value is not None}
    return Adapted("session/start", data, header.created_at, header.key)


@dataclass(slots=True)
class Composer:
    """Makes the events of one file: counts its turns, names each event, keeps what is unanswered.

    Keys: `PREFIX:RECORD/TYPE` for a record with an id, else `TURN/CALL ID/TYPE` with the turn's ordinal and `-` for no
    call; `~2`, `~3` … where that repeats within a turn.
    """

    prefix: str
    turn: int = 0
    is_open: bool = False
    _plans: dict[str, str] = field(default_factory=dict)  # plan calls without their result: call id -> raw arguments
    _refused: dict[str, str] = field(default_factory=dict)  # accepted lists that no log may hold: call id -> why
    _keys: Counter[str] = field(default_factory=Counter)

    def event(
        self, type_: str, data: dict[str, object], time: int | None, record: str | None = None, call_id: str = "-"
    ) -> Adapted:
        key = f"{self.turn}/{call_id}/{type_}" if record is None else f"{self.prefix}:{record}/{type_}"
        if len(key) > MAX_KEY_CHARS:
            key = f"{key[: MAX_KEY_CHARS - 20]}…{hashlib.sha256(key.encode()).hexdigest()[:16]}"
        if record is None:
            self._keys[key] += 1
            key = key if self._keys[key] == 1 else f"{key}~{self._keys[key]}"
        return Adapted(type_, data, time, key)

    def start_turn(self, time: int | None, prompt: str = "", record: str | None = None) -> Adapted:
        self.turn += 1
        self.is_open = True
        for held in (self._plans, self._refused, self._keys):
            held.clear()
        label = first_line(prompt)
        data: dict[str, object] = {"turn": self.turn} | ({"prompt": label} if label else {})
        return self.event("turn/start", data, time, record)

    def end_turn(self, kind: str, time: int | None, record: str | None = None) -> Iterator[Adapted]:
        """Nothing where no turn is open: the first end counts."""
        if self.is_open:
            self.is_open = False
            yield self.event("turn/end", {"turn": self.turn, "reason": {"kind": kind}}, time, record)

    def resume_turn(self, time: int | None, record: str | None = None) -> Iterator[Adapted]:
        """What looked like the turn's end was none: the agent goes on."""
        if self.turn and not self.is_open:
            self.is_open = True
            yield self.event("turn/resume", {"turn": self.turn}, time, record)

    def call(
        self, call_id: str, name: str, arguments: str, time: int | None, record: str | None = None, *, is_plan: bool
    ) -> Adapted:
        if is_plan:
            self._plans[call_id] = arguments
            if len(self._plans) > MAX_UNANSWERED:
                del self._plans[next(iter(self._plans))]
        text = kept_plan(arguments) if is_plan or name.endswith("todo_write") else kept(arguments)  # ours over MCP
        return self.event("tool/call", {"call_id": call_id, "name": name, "arguments": text}, time, record, call_id)

    @property
    def unanswered(self) -> list[str]:
        """Plan calls of this turn without their result, oldest first."""
        return list(self._plans)

    def arguments(self, call_id: str) -> str | None:
        """Of a plan call of this turn that has no result yet."""
        return self._plans.get(call_id)

    def write(
        self,
        items: Iterable[tuple[str | None, str | None]],
        time: int | None,
        call_id: str | None,
        record: str | None = None,
    ) -> Iterator[Adapted]:
        """The `todo/write` of an accepted list; nothing for one over the limits, whose result then says so."""
        mapped = map_list(items)
        excess = mapped.excess
        if excess is None:
            data = mapped.data if call_id is None else mapped.data | {"call_id": call_id}
            yield self.event("todo/write", data, time, record, call_id or "-")
        elif call_id is not None:
            self._refused[call_id] = excess

    def result(
        self, call_id: str, text: str, time: int | None, record: str | None = None, *, is_error: bool
    ) -> Adapted:
        self._plans.pop(call_id, None)
        if call_id in self._refused:
            text, is_error = f"not kept: {self._refused.pop(call_id)}", True
        data: dict[str, object] = {"call_id": call_id, "is_error": is_error, "text": kept(text)}
        return self.event("tool/result", data, time, record, call_id)
