"""The plan's counts as an SVG badge, for a README or a dashboard."""

from gettext import NullTranslations
from typing import Final
from unicodedata import east_asian_width

from planstrip.plan.fold import Plan
from planstrip.web.contexts import Badge
from planstrip.web.labels import counts_header
from planstrip.web.languages import RIGHT_TO_LEFT, code_of

CHAR_PX: Final = 7
PADDING_PX: Final = 8


def badge(plan: Plan | None, tr: NullTranslations) -> Badge:
    title, text = tr.gettext("To-dos"), counts_header(plan.counts, tr) if plan else tr.gettext("No plan")
    return Badge(title, text, _width(title), _width(text), code_of(tr) in RIGHT_TO_LEFT)


def _width(text: str) -> int:
    """By the character, since no font is at hand to measure with."""
    columns = sum(2 if east_asian_width(char) in "WF" else 1 for char in text)
    return columns * CHAR_PX + 2 * PADDING_PX
