"""A payload's good part: all of it where it is whole, the members before the break where it is not."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from planstrip.hooks.payload import MAX_PAYLOAD_BYTES, NOTE, good_part

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(max_size=8), children, max_size=4),
    max_leaves=12,
)
PAYLOADS = st.dictionaries(st.text(min_size=1, max_size=8), VALUES, min_size=1, max_size=6)


def part(raw: bytes) -> dict[str, Any] | None:
    found = good_part(raw)
    return None if found is None else json.loads(found)


@given(PAYLOADS)
def test_a_whole_payload_is_kept_as_it_is(payload: dict[str, Any]) -> None:
    assert part(json.dumps(payload).encode()) == payload


@given(PAYLOADS, st.data(), st.booleans())
def test_of_a_cut_payload_the_whole_members_are_kept(
    payload: dict[str, Any], data: st.DataObject, is_ascii: bool
) -> None:
    raw = json.dumps(payload, ensure_ascii=is_ascii, indent=data.draw(st.sampled_from([None, 1]))).encode()
    cut = data.draw(st.integers(0, len(raw) - 1))
    found = part(raw[:cut])
    if found is not None:
        note = found.pop(NOTE)
        assert list(found.items()) == list(payload.items())[: len(found)]
        assert note == {"cut_after": list(found)[-1]}


@given(st.binary(max_size=200))
def test_anything_else_gives_nothing_or_an_object(raw: bytes) -> None:
    found = part(raw)
    assert found is None or isinstance(found, dict)


def test_half_a_surrogate_pair_becomes_a_character() -> None:
    assert part(b'{"a": "x\\ud800y", "b": NaN}') == {"a": "x\ufffdy", "b": None}


def test_a_long_text_is_cut_and_says_so() -> None:
    found = part(json.dumps({"session_id": "a", "tool_response": {"stdout": "é" * 5_000_000}}).encode())
    assert found is not None
    text = found["tool_response"]["stdout"]
    assert text.endswith("… [trimmed 9969280 bytes]")
    assert len(text) < 16 * 1024


def test_what_is_large_without_a_long_text_is_kept_as_text() -> None:
    raw = json.dumps({"session_id": "a", "tool_input": {"n": 1}, "tool_response": ["line"] * 1_000_000}).encode()
    found = good_part(raw)
    assert found is not None
    assert len(found) < MAX_PAYLOAD_BYTES
    assert json.loads(found)["tool_input"] == {"n": 1}
    assert json.loads(found)["tool_response"].startswith('["line", "line"')


def test_what_is_large_all_over_keeps_whose_it_is() -> None:
    raw = json.dumps({"session_id": "a", "junk": list(range(1_000_000))}).encode()
    assert part(raw) == {"session_id": "a"}


def test_a_number_beyond_all_numbers_is_sent_as_none() -> None:
    assert good_part(b'{"session_id": "a", "tool_response": {"n": 1e999, "m": 1.5}}') == (
        b'{"session_id":"a","tool_response":{"n":null,"m":1.5}}'
    )
