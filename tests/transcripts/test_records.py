"""Nothing about a record's shape is taken for granted."""

import json
import re
from typing import TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planstrip.transcripts.records import at, joined_text, list_at, parse, parser_of, text_at, time_at, whole_at


@pytest.mark.parametrize("line", [b"", b"5", b"[]", b"{", b"\xff{}", b"[" * 200_000, b'{"a":' + b"9" * 5_000 + b"}"])
def test_what_is_no_object_is_none(line: bytes) -> None:
    assert parse(line) is None


def test_half_of_a_surrogate_pair_becomes_the_replacement_character() -> None:
    assert parse(rb'{"a\ud800":["\udc00x",{"b":"\ud83d\ude00"},1]}') == {"a�": ["�x", {"b": "😀"}, 1]}


NUMBER = rb"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,4})?"
NUMBERS = st.from_regex(NUMBER, fullmatch=True)
PIECES = (
    b'{ } [ ] , : " 1 - . e NaN -Infinity null true "a" "a":1 "b":2 \\u \\ud83d \\ude00 \\ud800 0041 \\n \\/ \\'.split()
)
ODD = [
    b" ",
    b"\t",
    b"\0",
    b"\x1f",
    b"\xed\xa0\x80",
    b"\xc3\xa9",
    b"\xef\xbb\xbf",
    b"\xa0",
    b"\x0c",
    b"9" * 4_301,
    b"[" * 210,
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def reference(line: bytes) -> object:
    """What Python's own parser makes of it, halves of surrogate pairs replaced afterwards."""
    try:
        text = json.dumps(json.loads(line.decode()), ensure_ascii=False)
        return json.loads(re.sub("[\ud800-\udfff]", "\ufffd", text))
    except (ValueError, RecursionError):
        return None


def same(line: bytes) -> bool:
    """Equal in order, type and every digit; NaN equals itself."""
    found, expected = parse(line), reference(line)
    return repr(found) == repr(expected if isinstance(expected, dict) else None)


@given(NUMBERS)
def test_numbers_are_read_as_pythons_parser_reads_them(number: bytes) -> None:
    assert same(b'{"a":' + number + b"}")


@given(st.lists(st.sampled_from(PIECES + ODD), max_size=14))
def test_what_parses_and_what_does_not_is_as_in_pythons_parser(pieces: list[bytes]) -> None:
    assert same(b"".join(pieces))
    assert same(b'{"k":"' + b"".join(pieces) + b'"}')


@given(st.dictionaries(st.text(), VALUES), st.booleans(), st.integers(0, 200), st.binary(max_size=2))
def test_values_are_read_as_pythons_parser_reads_them(
    value: dict[str, object], is_ascii: bool, at: int, other: bytes
) -> None:
    line = json.dumps(value, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass")
    assert same(line)
    assert same(line[:at] + other + line[at + 1 :])


class Inner(TypedDict, total=False):
    a: object


class Shape(TypedDict, total=False):
    a: object
    b: Inner | None


shaped = parser_of(Shape)


@given(
    st.fixed_dictionaries({}, optional={"a": VALUES, "b": VALUES | st.fixed_dictionaries({"a": VALUES}), "c": VALUES})
)
def test_a_shape_changes_nothing_of_what_is_read(value: dict[str, object]) -> None:
    line = json.dumps(value).encode("utf-8", "surrogatepass")
    for path in (["a"], ["b", "a"], ["b", "a", "x"]):
        assert repr(at(shaped(line), *path)) == repr(at(parse(line), *path))


def test_a_line_of_another_shape_is_parsed_whole_and_one_of_it_no_further_than_is_read() -> None:
    assert shaped(b'{"a":1,"b":{"a":2,"c":3},"c":4}') == {"a": 1, "b": {"a": 2}}
    assert shaped(b'{"a":1,"b":"text","c":4}') == {"a": 1, "b": "text", "c": 4}
    assert shaped(b'{"c":"\\ud800"}') == {"c": "\ufffd"}
    assert shaped(b'{"a":1,"c":tru}') is shaped(b"[1]") is None


@given(st.binary())
def test_no_bytes_crash_it(line: bytes) -> None:
    parse(line)
    parse(b'{"a":"' + line + b'"}')


def test_a_field_is_found_by_its_path_and_only_in_its_type() -> None:
    record = {"a": {"t": "x", "n": 5, "b": True, "l": [1], "late": 2**60}}
    assert at(record, "a", "t") == text_at(record, "a", "t") == "x"
    assert (whole_at(record, "a", "n"), whole_at(record, "a", "b"), whole_at(record, "a", "t")) == (5, None, None)
    assert (time_at(record, "a", "n"), time_at(record, "a", "late")) == (5, None)
    assert (list_at(record, "a", "l"), list_at(record, "a"), text_at(record, "a", "t", "deeper")) == ([1], None, None)


def test_text_is_joined_from_the_parts_that_have_one() -> None:
    assert joined_text([{"text": "a"}, {"image": 1}, 5, {"text": 6}, {"text": "b"}]) == "a\nb"
    assert joined_text("as it is") == "as it is"
    assert joined_text(None) == ""
