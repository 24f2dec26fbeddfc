"""The plan as a Markdown task list."""

import re
from typing import Final

from planstrip.events import Todo
from planstrip.plan.fold import Plan

_SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>()#+\-.!|~&$]|:(?=//))")  # a bare address is a link, too
# No element isolates text here, and a file may be read in a terminal.
_UNSHOWN: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_BOXES: Final = {"completed": "[x]", "in_progress": "[ ]", "pending": "[ ]"}


def task_list(plan: Plan | None) -> str:
    """A line a to-do, those in progress in bold; empty without a plan. What Markdown or a terminal reads is escaped."""
    return "".join(_line(todo) for todo in plan.todos) if plan else ""


def _line(todo: Todo) -> str:
    text = _SPECIAL.sub(r"\\\1", _UNSHOWN.sub("", " ".join(todo.content.split())))
    return f"- {_BOXES[todo.status]} {f'**{text}**' if todo.status == 'in_progress' else text}\n"
