"""The drawn timeline: what is drawn where, and the words that say the same (spec.md §9)."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planstrip.events import Entry
from planstrip.plan.timeline import Timeline, timeline
from planstrip.web.drawing import MAX_LANES, Drawing, LaneDrawing, Tick, draw
from planstrip.web.languages import translations
from planstrip.web.timeline_labels import summary, worked
from tests.logs import log, logs

MINUTE_MS = 60_000
PLACE = re.compile(r"[MH](\d+)")
EN, ZH = translations("en"), translations("zh")


def life(times: list[float], notation: str, until: float = 0) -> Timeline:
    """The timeline of a notation's events at these minutes, counted up to the minute `until`."""
    timed = [replace(entry, time=int(at * MINUTE_MS)) for entry, at in zip(log(notation), times, strict=True)]
    return timeline(timed, int(until * MINUTE_MS))


def drawn(times: list[float], notation: str, until: float = 0) -> Drawing:
    found = draw(life(times, notation, until), EN)
    assert found is not None
    return found


def lane(found: Drawing, content: str) -> LaneDrawing:
    [lane] = [lane for lane in found.lanes if lane.content == content]
    return lane


def test_there_is_nothing_to_draw_before_the_first_plan() -> None:
    assert draw(Timeline(), EN) is None
    assert draw(timeline(log("T+ > T-")), EN) is None


def test_a_lane_is_dotted_while_it_waits_thick_while_worked_on_and_ends_in_a_ring() -> None:
    found = drawn([0, 0, 5, 10], "T+ > W[a=p,b=i] > W[a=i,b=i] > W[a=c,b=i]")
    a = lane(found, "a")
    assert a.paths == {"waiting": "M0 0H500", "working": "M500 0H1000"}
    assert a.points == [("finished", "100%")]
    assert [found.is_open for found in found.lanes] == [False, True]


def test_a_moment_has_no_bar_but_its_point_of_now() -> None:
    found = drawn([0], "W[a=i,b=p]")
    assert [(lane.paths, lane.is_open) for lane in found.lanes] == [({}, True), ({}, False)]


def test_what_was_dropped_or_reopened_is_marked_where_it_was() -> None:
    found = drawn([0, 0, 4, 5, 10], "T+ > W[a=i,b=p] > W[a=c] > W[a=i] > W[a=c]")
    assert lane(found, "b").points == [("dropped", "40%")]
    assert lane(found, "a").points == [("finished", "40%"), ("reopened", "50%"), ("finished", "100%")]


def test_a_lane_that_turned_a_thousand_times_stays_small() -> None:
    turns = 1_000
    found = drawn([0, *(number / 10 for number in range(2 * turns))], "W[a=i] > " + " > ".join(["T+ > T-"] * turns))
    assert sum(path.count("M") for path in lane(found, "a").paths.values()) + len(found.turns) < 300


def test_turns_and_interruptions_are_lines() -> None:
    found = drawn([0, 0, 4, 5, 10], "T+ > W[a=i] > T! > T+ > W[a=c]")
    assert [(turn.kind, turn.x) for turn in found.turns] == [("interruption", "40%"), ("turn", "50%")]
    assert lane(found, "a").paths == {"working": "M0 0H400M500 0H1000", "paused": "M400 0H500"}


def test_a_moments_work_can_be_seen() -> None:
    found = drawn([0, 0, 0.001, 600], "T+ > W[a=i,b=i] > W[a=c,b=i] > W[a=c,b=c]")
    assert lane(found, "a").paths["working"] == "M0 0H0"  # its round ends are seen


def test_long_rests_are_folded_and_named() -> None:
    found = drawn([0, 0, 10, 190, 200], "T+ > W[a=i] > T- > T+ > W[a=c]")
    assert [(fold.x, fold.width) for fold in found.folds] == [("47.5%", "5%")]
    assert [name.text for name in found.fold_names] == ["3 h"]


def test_a_timeline_is_drawn_once_a_language() -> None:
    """Of hundreds of writes a page's opening would wait for it."""
    found = life([0, 0, 10], "T+ > W[a=i] > T-")
    assert draw(found, EN) is draw(found, EN)
    assert draw(found, EN) != draw(found, ZH)
    assert draw(replace(found, busy_ms=0), EN) != draw(found, EN)


def test_the_summary_says_how_parallel_the_work_was() -> None:
    assert (
        drawn([0, 0, 5, 10], "T+ > W[a=i,b=p] > W[a=i,b=i] > T-").summary == "1.5 tasks at a time over 10 min of work"
    )
    assert drawn([0, 0, 10], "T+ > W[a=i] > T-").summary == "1 task at a time over 10 min of work"
    assert drawn([0, 0], "T+ > W[a=p]").summary == "No time of work yet"
    hours = drawn([0, 0, 150.5], "T+ > W[a=i] > T-").summary
    assert hours == "1 task at a time over 2 h 30 min of work"
    chinese = draw(life([0, 0, 10], "T+ > W[a=i,b=i] > T-"), ZH)
    assert chinese is not None
    assert chinese.summary == "工作 10 分钟，平均同时进行 2 项任务"


