"""What a reader is told of the standing plan: its list, how certain it is, and what they can do about it. Pure."""

from collections.abc import Callable, Mapping
from functools import partial
from gettext import NullTranslations
from typing import Final, assert_never

from planstrip.errors import msgid as _
from planstrip.plan.fold import Plan
from planstrip.plan.freshness import Freshness
from planstrip.plan.outline import Outline
from planstrip.plan.revisions import last_moved
from planstrip.plan.todos import Counts
from planstrip.plan.view import Standing, View
from planstrip.web.clipping import clipped
from planstrip.web.labels import counts_header, meter, status_label
from planstrip.web.ledger_labels import dropped_count, unlisted
from planstrip.web.links import act_url, past_url, plan_url
from planstrip.web.readers import OWNER, Reader
from planstrip.web.strip_contexts import (
    Acts,
    Item,
    Note,
    OmittedItem,
    Retired,
    Strip,
    TurnNote,
    UnlistedSection,
)
from planstrip.web.times import clock, iso

MAX_SAID_CHARS: Final = 120
SUBJECTS: Final = (_("permission"), _("action"), _("an answer"))


def strip(
    view: View,
    tr: NullTranslations,
    *,
    is_open: bool = False,
    acts: Acts | None = None,
    worked: Mapping[str, str] | None = None,
) -> Strip | None:
    """None without a plan: then nothing is shown, no empty border and no `0/0`.

    `worked`: times by content. Without `acts` nothing can be done here: in a frame, and in the past.
    """
    standing, plan = view.standing, view.standing.plan
    if plan is None:
        return None
    times, places = worked or {}, _places(view, acts.past if acts else None)
    return Strip(
        position=plan.position,
        since=iso(plan.time),
        header=counts_header(plan.counts, tr),
        said=said(plan, standing.outline, tr),
        items=[
            Item(todo.status, status_label(todo.status, tr), content, times.get(content), places.get(content))
            for todo in plan.todos
            if (content := todo.content)
        ],
        omitted=[OmittedItem(item.content, item.status) for item in plan.omitted],
        meter=meter(plan.counts),
        is_moving=standing.is_moving,
        is_complete=plan.counts.is_complete,
        is_open=is_open,
        caution=standing.freshness.caution,
        turn=turn_note(standing, tr),
        notes=notes(standing, tr),
        unlisted=unlisted(standing.unlisted, acts.dismiss_url if acts else None, tr),
        acts=acts,
    )


def said(plan: Plan, outline: Outline, tr: NullTranslations) -> str:
    """`3 of 8 completed; now: X and 1 more`, or `All 8 completed`: what a person hears of a change (R126)."""
    counts, active = plan.counts, [todo.content for todo in plan.todos if todo.status == "in_progress"]
    if counts.is_complete:
        text = tr.ngettext("%(num)d of %(num)d completed", "All %(num)d completed", counts.total)
        return text % {"num": counts.total}
    so_far = tr.ngettext("%(done)d of %(total)d completed", "%(done)d of %(total)d completed", counts.total)
    parts = [so_far % {"done": counts.completed, "total": counts.total}]
    if active:
        first, extra = clipped(active[0], MAX_SAID_CHARS), len(active) - 1
        more = tr.ngettext("now: %(name)s and %(num)d more", "now: %(name)s and %(num)d more", extra)
        parts.append((more if extra else tr.gettext("now: %(name)s")) % {"name": first, "num": extra})
    if outline.waits_for is not None:
        parts.append(tr.gettext("waits for you"))
    return tr.gettext("; ").join(parts)


def unlisted_alone(standing: Standing, acts: Acts | None, tr: NullTranslations) -> UnlistedSection | None:
    """What is no longer listed, where no plan stands for it to be shown under."""
    return None if standing.plan else unlisted(standing.unlisted, acts.dismiss_url if acts else None, tr)


def _places(view: View, past: Callable[[int], str] | None) -> dict[str, str]:
    """For each to-do where its status last changed: its row, or the page of then where that row is not on this one."""
    window = view.window
    rows = {row.revision.position: row.position for row in (*window.rows, *window.late) if row.revision}
    moved = last_moved(window.revisions)
    found = {content: f"#row-{rows[position]}" for content, position in moved.items() if position in rows}
    if past is None:
        return found
    return {content: past(position) for content, position in moved.items()} | found


