"""`plan_summary` over unvalidated arguments (spec.md §5)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planstrip.plan.summary import PlanSummary, plan_summary, todos_of

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.sampled_from(["in_progress", "completed"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["content", "status", "x"]), inner, max_size=3)
    ),
    max_leaves=12,
)


def item(content: object, status: object) -> dict[str, object]:
    return {"content": content, "status": status}


@pytest.mark.parametrize(
    ("todos", "summary"),
    [
        ([], PlanSummary(0, 0, None, 0)),
        ([item("a", "completed"), item("b", "in_progress"), item("c", "in_progress"), item("d", "pending")],
         PlanSummary(1, 4, "b", 1)),
        ([item("a", "in_progress")] * 4, PlanSummary(0, 4, "a", 3)),  # R025
        ([item("a", "completed")] * 3, PlanSummary(3, 3, None, 0)),  # R003
        ([item("a", "pending")] * 4, PlanSummary(0, 4, None, 0)),  # R049
        # It does not skip forward: model order is the only order the row can honour.
        ([item(" \ufeff", "in_progress"), item("b", "in_progress")], PlanSummary(0, 2, None, 0)),
        ([item(7, "in_progress"), item("b", "in_progress")], PlanSummary(0, 2, None, 0)),
        ([{"status": "in_progress"}, item("b", "in_progress")], PlanSummary(0, 2, None, 0)),
        ([item("a", "doing"), item("b", None)], PlanSummary(0, 2, None, 0)),  # R024
    ],
)  # fmt: skip
def test_the_fields_of_the_row(todos: list[object], summary: PlanSummary) -> None:
    assert plan_summary(todos) == summary


@given(st.lists(anything, max_size=6))
def test_no_arguments_break_it_and_its_numbers_add_up(todos: list[object]) -> None:
    summary = plan_summary(todos)
    assert summary.total == len(todos)
    assert 0 <= summary.done <= summary.total
    assert summary.active_content is not None or summary.active_extra == 0


@pytest.mark.parametrize("arguments", ["", "{", "[]", "null", '{"todos": "[]"}', '{"todos": [1]}', "[" * 100_000])
def test_arguments_that_hold_no_list_of_objects_give_the_generic_row(arguments: str) -> None:
    assert todos_of(arguments) is None


def test_a_list_of_objects_is_taken_as_it_is() -> None:
    assert todos_of(json.dumps({"todos": [{"a": 1}], "more": 1})) == [{"a": 1}]
