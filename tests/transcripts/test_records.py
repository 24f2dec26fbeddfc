"""Nothing about a record's shape is taken for granted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planstrip.transcripts.records import at, joined_text, list_at, parse, text_at, time_at, whole_at


@pytest.mark.parametrize("line", [b"", b"5", b"[]", b"{", b"\xff{}", b"[" * 200_000, b'{"a":' + b"9" * 5_000 + b"}"])
def test_what_is_no_object_is_none(line: bytes) -> None:
    assert parse(line) is None


def test_half_of_a_surrogate_pair_becomes_the_replacement_character() -> None:
    assert parse(rb'{"a\ud800":["\udc00x",{"b":"\ud83d\ude00"},1]}') == {"a�": ["�x", {"b": "😀"}, 1]}


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
