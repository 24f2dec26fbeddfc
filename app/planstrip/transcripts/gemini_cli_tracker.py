"""Gemini CLI's task tracker: one task a call, told as the whole list in the order of creation (formats.md §5)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from planstrip.transcripts.records import text_at

CREATE: Final = "tracker_create_task"
UPDATE: Final = "tracker_update_task"
TOOLS: Final = frozenset({CREATE, UPDATE})
CREATED: Final = re.compile(r"Created task (\S+):")  # only the answer to a call has the task's id


@dataclass(slots=True)
class Task:
    title: str
    status: str = "open"


@dataclass(slots=True)
class Tracker:
    """Tasks are never removed, and a rewind does not touch them: they are files of their own."""

    _tasks: dict[str, Task] = field(default_factory=dict)

    def take(self, name: str, arguments: object, output: str) -> bool:
        """An accepted call. Whether it changed the list."""
        title, status = text_at(arguments, "title"), text_at(arguments, "status")
        if name == CREATE:
            created = CREATED.match(output)
            if created is None or title is None or created[1] in self._tasks:
                return False
            self._tasks[created[1]] = Task(title)
            return True
        task = self._tasks.get(text_at(arguments, "id") or "") if name == UPDATE else None
        if task is None:
            return False
        task.title, task.status = title or task.title, status or task.status
        return True

    def pairs(self) -> Iterator[tuple[str, str]]:
        return ((task.title, task.status) for task in self._tasks.values())
