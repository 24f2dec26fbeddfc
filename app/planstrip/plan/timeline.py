"""The timeline: what became of each task of a plan and when, from event times alone (spec.md §9). Pure, no clock."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from planstrip.events import (
    Entry,
    Omitted,
    SessionEnd,
    SessionRewind,
    Status,
    Todo,
    TodoWrite,
    TurnEnd,
    TurnResume,
    TurnStart,
    TurnWait,
    ViewerRestore,
    ViewerRetire,
)
from planstrip.plan.likeness import normalise, pair, same

# `paused` is in progress while no turn ran; `withdrawn` was taken off by a person or a rewind, or set aside by name.
Kind: TypeAlias = Literal["waiting", "working", "paused", "finished", "dropped", "withdrawn"]

MAX_GONE: Final = 100  # of those that left the list, the newest are looked through for one that returns
LONG_SILENCE_MS: Final = 30 * 60_000  # between two writes of a session that tells no turns


@dataclass(frozen=True, slots=True)
class Span:
    """Times are ms, UTC. `end` is None while it lasts; `is_reopened` when the task had been finished before."""

    kind: Kind
    start: int
    end: int | None = None
    is_reopened: bool = False


@dataclass(frozen=True, slots=True)
class Lane:
    """One task, under the name that it bore last. Its spans follow one another without a gap."""

    content: str
    spans: tuple[Span, ...]
    worked_ms: int
    is_listed: bool

    @property
    def kind(self) -> Kind:
        return self.spans[-1].kind


@dataclass(frozen=True, slots=True)
class Stretch:
    """From `start` to `end` (None while it lasts): a turn, or a time in which none ran."""

    start: int
    end: int | None = None
    is_interrupted: bool = False


@dataclass(frozen=True, slots=True)
class Timeline:
    """The life of one plan, `start` to `end`. `busy_ms` is the time in which at least one task was worked on.

    `newest_writes` is 0 for the whole life; else it is told from that many writes, the newest, and began before them.
    """

    start: int = 0
    end: int = 0
    lanes: tuple[Lane, ...] = ()
    turns: tuple[Stretch, ...] = ()
    rests: tuple[Stretch, ...] = ()
    busy_ms: int = 0
    newest_writes: int = 0

    def is_cut(self, lane: Lane) -> bool:
        """Whether the lane may have begun before what is told, and been worked on for longer."""
        return self.newest_writes > 0 and lane.spans[0].start == self.start

    @property
    def parallelism(self) -> float:
        """How many tasks were worked on at a time, on average over the time in which any was; 0 when none was."""
        return sum(lane.worked_ms for lane in self.lanes) / self.busy_ms if self.busy_ms else 0.0


def timeline(entries: Iterable[Entry], until: int = 0) -> Timeline:
    """The newest plan's life. While its work runs it lasts until `until`, the time of the last sign of life.

    Of the events that it does not name only the one right before a `turn/start` matters: a turn that tells no end
    ended there. Time never runs backwards: an event that says so counts as of the one before it.
    """
    builder = Builder()
    for entry in entries:
        builder.take(entry)
    return builder.timeline(until)


@dataclass(slots=True, eq=False)
class _Track:
    """A lane that is being drawn."""

    content: str
    spans: list[Span] = field(default_factory=list)

    @property
    def kind(self) -> Kind:
        return self.spans[-1].kind

    def move(self, kind: Kind, time: int) -> None:
        last = self.spans[-1] if self.spans else None
        if last is not None:
            if last.kind == kind:
                return
            self.spans[-1] = Span(last.kind, last.start, time, last.is_reopened)
        self.spans.append(Span(kind, time, None, last is not None and last.kind == "finished"))

    def lane(self, end: int, *, is_listed: bool) -> Lane:
        worked = (span for span in self.spans if span.kind == "working")
        worked_ms = sum((end if span.end is None else span.end) - span.start for span in worked)
        return Lane(self.content, tuple(self.spans), worked_ms, is_listed)


@dataclass(slots=True, eq=False)
class Builder:
    """Takes the entries of a session in order; what it tells is the same however they were handed on."""

    clock: int = 0
    start: int = 0
    end: int = 0
    turn: Literal["untold", "open", "ended", "interrupted"] = "untold"
    is_waiting: bool = False
    is_over: bool = True
    tracks: list[_Track] = field(default_factory=list)
    listed: list[_Track] = field(default_factory=list)
    turns: list[Stretch] = field(default_factory=list)
    rests: list[Stretch] = field(default_factory=list)
    rest_since: int | None = None
    busy_ms: int = 0
    busy_since: int | None = None
    seen: tuple[int, int] = (0, 0)  # position and time of the entry before

    @property
    def is_running(self) -> bool:
        return self.turn in ("untold", "open") and not self.is_waiting

    def take(self, entry: Entry) -> None:
        event, time = entry.event, max(self.clock, entry.time)
        match event:
            case TodoWrite():
                self._write(time, event.todos, event.omitted, "dropped")
            case SessionRewind() | ViewerRestore():
                self._write(time, event.todos, event.omitted, "withdrawn")
            case ViewerRetire():
                self._list(time, (), (), "withdrawn")
            case TurnStart():
                self._start_turn(entry.position, time)
            case TurnEnd():
                self._end_turn(time, is_interrupted=event.reason.kind != "completed")
            case SessionEnd() if self.turn == "open":
                self._end_turn(time, is_interrupted=True)
            case TurnWait():
                self.is_waiting = True
                self._settle(time)
            case TurnResume():
                self._resume(time)
            case _:
                self.seen = entry.position, entry.time
                return
        self.clock, self.seen = time, (entry.position, time)

    def timeline(self, until: int) -> Timeline:
        end, busy_ms = self.end, self.busy_ms
        if self.busy_since is not None:
            end = max(end, until)
            busy_ms += end - self.busy_since
        listed = {id(track) for track in self.listed}
        lanes = tuple(track.lane(end, is_listed=id(track) in listed) for track in self.tracks)
        return Timeline(self.start, end, lanes, tuple(self.turns), tuple(self.rests), busy_ms)

    def _write(self, time: int, todos: Sequence[Todo], omitted: Sequence[Omitted], gone: Kind) -> None:
        if self.is_over and todos:
            self.start, self.is_over = time, False
            self.tracks, self.listed, self.rests = [], [], []
            self.turns = [Stretch(time)] if self.turn == "open" else []
            self.busy_ms, self.busy_since, self.rest_since = 0, None, None
        elif self.turn == "untold" and self.listed and time - self.clock > LONG_SILENCE_MS:
            self.rests.append(Stretch(self.clock, time))
        self._list(time, todos, omitted, gone)
        self.is_over = not todos

    def _list(self, time: int, todos: Sequence[Todo], omitted: Sequence[Omitted], gone: Kind) -> None:
        before, found = self.listed, self._find(todos)
        kinds = self._kinds()
        called_off = {normalise(item.content) for item in omitted}
        named = [todo.content for todo, track in zip(todos, found, strict=True) if track.content != todo.content]
        for todo, track in zip(todos, found, strict=True):
            track.content = todo.content
            track.move(kinds[todo.status], time)
        if named or called_off:
            self._set_aside(named, called_off, time)
        if found != before:
            kept = {id(track) for track in found}
            for track in before:
                if id(track) not in kept and track.kind != "finished":
                    track.move("withdrawn" if normalise(track.content) in called_off else gone, time)
        self.listed = found
        self._settle(time)
        if before or todos:
            self.end = time

    def _find(self, todos: Sequence[Todo]) -> list[_Track]:
        """The lane of each: that of a task on the list, else of one that had left it, else a new one."""
        found = _partners(self.listed, todos)
        new = [place for place in range(len(todos)) if place not in found] if len(found) < len(todos) else []
        if new:
            left = self._gone()
            returned = same([track.content for track in left], [todos[place].content for place in new])
            found |= {new[index]: left[place] for place, index in returned.items()}
        for place in new:
            if place not in found:
                found[place] = _Track(todos[place].content)
                self.tracks.append(found[place])
        return [found[place] for place in range(len(todos))]

    def _gone(self) -> list[_Track]:
        """Those that left the list, the dropped ones first: they are what returns."""
        listed = {id(track) for track in self.listed}
        left = [track for track in self.tracks if id(track) not in listed][-MAX_GONE:]
        return sorted(left, key=lambda track: track.kind != "dropped")

    def _set_aside(self, names: Sequence[str], called_off: set[str], time: int) -> None:
        """What had been dropped and is called off now, or has its name on the list as the new one of another task."""
        dropped = [track for track in self._gone() if track.kind == "dropped"]
        taken = same([track.content for track in dropped], names)
        for place, track in enumerate(dropped):
            if place in taken or normalise(track.content) in called_off:
                track.move("withdrawn", time)

    def _kinds(self) -> dict[Status, Kind]:
        active: Kind = "working" if self.is_running else "paused"
        return {"completed": "finished", "pending": "waiting", "in_progress": active}

    def _start_turn(self, position: int, time: int) -> None:
        if self.listed and all(track.kind == "finished" for track in self.listed):
            self.is_over, self.listed = True, []
        if self.turn in ("untold", "open"):
            at, seen = self.seen
            stop = min(max(self.clock, seen), time) if at == position - 1 else self.clock
            self._stop(stop, "interrupted")
        self.turn, self.is_waiting = "open", False
        if self.listed:
            self.turns.append(Stretch(time))
        self._settle(time)

    def _end_turn(self, time: int, *, is_interrupted: bool) -> None:
        if self.turn in ("untold", "open"):  # the first end counts
            self._stop(time, "interrupted" if is_interrupted else "ended")

    def _stop(self, time: int, turn: Literal["ended", "interrupted"]) -> None:
        if self.turn == "open" and self.listed and self.turns:
            self.turns[-1] = Stretch(self.turns[-1].start, time, turn == "interrupted")
        self.turn, self.is_waiting = turn, False
        self._settle(time)

    def _resume(self, time: int) -> None:
        """Also after what looked like the turn's end and was none."""
        self.is_waiting = False
        if self.turn == "ended":
            self.turn = "open"
            if self.listed and self.turns:
                self.turns[-1] = Stretch(self.turns[-1].start)
        self._settle(time)

    def _settle(self, time: int) -> None:
        """Let what is in progress work or pause, as a turn runs or none does."""
        kind: Kind = "working" if self.is_running else "paused"
        active = [track for track in self.listed if track.kind in ("working", "paused")]
        for track in active:
            track.move(kind, time)
        if active and kind == "working":
            self.busy_since = time if self.busy_since is None else self.busy_since
        elif self.busy_since is not None:
            self.busy_ms, self.busy_since = self.busy_ms + time - self.busy_since, None
        if not self.is_running or not self.listed:
            self.rest_since = time if self.rest_since is None else self.rest_since
        elif self.rest_since is not None:
            self.rests, self.rest_since = [*self.rests, Stretch(self.rest_since, time)], None
        if self.listed:
            self.end = time


def _partners(tracks: Sequence[_Track], todos: Sequence[Todo]) -> dict[int, _Track]:
    """Place in `todos` -> its track."""
    if [track.content for track in tracks] == [todo.content for todo in todos]:  # nearly every write
        return dict(enumerate(tracks))
    was = [Todo(track.content, "completed" if track.kind == "finished" else "pending") for track in tracks]
    return {place: tracks[index] for index, place in pair(was, todos).items()}
