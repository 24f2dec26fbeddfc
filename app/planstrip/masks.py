"""Masks: what of agents' text no page, stream or export shows, while the log keeps it (README, "Masks").

The patterns are RE2's, which takes time in proportion to the text, whatever the pattern and whatever the text.
"""

import json
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from itertools import chain, repeat
from types import EllipsisType, MappingProxyType, NoneType, UnionType
from typing import Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from planstrip.errors import UnusableSettings
from planstrip.events import STATUSES
from planstrip.lately import Lately

# By name: the forms that secrets come in. Where a pattern has a group, that alone is masked.
SETS: Final[Mapping[str, str]] = {
    "tokens": r"(?:\b|_)(gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{16,}"
    r"|[rs]k_(?:live|test)_\w{16,}|xox[a-z]-[\w-]{10,}|AKIA[0-9A-Z]{16}|ASIA[0-9A-Z]{16}|AIza[\w-]{30,}|ya29\.[\w-]{20,}"
    r"|npm_\w{30,}|pypi-[\w-]{30,}|hf_\w{30,}|view_[0-9a-f]{16}[\w.%-]*|eyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]*)?)",
    "private-keys": r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)",
    "url-passwords": r"\b[a-zA-Z][\w+.-]*://[^\s/:@'\"]*:([^\s/@'\"]+)@",
}
# Fields of ours that lead somewhere, and are no text.
ADDRESSES: Final = frozenset({"id", "parent", "call", "call_id", "asked", "session", "agent", "agents", "next"})
EVENT_ADDRESSES: Final = ("parent", "parent_call", "call_id", "agent")
MAX_KEPT_CHARS: Final = 8 * 1024 * 1024
# Every way in which a place of a text may stand between two characters, for a pattern that takes up none.
_PLACES: Final = ("", "a", "-", "\n", "aa-a\n-\n\na", "--a\n", "\na-")
_ENTRY: Final = re.compile(r"([a-z][a-z0-9-]{0,39})(?:=(.*))?", re.DOTALL)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Mask:
    """`pattern` is compiled; `folded` the same without regard to case, for text that has lost it."""

    name: str
    pattern: Any
    folded: Any


@dataclass(frozen=True, slots=True)
class Masks:
    """None at all: everything is handed back as it came."""

    masks: tuple[Mask, ...] = ()
    _kept: Lately[str, str] = field(default_factory=lambda: Lately(MAX_KEPT_CHARS), compare=False)

    def __bool__(self) -> bool:
        return bool(self.masks)

    def text(self, text: str) -> str:
        """With `[masked: NAME]` in the place of what a mask matches."""
        found = self._kept.get(text)
        if found is None:
            found = _masked(text, [(mask.name, mask.pattern) for mask in self.masks])
            self._kept.put(text, found, len(text) + len(found) + 100)
        return found

    def searched(self, text: str) -> str:
        """What may be found of a text that was made to be searched, which has lost its case and maybe its end."""
        return _masked(text, [(mask.name, mask.folded) for mask in self.masks])

    def of(self, value: T) -> T:
        """A record with all of its text masked, but for addresses and words of ours; the very same where none is."""
        return cast(T, self._of(value, object)) if self.masks else value

    def arguments(self, raw: str) -> str:
        """A tool call's: inside of their JSON first, so that it stays JSON, and no escape hides anything."""
        try:
            value = json.loads(raw)
        except (ValueError, RecursionError):
            return self.text(raw)
        shown = self._json(value)
        return self.text(raw if shown == value else json.dumps(shown, ensure_ascii=False))

    def data(self, data: Any) -> Any:
        """An event's, as parsed JSON."""
        if not self.masks or not isinstance(data, dict):
            return data
        shown = self._json({name: value for name, value in data.items() if name not in EVENT_ADDRESSES})
        if isinstance(arguments := data.get("arguments"), str):
            shown["arguments"] = self.arguments(arguments)
        return {name: data[name] for name in EVENT_ADDRESSES if name in data} | shown

    def _json(self, value: Any) -> Any:
        match value:
            case str():
                return value if value in STATUSES else self.text(value)
            case list():
                return [self._json(one) for one in value]
            case dict():
                return {self.text(name): self._json(one) for name, one in value.items()}
            case _:
                return value

    def _of(self, value: Any, hint: Any) -> Any:
        """`hint`: what its place is declared to hold; `object` where nothing is."""
        match value:
            case str():
                return self.text(value) if _is_text(hint, value) else value
            case tuple() | list():
                shown = [self._of(one, kind) for one, kind in zip(value, _kinds(hint), strict=False)]
                same = all(new is old for new, old in zip(shown, value, strict=True))
                return value if same else type(value)(shown)
            case dict() | MappingProxyType():
                names, values = _pair(hint)
                return {self._of(name, names): self._of(one, values) for name, one in value.items()}
            case _ if is_dataclass(value):
                return self._record(value)
            case _:
                return value

    def _record(self, record: Any) -> Any:
        changed: dict[str, Any] = {}
        for name, hint in _shown_fields(cast(Hashable, type(record))):
            old = getattr(record, name)
            if name in ADDRESSES and not is_dataclass(old):
                continue
            new = self.arguments(old) if name == "arguments" else self._of(old, hint)
            if new is not old:
                changed[name] = new
        return replace(record, **changed) if changed else record


