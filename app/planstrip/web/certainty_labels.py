"""How certain a strip is, in words: its turn, its notes, its agents, and the line for assistive technology. Pure."""

from gettext import NullTranslations
from typing import Final, assert_never

from planstrip.bidi import undirected
from planstrip.errors import msgid as _
from planstrip.plan.children import Family
from planstrip.plan.fold import Plan
from planstrip.plan.freshness import Caution, Freshness
from planstrip.plan.outline import Outline, State
from planstrip.plan.todos import Counts
from planstrip.plan.view import Standing, View
from planstrip.web.clipping import clipped
from planstrip.web.labels import told_agents
from planstrip.web.ledger_labels import dropped_count
from planstrip.web.strip_contexts import Note, TurnNote

MAX_SAID_CHARS: Final = 120
SUBJECTS: Final = (_("permission"), _("action"), _("an answer"))
RUNNING: Final[tuple[State, ...]] = ("working", "quiet")


def caution_at(standing: Standing, now: int) -> Caution:
    """Hours count only while the agent may be at work: one that waits or has ended leaves no plan behind."""
    known = max(now, standing.updated_at)  # a clock that was put back makes no plan younger than what came after it
    return standing.freshness.caution_after(known - standing.written_at if is_ageing(standing) else 0)


def is_ageing(standing: Standing) -> bool:
    return standing.is_moving and not standing.counts.is_complete


def notes(view: View, caution: Caution, tr: NullTranslations) -> list[Note]:
    """What makes the plan less than certain, the weightiest first; none for a fresh plan of a running turn.

    Agents at work come last: they come and go, and move no other note.
    """
    standing, agents = view.standing, _agents(view.family, tr)
    freshness, dropped, waits = standing.freshness, len(standing.unlisted), standing.outline.waits_for
    return [
        *(
            [Note(tr.gettext("waits for %(what)s") % {"what": _subject(undirected(waits), tr)}, "warning")]
            if waits
            else []
        ),
        *(note for note in agents if note.weight == "warning"),
        *_turn_notes(standing.outline, standing.counts, freshness, tr),
        *([Note(tr.gettext("a write was refused"), "warning")] if freshness.is_refused else []),
        *([Note(dropped_count(dropped, tr), "warning")] if dropped else []),
        *_age_notes(freshness, caution, tr),
        *(note for note in agents if note.weight != "warning"),
    ]


def _subject(waits_for: str, tr: NullTranslations) -> str:
    """`permission: Bash`: of what our readers of agents write, the words are ours to translate."""
    word, colon, tool = waits_for.partition(": ")
    if word not in SUBJECTS:
        return waits_for
    said = tr.gettext(word)
    return tr.gettext("%(label)s:") % {"label": said} + f" {tool}" if colon else said


def turn_note(standing: Standing, tr: NullTranslations) -> TurnNote | None:
    """None for a session without turns, and where a note says it: then there is nothing more to tell."""
    outline = standing.outline
    if outline.waits_for is not None:
        return None if outline.waits_for else TurnNote("waiting", tr.gettext("waits for you"))
    match outline.turn:
        case "open":
            return TurnNote("open", tr.gettext("turn running"), is_unsure=True)
        case "completed":
            return None if _left(standing.counts) else TurnNote("completed", tr.gettext("turn ended"))
        case "interrupted" | "none":
            return None
        case never:
            assert_never(never)


def said(plan: Plan, standing: Standing, tr: NullTranslations, *, is_unsure: bool = False) -> str:
    """`3 of 8 completed; now: X and 1 more`, or `All 8 completed`: what a person hears of a change (R126)."""
    counts, dropped = plan.counts, len(standing.unlisted)
    if counts.is_complete:
        text = tr.ngettext("%(num)d of %(num)d completed", "All %(num)d completed", counts.total)
        parts = [text % {"num": counts.total}]
    else:
        text = tr.ngettext("%(done)d of %(total)d completed", "%(done)d of %(total)d completed", counts.total)
        so_far = text % {"done": counts.completed, "total": counts.total}
        parts = [so_far, *_said_turn(standing.outline, is_unsure, tr), *_said_active(plan, standing, is_unsure, tr)]
    if standing.outline.waits_for is not None:
        parts.append(tr.gettext("waits for you"))
    if dropped:
        parts.append(dropped_count(dropped, tr))
    if standing.freshness.is_refused:
        parts.append(tr.gettext("a write was refused"))
    return tr.gettext("; ").join(parts)


def _said_turn(outline: Outline, is_unsure: bool, tr: NullTranslations) -> list[str]:
    if is_unsure:
        return [tr.gettext("no sign for 5 min")]
    match outline.turn:
        case "completed":
            return [tr.gettext("turn ended")]
        case "interrupted":
            return [tr.gettext("turn interrupted")]
        case _:
            return []


def _said_active(plan: Plan, standing: Standing, is_unsure: bool, tr: NullTranslations) -> list[str]:
    """What is worked on; what was, where nothing is known to run."""
    active = [todo.content for todo in plan.todos if todo.status == "in_progress"]
    if not active:
        return []
    first, extra = clipped(undirected(active[0]), MAX_SAID_CHARS), len(active) - 1
    if standing.is_moving and not is_unsure:
        more = tr.ngettext("now: %(name)s and %(num)d more", "now: %(name)s and %(num)d more", extra)
        text = more if extra else tr.gettext("now: %(name)s")
    else:
        more = tr.ngettext("was at: %(name)s and %(num)d more", "was at: %(name)s and %(num)d more", extra)
        text = more if extra else tr.gettext("was at: %(name)s")
    return [text % {"name": first, "num": extra}]


def _agents(family: Family, tr: NullTranslations) -> list[Note]:
    """`1 agent waits for you`, `2 agents working`: those that are at work or need a person."""
    told = (
        (state, sum(child.state == state for child in family.present)) for state in ("waiting", "interrupted", *RUNNING)
    )
    return [
        Note(told_agents(state, count, tr), "plain" if state in RUNNING else "warning")
        for state, count in told
        if count
    ]


def _turn_notes(outline: Outline, counts: Counts, freshness: Freshness, tr: NullTranslations) -> list[Note]:
    left = _left(counts)
    if outline.turn == "completed" and left:
        text = tr.ngettext("turn ended with %(num)d open", "turn ended with %(num)d open", left)
        return [Note(text % {"num": left}, "warning")]
    if outline.turn == "interrupted":
        return [Note(tr.gettext("turn interrupted"), "warning")]
    if freshness.is_cut:
        return [Note(tr.gettext("from an interrupted turn"), "warning")]
    return []


def _left(counts: Counts) -> int:
    return counts.in_progress + counts.pending


def _age_notes(freshness: Freshness, caution: Caution, tr: NullTranslations) -> list[Note]:
    told = []
    if freshness.turns:
        told.append(tr.ngettext("%(num)d turn", "%(num)d turns", freshness.turns) % {"num": freshness.turns})
    if freshness.step:
        calls = tr.ngettext("over %(num)d tool call", "over %(num)d tool calls", freshness.step)
        told.append(calls % {"num": freshness.step})
    found = []
    if told and freshness.caution != "fresh":
        since = (
            told[0] if len(told) == 1 else tr.gettext("%(first)s, %(second)s") % {"first": told[0], "second": told[1]}
        )
        found.append(Note(tr.gettext("%(what)s since the last write") % {"what": since}))
    if caution == "stale":
        found.append(Note(tr.gettext("may be out of date"), "warning"))
    return found
