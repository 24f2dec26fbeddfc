"""Which list stands after a call that a hook told of: a call is not a plan, only an accepted one is (agents.md §4)."""

import json
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, bindparam, select

from planstrip.db import tells_commits
from planstrip.eventlog import read
from planstrip.events import ToolCall, ToolResult, TurnStart
from planstrip.intake.hooks_facts import Answered
from planstrip.intake.hooks_open import pairs
from planstrip.intake.hooks_read import response_text
from planstrip.tables import sessions
from planstrip.transcripts import codex
from planstrip.transcripts.claude_code_lists import Lists
from planstrip.transcripts.mapping import MappedList, map_list
from planstrip.transcripts.records import at, list_at, text_at

MAX_SESSIONS: Final = 256
OWN: Final = (None, "")  # now, and by the session itself
TASK_TOOLS: Final = frozenset({"TaskCreate", "TaskUpdate", "TaskList"})


@dataclass(slots=True)
class _Tasks:
    """`is_whole`: the list is known from its first task on, or was told whole since."""

    lists: Lists = field(default_factory=Lists)
    is_whole: bool = False


@dataclass(slots=True)
class Plans:
    """Claude Code's task calls change one entry each: the list is kept here, and read again from the log."""

    _tasks: OrderedDict[str, _Tasks] = field(default_factory=OrderedDict)

    def after(self, connection: Connection, agent: str, owner: str, answer: Answered) -> MappedList | None:
        """The list that stands; `owner` is the session whose tasks they are. None where none was accepted."""
        name = answer.call.name
        if answer.is_error:
            return None
        if agent == "claude-code" and name in TASK_TOOLS:
            return self._task(self._of(connection, owner), answer)
        items = _accepted(agent, name, answer.sent, answer.response)
        return None if items is None else map_list(items)

    def turn_starts(self, session: str) -> None:
        if session in self._tasks:
            self._tasks[session].lists.tasks.forget_deleted()

    def forget(self, session: str) -> None:
        """What was not stored after all is read again from the log."""
        self._tasks.pop(session, None)

    def _task(self, tasks: _Tasks, answer: Answered) -> MappedList | None:
        mapped = _take(tasks, answer.call.name, answer.sent, task_text(answer), answer.response)
        if answer.call.name == "TaskList":
            return None  # a read
        return mapped if tasks.is_whole else None

    def _of(self, connection: Connection, session: str) -> _Tasks:
        if tells_commits(connection.engine):  # another process may have told some of it
            return _from_log(connection, session)
        found = self._tasks.get(session)
        if found is None:
            found = self._tasks[session] = _from_log(connection, session)
        self._tasks.move_to_end(session)
        while len(self._tasks) > MAX_SESSIONS:
            self._tasks.popitem(last=False)
        return found


def task_text(answer: Answered) -> str:
    """The answer in Claude's own words, which its transcript has and its hook leaves out."""
    response, name = answer.response, answer.call.name
    if name == "TaskCreate" and (id_ := text_at(response, "task", "id")) is not None:
        return f"Task #{id_} created successfully: {text_at(response, 'task', 'subject') or ''}"
    if name == "TaskUpdate" and at(response, "success") is True:
        fields = [field for field in list_at(response, "updatedFields") or [] if isinstance(field, str)]
        return " ".join([f"Updated task #{text_at(response, 'taskId')}", ", ".join(fields)]).strip()
    return response_text(response)


def _take(
    tasks: _Tasks, name: str, sent: object, text: str, response: object, told: tuple[int | None, str] = OWN
) -> MappedList | None:
    tasks.lists.called("hook", name, sent, 0)
    accepted = tasks.lists.answered("hook", text, response, *told, is_error=False)
    begins = name == "TaskCreate" and text.startswith("Task #1 created successfully")
    if begins or (name == "TaskList" and list_at(response, "tasks") is not None):
        tasks.is_whole = True
    return None if accepted is None else accepted.list


def _from_log(connection: Connection, session: str) -> _Tasks:
    """The calls of its subagents, which are in their own sessions, fall in by their time."""
    tasks = _Tasks()
    children = connection.execute(_CHILDREN, {"parent": session}).scalars().all()
    found = [(*told, id_) for id_ in (session, *children) for told in _told(connection, id_)]
    for time, call, text, teller in sorted(found, key=lambda told: told[0]):
        if call is not None:
            told = time, "" if teller == session else teller
            _take(tasks, call.name, _parsed(call.arguments), text, _parsed(text), told)
        elif teller == session:
            tasks.lists.tasks.forget_deleted()
    return tasks


def _told(connection: Connection, session: str) -> Iterator[tuple[int, ToolCall | None, str]]:
    """The time and the words of each answered task call; without a call: a turn's start."""
    calls: dict[str, ToolCall] = {}
    for entry in read(connection, session):
        match entry.event:
            case TurnStart():
                yield entry.time, None, ""
            case ToolCall(name=name) as call if name in TASK_TOOLS:
                calls[call.call_id] = call
            case ToolResult(call_id=call_id, is_error=False, text=text) if call_id in calls:
                yield entry.time, calls.pop(call_id), text


def _accepted(
    agent: str, name: str, sent: object, response: object
) -> tuple[tuple[str | None, str | None], ...] | None:
    """The items of an accepted whole list; ours over MCP is not among them: that door has written it."""
    text = response_text(response)
    is_refused = at(response, "error") is not None or at(response, "success") is False
    items: list[object] | None = None
    content = "content"
    match agent, name:
        case _ if is_refused:
            return None
        case "codex", codex.PLAN_TOOL if text == codex.ACCEPTED:
            items, content = list_at(sent, "plan"), "step"
        case "gemini-cli", "write_todos" if text.startswith("Successfully"):
            items, content = list_at(sent, "todos"), "description"
        case "qwen-code", "todo_write" if not text.startswith("Error"):
            items = list_at(response, "returnDisplay", "todos") or list_at(sent, "todos")
        case "deepseek-harness", "todo_write" if text.startswith("Updated todo list"):
            items = list_at(sent, "todos")
        case "opencode", "todowrite":
            items = list_at(sent, "todos")
        case "claude-code", "TodoWrite":
            items = list_at(response, "newTodos")
            items = items if items is not None else _listed(at(sent, "todos"))
        case _:
            return None
    return None if items is None else pairs(items, content)


def _listed(value: object) -> list[object] | None:
    """A list, or JSON of one in a string, which Claude Code takes as well."""
    value = _parsed(value) if isinstance(value, str) else value
    return value if isinstance(value, list) else None


def _parsed(text: str) -> object:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


_CHILDREN: Final = select(sessions.c.id).where(sessions.c.parent == bindparam("parent"))
