"""The event log: the only INSERT of events, and reading from a position (spec.md §2)."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol, TypeAlias

from sqlalchemy import Connection, Text, bindparam, func, insert, literal_column, select

from planstrip.errors import Conflict
from planstrip.events import TYPES, Entry, Event, decode
from planstrip.lately import Lately
from planstrip.room import Room
from planstrip.tables import events

READ_CHUNK: Final = 2_000
KEYS_PER_QUERY: Final = 500
MAX_LISTS_CHARS: Final = 4 * 1024 * 1024
LISTS: Final = frozenset({"todo/write", "session/rewind", "viewer/restore"})
DERIVED: Final = frozenset({"session/rewind", "viewer/restore"})  # stored with a plan that the door adds


@dataclass(frozen=True, slots=True)
class Draft:
    """An event on its way in: checked, its `data` already encoded. `time` None: the server's clock.

    `is_state`: made of what its reader knew by then; a known key is the same event, whatever the content.
    """

    type: str
    event: Event
    data: str
    time: int | None = None
    key: str | None = None
    is_state: bool = False


Known: TypeAlias = dict[str, tuple[int, str, str]]  # key -> position, type and data of the event that has it
Derive = Callable[[Connection, str, Draft, int], Draft]


@dataclass(frozen=True, slots=True)
class Append:
    """All of `drafts` or none. `derive` completes what only the log itself can tell, inside the transaction.

    `takes_in`: a known key with other content is a new event, never a conflict (transcripts, hooks).
    """

    session: str
    drafts: Sequence[Draft]
    expected_position: int | None = None
    takes_in: bool = False
    derive: Derive | None = None


@dataclass(frozen=True, slots=True)
class Appended:
    """`positions` has one for each draft, also for one that was there already; `added` counts the new ones."""

    positions: tuple[int, ...]
    head: int
    added: int


class Projector(Protocol):
    """Who keeps up with the log as it grows. It knows each session's head."""

    def head(self, connection: Connection, session: str) -> int: ...
    def advance(self, connection: Connection, changes: Mapping[str, Sequence[Entry]]) -> None: ...
    def refresh(self, connection: Connection, sessions: Sequence[str]) -> None: ...
    def reset(self) -> None: ...


