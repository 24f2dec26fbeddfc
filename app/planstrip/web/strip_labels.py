"""What a reader is told of the standing plan: its list, how certain it is, and what they can do about it. Pure."""

from collections.abc import Callable, Mapping
from functools import partial
from gettext import NullTranslations

from planstrip.events import Todo
from planstrip.plan.revisions import last_moved
from planstrip.plan.view import Standing, View
from planstrip.web.certainty_labels import caution_at, is_ageing, notes, said, turn_note
from planstrip.web.labels import counts_header, meter, status_label
from planstrip.web.ledger_labels import unlisted
from planstrip.web.links import act_url, past_url, plan_url
from planstrip.web.readers import OWNER, Reader
from planstrip.web.strip_contexts import (
    Acts,
    Item,
    OmittedItem,
    Retired,
    Strip,
    UnlistedSection,
)
from planstrip.web.times import clock, iso


def strip(
    view: View,
    tr: NullTranslations,
    *,
    now: int | None = None,
    is_open: bool = False,
    is_past: bool = False,
    acts: Acts | None = None,
    worked: Mapping[str, str] | None = None,
) -> Strip | None:
    """None without a plan: then nothing is shown, no empty border and no `0/0`.

    `now`: the clock, ms, UTC; without it the strip is told as of the last event. `worked`: times by content. Without
    `acts` nothing can be done here: in a frame, and in the past.
    """
    standing, plan = view.standing, view.standing.plan
    if plan is None:
        return None
    places = _places(view, acts.past if acts else None)
    caution = caution_at(standing, standing.updated_at if now is None else now)
    return Strip(
        position=plan.position,
        since=iso(standing.written_at),
        header=counts_header(plan.counts, tr),
        said=said(plan, standing, tr),
        said_unsure=said(plan, standing, tr, is_unsure=True) if standing.is_moving else None,
        items=[_item(todo, worked or {}, places, tr) for todo in plan.todos],
        omitted=[OmittedItem(item.content, item.status) for item in plan.omitted],
        meter=meter(plan.counts),
        is_moving=standing.is_moving,
        is_complete=plan.counts.is_complete,
        is_open=is_open,
        is_past=is_past,
        is_ageing=is_ageing(standing),
        caution=caution,
        turn=turn_note(standing, tr),
        notes=notes(view, caution, tr),
        unlisted=unlisted(standing.unlisted, acts.dismiss_url if acts else None, tr),
        acts=acts,
    )


def _item(todo: Todo, worked: Mapping[str, str], places: Mapping[str, str], tr: NullTranslations) -> Item:
    content = todo.content
    return Item(todo.status, status_label(todo.status, tr), content, worked.get(content), places.get(content))


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
