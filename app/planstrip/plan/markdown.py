"""The plan as a Markdown task list."""

import re
from typing import Final

from planstrip.events import Todo
from planstrip.plan.fold import Plan

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>()#+\-.!|~&])")
_BOXES: Final = {"completed": "[x]", "in_progress": "[ ]", "pending": "[ ]"}


def task_list(plan: Plan | None) -> str:
    """A line a to-do, those in progress in bold; empty without a plan. Special characters are escaped."""
    return "".join(_line(todo) for todo in plan.todos) if plan else ""


def _line(todo: Todo) -> str:
    text = _SPECIAL.sub(r"\\\1", " ".join(todo.content.split()))
    return f"- {_BOXES[todo.status]} {f'**{text}**' if todo.status == 'in_progress' else text}\n"