@dataclass(slots=True)
class Batch:
    """Appends that share a transaction. `add` decides and queues, `flush` inserts."""

    connection: Connection
    projector: Projector
    now: int
    room: Room
    _heads: dict[str, int] = field(default_factory=dict)
    _rows: list[dict[str, Any]] = field(default_factory=list)
    _entries: dict[str, list[Entry]] = field(default_factory=dict)
    _keys: dict[tuple[str, str], tuple[int, str, str]] = field(default_factory=dict)

    @property
    def heads(self) -> dict[str, int]:
        """The head of every session that this batch added to."""
        return {session: self._heads[session] for session in self._entries}

    def add(self, append: Append) -> Appended:
        """Raises Conflict, or what `room` does, before anything is queued: the neighbours' appends go on."""
        session = append.session
        head = self._heads.get(session)
        if head is None:
            head = self._heads[session] = self.projector.head(self.connection, session)
        placed = self._place(append, head)
        new: list[tuple[int, Draft]] = []
        for position, draft in placed:
            if position > (new[-1][0] if new else head):  # neither known nor a repeat inside this very append
                new.append((position, draft))
        if new and append.expected_position is not None and append.expected_position != head:
            raise Conflict(
                f"expected_position is {append.expected_position}, but session {session!r} stands at {head};"
                " read what came since and send again"
            )
        if new:
            self.room.admit(self.connection, session, head, len(new))
        for position, draft in new:
            if append.derive is not None:
                self.flush()  # what it reads must hold what this batch has queued before it
                draft = append.derive(self.connection, session, draft, head)
            self._queue(session, position, draft)
        return Appended(tuple(position for position, _ in placed), self._heads[session], len(new))

    def flush(self) -> None:
        if self._rows:
            self.connection.execute(insert(events), self._rows)
            changes, self._entries = self._entries, {session: [] for session in self._entries}
            self.projector.advance(self.connection, {s: entries for s, entries in changes.items() if entries})
            self._rows = []

    def _place(self, append: Append, head: int) -> list[tuple[int, Draft]]:
        """Each draft with its position: its own new one, or that of the event that its key names already."""
        keyed = [draft for draft in append.drafts if draft.key]
        known = self._known(append.session, [draft.key for draft in keyed if draft.key], head)
        if append.takes_in:
            known |= self._known(append.session, [rekeyed(draft).key or "" for draft in _doubtful(keyed, known)], head)
        placed: list[tuple[int, Draft]] = []
        following = head + 1
        for draft in append.drafts:
            draft, found = _match(append, draft, known) if draft.key in known else (draft, None)
            placed.append((found or following, draft))
            if not found:
                if draft.key:
                    known[draft.key] = following, draft.type, draft.data
                following += 1
        return placed

    def _known(self, session: str, keys: list[str], head: int) -> Known:
        """Position, type and data of the events that have one of `keys`."""
        known: Known = {}
        for start in range(0, len(keys) if head else 0, KEYS_PER_QUERY):
            part = keys[start : start + KEYS_PER_QUERY]
            for row in self.connection.execute(_BY_KEYS, {"session": session, "keys": part}):
                known[row.key] = row.position, row.type, row.data
        if self._keys:
            known |= {key: self._keys[session, key] for key in keys if (session, key) in self._keys}
        return known

    def _queue(self, session: str, position: int, draft: Draft) -> None:
        time = self.now if draft.time is None else draft.time
        told = {"type": draft.type, "key": draft.key, "data": draft.data}
        self._rows.append({"session": session, "position": position, "time": time, **told})
        self._entries.setdefault(session, []).append(Entry(position, time, draft.event))
        self._heads[session] = position
        if draft.key:
            self._keys[session, draft.key] = position, draft.type, draft.data


def position_of(connection: Connection, session: str, key: str) -> int | None:
    """The position of the newest event that was taken in under a key, or under one made of it and its content."""
    named = events.c.key.between(f"{key}#", f"{key}#g")
    query = select(func.max(events.c.position)).where(events.c.session == session, (events.c.key == key) | named)
    return connection.execute(query).scalar()


def _doubtful(drafts: Sequence[Draft], known: Known) -> Iterator[Draft]:
    """Drafts whose key names other content already, in the log or in this very append."""
    sent: Known = {}
    for draft in drafts:
        key = draft.key or ""
        _, type_, data = known.get(key) or sent.setdefault(key, (0, draft.type, draft.data))
        if (data != draft.data or type_ != draft.type) and not draft.is_state:
            yield draft


def _match(append: Append, draft: Draft, known: Known) -> tuple[Draft, int | None]:
    """A draft whose key is known, and where its equal stands; a taken-in one of other content gets a key of its own."""
    assert draft.key is not None
    position, type_, data = known[draft.key]
    if draft.is_state or (type_ == draft.type and _same(type_, data, draft.data)):
        return draft, position
    if not append.takes_in:
        raise Conflict(
            f"key {draft.key!r:.100} already names the event at position {position} of session {append.session!r}"
            f" ({type_}), whose content differs; use another key"
        )
    other = rekeyed(draft)
    found = known.get(other.key or "")
    return other, found[0] if found else None


def rekeyed(draft: Draft) -> Draft:
    """The draft under a key that its content makes: the same content is found again, whatever came between."""
    digest = hashlib.sha256(f"{draft.type}\n{draft.data}".encode()).hexdigest()[:16]
    return replace(draft, key=f"{draft.key}#{digest}")


def _same(type_: str, stored: str, sent: str) -> bool:
    """Equal as parsed JSON, but for the plan that the door adds to some types."""
    if stored == sent:
        return True
    left, right = json.loads(stored), json.loads(sent)
    if type_ in DERIVED:
        for data in (left, right):
            data.pop("todos", None)
            data.pop("omitted", None)
    return bool(left == right)


