"""The plan as Markdown (reports.md R114)."""

from planstrip.events import Todo, TodoWrite
from planstrip.plan.fold import fold
from planstrip.plan.markdown import task_list
from tests.logs import entries, log


def test_each_line_starts_with_a_marker_and_active_ones_are_bold() -> None:
    """R114."""
    assert task_list(fold(log("W[a=c,b=i,c=p]"))) == "- [x] a\n- [ ] **b**\n- [ ] c\n"


def test_special_characters_are_escaped_and_a_todo_keeps_to_its_line() -> None:
    """R114."""
    plan = fold(entries([TodoWrite((Todo("*x* <b>\n# [y]", "pending"),))]))
    assert task_list(plan) == "- [ ] \\*x\\* \\<b\\> \\# \\[y\\]\n"


def test_there_is_nothing_without_a_plan() -> None:
    assert task_list(None) == ""
