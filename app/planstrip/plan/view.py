"""One session as a page shows it, folded forward event by event, and where each part of it last changed."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from planstrip.events import Entry
from planstrip.plan import fold as plan_fold
from planstrip.plan import outline as outline_fold
from planstrip.plan import rows as rows_fold
from planstrip.plan.fold import Plan
from planstrip.plan.outline import Condition, Outline
from planstrip.plan.rows import Window
from planstrip.plan.todos import Counts


@dataclass(frozen=True, slots=True)
class Standing:
    """What stands after the event at `position`, whose time is `updated_at` (ms, UTC; 0 before any event).

    `plan_changed`, `strip_changed` and `head_changed` are the positions of the last event on which the plan, the strip
    (the plan and whether it moves) and the page's head depend: a push names what changed by them.
    """

    position: int = 0
    updated_at: int = 0
    plan: Plan | None = None
    outline: Outline = field(default_factory=Outline)
    plan_changed: int = 0
    strip_changed: int = 0
    head_changed: int = 0

    @property
    def counts(self) -> Counts:
        return self.plan.counts if self.plan else Counts()

    @property
    def condition(self) -> Condition:
        return outline_fold.condition(self.outline, self.counts)

    @property
    def is_moving(self) -> bool:
        """Whether an in-progress glyph turns: only while a turn runs (reports.md R016, R042)."""
        return self.outline.turn in ("open", "none") and self.outline.waits_for is None


def stand(entries: Iterable[Entry], start: Standing | None = None) -> Standing:
    """`stand(a + b) == stand(b, start=stand(a))` at every cut."""
    standing = start or Standing()
    for entry in entries:
        standing = _step(standing, entry)
    return standing


def _step(old: Standing, entry: Entry) -> Standing:
    plan = plan_fold.step(old.plan, entry)
    outline = outline_fold.step(old.outline, entry)
    plan_changed, strip_changed, head_changed = old.plan_changed, old.strip_changed, old.head_changed
    if plan is not old.plan or outline is not old.outline:
        new = Standing(entry.position, entry.time, plan, outline)
        if plan is not old.plan:
            plan_changed = strip_changed = entry.position
        elif plan is not None and new.is_moving != old.is_moving:
            strip_changed = entry.position
        if outline != old.outline or new.condition != old.condition:
            head_changed = entry.position
    return Standing(entry.position, entry.time, plan, outline, plan_changed, strip_changed, head_changed)


@dataclass(frozen=True, slots=True)
class View:
    standing: Standing = field(default_factory=Standing)
    window: Window = field(default_factory=Window)

    @property
    def changed(self) -> int:
        """The position that the page shows: the last event on which any part of it depends."""
        return max(self.standing.strip_changed, self.standing.head_changed, self.window.changed)


def advance(view: View, entries: Iterable[Entry]) -> View:
    """The view after `entries`, which follow its position without a gap."""
    entries = list(entries)
    return View(stand(entries, view.standing), rows_fold.fold(entries, view.window))