_BY_KEYS: Final = select(events.c.key, events.c.position, events.c.type, events.c.data).where(
    events.c.session == bindparam("session"), events.c.key.in_(bindparam("keys", expanding=True))
)
_TAIL: Final = (
    select(events.c.position, events.c.type, events.c.time, events.c.data)
    .where(events.c.session == bindparam("session"), events.c.position > bindparam("after"))
    .order_by(events.c.position)
    .limit(bindparam("limit"))
)
_AT: Final = (
    select(events.c.position, events.c.type, events.c.time, events.c.data)
    .where(events.c.session == bindparam("session"), events.c.position.in_(bindparam("positions", expanding=True)))
    .order_by(events.c.position)
)
_NAMES: Final = [literal_column(f"'{name}'", Text) for name in TYPES]  # to bind them takes longer than to find rows
_KNOWN_TAIL: Final = _TAIL.where(events.c.type.in_(_NAMES), events.c.position <= bindparam("until"))


@dataclass(frozen=True, slots=True)
class Stored:
    """An event as it lies in the store: `data` is its JSON."""

    position: int
    type: str
    time: int
    data: str


def read_stored(connection: Connection, session: str, after: int, limit: int) -> list[Stored]:
    return [Stored(*row) for row in connection.execute(_TAIL, {"session": session, "after": after, "limit": limit})]


_lists: Final = Lately[tuple[str, str], Event](MAX_LISTS_CHARS)


def decode_list(type_: str, data: str) -> Event:
    """As `decode`, each list once: a page needs a write for its rows, for its revisions and for its timeline."""
    event = _lists.get((type_, data))
    if event is None:
        event = decode(type_, data)
        if type_ in LISTS:
            _lists.put((type_, data), event, len(data))
    return event


def read_at(connection: Connection, session: str, positions: Sequence[int]) -> list[Entry]:
    """The events at these positions, in order."""
    rows = connection.execute(_AT, {"session": session, "positions": positions})
    return [Entry(position, time, decode_list(type_, data)) for position, type_, time, data in rows]


def read(connection: Connection, session: str, after: int = 0, until: int | None = None) -> Iterator[Entry]:
    """Events of known types at `after` < position ≤ `until`, a chunk at a time."""
    while True:
        told = {"session": session, "after": after, "limit": READ_CHUNK, "until": 2**62 if until is None else until}
        rows = connection.execute(_KNOWN_TAIL, told).all()
        read_event = decode_list if len(rows) < READ_CHUNK else decode  # a long log would wash out what is kept
        for position, type_, time, data in rows:
            yield Entry(position, time, read_event(type_, data))
        if len(rows) < READ_CHUNK:
            return
        after = rows[-1][0]


def read_few(connection: Connection, session: str, after: int, limit: int) -> list[tuple[Entry, int]] | None:
    """As `read`, all at once, each with the size of its data in chars; None where there are more than `limit`."""
    told = {"session": session, "after": after, "limit": limit + 1, "until": 2**62}
    rows = connection.execute(_KNOWN_TAIL, told).all()
    few = [(Entry(row.position, row.time, decode_list(row.type, row.data)), len(row.data)) for row in rows]
    return few if len(few) <= limit else None


def read_types(connection: Connection, session: str, types: Sequence[str], until: int) -> list[Entry]:
    """Events of some known types up to a position, all at once: for types of which a log has few."""
    rows = connection.execute(_OF_TYPES, {"session": session, "types": types, "until": until})
    return [Entry(position, time, decode(type_, data)) for position, type_, time, data in rows]


_OF_TYPES: Final = (
    select(events.c.position, events.c.type, events.c.time, events.c.data)
    .where(
        events.c.session == bindparam("session"),
        events.c.position <= bindparam("until"),
        events.c.type.in_(bindparam("types", expanding=True)),
    )
    .order_by(events.c.position)
)
