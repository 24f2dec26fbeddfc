"""What stands about a session beside its plan: who runs it, its turn, and the state derived from both (spec.md §9)."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from planstrip.events import (
    Entry,
    SessionEnd,
    SessionStart,
    SessionTitle,
    TurnEnd,
    TurnResume,
    TurnStart,
    TurnWait,
)
from planstrip.plan.todos import Counts

TurnState: TypeAlias = Literal["none", "open", "completed", "interrupted"]
Condition: TypeAlias = Literal["waiting", "running", "interrupted", "open", "done", "none"]
State: TypeAlias = Literal["waiting", "working", "quiet", "interrupted", "open", "done", "none"]

QUIET_AFTER_MS: Final = 5 * 60_000
LONG_SILENCE_MS: Final = 3 * QUIET_AFTER_MS  # then the words of its beginning are no longer true
MAX_LABEL_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class Outline:
    agent: str | None = None
    title: str | None = None
    prompt: str | None = None
    cwd: str | None = None
    parent: str | None = None
    turn: TurnState = "none"
    waits_for: str | None = None

    @property
    def label(self) -> str | None:
        """The session's title; its first prompt where it has none."""
        return self.title or self.prompt


def fold(entries: Iterable[Entry], start: Outline | None = None) -> Outline:
    outline = start or Outline()
    for entry in entries:
        outline = step(outline, entry)
    return outline


def step(outline: Outline, entry: Entry) -> Outline:
    match entry.event:
        case TurnStart(prompt=prompt):
            label = outline.prompt or (first_line(prompt) if prompt else None)
            return replace(outline, prompt=label, turn="open", waits_for=None)
        case TurnEnd(reason=reason):
            state: TurnState = "completed" if reason.kind == "completed" else "interrupted"
            return replace(outline, turn=state, waits_for=None)
        case TurnWait(subject=subject):
            return replace(outline, waits_for=subject)
        case TurnResume():
            # also after what looked like the turn's end and was none: some agents' files tell no end
            return replace(outline, waits_for=None, turn="open" if outline.turn == "completed" else outline.turn)
        case SessionEnd() if outline.turn == "open" or outline.waits_for is not None:
            return replace(outline, turn="interrupted", waits_for=None)
        case SessionStart() as start:
            return replace(  # a later one fills in what is missing
                outline,
                agent=outline.agent or start.agent,
                title=outline.title or start.title,
                cwd=outline.cwd or start.cwd,
                parent=outline.parent or start.parent,
            )
        case SessionTitle(title=title):
            return replace(outline, title=title)
        case _:
            return outline


def condition(outline: Outline, counts: Counts) -> Condition:
    """The state but for the clock: `running` is `working` or `quiet`, by the age of the last event."""
    if outline.waits_for is not None:
        return "waiting"
    if outline.turn == "open":
        return "running"
    if outline.turn == "interrupted":
        return "interrupted"
    if counts.total == 0:
        return "none"
    return "done" if counts.is_complete else "open"


def state_of(condition: Condition, updated_at: int, now: int) -> State:
    """The state as a reader sees it. `updated_at`: time of the last event, `now`: the clock, both ms, UTC."""
    if condition == "running":
        return "working" if now - updated_at < QUIET_AFTER_MS else "quiet"
    return condition


def first_line(text: str) -> str:
    """The first line that says something, cut to a label's length."""
    line = next((line for line in (part.strip() for part in text.splitlines()) if line), "")
    return line if len(line) <= MAX_LABEL_CHARS else line[: MAX_LABEL_CHARS - 1] + "…"
