"""Request bodies as strict JSON (spec.md §2)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planstrip.errors import BadRequest
from planstrip.intake.payload import parse, parse_object, text_of

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(values.filter(lambda value: "\\ud" not in json.dumps(value)), st.booleans())
def test_json_is_read_as_it_was_meant_escaped_or_not(value: object, is_escaped: bool) -> None:
    assert parse(json.dumps(value, ensure_ascii=is_escaped)) == value


@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    try:
        parse(text)
    except BadRequest as error:
        assert len(error.detail) < 400  # noqa: PT017 - what is thrown is the subject


@given(st.binary())
def test_no_bytes_break_the_reader(body: bytes) -> None:
    try:
        text_of(body)
    except BadRequest as error:
        assert "UTF-8" in error.detail  # noqa: PT017


@pytest.mark.parametrize(
    "text", ["NaN", "[Infinity]", '{"a":-Infinity}', '"\\ud800"', '["\\uDC00\\uD800"]', "01", "'a'"]
)
def test_what_strict_json_has_not_is_refused(text: str) -> None:
    with pytest.raises(BadRequest):
        parse(text)


def test_a_whole_surrogate_pair_is_a_character() -> None:
    assert parse('"\\ud83d\\ude00"') == "😀"


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 50_000])
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(BadRequest):
        parse(text)


@pytest.mark.parametrize("text", ["[]", "7", "null", '"{}"'])
def test_a_body_that_is_no_object_is_named(text: str) -> None:
    with pytest.raises(BadRequest, match="must be a JSON object"):
        parse_object(text)
