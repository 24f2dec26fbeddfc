"""One session as a page shows it, folded forward event by event, and where each part of it last changed."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from planstrip.events import TYPES, Entry, ToolCall, ToolResult, TurnStart, ViewerDismiss, ViewerRestore, ViewerRetire
from planstrip.plan import fold as plan_fold
from planstrip.plan import freshness as freshness_fold
from planstrip.plan import outline as outline_fold
from planstrip.plan import plans as plans_fold
from planstrip.plan import returned as returned_fold
from planstrip.plan import rows as rows_fold
from planstrip.plan import unlisted as unlisted_fold
from planstrip.plan.children import Family
from planstrip.plan.fold import Plan
from planstrip.plan.freshness import Freshness, Writes
from planstrip.plan.outline import Condition, Outline
from planstrip.plan.plans import Plans
from planstrip.plan.returned import Returned
from planstrip.plan.revisions import MAX_REVISIONS
from planstrip.plan.rows import Window
from planstrip.plan.timeline import Timeline
from planstrip.plan.todos import Counts
from planstrip.plan.tools import is_plan_call
from planstrip.plan.unlisted import Unlisted

PULSE_MS: Final = 60_000
VIEWERS: Final = (ViewerRetire, ViewerRestore, ViewerDismiss)
VIEWER_TYPES: Final = tuple(name for name, kind in TYPES.items() if kind in VIEWERS)
_NEVER: Final = 2**63


@dataclass(frozen=True, slots=True)
class Standing:
    """What stands after the event at `position`. `updated_at`: the time of the last one that is no person's act here.

    Times in ms, UTC; 0 before any event.

    `unlisted` are the to-dos that were dropped while open, the newest last, `returned` those that were listed again;
    `freshness` tells what came since the plan
    was written, `plans` which plan of the session it is.

    `plan_changed`, `strip_changed` and `head_changed` are the positions of the last event on which the plan, the strip
    (the plan and all that is told beside it) and the page's head depend: a push names what changed by them.
    `condition_since` is the time of the event that brought the condition about (ms, UTC; 0 while none did).
    `timeline_changed` is that of the timeline, `timeline_until` the time up to which work is counted: that of a tool
    call or result in `PULSE_MS` at most, so that not every one of them draws it again.
    `turn_since` is when a turn began or ended last (ms, UTC; 0 before any). `writes` are the newest events that set the
    list, each with the time at which the agent wrote it.
    """

    position: int = 0
    updated_at: int = 0
    plan: Plan | None = None
    outline: Outline = field(default_factory=Outline)
    plan_changed: int = 0
    strip_changed: int = 0
    head_changed: int = 0
    condition_since: int = 0
    unlisted: tuple[Unlisted, ...] = ()
    freshness: Freshness = field(default_factory=Freshness)
    plans: Plans = field(default_factory=Plans)
    timeline_changed: int = 0
    timeline_until: int = 0
    turn_since: int = 0
    writes: Writes = ()
    returned: tuple[Returned, ...] = ()

    @property
    def written_at(self) -> int:
        """When the agent wrote the plan that stands: ms, UTC, 0 before any."""
        return self.writes[-1].time if self.writes else 0

    @property
    def counts(self) -> Counts:
        return self.plan.counts if self.plan else Counts()

    @property
    def condition(self) -> Condition:
        return outline_fold.condition(self.outline, self.counts)

    @property
    def embed_changed(self) -> int:
        """The position that an embedded strip shows: it has the session's name and state beside it."""
        return max(self.strip_changed, self.head_changed)

    @property
    def is_moving(self) -> bool:
        """Whether an in-progress glyph turns: only while a turn runs (reports.md R016, R042)."""
        return self.outline.turn in ("open", "none") and self.outline.waits_for is None

    @property
    def pulse_due(self) -> int:
        """From what time on a tool call or result tells that work goes on."""
        is_worked_on = self.is_moving and self.counts.in_progress > 0
        return self.timeline_until + PULSE_MS if is_worked_on else _NEVER


def stand(entries: Iterable[Entry], start: Standing | None = None) -> Standing:
    """`stand(a + b) == stand(b, start=stand(a))` at every cut."""
    old = standing = start or Standing()
    last, calls = None, 0  # tool calls that `standing` does not count yet
    sign = standing.updated_at
    told, asked, due = standing.freshness.calls_until_told, standing.freshness.asked, standing.pulse_due
    for last in entries:
        event = last.event  # tool calls and their results are nine in ten, and hardly one of them moves anything
        before, sign = sign, last.time
        if last.time >= due and isinstance(event, ToolCall | ToolResult):
            standing = replace(standing, timeline_changed=last.position, timeline_until=last.time)
            due = standing.pulse_due
        if isinstance(event, ToolCall):
            calls += 1
            if calls < told and not is_plan_call(event.name):
                continue
            standing, calls = _row_step(standing, calls - 1, last), 0
        elif isinstance(event, ToolResult):
            if event.call_id not in asked:
                continue
            standing, calls = _row_step(standing, calls, last), 0
        else:
            if isinstance(event, VIEWERS):
                sign = before  # what a person does here is no sign of the agent
            standing, calls = _step(_counting(standing, calls), last), 0
            due = standing.pulse_due
        told, asked = standing.freshness.calls_until_told, standing.freshness.asked
    if last is None:
        return old
    return _counting(standing, calls, (last.position, sign))


