"""Where an agent's text runs against the page that shows it, and must be told apart to be cut off at its own end."""

from gettext import NullTranslations
from unicodedata import bidirectional

from planstrip.web.contexts import BEFORE_NAME
from planstrip.web.languages import RIGHT_TO_LEFT, code_of


def beside(lead: str, name: str | None, tr: NullTranslations) -> tuple[str, str | None]:
    """A summary in one text, or `lead` and `name` apart where either may run from right to left."""
    if name is None or code_of(tr) in RIGHT_TO_LEFT or is_right_to_left(name):
        return lead, name
    return lead + BEFORE_NAME + name, None


def is_right_to_left(text: str) -> bool:
    """By its first letter, as `<bdi>` has it."""
    kinds = (bidirectional(char) for char in text)
    return next((kind for kind in kinds if kind in ("L", "R", "AL")), "L") != "L"
