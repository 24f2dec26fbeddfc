"""What a mask has taken out of agents' text, marked as such where a page shows it."""

import re
from gettext import NullTranslations
from typing import Final

from markupsafe import escape

# Agents' text stands in <bdi>, with no element in it; what is marked already is no such text any more.
_TEXT: Final = re.compile(r"(<bdi[^<>]*>)([^<>]*)(?=</bdi>|<bdi)")
_MASKED: Final = re.compile(r"\[masked: ([a-z0-9-]{1,40})\]")


def marked(html: str, tr: NullTranslations) -> str:
    """The HTML with each `[masked: NAME]` of an agent's text in an element of its own, which says what it is."""

    def mark(found: re.Match[str]) -> str:
        said = escape(tr.gettext("hidden by the mask %(name)s") % {"name": found[1]})
        return f'<mark class="masked" title="{said}">{found[0]}</mark>'

    return _TEXT.sub(lambda found: found[1] + _MASKED.sub(mark, found[2]), html)
