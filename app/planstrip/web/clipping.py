"""Text cut to a length without breaking what a reader sees as one character."""

from typing import Final
from unicodedata import category

JOINER: Final = "\u200d"
TONES: Final = range(0x1F3FB, 0x1F400)  # of skin, after the person
TAGS: Final = range(0xE0020, 0xE0080)  # a region's letters, after the flag
LETTERS_OF_FLAGS: Final = range(0x1F1E6, 0x1F200)  # two make a country's flag


def clipped(text: str, size: int) -> str:
    """In one line of at most `size` code points, the ellipsis included."""
    line = " ".join(text.split())
    if len(line) <= size:
        return line
    end = size - 1
    while end > 0 and _is_within(line, end):
        end -= 1
    return (line[:end].rstrip() or line[: size - 1]) + "\u2026"


def _is_within(line: str, place: int) -> bool:
    """Whether the characters on both sides belong together: marks, joined emoji, tones, flags."""
    before, after = line[place - 1], line[place]
    if category(after) in ("Mn", "Mc", "Me") or JOINER in (before, after) or ord(after) in (*TONES, *TAGS):
        return True
    return ord(after) in LETTERS_OF_FLAGS and _flag_letters_before(line, place) % 2 == 1


def _flag_letters_before(line: str, place: int) -> int:
    first = place
    while first > 0 and ord(line[first - 1]) in LETTERS_OF_FLAGS:
        first -= 1
    return place - first
