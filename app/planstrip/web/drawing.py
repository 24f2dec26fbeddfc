"""The timeline as it is drawn: places in percent, so that it fits any width."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from gettext import NullTranslations
from typing import Final, Literal, TypeAlias

from planstrip.lately import Lately
from planstrip.plan.timeline import Kind, Lane, Timeline
from planstrip.plan.timescale import Scale, scale
from planstrip.web.durations import about
from planstrip.web.labels import clock, iso
from planstrip.web.timeline_labels import summary, told

MAX_LANES: Final = 60
MAX_KEPT_SPANS: Final = 50_000
ROOMY_LANES: Final = 16  # beyond, lanes are drawn closer
PITCH_PX: Final = 22
DENSE_PITCH_PX: Final = 17
PLACES: Final = 1_000  # across a lane; half a px where it is wide
MIN_BAR: Final = 15  # as wide as the round ends of one where the drawing is narrow
HAIR: Final = 4
MIN_GAP: Final = 1.0  # lines of turns nearer than that are one
MIN_POINT_GAP: Final = 40  # as wide as one where the drawing is narrow
TICK_PX: Final = 96
FOLD_NAME_WIDTH, CLOCK_WIDTH, SECONDS_WIDTH, MOMENT_WIDTH = 21.0, 20.0, 30.0, 46.0  # percent, where it is narrow
NAMES_SECONDS_BELOW_MS: Final = 4 * 60_000
NAMES_DAYS_FROM_MS: Final = 20 * 3_600_000

PointKind: TypeAlias = Literal["finished", "reopened", "dropped", "withdrawn"]
GONE: Final = ("dropped", "withdrawn")
ENDS: Final[Mapping[str, PointKind]] = {"finished": "finished", "dropped": "dropped", "withdrawn": "withdrawn"}
Anchor: TypeAlias = Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True)
class Mark:
    """From `start` to `end`, percent of the drawing's width; `kind` is its class, and a point's shape."""

    kind: str
    start: float
    end: float
    title: str = ""

    @property
    def x(self) -> str:
        return _percent(self.start)

    @property
    def width(self) -> str:
        return _percent(self.end - self.start)

    @property
    def middle(self) -> str:
        return _percent((self.start + self.end) / 2)


@dataclass(frozen=True, slots=True)
class LaneDrawing:
    """`told` says in words what is drawn; `y` is the middle of the lane, px.

    `paths` has for each kind of span the data of an SVG path, `PLACES` wide; `points` each one's kind and place.
    """

    content: str
    kind: Kind
    told: str
    y: int
    paths: Mapping[str, str]
    points: Sequence[tuple[PointKind, str]]
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
    kept = _LATELY.get((id(timeline), id(tr)))
    if kept is None or kept[0] is not timeline:
        kept = timeline, _draw_all(timeline, tr)
        _LATELY.put((id(timeline), id(tr)), kept, 1 + sum(len(lane.spans) for lane in timeline.lanes))
    return kept[1]


def _draw_all(timeline: Timeline, tr: NullTranslations) -> Drawing:
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


def _shown(lanes: Sequence[Lane]) -> list[Lane]:
    newest = sorted(range(len(lanes)), key=lambda place: (_is_active(lanes[place]), lanes[place].spans[-1].start))
    return [lanes[place] for place in sorted(newest[-MAX_LANES:])]


def _is_active(lane: Lane) -> bool:
    return lane.kind in ("working", "paused")


def _lane(lane: Lane, y: int, timeline: Timeline, scaled: Scale, tr: NullTranslations) -> LaneDrawing:
    """Of a lane of hundreds of spans at every write: each is looked at once."""
    drawn: dict[str, list[tuple[int, int]]] = {"waiting": [], "paused": [], "working": []}
    points = list[tuple[PointKind, int]]()
    end_of_last = timeline.end if lane.spans[-1].end is None else lane.spans[-1].end
    places = scaled.whole([*(span.start for span in lane.spans), end_of_last], PLACES)
    for span, start, end in zip(lane.spans, places, places[1:], strict=False):
        kind = span.kind
        if span.is_reopened and kind not in GONE:
            points.append(("reopened", start))
        if (point := ENDS.get(kind)) is not None:
            points.append((point, start))
        elif end > start or span.start < (timeline.end if span.end is None else span.end):
            found, width = drawn[kind], MIN_BAR if kind == "working" else 0
            if found and start < max(found[-1][1] + HAIR, found[-1][0] + width):  # no eye parts them
                found[-1] = found[-1][0], end
            else:
                found.append((start, end))
    for kind in ("waiting", "paused"):
        drawn[kind] = [(start, end) for start, end in drawn[kind] if end - start >= HAIR]
    return LaneDrawing(
        content=lane.content,
        kind=lane.kind,
        told=told(lane, timeline, tr),
        y=y,
        paths={kind: "".join(f"M{start} 0H{end}" for start, end in found) for kind, found in drawn.items() if found},
        points=[(kind, _percent(100 * place / PLACES)) for kind, place in _apart_by_kind(points)],
        is_open=lane.kind == "working",
    )


def _apart_by_kind(points: Sequence[tuple[PointKind, int]]) -> list[tuple[PointKind, int]]:
    """Of those of a kind that lie on each other the newest: a lane stays small however often it turned."""
    kept, nearest = list[tuple[PointKind, int]](), dict[str, int]()
    for kind, place in reversed(points):
        if nearest.get(kind, 2 * PLACES) - place >= MIN_POINT_GAP:
            kept.append((kind, place))
            nearest[kind] = place
    return kept[::-1]


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
        wanted = [_time_tick(start, scaled, "moment", MOMENT_WIDTH), _time_tick(end, scaled, "moment", MOMENT_WIDTH)]
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
    return Mark(kind, scaled.place(start), scaled.place(end), title)


def _percent(place: float) -> str:
    return f"{place:.1f}".removesuffix(".0") + "%"


# What is kept holds its timeline, so that no other one can have its id.
_LATELY: Final[Lately[tuple[int, int], tuple[Timeline, Drawing]]] = Lately(MAX_KEPT_SPANS)
