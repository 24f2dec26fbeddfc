"""Claude Code's task list: TaskCreate and TaskUpdate change one entry each, and the whole list is what stands."""

import re
from dataclasses import dataclass, field
from typing import Final

from planstrip.plan.todos import MAX_CONTENT_CHARS
from planstrip.transcripts.records import at, list_at, text_at

MAX_TASKS: Final = 2_000  # a plan holds 1,000; a list beyond is refused as a whole

_CREATED: Final = re.compile(r"Task #(\S+) created successfully(?:: (.*))?", re.DOTALL)
_UPDATED: Final = re.compile(r"Updated task #(\S+)")


@dataclass(frozen=True, slots=True)
class Told:
    """When a change was told, in ms since the epoch, and in which file: the session's own has no name."""

    time: int | None = None
    file: str = ""

    def is_outdone_by(self, other: "Told") -> bool:
        """Whether another file has told something newer: a subagent's may be seen late."""
        if self.time is None or other.time is None:
            return False
        return self.file != other.file and self.time < other.time


OWN: Final = Told()


@dataclass(slots=True)
class Task:
    subject: str
    status: str
    told: Told


@dataclass(slots=True)
class Tasks:
    """By id, in order of creation; it outlives turns. What was deleted stays, as such, until the turn ends."""

    _tasks: dict[str, Task] = field(default_factory=dict)
    changes: int = 0

    @property
    def pairs(self) -> list[tuple[str | None, str | None]]:
        return [(task.subject, task.status) for task in self._tasks.values()]

    def created(self, sent: object, text: str, details: object, told: Told = OWN) -> bool:
        """Takes in a TaskCreate's result; False when the agent did not accept it. Only the result has the id."""
        match = _CREATED.match(text)
        if match is None or at(details, "success") is False:
            return False
        subject = text_at(details, "task", "subject") or _sent(sent, "subject", "title") or match[2] or ""
        if match[1] in self._tasks:
            if told.file:
                return True  # a TaskList has told it before
            self._tasks.clear()  # ids never come again within a list: a fork begins its own
        self._put(match[1], subject, "pending", told)
        return True

    def updated(self, sent: object, text: str, details: object, told: Told = OWN) -> bool:
        """The same for a TaskUpdate; also False for a task that was never told."""
        match = _UPDATED.match(text)
        if match is None or at(details, "success") is False:
            return False
        subject = _sent(sent, "subject", "title")
        status = text_at(details, "statusChange", "to") or _sent(sent, "status")
        task = self._tasks.get(match[1])
        if task is None and subject is None:
            return False
        if task is None or not told.is_outdone_by(task.told):
            standing = task or Task("", "pending", told)
            self._put(match[1], subject or standing.subject, status or standing.status, told)
        return True

    def listed(self, details: object, told: Told = OWN) -> None:
        """A TaskList tells what is so by now, changes by subagents included."""
        items = list_at(details, "tasks")
        if items is None:
            return
        self._tasks.clear()
        for item in items:
            id_, subject = text_at(item, "id"), text_at(item, "subject")
            if id_ is not None and subject is not None:
                self._put(id_, subject, text_at(item, "status") or "pending", told)

    def forget_deleted(self) -> None:
        self._tasks = {id_: task for id_, task in self._tasks.items() if task.status != "deleted"}

    def _put(self, id_: str, subject: str, status: str, told: Told) -> None:
        self.changes += 1
        self._tasks[id_] = Task(subject[: MAX_CONTENT_CHARS + 1], status, told)
        if len(self._tasks) > MAX_TASKS:
            del self._tasks[next(iter(self._tasks))]


def _sent(sent: object, *names: str) -> str | None:
    """A field of the input under the first of its names, also within the `task` that some models wrap it in."""
    for place in (sent, at(sent, "task")):
        for name in names:
            if (value := text_at(place, name)) is not None:
                return value
    return None