NO_MASKS: Final = Masks()


def masks_of(entries: Sequence[str]) -> Masks:
    """Each the name of a set, or `NAME=PATTERN`. Raises ValueError naming the one at fault."""
    return Masks(tuple(_mask(entry) for entry in entries))


def masks_from(environment: Mapping[str, str]) -> Masks:
    """For a command that reads no other setting. Raises UnusableSettings."""
    try:
        return masks_of(entries_of(environment.get("PLANSTRIP_MASK", "")))
    except ValueError as error:
        raise UnusableSettings(f"mask: {error}") from None


def entries_of(lines: str) -> tuple[str, ...]:
    """An entry a line."""
    return tuple(line.strip() for line in lines.splitlines() if line.strip())


def _mask(entry: str) -> Mask:
    found = _ENTRY.fullmatch(entry)
    if found is None or (found[2] is None and found[1] not in SETS):
        raise ValueError(f"{entry[:60]!r} is no mask: expected {', '.join(SETS)}, or NAME=PATTERN")
    name, pattern = found[1], found[2] if found[2] is not None else SETS[found[1]]
    mask = Mask(name, _compiled(name, pattern), _compiled(name, f"(?i:{pattern})"))
    if mask.pattern.groups > 1:
        raise ValueError(
            f"{name}: the pattern has {mask.pattern.groups} groups; expected one at most, the others as (?:…)"
        )
    if any(match.end() == match.start() for place in _PLACES for match in mask.pattern.finditer(place)):
        raise ValueError(f"{name}: the pattern {pattern[:60]!r} matches where there is nothing; expected one of text")
    return mask


def _compiled(name: str, pattern: str) -> Any:
    try:
        import re2
    except ImportError:
        raise ValueError("masks need google-re2: pip install 'planstrip[masks]'") from None
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        said = error.args[0] if error.args else error
        said = said.decode("utf-8", "replace") if isinstance(said, bytes) else said
        raise ValueError(f"{name}: {pattern[:60]!r} is no pattern that RE2 knows: {said}") from None


def _masked(text: str, patterns: Iterable[tuple[str, Any]]) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which RE2 does not read, and no page shows
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    spans: list[tuple[int, int, str]] = []
    for name, pattern in patterns:
        for match in pattern.finditer(text):
            start, end = match.span(pattern.groups)
            start, end = match.span() if start < 0 else (start, end)  # the group took no part: all of it
            spans += [(start, end, name)] if start < end else []
    return _without(text, sorted(spans)) if spans else text


def _without(text: str, spans: Sequence[tuple[int, int, str]]) -> str:
    """Of those that overlap the first gives the name."""
    parts: list[str] = []
    reached = 0
    for start, end, name in spans:
        if start >= reached:
            parts += text[reached:start], f"[masked: {name}]"
        reached = max(reached, end)
    return "".join((*parts, text[reached:]))


@cache
def _shown_fields(kind: Any) -> tuple[tuple[str, Any], ...]:
    """The fields of a record that may hold an agent's words, and what each is declared to hold."""
    hints = get_type_hints(kind)
    return tuple((one.name, hints[one.name]) for one in fields(kind) if _may_hold_text(hints[one.name]))


@cache
def _may_hold_text(hint: Any) -> bool:
    if get_origin(hint) is Literal or isinstance(hint, EllipsisType):
        return False
    if parts := get_args(hint):
        return any(map(_may_hold_text, parts))
    return not (isinstance(hint, type) and issubclass(hint, int | float | bytes | NoneType | Enum))


def _is_text(hint: Any, value: str) -> bool:
    """Not where it is one of a few words of ours."""
    return value not in _words(hint) and not isinstance(value, Enum) and _may_hold_text(hint)


@cache
def _words(hint: Any) -> frozenset[object]:
    literals = (kind for kind in _alternatives(hint) if get_origin(kind) is Literal)
    return frozenset(word for kind in literals for word in get_args(kind))


@cache
def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _kinds(hint: Any) -> Iterable[Any]:
    """Of a sequence's items, in their order."""
    for kind in _alternatives(hint):
        parts = get_args(kind)
        if get_origin(kind) is tuple and parts[-1:] != (Ellipsis,):
            return chain(parts, repeat(object))
        if parts and get_origin(kind) is not Literal:
            return repeat(parts[0])
    return repeat(object)


def _pair(hint: Any) -> tuple[Any, Any]:
    """Of a mapping's keys and values."""
    found = (get_args(kind) for kind in _alternatives(hint))
    return next(((parts[0], parts[1]) for parts in found if len(parts) == 2), (object, object))
