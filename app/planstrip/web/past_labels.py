"""What a reader is told of a session's past: the stops on the way through it, and its plans with their outcomes."""

from collections.abc import Mapping
from gettext import NullTranslations
from typing import assert_never

from planstrip.past import Stops
from planstrip.plan.plans import Outcome, PastPlan
from planstrip.plan.view import Standing
from planstrip.web import labels
from planstrip.web.ledger_labels import dropped_count
from planstrip.web.links import past_url, session_url
from planstrip.web.past_contexts import PastBar, PlanLine, PlanList
from planstrip.web.readers import OWNER, Reader


def past_bar(
    root: str,
    session: str,
    standing: Standing,
    stops: Stops,
    query: Mapping[str, str],
    tr: NullTranslations,
    reader: Reader = OWNER,
) -> PastBar:
    """`standing` is of then; `query` the page's own."""
    kept = {name: value for name, value in query.items() if name in ("lang", "theme")} | dict(reader.kept)

    def at(position: int | None, **more: str) -> str | None:
        return None if position is None else session_url(root, session, {**kept, "at": str(position), **more})

    is_playing = "play" in query
    return PastBar(
        position=standing.position,
        place=tr.gettext("Write %(number)d of %(total)d") % {"number": stops.number, "total": stops.total},
        time=labels.iso(standing.updated_at),
        clock=labels.clock(standing.updated_at),
        number=stops.number,
        total=stops.total,
        before_url=at(stops.before),
        after_url=at(stops.after),
        now_url=session_url(root, session, kept),
        play_url=None if is_playing else at(stops.after, play="1"),
        playing_url=at(stops.after, play="1") if is_playing else None,
        action=session_url(root, session, {}),
        kept=kept,
    )


def plan_list(
    root: str, session: str, standing: Standing, lang: str, tr: NullTranslations, reader: Reader = OWNER
) -> PlanList:
    """Empty while there is nothing to choose from."""
    plans = standing.plans
    if not plans.past:
        return PlanList()
    lines = [_past(past, past_url(root, session, past.last, lang, reader.kept), tr) for past in reversed(plans.past)]
    if standing.plan is not None:
        lines.insert(0, _standing(standing, tr))
    return PlanList(lines)


def outcome_label(outcome: Outcome, tr: NullTranslations) -> str:
    match outcome:
        case "finished":
            return tr.gettext("finished")
        case "abandoned":
            return tr.gettext("abandoned")
        case "interrupted":
            return tr.gettext("interrupted")
        case "retired":
            return tr.gettext("retired")
        case never:
            assert_never(never)


def _past(past: PastPlan, url: str, tr: NullTranslations) -> PlanLine:
    return PlanLine(
        number=_number(past.number, tr),
        outcome=past.outcome,
        outcome_label=outcome_label(past.outcome, tr),
        header=_life(past, tr),
        time=labels.iso(past.ended),
        clock=labels.clock(past.ended),
        url=url,
    )


def _life(past: PastPlan, tr: NullTranslations) -> str:
    """`8 completed · 1 dropped`."""
    dropped = dropped_count(past.dropped, tr) if past.dropped else ""
    return labels.BETWEEN_COUNTS.join(part for part in (labels.counts_header(past.counts, tr), dropped) if part)


def _standing(standing: Standing, tr: NullTranslations) -> PlanLine:
    began = standing.plans.began
    return PlanLine(
        number=_number(standing.plans.number, tr),
        outcome=None,
        outcome_label=tr.gettext("stands"),
        header=labels.counts_header(standing.counts, tr),
        time=labels.iso(began),
        clock=labels.clock(began),
        url=None,
    )


def _number(number: int, tr: NullTranslations) -> str:
    return tr.gettext("Plan %(number)d") % {"number": number}
