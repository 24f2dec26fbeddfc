"""The scale of a timeline's drawing: folded rests and round times (spec.md §9)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planstrip.plan.timeline import Stretch
from planstrip.plan.timescale import FOLD_WIDTH, Scale, scale

MINUTE_MS = 60_000
DAY_MS = 24 * 60 * MINUTE_MS


def test_without_a_long_rest_places_follow_times() -> None:
    found = scale(0, 20 * MINUTE_MS, [Stretch(5 * MINUTE_MS, 9 * MINUTE_MS)])
    assert found.folds == ()
    assert [found.place(minute * MINUTE_MS) for minute in (0, 5, 10, 20)] == [0, 25, 50, 100]


def test_a_long_rest_has_the_same_small_width_whatever_its_length() -> None:
    for hours in (1, 900):
        rest = Stretch(10 * MINUTE_MS, (10 + 60 * hours) * MINUTE_MS)
        found = scale(0, (rest.end or 0) + 10 * MINUTE_MS, [rest])
        assert found.folds == (rest,)
        assert found.place(rest.start) == pytest.approx((100 - FOLD_WIDTH) / 2)
        assert found.place(rest.end or 0) == pytest.approx((100 + FOLD_WIDTH) / 2)


@pytest.mark.parametrize(
    ("minutes", "ticks"),
    [(1, [0, 15, 30, 45, 60]), (20, [0, 300, 600, 900, 1_200]), (150, [0, 1_800, 3_600, 5_400, 7_200, 9_000])],
)
def test_ticks_are_round_times(minutes: int, ticks: list[int]) -> None:
    assert list(scale(0, minutes * MINUTE_MS, []).ticks(5)) == [second * 1_000 for second in ticks]


def test_no_tick_falls_into_a_fold() -> None:
    found = scale(0, 2 * DAY_MS, [Stretch(10 * MINUTE_MS, 2 * DAY_MS - 10 * MINUTE_MS)])
    assert [tick // MINUTE_MS for tick in found.ticks(5)] == [0, 5, 10, 2_870, 2_875, 2_880]


def test_no_time_at_all_has_a_scale() -> None:
    found = scale(7, 7, [])
    assert found.place(7) == 0
    assert list(found.ticks(5)) == []


def test_nothing_but_a_rest_fills_the_drawing() -> None:
    found = scale(0, DAY_MS, [Stretch(0, DAY_MS)])
    assert [found.place(0), found.place(DAY_MS)] == [0, 100]


def stretches(lengths: list[int]) -> tuple[int, list[Stretch]]:
    """Rests between stretches of work, in turn."""
    rests, at = [], 0
    for index, length in enumerate(lengths):
        if index % 2:
            rests.append(Stretch(at, at + length))
        at += length
    return at, rests


@given(st.lists(st.integers(0, 9 * DAY_MS) | st.integers(0, 10), max_size=60), st.data())
def test_places_rise_with_time_and_stay_inside(lengths: list[int], data: st.DataObject) -> None:
    end, rests = stretches(lengths)
    found: Scale = scale(0, end, rests)
    times = sorted(data.draw(st.lists(st.integers(-5, end + 5), max_size=8)))
    places = [found.place(time) for time in times]
    assert places == sorted(places)
    assert all(-1e-9 <= place <= 100 + 1e-9 for place in places)
    assert len(list(found.ticks(5))) <= 5 + 2 * (len(found.folds) + 1)
