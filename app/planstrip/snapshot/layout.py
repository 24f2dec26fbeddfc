r"""A record as text, a field a line, and as JSON. Pure.

In the text a line is `field=value`, a field that is absent has no line, and an empty line stands between steps. So that
no value breaks a line or hides in one, `\` is written `\\`, a line feed `\n`, a carriage return `\r`, a tab `\t`; any
other control character, a line or paragraph separator, a mark that turns the direction of text, U+FEFF and a space at
the value's end are written `\uXXXX`. Half of a surrogate pair becomes U+FFFD, as on the page.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from planstrip.snapshot.record import Record, RowRecord, Step, TurnRecord

Json: TypeAlias = "str | list[Json] | dict[str, Json]"

FIELDS: Final = (
    *("step", "turn", "prompt", "mark", "row", "title", "summary", "suffix", "state", "dropped"),
    *("panel", "item"),
)
KEYS: Final = {"row", "title", "summary", "suffix", "panel", "items", "turns", "steps"}

_ESCAPED: Final = re.compile(
    r"[\\\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|\s(?=\Z)",
)
_SHORT: Final = {"\\": r"\\", "\n": r"\n", "\r": r"\r", "\t": r"\t"}
_LINE: Final = re.compile(rf"(?:{'|'.join(FIELDS)})=")


def text_of(shown: Record | Sequence[Step]) -> str:
    if isinstance(shown, Record):
        return "".join(f"{field}={escape(value)}\n" for field, value in _lines(shown))
    return "\n".join(f"step={step.event}\n{text_of(step.record)}" for step in shown)


def is_text(text: str) -> bool:
    """Whether a file may be one that `text_of` made: an empty one is, of a session that shows nothing."""
    return all(not line or _LINE.match(line) for line in text.split("\n"))


def json_of(shown: Record | Sequence[Step]) -> dict[str, Json]:
    """An absent field has no key; with every row there are `turns`, each with its `rows`, in place of one row."""
    if not isinstance(shown, Record):
        return {"steps": [{"step": step.event, **json_of(step.record)} for step in shown]}
    found: dict[str, Json] = {}
    if shown.row is not None:
        found |= _row_lines(shown.row)
    if shown.turns is not None:
        found["turns"] = [_turn_json(turn) for turn in shown.turns]
    if shown.panel is not None:
        found["panel"] = shown.panel
        found["items"] = [{"status": status, "content": content} for status, content in shown.items]
    return found


def dumped(value: Json) -> str:
    return _whole(json.dumps(value, ensure_ascii=False, indent=2)) + "\n"


def is_json(text: str) -> bool:
    """Whether a file may be one that `dumped` made of a record."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and set(value) <= KEYS


def escape(text: str) -> str:
    return _ESCAPED.sub(lambda found: _SHORT.get(found[0], f"\\u{ord(found[0]):04x}"), _whole(text))


def _lines(record: Record) -> Iterator[tuple[str, str]]:
    if record.row is not None:
        yield from _row_lines(record.row)
    for turn in record.turns or ():
        yield from _turn_lines(turn)
        for row in turn.rows:
            yield from _row_lines(row)
            yield from _outcome_lines(row)
    if record.panel is not None:
        yield "panel", record.panel
    for status, content in record.items:
        yield "item", f"{status} {content}"


def _row_lines(row: RowRecord) -> Iterator[tuple[str, str]]:
    yield from (("row", row.tool), ("title", row.title), ("summary", row.summary))
    if row.suffix is not None:
        yield "suffix", row.suffix


def _outcome_lines(row: RowRecord) -> Iterator[tuple[str, str]]:
    yield "state", row.state
    if row.dropped is not None:
        yield "dropped", row.dropped
    yield from (("mark", mark) for mark in row.marks)


def _turn_lines(turn: TurnRecord) -> Iterator[tuple[str, str]]:
    yield "turn", turn.label or ""
    if turn.prompt is not None:
        yield "prompt", turn.prompt
    yield from (("mark", mark) for mark in turn.marks)


def _turn_json(turn: TurnRecord) -> dict[str, Json]:
    shown: dict[str, Json] = {"turn": turn.label or ""}
    if turn.prompt is not None:
        shown["prompt"] = turn.prompt
    if turn.marks:
        shown["marks"] = [*turn.marks]
    shown["rows"] = [_row_json(row) for row in turn.rows]
    return shown


def _row_json(row: RowRecord) -> dict[str, Json]:
    shown: dict[str, Json] = dict(_row_lines(row))
    shown["state"] = row.state
    if row.dropped is not None:
        shown["dropped"] = row.dropped
    if row.marks:
        shown["marks"] = [*row.marks]
    return shown


def _whole(text: str) -> str:
    """A model's escapes may give half of a surrogate pair, which no file can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
