"""The timeline as it is drawn: places in percent, so that it fits any width, and the words that say the same."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from gettext import NullTranslations
from typing import Final, Literal, TypeAlias, assert_never

from planstrip.plan.timeline import Kind, Lane, Span, Timeline
from planstrip.plan.timescale import Scale, scale
from planstrip.web.durations import about, duration
from planstrip.web.labels import clock, iso

MAX_LANES: Final = 60
ROOMY_LANES: Final = 16  # beyond, lanes are drawn closer
PITCH_PX: Final = 22
DENSE_PITCH_PX: Final = 17
MIN_BAR: Final = 1.5
HAIR: Final = 0.4
MIN_GAP: Final = 1.0  # lines of turns nearer than that are one
TICK_PX: Final = 96
FOLD_NAME_WIDTH, CLOCK_WIDTH, SECONDS_WIDTH, MOMENT_WIDTH = 19.0, 17.0, 27.0, 44.0  # percent, where it is narrow
NAMES_SECONDS_BELOW_MS: Final = 4 * 60_000
NAMES_DAYS_FROM_MS: Final = 20 * 3_600_000

PointKind: TypeAlias = Literal["finished", "reopened", "dropped", "withdrawn"]
Anchor: TypeAlias = Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True)
class Mark:
    """From `x` to `x2`, percent of the drawing's width, as SVG attributes; `width` is their difference.

    `kind` is its class, `drawn` the name of its shape.
    """

    kind: str
    x: str
    x2: str
    width: str
    title: str = ""

    @property
    def middle(self) -> str:
        return _percent((_place(self.x) + _place(self.x2)) / 2)

    @property
    def drawn(self) -> str:
        return "finished" if self.kind == "reopened" else self.kind


@dataclass(frozen=True, slots=True)
class LaneDrawing:
    """`told` says in words what is drawn; `y` is the middle of the lane, px."""

    content: str
    kind: Kind
    told: str
    y: int
    lines: Sequence[Mark]
    bars: Sequence[Mark]
    points: Sequence[Mark]
    is_open: bool


@dataclass(frozen=True, slots=True)
class Tick:
    """A name on an axis: a time, or how long a folded rest was (`time` is empty). `shift_px` puts `anchor` at `x`."""

    x: str
    anchor: Anchor
    shift_px: int
    text: str
    time: str = ""
    format: str = ""


Placed: TypeAlias = tuple[Tick, float, float]  # with its place and its width, percent


@dataclass(frozen=True, slots=True)
class Drawing:
    summary: str
    lanes: Sequence[LaneDrawing]
    turns: Sequence[Mark]
    folds: Sequence[Mark]
    fold_names: Sequence[Tick]
    ticks: Sequence[Tick]
    height: int
    is_dense: bool
    hidden: str


def draw(timeline: Timeline, tr: NullTranslations) -> Drawing | None:
    """None before the first plan. Of many lanes, those that are worked on and those that changed last are drawn."""
    if not timeline.lanes:
        return None
    scaled = scale(timeline.start, timeline.end, timeline.rests)
    shown = _shown(timeline.lanes)
    pitch = PITCH_PX if len(shown) <= ROOMY_LANES else DENSE_PITCH_PX
    hidden = len(timeline.lanes) - len(shown)
    return Drawing(
        summary=summary(timeline, tr),
        lanes=[_lane(lane, index * pitch + pitch // 2, timeline, scaled, tr) for index, lane in enumerate(shown)],
        turns=list(_turns(timeline, scaled, tr)),
        folds=[_mark("fold", fold.start, fold.end or fold.start, scaled) for fold in scaled.folds],
        fold_names=_fold_names(scaled, tr),
        ticks=_ticks(timeline, scaled),
        height=len(shown) * pitch,
        is_dense=pitch == DENSE_PITCH_PX,
        hidden=tr.ngettext("%(count)d more task", "%(count)d more tasks", hidden) % {"count": hidden} if hidden else "",
    )


def summary(timeline: Timeline, tr: NullTranslations) -> str:
    """`2.3 tasks at a time over 18 min of work`."""
    if not timeline.busy_ms:
        return tr.gettext("No time of work yet")
    work, tasks = about(timeline.busy_ms, tr), f"{timeline.parallelism:.1f}".removesuffix(".0")
    if tasks == "1":
        return tr.gettext("1 task at a time over %(work)s of work") % {"work": work}
    return tr.gettext("%(tasks)s tasks at a time over %(work)s of work") % {"tasks": tasks, "work": work}


def worked(timeline: Timeline, tr: NullTranslations) -> dict[str, str]:
    """How long each task on the list was worked on, by its content; without those that were not for a second."""
    listed = (lane for lane in timeline.lanes if lane.is_listed and lane.worked_ms >= 1_000)
    return {lane.content: duration(lane.worked_ms, tr) for lane in listed}


def _shown(lanes: Sequence[Lane]) -> list[Lane]:
    newest = sorted(range(len(lanes)), key=lambda place: (_is_active(lanes[place]), lanes[place].spans[-1].start))
    return [lanes[place] for place in sorted(newest[-MAX_LANES:])]


def _is_active(lane: Lane) -> bool:
    return lane.kind in ("working", "paused")


def _lane(lane: Lane, y: int, timeline: Timeline, scaled: Scale, tr: NullTranslations) -> LaneDrawing:
    spans = [(span, timeline.end if span.end is None else span.end) for span in lane.spans]
    drawn = [_mark(span.kind, span.start, end, scaled) for span, end in spans if end > span.start]
    return LaneDrawing(
        content=lane.content,
        kind=lane.kind,
        told=told(lane, tr),
        y=y,
        lines=_joined(mark for mark in drawn if mark.kind in ("waiting", "paused")),
        bars=[_wide(mark) for mark in _joined(mark for mark in drawn if mark.kind == "working")],
        points=_joined(mark for span in lane.spans for mark in _points(span, scaled)),
        is_open=lane.kind == "working",
    )


def _joined(marks: Iterable[Mark]) -> list[Mark]:
    """Marks of a kind that no eye parts, as one: a lane stays small however often it turned."""
    found = list[Mark]()
    for mark in marks:
        last = found[-1] if found else None
        if last is not None and last.kind == mark.kind and _place(mark.x) - _place(last.x2) < HAIR:
            found[-1] = replace(last, x2=mark.x2, width=_percent(_place(mark.x2) - _place(last.x)))
        else:
            found.append(mark)
    return found


def told(lane: Lane, tr: NullTranslations) -> str:
    """`worked 6 min 41 s, in progress`."""
    state = kind_label(lane.kind, tr)
    reopened = sum(span.is_reopened for span in lane.spans)
    if reopened:
        times = tr.ngettext("reopened %(count)d time", "reopened %(count)d times", reopened) % {"count": reopened}
        state = tr.gettext("%(state)s, %(more)s") % {"state": state, "more": times}
    if lane.worked_ms < 1_000:
        return state
    return tr.gettext("worked %(duration)s, %(state)s") % {"duration": duration(lane.worked_ms, tr), "state": state}


def kind_label(kind: Kind, tr: NullTranslations) -> str:
    match kind:
        case "waiting":
            return tr.gettext("waiting")
        case "working":
            return tr.gettext("in progress")
        case "paused":
            return tr.gettext("in progress, no turn runs")
        case "finished":
            return tr.gettext("finished")
        case "dropped":
            return tr.gettext("dropped")
        case "withdrawn":
            return tr.gettext("taken off the list")
        case never:
            assert_never(never)


def _points(span: Span, scaled: Scale) -> Iterator[Mark]:
    if span.is_reopened and span.kind not in ("dropped", "withdrawn"):
        yield _mark("reopened", span.start, span.start, scaled)
    if span.kind in ("finished", "dropped", "withdrawn"):
        yield _mark(span.kind, span.start, span.start, scaled)


def _turns(timeline: Timeline, scaled: Scale, tr: NullTranslations) -> Iterator[Mark]:
    last = 0.0
    for turn in timeline.turns:
        place = scaled.place(turn.start)
        if turn.start > timeline.start and place - last >= MIN_GAP:
            yield _mark("turn", turn.start, turn.start, scaled, tr.gettext("A turn began"))
            last = place
        if turn.is_interrupted and turn.end is not None:
            yield _mark("interruption", turn.end, turn.end, scaled, tr.gettext("interrupted"))


def _fold_names(scaled: Scale, tr: NullTranslations) -> list[Tick]:
    wanted = []
    for fold in scaled.folds:
        end = fold.start if fold.end is None else fold.end
        middle = (scaled.place(fold.start) + scaled.place(end)) / 2
        wanted.append((_tick(middle, about(end - fold.start, tr), width=FOLD_NAME_WIDTH), middle, FOLD_NAME_WIDTH))
    return _apart(wanted)


def _ticks(timeline: Timeline, scaled: Scale) -> list[Tick]:
    """The round times, or both ends where there are too few of them; of a session over days its begin and its end."""
    start, end = timeline.start, timeline.end
    work = end - start - sum((fold.end or fold.start) - fold.start for fold in scaled.folds)
    is_short = 0 < work < NAMES_SECONDS_BELOW_MS or end - start < NAMES_SECONDS_BELOW_MS
    name, width = ("second", SECONDS_WIDTH) if is_short else ("clock", CLOCK_WIDTH)
    wanted = []
    if end - start >= NAMES_DAYS_FROM_MS:
        wanted = [_time_tick(start, scaled, "moment", MOMENT_WIDTH), _time_tick(end, scaled, "clock", CLOCK_WIDTH)]
    times = list(scaled.ticks(int(100 / (width + 4))))
    wanted += [_time_tick(time, scaled, name, width) for time in (times if len(times) > 1 else sorted({start, end}))]
    return _apart(wanted)


def _apart(wanted: Sequence[Placed]) -> list[Tick]:
    """Those that overlap none before them in the order given, by place."""
    kept = list[Placed]()
    for found in wanted:
        left, right = _edges(found)
        if all(left >= _edges(other)[1] or right <= _edges(other)[0] for other in kept):
            kept.append(found)
    return [tick for tick, _, _ in sorted(kept, key=lambda found: found[1])]


def _edges(placed: Placed) -> tuple[float, float]:
    tick, place, width = placed
    left = place - {"start": 0.0, "middle": width / 2, "end": width}[tick.anchor]
    return left, left + width


def _time_tick(time: int, scaled: Scale, name: str, width: float) -> Placed:
    place = scaled.place(time)
    text = iso(time)[11:19] if name == "second" else clock(time)
    return _tick(place, text, iso(time), name, width), place, width


def _tick(place: float, text: str, time: str = "", name: str = "", width: float = 0.0) -> Tick:
    anchor: Anchor = "start" if place < width / 2 else "end" if place > 100 - width / 2 else "middle"
    return Tick(
        _percent(place), anchor, {"start": 0, "middle": -TICK_PX // 2, "end": -TICK_PX}[anchor], text, time, name
    )


def _mark(kind: str, start: int, end: int, scaled: Scale, title: str = "") -> Mark:
    left, right = scaled.place(start), scaled.place(end)
    return Mark(kind, _percent(left), _percent(right), _percent(right - left), title)


def _wide(mark: Mark) -> Mark:
    """A bar that can be seen, however short the work was."""
    left, width = _place(mark.x), _place(mark.width)
    if width >= MIN_BAR:
        return mark
    left = min(left, 100 - MIN_BAR)
    return Mark(mark.kind, _percent(left), _percent(left + MIN_BAR), _percent(MIN_BAR), mark.title)


def _percent(place: float) -> str:
    return f"{place:.2f}%"


def _place(percent: str) -> float:
    return float(percent.removesuffix("%"))
