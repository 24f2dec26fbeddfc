"""Where a time stands in a drawing 100 wide whose long rests are folded, and which round times to name. Pure."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from planstrip.plan.timeline import Stretch

FOLD_AFTER_MS: Final = 5 * 60_000  # a shorter rest is drawn as long as it was
FOLD_WIDTH: Final = 5.0
MAX_FOLDED_WIDTH: Final = 35.0

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
# Every zone is a whole number of quarter hours from UTC: these are round in all, but for whole hours in a few.
STEPS: Final = (
    *(count * _SECOND for count in (1, 2, 5, 10, 15, 30)),
    *(count * _MINUTE for count in (1, 2, 5, 10, 15, 30)),
    *(count * _HOUR for count in (1, 2, 3, 6, 12)),
    *(count * _DAY for count in (1, 2, 7, 28, 84, 365)),
)


@dataclass(frozen=True, slots=True)
class Scale:
    """`times` (ms, UTC) and their `places`, both rising; between two of them a place follows its time."""

    times: tuple[int, ...]
    places: tuple[float, ...]
    folds: tuple[Stretch, ...]

    def place(self, time: int) -> float:
        """0 to 100; what lies outside stands at the nearer edge."""
        times, places = self.times, self.places
        after = bisect_right(times, time)
        if not 0 < after < len(times):
            return places[-1] if after else 0.0
        start, left = times[after - 1], places[after - 1]
        return left + (places[after] - left) * (time - start) / (times[after] - start)

    def whole(self, times: Sequence[int], width: int) -> list[int]:
        """The places of many times, in order, 0 to `width`."""
        start, end = self.times[0], self.times[-1]
        if len(self.times) == 2 and start <= times[0] <= times[-1] <= end and start < end:  # nothing is folded: a line
            per_ms = width / (end - start)
            return [int((time - start) * per_ms + 0.5) for time in times]
        return [round(self.place(time) * width / 100) for time in times]

    def ticks(self, count: int) -> Iterator[int]:
        """Round times in what is not folded, in order; without folds at most `count` + 1 and as far apart."""
        shown = [
            (start, end)
            for start, end in pairwise(self.times)
            if not any(fold.start == start and fold.end == end for fold in self.folds)
        ]
        length = sum(end - start for start, end in shown)
        step = next((step for step in STEPS if length <= count * step), 10 * 365 * _DAY)
        for start, end in shown:
            yield from range(-(-start // step) * step, end + 1, step)


def scale(start: int, end: int, rests: Sequence[Stretch]) -> Scale:
    """Rests, in order, longer than `FOLD_AFTER_MS` get the same small width each, whatever their length."""
    folds = tuple(rest for rest in rests if rest.end is not None and rest.end - rest.start > FOLD_AFTER_MS)
    length = end - start - sum((fold.end or fold.start) - fold.start for fold in folds)
    room = MAX_FOLDED_WIDTH if length else 100.0
    width = min(FOLD_WIDTH if length else room, room / max(1, len(folds)))
    per_ms = (100.0 - width * len(folds)) / length if length else 0.0
    knots, at, place = [(start, 0.0)], start, 0.0
    for fold in folds:
        place += (fold.start - at) * per_ms
        at = fold.end or fold.start
        knots += [(fold.start, place), (at, place + width)]
        place += width
    times, places = zip(*knots, (end, place + (end - at) * per_ms), strict=True)
    return Scale(times, places, folds)
