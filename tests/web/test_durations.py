"""Lengths of time in words."""

import pytest

from planstrip.web.durations import about, duration, took
from planstrip.web.languages import translations

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (0, "0 s"),
        (999, "0 s"),
        (41 * SECOND, "41 s"),
        (6 * MINUTE + 41 * SECOND, "6 min 41 s"),
        (2 * HOUR + 59 * SECOND, "2 h"),
        (2 * HOUR + 5 * MINUTE, "2 h 5 min"),
        (3 * DAY + 23 * HOUR + 59 * MINUTE, "3 d 23 h"),
    ],
)
def test_a_duration_has_at_most_two_units(ms: int, words: str) -> None:
    assert duration(ms, translations("en")) == words


@pytest.mark.parametrize(
    ("ms", "words"),
    [
        (900, "1 s"),
        (119 * SECOND, "119 s"),
        (17 * MINUTE + 40 * SECOND, "18 min"),
        (25 * HOUR, "25 h"),
        (9 * DAY, "9 d"),
    ],
)
def test_about_how_long_has_one_unit(ms: int, words: str) -> None:
    assert about(ms, translations("en")) == words


def test_chinese_has_its_own_units() -> None:
    assert duration(2 * HOUR + 5 * MINUTE, translations("zh")) == "2 小时 5 分钟"


@pytest.mark.parametrize(
    ("ms", "is_going", "words"),
    [
        (0, True, "< 1 min"),
        (59 * SECOND, True, "< 1 min"),
        (175 * SECOND, True, "2 min"),
        (61 * MINUTE + 59 * SECOND, True, "1 h 1 min"),
        (175 * SECOND, False, "2 min 55 s"),
        (999, False, None),
    ],
)
def test_what_goes_on_is_told_in_whole_minutes(ms: int, is_going: bool, words: str | None) -> None:
    """It is told anew once a minute: seconds would be of another time."""
    assert took(ms, is_going, translations("en")) == words
