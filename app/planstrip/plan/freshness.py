"""What has happened since the plan was written: the more, the further it may be behind the work (spec.md §9)."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from planstrip.events import (
    Entry,
    Event,
    SessionEnd,
    SessionRewind,
    TodoWrite,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnStart,
    ViewerRestore,
    ViewerRetire,
)
from planstrip.plan.fold import Plan
from planstrip.plan.tools import is_plan_call

Caution: TypeAlias = Literal["fresh", "aging", "stale"]
CALL_STEPS: Final[tuple[int, ...]] = tuple(10 * 2**power for power in range(60))  # a strip does not tick with each
MAX_ASKED: Final = 8
MAX_WRITES: Final = 50  # a rewind beyond them is told as old as the oldest of them
AGING_MS: Final = 60 * 60_000
STALE_MS: Final = 3 * AGING_MS


@dataclass(frozen=True, slots=True)
class Write:
    """What set the list, at `position`. `time` is when the agent wrote it (ms, UTC).

    `is_cut`: its turn was interrupted, or a later one while it stood; `is_of_turn`: its turn has not ended.
    """

    position: int
    time: int
    is_cut: bool = False
    is_of_turn: bool = False


Writes: TypeAlias = tuple[Write, ...]


@dataclass(frozen=True, slots=True)
class Freshness:
    """Since the last accepted write: `turns` that began, `calls` of tools.

    `is_refused`: a plan call of this turn was not accepted. `is_cut`: a turn was interrupted, the write's own or a
    later one. `asked` are the ids of plan calls without their result. `is_aside`: a person retired the plan, which goes
    on to age, since it may be brought back.
    """

    turns: int = 0
    calls: int = 0
    is_refused: bool = False
    is_cut: bool = False
    asked: tuple[str, ...] = ()
    is_aside: bool = False

    @property
    def step(self) -> int:
        """The calls as they are told: the last of CALL_STEPS that they have reached, 0 below the first."""
        reached = bisect_right(CALL_STEPS, self.calls)
        return CALL_STEPS[reached - 1] if reached else 0

    @property
    def calls_until_told(self) -> int:
        return CALL_STEPS[bisect_right(CALL_STEPS, self.calls)] - self.calls

    def counting(self, calls: int) -> "Freshness":
        """As `replace` would, in a third of its time."""
        return Freshness(self.turns, self.calls + calls, self.is_refused, self.is_cut, self.asked, self.is_aside)

    @property
    def caution(self) -> Caution:
        return self.caution_after(0)

    def caution_after(self, worked_ms: int) -> Caution:
        """`worked_ms`: how long the agent may have worked since it wrote the plan."""
        if self.turns >= 3 or self.calls >= 80 or worked_ms >= STALE_MS:
            return "stale"
        return "aging" if self.turns or self.calls >= 20 or worked_ms >= AGING_MS else "fresh"

    @property
    def told(self) -> tuple[int, int, bool, bool]:
        """All that a reader can see of it."""
        return self.turns, self.step, self.is_refused, self.is_cut


def step(
    old: Freshness, before: Plan | None, after: Plan | None, entry: Entry, *, was_open: bool, writes: Writes = ()
) -> Freshness:
    """After an event that took the plan `before` to `after`; the same object where nothing changed.

    `was_open`: a turn ran until then. `writes`: those up to this event, for one that sets the list.
    """
    event = entry.event
    if after is not before or (old.is_aside and isinstance(event, TodoWrite)):
        return _set(old, before, after, event, writes)
    if isinstance(event, ToolCall):
        return _called(old, event, 1 if after is not None or old.is_aside else 0)
    if isinstance(event, ToolResult):
        return _answered(old, event)
    if after is None and not old.is_aside:
        return old
    if isinstance(event, TurnStart):
        return replace(old, turns=old.turns + 1, is_refused=False, is_cut=old.is_cut or was_open)
    return replace(old, is_cut=True) if was_open and _cuts(event) else old


def _cuts(event: Event) -> bool:
    """Whether it interrupts the turn that runs."""
    return isinstance(event, SessionEnd | TurnStart) or (
        isinstance(event, TurnEnd) and event.reason.kind != "completed"
    )


def _set(old: Freshness, before: Plan | None, after: Plan | None, event: Event, writes: Writes) -> Freshness:
    """Only what the agent writes is fresh: what a person or a rewind brings back has aged meanwhile."""
    if isinstance(event, ViewerRetire):
        return replace(old, is_aside=True)
    if isinstance(event, ViewerRestore) and old.is_aside:
        return replace(old, is_aside=False)
    if isinstance(event, SessionRewind) and before and after and before.position <= event.to_position:
        return old
    return Freshness(asked=old.asked, is_cut=after is not None and bool(writes) and writes[-1].is_cut)


def written(old: Writes, entry: Entry, *, was_open: bool, stands: bool) -> Writes:
    """The writes after an event: a list that a person or a rewind brings back is as old as its write, and as cut.

    `stands`: until then the newest one stood, or lay aside.
    """
    match entry.event:
        case TodoWrite():
            new = Write(entry.position, entry.time, is_of_turn=was_open)
        case ViewerRestore():
            new = _again(old[-1:], entry)
        case SessionRewind(to_position=to):
            new = _again([*old[:1], *(write for write in old if write.position <= to)], entry)
        case TurnStart() | TurnEnd() | SessionEnd() if old and was_open:
            return _ended(old, is_cut=_cuts(entry.event), stands=stands)
        case _:
            return old
    return (*old, new)[-MAX_WRITES:]


def _again(found: Sequence[Write], entry: Entry) -> Write:
    """The last one found, brought back by `entry`."""
    return Write(entry.position, found[-1].time, found[-1].is_cut) if found else Write(entry.position, entry.time)


def _ended(old: Writes, *, is_cut: bool, stands: bool) -> Writes:
    """After the end of the turn that ran: it cuts its own writes, and the newest while that `stands`."""
    newest = old[-1] if stands else None
    if not is_cut and not any(write.is_of_turn for write in old):
        return old
    return tuple(
        Write(write.position, write.time, write.is_cut or (is_cut and (write.is_of_turn or write is newest)))
        for write in old
    )


def _called(old: Freshness, call: ToolCall, counted: int) -> Freshness:
    """Without a plan there is nothing that its age could be told by."""
    asked = (*old.asked, call.call_id)[-MAX_ASKED:] if is_plan_call(call.name) else old.asked
    return Freshness(old.turns, old.calls + counted, old.is_refused, old.is_cut, asked, old.is_aside)


def _answered(old: Freshness, result: ToolResult) -> Freshness:
    if result.call_id not in old.asked:
        return old
    asked = tuple(call_id for call_id in old.asked if call_id != result.call_id)
    return Freshness(old.turns, old.calls, old.is_refused or result.is_error, old.is_cut, asked, old.is_aside)
