"""What may enter the log (spec.md §2)."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planstrip.errors import Invalid, TooLarge
from planstrip.events import Unknown, decode
from planstrip.intake.check import MAX_EVENT_BYTES, check_data, check_event, check_session_id, shown

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@given(st.text(max_size=210))
def test_an_id_is_taken_or_refused_as_the_contract_says(text: str) -> None:
    controls = any(ord(char) < 32 or 127 <= ord(char) < 160 or 0xD800 <= ord(char) < 0xE000 for char in text)
    is_good = 1 <= len(text) <= 200 and "/" not in text and text not in (".", "..") and not controls
    if is_good and not any(char in "\u2028\u2029" for char in text):
        assert check_session_id(text) == text
    elif not is_good:
        with pytest.raises(Invalid):
            check_session_id(text)


@given(values)
def test_no_value_breaks_the_check_of_an_event(value: Any) -> None:
    try:
        draft = check_event(value, "event")
    except (Invalid, TooLarge) as error:
        assert error.detail  # noqa: PT017 - what is thrown is the subject
    else:
        assert draft.type


@given(st.sampled_from(["todo/write", "session/start", "turn/start", "tool/call", "later/type"]), values)
def test_what_the_door_takes_is_what_is_read_back(type_: str, value: Any) -> None:
    data = {"todos": value, "agent": value, "turn": value, "call_id": value, "name": value, "arguments": value}
    try:
        draft = check_data(type_, data)
    except (Invalid, TooLarge):
        return
    assert decode(type_, draft.data) == draft.event
    assert json.loads(draft.data) == data


@pytest.mark.parametrize("is_long", [False, True])
def test_every_event_of_the_vocabulary_is_read_back_as_it_was_checked(is_long: bool) -> None:
    text = "x" * (100_000 if is_long else 1)
    events: list[tuple[str, dict[str, Any]]] = [
        ("session/start", {"agent": text, "title": text, "cwd": None}),
        ("session/title", {"title": text}),
        ("session/rewind", {"to_position": 0}),
        ("session/end", {}),
        ("turn/start", {"turn": 1, "prompt": text}),
        ("turn/end", {"turn": 1, "reason": {"kind": text}}),
        ("turn/wait", {"turn": 1, "for": text}),
        ("turn/resume", {"turn": 1}),
        ("tool/call", {"call_id": "c", "name": "n", "arguments": text}),
        ("tool/result", {"call_id": "c", "is_error": True, "text": text, "error": {"name": "n", "code": "c"}}),
        ("todo/write", {"todos": [{"content": "a", "status": "pending"}], "call_id": text}),
        ("viewer/retire", {"by": text}),
        ("viewer/dismiss", {"content": text}),
    ]
    for type_, data in events:
        draft = check_data(type_, data)
        assert not isinstance(draft.event, Unknown)
        if type_ != "session/rewind":  # whose plan the door has yet to add
            assert decode(type_, draft.data) == draft.event


def test_the_size_is_that_of_the_compact_json_in_bytes() -> None:
    room = MAX_EVENT_BYTES - len('{"type":"x","data":{"text":""}}')
    assert check_event({"type": "x", "data": {"text": "x" * room}}, "event")
    with pytest.raises(TooLarge):
        check_event({"type": "x", "data": {"text": "é" * (MAX_EVENT_BYTES // 2)}}, "event")


@pytest.mark.parametrize("type_", ["session/rewind", "viewer/restore"])
@pytest.mark.parametrize("key", ["todos", "omitted"])
def test_a_plan_that_the_door_adds_may_not_be_sent(type_: str, key: str) -> None:
    with pytest.raises(Invalid, match="may not be sent"):
        check_data(type_, {"to_position": 0, key: []})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "nothing"),
        (True, "boolean true"),
        (7, "number 7"),
        ("a\x1b[31m", "string 'a\\x1b[31m'"),
        ([1, 2], "list of 2"),
        ({}, "object"),
    ],
)
def test_a_value_is_shown_short_and_harmless(value: object, text: str) -> None:
    assert shown(value) == text


def test_a_long_value_is_shown_by_its_beginning() -> None:
    assert len(shown("x" * 10_000)) < 100
    assert len(shown(10**3_000)) < 100