def notes(standing: Standing, tr: NullTranslations) -> list[Note]:
    """What makes the plan less than certain, the weightiest first; none for a fresh plan of a running turn."""
    freshness, dropped = standing.freshness, len(standing.unlisted)
    waits = standing.outline.waits_for
    return [
        *([Note(tr.gettext("waits for %(what)s") % {"what": _subject(waits, tr)}, "warning")] if waits else []),
        *_turn_notes(standing.outline, standing.counts, freshness, tr),
        *([Note(tr.gettext("a write was refused"), "warning")] if freshness.is_refused else []),
        *([Note(dropped_count(dropped, tr), "warning")] if dropped else []),
        *_age_notes(freshness, tr),
    ]


def _subject(waits_for: str, tr: NullTranslations) -> str:
    """`permission: Bash`: of what our readers of agents write, the words are ours to translate."""
    word, colon, tool = waits_for.partition(": ")
    if word not in SUBJECTS:
        return waits_for
    said = tr.gettext(word)
    return tr.gettext("%(label)s:") % {"label": said} + f" {tool}" if colon else said


def turn_note(standing: Standing, tr: NullTranslations) -> TurnNote | None:
    """None for a session without turns: then there is nothing to tell."""
    outline = standing.outline
    if outline.waits_for is not None:
        return TurnNote("waiting", tr.gettext("waits for you"))
    match outline.turn:
        case "open":
            return TurnNote("open", tr.gettext("turn running"), tr.gettext("turn unknown"))
        case "completed":
            return TurnNote("completed", tr.gettext("turn ended"))
        case "interrupted":
            return TurnNote("interrupted", tr.gettext("turn interrupted"))
        case "none":
            return None
        case never:
            assert_never(never)


def acts(root: str, session: str, standing: Standing, lang: str, reader: Reader = OWNER) -> Acts:
    """A guest takes the plan along and steps through it, but changes nothing."""
    kept, position = reader.kept, standing.plan.position if standing.plan else standing.position
    return Acts(
        dismiss_url=None if reader.is_guest else act_url(root, session, "dismiss", lang),
        retire_url=None if reader.is_guest else act_url(root, session, "retire", lang),
        markdown_url=plan_url(root, session, "plan.md", kept),
        json_url=plan_url(root, session, "plan", kept),
        past=partial(past_url, root, session, lang=lang, kept=kept),
        past_url=past_url(root, session, position, lang, kept),
    )


def retired(
    root: str, session: str, standing: Standing, lang: str, tr: NullTranslations, reader: Reader = OWNER
) -> Retired | None:
    """None where no retirement stands."""
    plans = standing.plans
    if standing.plan is not None or not plans.is_retired or not plans.past:
        return None
    last = plans.past[-1]
    return Retired(
        text=tr.gettext("Plan %(number)d was retired") % {"number": last.number},
        time=iso(last.ended),
        clock=clock(last.ended),
        restore_url=None if reader.is_guest else act_url(root, session, "restore", lang),
    )


def _turn_notes(outline: Outline, counts: Counts, freshness: Freshness, tr: NullTranslations) -> list[Note]:
    left = counts.in_progress + counts.pending
    if outline.turn == "completed" and left:
        text = tr.ngettext("turn ended with %(num)d open", "turn ended with %(num)d open", left)
        return [Note(text % {"num": left}, "warning")]
    if freshness.is_cut:
        return [Note(tr.gettext("from an interrupted turn"), "warning")]
    return []


def _age_notes(freshness: Freshness, tr: NullTranslations) -> list[Note]:
    told = []
    if freshness.turns:
        told.append(tr.ngettext("%(num)d turn", "%(num)d turns", freshness.turns) % {"num": freshness.turns})
    if freshness.step:
        calls = tr.ngettext("over %(num)d tool call", "over %(num)d tool calls", freshness.step)
        told.append(calls % {"num": freshness.step})
    if not told or freshness.caution == "fresh":
        return []
    since = told[0] if len(told) == 1 else tr.gettext("%(first)s, %(second)s") % {"first": told[0], "second": told[1]}
    found = [Note(tr.gettext("%(what)s since the last write") % {"what": since})]
    if freshness.caution == "stale":
        found.append(Note(tr.gettext("may be out of date"), "warning"))
    return found
