"""A record holds what the page shows, field by field, and every value comes whole out of its line."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planstrip.events import (
    EndReason,
    Entry,
    Event,
    SessionRewind,
    Todo,
    TodoWrite,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnStart,
    ViewerRestore,
    ViewerRetire,
)
from planstrip.masks import masks_of
from planstrip.snapshot.layout import dumped, escape, is_json, is_text, json_of, text_of
from planstrip.snapshot.record import final_record, steps
from planstrip.web.languages import translations
from tests import logs
from tests.logs import entries, log

EN = translations("en")
WRITES = (TodoWrite, SessionRewind, ViewerRestore, ViewerRetire)


def text(found: list[Entry], lang: str = "en") -> str:
    return text_of(final_record(found, translations(lang)))


def unescape(value: str) -> str:
    short = {"\\\\": "\\", "\\n": "\n", "\\r": "\r", "\\t": "\t"}
    return re.sub(r"\\(?:u[0-9a-f]{4}|.)", lambda found: short.get(found[0]) or chr(int(found[0][2:], 16)), value)


def test_without_a_row_the_strip_stands_alone() -> None:
    assert (
        text(log("W[a=c,b=i]")) == "panel=1 completed\u2002·\u20021 in progress\nitem=completed a\nitem=in_progress b\n"
    )


@pytest.mark.parametrize("told", ["T+", "W[]", "W[a=c] > T+"])
def test_without_a_plan_there_is_nothing(told: str) -> None:
    assert text(log(told)) == ""


def test_in_chinese() -> None:
    assert text(log("W[a=p]"), "zh") == "panel=1 待处理\nitem=pending a\n"


def test_every_write_is_a_step_and_the_end_another() -> None:
    found = steps(log("T+ > W[a=i] > T! > T+ > W[a=c] > T+"), EN)
    assert [(step.event, step.record.items) for step in found] == [
        ("todo/write", (("in_progress", "a"),)),
        ("todo/write", (("completed", "a"),)),
        ("end", ()),
    ]


@given(logs.logs)
def test_a_step_is_the_record_of_the_log_up_to_there(found: list[Entry]) -> None:
    written = [at for at, entry in enumerate(found, 1) if isinstance(entry.event, WRITES)]
    told = [step.record for step in steps(found, EN)]
    assert told == [final_record(found[: _answered(found, at)], EN) for at in written] + [final_record(found, EN)]


def _answered(found: list[Entry], at: int) -> int:
    """Past the results of the write before `at` that stand right behind it."""
    call = getattr(found[at - 1].event, "call_id", None)
    while at < len(found) and isinstance(result := found[at].event, ToolResult) and result.call_id == call:
        at += 1
    return at


def test_a_rows_step_holds_what_it_brought_with_its_own_result() -> None:
    found = entries(
        [
            *(TurnStart(1), ToolCall("a", "bash", '{"command": "ls"}'), ToolCall("b", "todo_write", '{"todos": []}')),
            *(TodoWrite((Todo("x", "pending"),), "b"), ToolResult("b", False, "Updated"), ToolResult("a", False, "y")),
            *(TurnStart(2), ToolCall("c", "bash", '{"command": "rm"}')),
        ]
    )
    first, end = (text_of(step.record).splitlines() for step in steps(found, EN, has_all_rows=True))
    ls, strip = ["row=bash", "title=Run", "summary=ls"], ["panel=1 pending", "item=pending x"]
    plan = ["row=todo_write", "title=Update to-do list", "summary=Cleared", "state=ok"]
    assert first == ["turn=Turn 1", *ls, "state=running", *plan, *strip]
    second = ["turn=Turn 2", "row=bash", "title=Run", "summary=rm", "state=running"]
    assert end == ["turn=Turn 1", "mark=interrupted", *ls, "state=ok", *second, *strip]


def test_a_rewound_row_and_turn_are_marked() -> None:
    found = entries(
        [
            TurnStart(1, "Do"),
            ToolCall("a", "bash", '{"command": "ls"}'),
            TurnStart(2),
            ToolCall("b", "bash", '{"command": "rm"}'),
            SessionRewind(2),
        ]
    )
    assert text_of(final_record(found, EN, has_all_rows=True)).splitlines() == [
        *("turn=Turn 1", "prompt=Do", "mark=interrupted", "row=bash", "title=Run", "summary=ls", "state=stopped"),
        *("turn=Turn 2", "mark=rewound", "row=bash", "title=Run", "summary=rm", "state=running", "mark=rewound"),
    ]


# Values in their lines


@given(st.text())
def test_a_value_is_one_line_and_comes_back_whole(value: str) -> None:
    escaped = escape(value)
    assert len(escaped.splitlines()) <= 1
    assert not escaped.endswith((" ", "\t", "\u3000"))
    assert unescape(escaped) == value


@pytest.mark.parametrize(
    ("value", "escaped"),
    [
        ("C:\\new", r"C:\\new"),
        ("a\nitem=pending b", r"a\nitem=pending b"),
        ("\x1b[31m", r"\u001b[31m"),
        ("a\u202eb", r"a\u202eb"),
        ("a\u2028b\x85", r"a\u2028b\u0085"),
        ("a ", r"a\u0020"),
        ("👩‍👩‍👧 修复", "👩‍👩‍👧 修复"),
        ("\ud83d", "\ufffd"),
    ],
)
def test_what_could_break_a_line_or_hide_in_it_is_written_out(value: str, escaped: str) -> None:
    assert escape(value) == escaped


@given(logs.logs, st.booleans(), st.booleans())
def test_text_and_json_tell_the_same_and_are_known_again(
    found: list[Entry], has_all_rows: bool, has_steps: bool
) -> None:
    shown = (steps if has_steps else final_record)(found, EN, has_all_rows=has_all_rows)
    as_text, as_json = text_of(shown), dumped(json_of(shown))
    assert is_text(as_text)
    assert is_json(as_json)
    assert as_text.encode().decode() == as_text
    contents = [line.partition(" ")[2] for line in as_text.split("\n") if line.startswith("item=")]
    value = json.loads(as_json)
    told = [item["content"] for part in value.get("steps", [value]) for item in part.get("items", [])]
    assert [unescape(content) for content in contents] == told


def test_a_mask_hides_text_and_changes_nothing_of_how_the_log_reads() -> None:
    events: tuple[Event, ...] = (
        TurnStart(1, "go"),
        ToolCall("c", "todo_write", '{"todos": [{"content": "x", "status": "in_progress"}]}'),
        TodoWrite((Todo("x", "in_progress"),), "c"),
        ToolResult("c", is_error=False, text="done"),
        TurnEnd(1, EndReason("completed")),
    )
    found = [Entry(position, position, event) for position, event in enumerate(events, 1)]
    for all_rows in (True, False):
        plain = final_record(found, EN, has_all_rows=all_rows)
        masked = final_record(found, EN, has_all_rows=all_rows, masks=masks_of(["all=(?s:.+)"]))
        assert (masked.panel, masked.items) == (plain.panel, (("in_progress", "[masked: all]"),))
        assert [turn.marks for turn in masked.turns or ()] == [turn.marks for turn in plain.turns or ()]
        rows = [masked.row] if masked.row else [row for turn in masked.turns or () for row in turn.rows]
        assert [row.state for row in rows] == ["ok"]
        assert [row.tool for row in rows] == ["[masked: all]"]
