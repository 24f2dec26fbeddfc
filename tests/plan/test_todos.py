"""The durable invariant, the tool's rules and the counts (spec.md §2, §3)."""

import sys
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from planstrip.events import Todo
from planstrip.plan.todos import WHITE_SPACE, count, invariant_problems, tool_problems, trim
from tests.logs import todo_lists


def test_white_space_is_unicodes_and_the_byte_order_mark() -> None:
    by_category = {
        char for char in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(char) in ("Zs", "Zl", "Zp")
    }
    assert set(WHITE_SPACE) == by_category | set("\t\n\v\f\r\x85\ufeff")


def test_trimming_is_not_pythons_strip() -> None:
    assert trim("\x1c a \ufeff") == "\x1c a"


@given(st.lists(st.builds(Todo, st.text(max_size=3), st.sampled_from(["pending", "in_progress"])), max_size=4))
def test_what_the_tool_accepts_the_invariant_accepts_and_the_other_way_round(todos: list[Todo]) -> None:
    trimmed = [Todo(trim(todo.content), todo.status) for todo in todos]
    is_accepted = not list(tool_problems(trimmed, allow_parallel_in_progress=True))
    assert is_accepted == (not list(invariant_problems(trimmed)))


@given(todo_lists)
def test_the_invariant_says_nothing_about_how_many_are_in_progress(todos: tuple[Todo, ...]) -> None:
    trimmed = tuple(Todo(f"{n}{trim(todo.content)}.", "in_progress") for n, todo in enumerate(todos))
    assert not list(invariant_problems(trimmed))
    said = [problem.message for problem in tool_problems(trimmed, allow_parallel_in_progress=False)]
    expected = f"invalid todos: at most one task may be in_progress (got {len(trimmed)})"
    assert said == ([expected] if len(trimmed) > 1 else [])


def test_counts_are_by_status() -> None:
    counts = count([Todo("a", "completed"), Todo("b", "in_progress"), Todo("c", "in_progress")])
    assert (counts.completed, counts.in_progress, counts.pending, counts.total) == (1, 2, 0, 3)
    assert not counts.is_complete
