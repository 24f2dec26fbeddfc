"""How long something took, in words: the two largest units of it, or one where that is enough."""

from gettext import NullTranslations
from typing import Final

_SECOND, _MINUTE, _HOUR, _DAY = 1, 60, 3_600, 86_400
UNITS: Final = ((_DAY, _HOUR), (_HOUR, _MINUTE), (_MINUTE, _SECOND), (_SECOND, 0))


def duration(ms: int, tr: NullTranslations) -> str:
    """`6 min 41 s`, `2 h`, `0 s`; what is smaller than the second unit is cut off."""
    seconds = ms // 1_000
    large, small = next((pair for pair in UNITS if seconds >= pair[0]), UNITS[-1])
    rest = seconds % large // small if small else 0
    first = _unit(seconds // large, large, tr)
    if not rest:
        return first
    return tr.gettext("%(first)s %(second)s") % {"first": first, "second": _unit(rest, small, tr)}


def took(ms: int, is_going: bool, tr: NullTranslations) -> str | None:
    """`6 min 41 s`; while it is going on `6 min` or `< 1 min`, since it is told anew once a minute. None: no second."""
    if not is_going:
        return duration(ms, tr) if ms >= 1_000 else None
    minutes = ms // 60_000
    return duration(minutes * 60_000, tr) if minutes else tr.gettext("< 1 min")


def about(ms: int, tr: NullTranslations) -> str:
    """`18 min`, `3 h`: the nearest number of the largest unit of which there are at least two, or of seconds."""
    seconds = ms / 1_000
    unit = next((large for large, _ in UNITS if seconds >= 2 * large), _SECOND)
    return _unit(round(seconds / unit), unit, tr)


def in_all(ms: int, tr: NullTranslations) -> str:
    """`2 h 30 min`; below two hours as `about`: nobody reads the seconds of long work."""
    return about(ms, tr) if ms < 2 * _HOUR * 1_000 else duration(round(ms / 60_000) * 60_000, tr)


def _unit(count: int, unit: int, tr: NullTranslations) -> str:
    match unit:
        case 86_400:
            return tr.gettext("%(count)d d") % {"count": count}
        case 3_600:
            return tr.gettext("%(count)d h") % {"count": count}
        case 60:
            return tr.gettext("%(count)d min") % {"count": count}
        case _:
            return tr.gettext("%(count)d s") % {"count": count}
