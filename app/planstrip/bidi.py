"""Others' text where no element keeps its direction to itself: in an attribute, a title, a sentence."""

from typing import Final

_CONTROLS: Final = dict.fromkeys(
    map(ord, "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"),
)


def undirected(text: str) -> str:
    """Without what turns the direction of text around, or closes an isolate that our sentence opened."""
    return text.translate(_CONTROLS)
