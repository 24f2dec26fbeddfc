"""Which to-do of a later list is which of an earlier one: by text, by normalised text, by likeness and place.

However alike two texts are, one that says something else is another task (`is_turned`): a rename adds words, takes
words away or changes their endings. Where words give way to others (`Enable`, `Disable`; `3.11`, `3.12`), it is none.
"""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import Final

from planstrip.events import Todo

THRESHOLD: Final = 0.65
CONTAINED: Final = 0.75  # `Write tests` in `Write tests for the parser`
MIN_CONTAINED_CHARS: Final = 6
SAME_PLACE: Final = 0.05
NUMBERED: Final = -0.5  # one of several that only their numbers tell apart: another number is another task
OTHER_NUMBERS: Final = -0.25  # `Phase 1` and `Phase 2` are two tasks, however alike
REOPENED: Final = -0.3  # what is done seldom comes back under another name
MAX_CHARS: Final = 300
MAX_PAIRS: Final = 2_048  # all pairs up to here; beyond, each to-do is compared with its nearest ones only
NEAREST: Final = 16
MAX_READINGS: Final = 2_048  # pairs that are read word by word, the likest first
REMEMBERED: Final = 32  # pairs of lists

MIN_STEM_CHARS: Final = 3

_NUMBER: Final = re.compile(r"\d+")
_IN_BRACKETS: Final = re.compile(r"\([^()]*\)")
_IDEOGRAPHS: Final = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # a word each: no space parts them
_DENIAL: Final = re.compile(
    "not?|non|never|without|dont?|nicht|keine?n?|ohne|pas|sans|sin|не|без|[不非无無未别]|لا|بدون"
)
_ARTICLE: Final = re.compile("an?|the|der|die|das|de[mn]|l[ae]s?|el|los")
_WORD: Final = re.compile(rf"\d+|[{_IDEOGRAPHS}]|[^\W\d_{_IDEOGRAPHS}]+")
_IGNORED: Final = ("P", "Z", "C")  # punctuation, white space, controls and joiners


class _Letters(dict[int, int | None]):
    """A table for `str.translate`, filled as characters come: None for those that are left out."""

    def __missing__(self, code: int) -> int | None:
        char = chr(code)
        kept = None if char == "`" or unicodedata.category(char)[0] in _IGNORED else code
        self[code] = kept
        return kept


_LETTERS: Final = _Letters()


def normalise(text: str) -> str:
    """The text without what does not make it another task: case, form, white space, punctuation. Empty for `!!!`."""
    folded = text.casefold() if text.isascii() else _fold(text)
    return folded.translate(_LETTERS)


