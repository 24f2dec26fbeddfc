"""The plan as Markdown (reports.md R114)."""

import pytest

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


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("see https://evil.example", "see https\\://evil\\.example"),
        ("fix: the build", "fix: the build"),
        ("$x^2$ ~~a~~ | `b` &amp; ![c](d)", "\\$x^2\\$ \\~\\~a\\~\\~ \\| \\`b\\` \\&amp; \\!\\[c\\]\\(d\\)"),
        ("\u202egnp\u202c.exe", "gnp\\.exe"),
        ("\x1b[31mred\x00\x9b", "\\[31mred"),
        ("a\r\n- [x] b\u2028c", "a \\- \\[x\\] b c"),
    ],
)
def test_nothing_that_an_agent_writes_leaves_its_line_or_steers_a_terminal(content: str, line: str) -> None:
    assert task_list(fold(entries([TodoWrite((Todo(content, "pending"),))]))) == f"- [ ] {line}\n"


def test_there_is_nothing_without_a_plan() -> None:
    assert task_list(None) == ""
