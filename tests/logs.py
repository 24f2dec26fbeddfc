"""Logs for tests: hand-written ones in the notation of reports.md, and arbitrary ones by Hypothesis."""

import re
from collections.abc import Sequence
from typing import Final

from hypothesis import strategies as st

from planstrip.events import (
    STATUSES,
    EndReason,
    Entry,
    Event,
    Omitted,
    SessionEnd,
    SessionRewind,
    SessionStart,
    SessionTitle,
    Todo,
    TodoWrite,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnResume,
    TurnStart,
    TurnWait,
    Unknown,
    ViewerDismiss,
    ViewerRestore,
    ViewerRetire,
)

SECOND_MS: Final = 1_000
_LETTERS: Final = {"c": "completed", "i": "in_progress", "p": "pending"}


def log(notation: str) -> list[Entry]:
    """`W[a=c,b=i] > T+ > T- > T!` as entries a second apart: T! ends a turn as interrupted, Tx says nothing."""
    return entries([_event(step.strip()) for step in notation.split(">")])


def entries(events: Sequence[Event], first: int = 1) -> list[Entry]:
    return [Entry(position, position * SECOND_MS, event) for position, event in enumerate(events, first)]


def _event(step: str) -> Event:
    match step:
        case "T+":
            return TurnStart(1)
        case "T-":
            return TurnEnd(1, EndReason("completed"))
        case "T!":
            return TurnEnd(1, EndReason("aborted"))
    written = re.fullmatch(r"W\[(.*)\]", step)
    assert written, step
    pairs = [pair.split("=") for pair in written[1].split(",") if pair]
    return TodoWrite(tuple(Todo(name, _LETTERS[letter]) for name, letter in pairs))  # type: ignore[arg-type]


contents = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
todos = st.builds(Todo, contents, st.sampled_from(STATUSES))
todo_lists = st.lists(todos, max_size=5, unique_by=lambda todo: todo.content).map(tuple)
omitted = st.lists(st.builds(Omitted, contents, st.just("cancelled")), max_size=2).map(tuple)
call_ids = st.sampled_from(["a", "b", "c"])

events: st.SearchStrategy[Event] = st.one_of(
    st.builds(TodoWrite, todo_lists, st.none() | call_ids, omitted),
    st.builds(TurnStart, st.integers(1, 9), st.none() | contents),
    st.builds(TurnEnd, st.integers(1, 9), st.builds(EndReason, st.sampled_from(["completed", "aborted"]))),
    st.builds(ToolCall, call_ids, st.sampled_from(["todo_write", "bash"]), contents),
    st.builds(ToolCall, call_ids, st.sampled_from(["todo_write", "bash"]), contents),
    st.builds(ToolResult, call_ids, st.booleans(), contents),
    st.builds(ToolResult, call_ids, st.booleans(), contents),
    st.builds(TurnWait, st.integers(1, 9), contents),
    st.builds(TurnResume, st.integers(1, 9)),
    st.builds(SessionStart, contents, st.none() | contents),
    st.builds(SessionTitle, contents),
    st.builds(SessionEnd),
    st.builds(SessionRewind, st.integers(0, 20), todo_lists),
    st.builds(ViewerRetire),
    st.builds(ViewerRestore, todo_lists),
    st.builds(ViewerDismiss, contents),
    st.builds(Unknown, st.just("later/type")),
)
logs = st.lists(events, max_size=40).map(entries)
