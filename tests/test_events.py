"""The vocabulary: what is read from the store, and what never breaks it (spec.md §2)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planstrip.events import TYPES, TodoWrite, Unknown, decode, encode

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(
    ["todos", "turn", "reason", "call_id", "name", "arguments", "text", "is_error", "for", "content"]
)


@given(st.sampled_from([*TYPES, "later/type"]), st.dictionaries(keys, values, max_size=4))
def test_no_stored_data_breaks_reading(type_: str, data: dict[str, object]) -> None:
    assert isinstance(decode(type_, json.dumps(data)), (*TYPES.values(), Unknown))


@pytest.mark.parametrize(
    "data", ["", "{", "[]", "7", '{"todos": 5}', '{"todos": [{"content": "a", "status": "doing"}]}']
)
def test_a_poisoned_row_is_kept_and_shown_nowhere(data: str) -> None:
    """R036."""
    assert decode("todo/write", data) == Unknown("todo/write")


def test_unknown_keys_do_not_keep_an_event_from_being_read() -> None:
    assert decode("todo/write", '{"todos": [], "later": 1}') == TodoWrite(())


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"])
def test_what_no_store_can_keep_is_not_encoded(value: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        encode({"value": value})