def test_what_is_told_of_the_newest_writes_only_says_so() -> None:
    """Also of each task that may have begun before them."""
    cut = replace(life([0, 0, 5, 10], "T+ > W[a=i] > W[a=i,b=i] > T-"), newest_writes=2)
    assert summary(cut, EN) == "1.5 tasks at a time over 10 min of work; newest writes only: 2"
    assert worked(cut, EN) == {"a": "> 10 min", "b": "5 min"}
    found = draw(cut, EN)
    assert found is not None
    assert [lane.told for lane in found.lanes] == [
        "worked > 10 min, in progress, no turn runs",
        "worked 5 min, in progress, no turn runs",
    ]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("a", "worked 2 min, finished, reopened 1 time"),
        ("b", "worked 4 min, in progress"),
        ("c", "dropped"),
        ("d", "waiting"),
    ],
)
def test_each_lane_is_told_in_words(content: str, told: str) -> None:
    steps = "T+ > W[a=i,b=p,c=p,d=p] > W[a=c,b=i,c=p,d=p] > W[a=i,b=i,d=p] > W[a=c,b=i,d=p]"
    assert lane(drawn([0, 0, 1, 2, 3], steps, until=5.5), content).told == told


def test_work_that_pauses_says_so() -> None:
    assert lane(drawn([0, 0, 1], "T+ > W[a=i] > T!"), "a").told == "worked 1 min, in progress, no turn runs"


def test_the_strip_is_told_how_long_each_task_took() -> None:
    """R152."""
    found = life([0, 0, 1, 3], "T+ > W[a=i,b=p,c=i] > W[a=c,b=i] > T-")
    assert worked(found, EN) == {"a": "1 min", "b": "2 min"}


def test_of_many_tasks_the_active_and_the_newest_are_drawn_in_their_order() -> None:
    names = [f"t{number}" for number in range(100)]
    first = ",".join(f"{name}={'i' if name == 't3' else 'p'}" for name in names)
    later = ",".join(f"{name}={'i' if name == 't3' else 'c' if name == 't5' else 'p'}" for name in names)
    found = drawn([0, 0, 1], f"T+ > W[{first}] > W[{later}]")
    contents = [lane.content for lane in found.lanes]
    assert len(contents) == MAX_LANES
    assert contents[:2] == ["t3", "t5"]
    assert contents == sorted(contents, key=names.index)
    assert found.hidden == "40 more tasks"
    assert found.is_dense


def test_a_short_session_names_seconds_and_one_over_days_its_first_and_its_last_day() -> None:
    assert {tick.format for tick in drawn([0, 0, 1], "T+ > W[a=i] > W[a=c]").ticks} == {"second"}
    days = drawn([0, 0, 10, 3_000, 3_010], "T+ > W[a=i] > T- > T+ > W[a=c]")
    first, *_, last = days.ticks
    assert [(first.format, first.anchor), (last.format, last.anchor)] == [("moment", "start"), ("moment", "end")]


def test_a_moment_has_an_axis() -> None:
    assert [tick.time for tick in drawn([2], "W[a=i]").ticks] == ["1970-01-01T00:02:00Z"]


def places(found: Drawing) -> list[float]:
    marks = [place for mark in (*found.turns, *found.folds) for place in (mark.x, mark.middle, mark.width)]
    points = [place for lane in found.lanes for _, place in lane.points]
    spans = [int(place) / 10 for lane in found.lanes for path in lane.paths.values() for place in PLACE.findall(path)]
    return [*spans, *(float(place.removesuffix("%")) for place in (*marks, *points))]


def retimed(entries: list[Entry], times: list[int]) -> list[Entry]:
    return [replace(entry, time=time) for entry, time in zip(entries, times, strict=False)]


@given(st.builds(retimed, logs, st.lists(st.integers(0, 9**11), min_size=40, max_size=40)), st.integers(0, 9**11))
def test_whatever_comes_is_drawn_inside_and_its_names_leave_each_other_room(entries: list[Entry], until: int) -> None:
    found = draw(timeline(entries, until), EN)
    if found is not None:
        assert all(0 <= place <= 100 for place in places(found))
        assert all(lane.told for lane in found.lanes)
        for row in (found.ticks, found.fold_names):
            assert [place_of(tick) for tick in row] == sorted({place_of(tick) for tick in row})


def place_of(tick: Tick) -> float:
    return float(tick.x.removesuffix("%"))
