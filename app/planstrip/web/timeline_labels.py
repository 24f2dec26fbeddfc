"""What the timeline says in words: the work in all, and that on each task. Pure."""

from gettext import NullTranslations
from typing import assert_never

from planstrip.plan.timeline import Kind, Lane, Timeline
from planstrip.web import numbers
from planstrip.web.durations import in_all, took


def summary(timeline: Timeline, tr: NullTranslations) -> str:
    """`2.3 tasks at a time over 18 min of work`, and of how many writes that is where it is not of all."""
    told = _parallelism(timeline, tr)
    if not timeline.newest_writes:
        return told
    values = {"summary": told, "count": numbers.count(timeline.newest_writes, tr)}
    return tr.gettext("%(summary)s; newest writes only: %(count)s") % values


def _parallelism(timeline: Timeline, tr: NullTranslations) -> str:
    if not timeline.busy_ms:
        return tr.gettext("No time of work yet")
    work, tasks = in_all(timeline.busy_ms, tr), numbers.tenths(timeline.parallelism, tr)
    if tasks == "1":
        return tr.gettext("1 task at a time over %(work)s of work") % {"work": work}
    return tr.gettext("%(tasks)s tasks at a time over %(work)s of work") % {"tasks": tasks, "work": work}


def worked(timeline: Timeline, tr: NullTranslations) -> dict[str, str]:
    """How long each task on the list was worked on, by its content; without those that were not for a second."""
    listed = [lane for lane in timeline.lanes if lane.is_listed]
    times = {lane.content: _took(lane, timeline, tr) for lane in listed}
    return {content: time for content, time in times.items() if time}


def _took(lane: Lane, timeline: Timeline, tr: NullTranslations) -> str | None:
    """`> 2 h` where the lane may have begun before what is told."""
    time = took(lane.worked_ms, lane.kind == "working", tr)
    is_cut = timeline.is_cut(lane) and lane.worked_ms >= 60_000
    return tr.gettext("> %(duration)s") % {"duration": time} if time and is_cut else time


def told(lane: Lane, timeline: Timeline, tr: NullTranslations) -> str:
    """`worked 6 min 41 s, in progress`."""
    state = kind_label(lane.kind, tr)
    reopened = sum(span.is_reopened for span in lane.spans)
    if reopened:
        times = tr.ngettext("reopened %(count)d time", "reopened %(count)d times", reopened) % {"count": reopened}
        state = tr.gettext("%(state)s, %(more)s") % {"state": state, "more": times}
    time = _took(lane, timeline, tr)
    return tr.gettext("worked %(duration)s, %(state)s") % {"duration": time, "state": state} if time else state


def kind_label(kind: Kind, tr: NullTranslations) -> str:
    match kind:
        case "waiting":
            return tr.gettext("waiting")
        case "working":
            return tr.gettext("in progress")
        case "paused":
            return tr.gettext("in progress, no turn runs")
        case "finished":
            return tr.pgettext("task", "finished")
        case "dropped":
            return tr.gettext("dropped")
        case "withdrawn":
            return tr.gettext("taken off the list")
        case never:
            assert_never(never)