def _counting(standing: Standing, calls: int, head: tuple[int, int] | None = None) -> Standing:
    """`head`: the last position, and when the agent gave its last sign."""
    counted = _counted(standing, calls)
    if head is None and counted is standing.freshness:
        return standing
    return _moved(standing, counted, standing.strip_changed, head)


def _moved(old: Standing, freshness: Freshness, strip_changed: int, head: tuple[int, int] | None = None) -> Standing:
    """As `dataclasses.replace` would, in a quarter of its time: every write comes by here three times."""
    position, updated_at = head or (old.position, old.updated_at)
    return Standing(
        position,
        updated_at,
        old.plan,
        old.outline,
        old.plan_changed,
        strip_changed,
        old.head_changed,
        old.condition_since,
        old.unlisted,
        freshness,
        old.plans,
        old.timeline_changed,
        old.timeline_until,
        old.turn_since,
        old.writes,
        old.returned,
    )


def _counted(standing: Standing, calls: int) -> Freshness:
    """Without a plan there is nothing that its age could be told by."""
    if not calls or (standing.plan is None and not standing.freshness.is_aside):
        return standing.freshness
    return standing.freshness.counting(calls)


def _row_step(old: Standing, calls: int, entry: Entry) -> Standing:
    """After a call or a result that comes after `calls` others."""
    counted = _counted(old, calls)
    freshness = freshness_fold.step(counted, old.plan, old.plan, entry, was_open=True)
    if freshness is old.freshness:
        return old
    is_told = old.plan is not None and freshness.told != counted.told
    return _moved(old, freshness, entry.position if is_told else old.strip_changed)


def _step(old: Standing, entry: Entry) -> Standing:
    plan = plan_fold.step(old.plan, entry)
    outline = outline_fold.step(old.outline, entry)
    unlisted = unlisted_fold.step(old.unlisted, old.plan, plan, entry)
    was_open, stands = old.outline.turn == "open", old.plan is not None or old.freshness.is_aside
    writes = freshness_fold.written(old.writes, entry, was_open=was_open, stands=stands)
    freshness = freshness_fold.step(old.freshness, old.plan, plan, entry, was_open=was_open, writes=writes)
    plans = plans_fold.step(old.plans, old.plan, plan, entry, unlisted, is_cut=old.freshness.is_cut)
    is_written, is_led = plan is not old.plan, outline is not old.outline
    if not (is_written or is_led or unlisted is not old.unlisted or freshness is not old.freshness):
        return old if plans is old.plans else replace(old, plans=plans, strip_changed=entry.position)
    before, after = old.condition, outline_fold.condition(outline, plan.counts if plan else Counts())
    moves_strip = is_written or unlisted is not old.unlisted or plans is not old.plans
    moves_strip = moves_strip or (plan is not None and _told(outline, freshness) != _told(old.outline, old.freshness))
    is_turned = isinstance(entry.event, TurnStart) or outline.turn != old.outline.turn
    is_drawn = is_written or is_turned or _turn(outline) != _turn(old.outline)
    return Standing(  # as `dataclasses.replace` would, in a quarter of its time
        old.position,
        old.updated_at,
        plan,
        outline,
        plan_changed=entry.position if is_written else old.plan_changed,
        strip_changed=entry.position if moves_strip else old.strip_changed,
        head_changed=entry.position if after != before or (is_led and outline != old.outline) else old.head_changed,
        condition_since=entry.time if after != before else old.condition_since,
        unlisted=unlisted,
        freshness=freshness,
        plans=plans,
        timeline_changed=entry.position if is_drawn else old.timeline_changed,
        timeline_until=entry.time if is_drawn else old.timeline_until,
        turn_since=entry.time if is_turned else old.turn_since,
        writes=writes,
        returned=returned_fold.step(old.returned, old.unlisted, unlisted, plan if is_written else None),
    )


def _turn(outline: Outline) -> tuple[object, ...]:
    return outline.turn, outline.waits_for


def _told(outline: Outline, freshness: Freshness) -> tuple[object, ...]:
    """What a strip tells of its turn, and of how far it may be behind."""
    return outline.turn, outline.waits_for is None, freshness.told


@dataclass(frozen=True, slots=True)
class View:
    """The timeline is read from the log, not advanced: what begins with a plan's life can't be told from its tail.

    `family` comes from other sessions' logs: no event of this one moves it.
    """

    standing: Standing = field(default_factory=Standing)
    window: Window = field(default_factory=Window)
    family: Family = field(default_factory=Family)
    timeline: Timeline = field(default_factory=Timeline)

    @property
    def changed(self) -> int:
        """The position that the page shows: the last event on which any part of it depends."""
        standing = self.standing
        shown = standing.strip_changed, standing.head_changed, standing.timeline_changed
        return max(*shown, self.window.changed)

    @property
    def revisions_begin(self) -> int | None:
        """The position of the oldest revision that is shown, where there are older ones; else None."""
        plans, shown = self.standing.plans, self.window.revisions
        first = plans.past[0].first if plans.past else plans.first
        return shown[0].position if len(shown) == MAX_REVISIONS and first < shown[0].position else None

    @property
    def heard_at(self) -> int:
        """The last sign of the session, or of an agent that works for it: ms, UTC."""
        return max(self.standing.updated_at, self.family.heard_at)


def advance(view: View, entries: Iterable[Entry]) -> View:
    """The view after `entries`, which follow its position without a gap."""
    builder = rows_fold.Builder(view.window)
    standing = stand(builder.taking(entries), view.standing)  # one pass: a long log is never held whole
    window = returned_fold.mark(builder.window(), standing.returned, view.standing.position)
    return View(standing, window, view.family, view.timeline)
