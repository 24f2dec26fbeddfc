"""The quick check says nothing that the full one does not say."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from planstrip.errors import Invalid, TooLarge
from planstrip.eventlog import Draft
from planstrip.events import TYPES
from planstrip.intake.check import MAX_EVENT_BYTES, thorough_draft
from planstrip.intake.check_quick import quick_draft

ODD = st.none() | st.booleans() | st.integers() | st.floats() | st.binary(max_size=1).map(repr)
TEXT = st.text(st.characters(), max_size=5) | st.sampled_from(
    ["a", "b", "\x1c", "\x85 a", "\ufeff", "\ud800", "x" * 20_001]
)
STATUS = st.sampled_from(["pending", "in_progress", "completed"]) | st.sampled_from(["done", ""])
ITEM = st.fixed_dictionaries({"content": TEXT, "status": STATUS}, optional={"activeForm": TEXT}) | ODD
REASON = st.fixed_dictionaries({"kind": TEXT | ODD}, optional={"more": ODD})
PARTS = {
    "call_id": TEXT | ODD,
    "name": TEXT | ODD,
    "arguments": TEXT | ODD,
    "is_error": st.booleans() | ODD,
    "text": TEXT | ODD,
    "todos": st.lists(ITEM, max_size=4) | st.just([{"content": "a", "status": "pending"}] * 1_001) | ODD,
    "turn": st.integers() | ODD,
    "prompt": TEXT | ODD,
    "reason": REASON | ODD,
    "omitted": st.lists(ITEM, max_size=2),
    "agent": TEXT | ODD,
    "cwd": TEXT | ODD,
}
SHAPES = {
    "session/start": ("agent", "cwd"),
    "tool/call": ("call_id", "name", "arguments"),
    "tool/result": ("call_id", "is_error", "text"),
    "todo/write": ("todos", "call_id"),
    "turn/start": ("turn", "prompt"),
    "turn/end": ("turn", "reason"),
}
KEYS = st.none() | st.text(st.characters(), min_size=1, max_size=5)


@st.composite
def sent(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """An event of a shape that adapters make, with parts that are as they should be, odd, missing or too many."""
    type_ = draw(st.sampled_from([*SHAPES, *TYPES]))
    names = [*SHAPES.get(type_, ()), *draw(st.lists(st.sampled_from(list(PARTS)), max_size=1))]
    left_out = draw(st.sampled_from(["", *names]))
    return type_, {name: draw(PARTS[name]) for name in names if name != left_out}


def thorough(type_: str, data: dict[str, Any], time: int | None, key: str | None) -> Draft | None:
    try:
        return thorough_draft(type_, data, time, key, "event")
    except (Invalid, TooLarge):
        return None


@given(sent(), st.none() | st.integers(0, 2**40), KEYS)
def test_what_the_quick_check_takes_is_byte_for_byte_what_the_full_one_takes(
    event: tuple[str, dict[str, Any]], time: int | None, key: str | None
) -> None:
    quick = quick_draft(*event, time, key)
    assert quick is None or quick == thorough(*event, time, key)


def test_events_as_adapters_make_them_are_checked_quickly() -> None:
    todos = [{"content": "梳理需求", "status": "completed"}, {"content": 'b "c"\n', "status": "pending"}]
    todos[1]["content"] = todos[1]["content"].strip()
    events: list[tuple[str, dict[str, Any]]] = [
        ("session/start", {"agent": "codex"}),
        ("session/start", {"agent": "codex", "cwd": "/home/me/项目"}),
        ("tool/call", {"call_id": "1", "name": "Bash", "arguments": '{"a":"\u2028\x7f"}'}),
        ("tool/result", {"call_id": "1", "is_error": True, "text": "\0\t\x1f\\/é😀"}),
        ("todo/write", {"todos": todos, "call_id": "1"}),
        ("turn/start", {"turn": 1, "prompt": "go"}),
        ("turn/end", {"turn": 1, "reason": {"kind": "completed"}}),
    ]
    for event in events:
        quick = quick_draft(*event, 5, "k")
        assert quick is not None
        assert quick == thorough(*event, 5, "k")


def test_an_event_near_the_limit_is_left_to_the_full_check() -> None:
    for size in range(MAX_EVENT_BYTES - 9_000, MAX_EVENT_BYTES + 1_000, 500):
        event: tuple[str, dict[str, Any]] = ("tool/result", {"call_id": "1", "is_error": True, "text": "x" * size})
        quick = quick_draft(*event, None, "\0" * 1_000)
        assert quick is None or quick == thorough(*event, None, "\0" * 1_000)
    assert quick is None