def _fold(text: str) -> str:
    """Case folding as Unicode defines it for compatible texts: what folds may have to be composed again."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def pair(before: Sequence[Todo], after: Sequence[Todo]) -> Mapping[int, int]:
    """Place in `before` -> place in `after`, one to one. What is in neither side of it went or came."""
    pairs = _equal([todo.content for todo in before], [todo.content for todo in after], {})
    return pairs if len(pairs) == min(len(before), len(after)) else _reworded(tuple(before), tuple(after))


@lru_cache(maxsize=REMEMBERED)
def _reworded(before: tuple[Todo, ...], after: tuple[Todo, ...]) -> Mapping[int, int]:
    """Once for all who ask about a write: the plan's number, its dropped to-dos, a page's revisions and timeline."""
    pairs = _equal([todo.content for todo in before], [todo.content for todo in after], {})
    taken = set(pairs.values())
    left = ["" if place in pairs else normalise(todo.content) for place, todo in enumerate(before)]
    right = ["" if place in taken else normalise(todo.content) for place, todo in enumerate(after)]
    pairs = _equal(left, right, pairs)
    return pairs if len(pairs) == min(len(before), len(after)) else _alike(before, after, pairs)


def same(before: Sequence[str], after: Sequence[str]) -> Mapping[int, int]:
    """As `pair`, but by text and normalised text alone: what had left the list returns under its own name only."""
    pairs = _equal(before, after, {})
    return _equal([normalise(text) for text in before], [normalise(text) for text in after], pairs)


def _equal(before: Sequence[str], after: Sequence[str], pairs: dict[int, int]) -> dict[int, int]:
    """`pairs` and those of equal texts among the others, in their order; an empty text is equal to none."""
    taken, waiting = set(pairs.values()), defaultdict[str, deque[int]](deque)
    for place, text in enumerate(after):
        if text and place not in taken:
            waiting[text].append(place)
    found = dict(pairs)
    for place, text in enumerate(before):
        if place not in pairs and waiting.get(text):
            found[place] = waiting[text].popleft()
    return found


@dataclass(frozen=True, slots=True)
class Side:
    """A to-do without a partner. `gap`: after which of the later list's paired to-dos it stands, -1 for none.

    `numbers` are those that tell it from others: `is_numbered` if they alone do, else but for those in brackets.
    """

    place: int
    gap: int
    is_completed: bool
    letters: str
    bigrams: frozenset[str]
    numbers: tuple[str, ...]
    is_numbered: bool


def _alike(before: Sequence[Todo], after: Sequence[Todo], pairs: dict[int, int]) -> dict[int, int]:
    """`pairs` and the likest of the others, the best first."""
    left = list(_sides(before, pairs))
    right = list(_sides(after, {place: place for place in pairs.values()}))
    scores = [
        (-score, one.place, other.place)
        for one, other in _candidates(left, right)
        if (score := likeness(one, other)) >= THRESHOLD
    ]
    found, taken, readings = dict(pairs), set(pairs.values()), 0
    for _, place, other_place in sorted(scores):
        if place in found or other_place in taken:
            continue
        readings += 1
        if readings > MAX_READINGS:
            break
        if not is_turned(before[place].content, after[other_place].content):
            found[place] = other_place
            taken.add(other_place)
    return found


def _sides(todos: Sequence[Todo], partners: dict[int, int]) -> Iterator[Side]:
    gap, shapes = -1, Counter(_NUMBER.sub("0", todo.content[:MAX_CHARS]) for todo in todos)
    for place, todo in enumerate(todos):
        if place in partners:
            gap = partners[place]
        else:
            text = todo.content[:MAX_CHARS]
            letters = normalise(text)
            bigrams = frozenset(map("".join, pairwise(letters)))
            is_numbered = shapes[_NUMBER.sub("0", text)] > 1
            numbers = tuple(_NUMBER.findall(text if is_numbered else _IN_BRACKETS.sub("", text)))
            yield Side(place, gap, todo.status == "completed", letters, bigrams, numbers, is_numbered)


def _candidates(left: Sequence[Side], right: Sequence[Side]) -> Iterator[tuple[Side, Side]]:
    if len(left) * len(right) <= MAX_PAIRS:
        yield from ((one, other) for one in left for other in right)
        return
    places = [other.place for other in right]
    for one in left:
        near = bisect_left(places, one.place)
        yield from ((one, other) for other in right[max(0, near - NEAREST // 2) : near + NEAREST // 2])


def likeness(one: Side, other: Side) -> float:
    """The share of common pairs of neighbouring letters (Dice), weighed with place, numbers and status."""
    size = len(one.bigrams) + len(other.bigrams)
    score = 2 * len(one.bigrams & other.bigrams) / size if size else 0.0
    if score < CONTAINED and _is_contained(one.letters, other.letters):
        score = CONTAINED
    if one.gap == other.gap:
        score += SAME_PLACE
    if one.numbers != other.numbers:
        score += NUMBERED if one.is_numbered or other.is_numbered else OTHER_NUMBERS
    return score + REOPENED if one.is_completed and not other.is_completed else score


def is_turned(one: str, other: str) -> bool:
    """Whether a text says something else: a word is denied, or words gave way to others.

    What both begin and end with is left aside; of what stands between, one's words must be among the other's.
    """
    words, others = _words(one), _words(other)
    if any(map(_DENIAL.fullmatch, set(words) ^ set(others))):
        return True
    begin = sum(1 for _ in takewhile(_are_one, zip(words, others, strict=False)))
    words, others = words[begin:], others[begin:]
    end = sum(1 for _ in takewhile(_are_one, zip(reversed(words), reversed(others), strict=False)))
    words, others = words[: len(words) - end], others[: len(others) - end]
    return not (_are_among(words, others) or _are_among(others, words))


@lru_cache(maxsize=4_096)
def _words(text: str) -> tuple[str, ...]:
    """But for articles, and for a number in brackets, which may tell how far it is: `(3/10)`."""
    told = _IN_BRACKETS.sub(lambda found: _NUMBER.sub(" ", found[0]), _fold(text[:MAX_CHARS]))
    return tuple(word for word in _WORD.findall(told) if not _ARTICLE.fullmatch(word))


def _are_among(words: Sequence[str], others: Sequence[str]) -> bool:
    known = set(others)
    return all(word in known or any(_are_one((word, other)) for other in known) for word in words)


def _are_one(words: tuple[str, str]) -> bool:
    """Words that differ by their endings alone: `test` and `tests`, `cache` and `caching`; numbers never do."""
    short, long = sorted(words, key=len)
    if short == long:
        return True
    stem = short[:-1] if short[-1] in "ey" else short
    return len(short) >= MIN_STEM_CHARS and long.startswith(stem) and not short.isdecimal()


def _is_contained(one: str, other: str) -> bool:
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    return len(short) >= MIN_CONTAINED_CHARS and short in long


def longest_rise(numbers: Sequence[int]) -> set[int]:
    """The members of a longest increasing subsequence of distinct numbers, in O(n log n)."""
    ends = list[int]()
    before = dict[int, int | None]()
    for number in numbers:
        place = bisect_left(ends, number)
        before[number] = ends[place - 1] if place else None
        ends[place : place + 1] = [number]
    rise, at = set[int](), ends[-1] if ends else None
    while at is not None:
        rise.add(at)
        at = before[at]
    return rise
