"""The lists of a Claude Code session: calls that may change them, and what stands once the agent has accepted one."""

import json
from dataclasses import dataclass, field
from typing import Final

from planstrip.transcripts.claude_code_tasks import Tasks, Told
from planstrip.transcripts.mapping import MAX_PLAN_BYTES, MappedList, map_list
from planstrip.transcripts.records import list_at, text_at

TOOLS: Final = frozenset({"TodoWrite", "TaskCreate", "TaskUpdate", "TaskList"})
MAX_OPEN: Final = 64


@dataclass(frozen=True, slots=True)
class OpenCall:
    """`sent`: the input, None where that is larger than any list."""

    name: str
    sent: object
    changes: int | None  # of the tasks so far; None while another call may yet change them


@dataclass(frozen=True, slots=True)
class Accepted:
    """`is_state`: the call changed an entry, and the list is what stood then as far as it was known."""

    list: MappedList
    is_state: bool


@dataclass(slots=True)
class Lists:
    """`owns_tasks`: a subagent's task calls change the list of the session that it works for."""

    owns_tasks: bool = True
    tasks: Tasks = field(default_factory=Tasks)
    _open: dict[str, OpenCall] = field(default_factory=dict)

    def called(self, call_id: str, name: str, sent: object, size: int) -> None:
        """`size`: of the arguments, in characters."""
        if name not in TOOLS:
            return
        is_settled = all(call.name == "TaskList" for call in self._open.values())
        changes = self.tasks.changes if is_settled else None
        self._open[call_id] = OpenCall(name, sent if size <= MAX_PLAN_BYTES else None, changes)
        if len(self._open) > MAX_OPEN:
            del self._open[next(iter(self._open))]

    def answered(
        self, call_id: str, text: str, details: object, time: int | None = None, file: str = "", *, is_error: bool
    ) -> Accepted | None:
        """The list that stands after a call; None where none of this session's was set."""
        call = self._open.pop(call_id, None)
        if call is None or is_error:
            return None
        if call.name == "TodoWrite":
            items = list_at(details, "newTodos")
            items = _todos(call.sent) if items is None else items
            if items is None:
                return None
            return Accepted(map_list([_pair(item) for item in items]), is_state=False)
        if not self.owns_tasks:
            return None
        told = Told(time, file)
        match call.name:
            case "TaskCreate" if self.tasks.created(call.sent, text, details, told):
                return Accepted(map_list(self.tasks.pairs), is_state=True)
            case "TaskUpdate" if self.tasks.updated(call.sent, text, details, told):
                return Accepted(map_list(self.tasks.pairs), is_state=True)
            case "TaskList" if call.changes == self.tasks.changes:
                self.tasks.listed(details, told)
        return None


def _pair(item: object) -> tuple[str | None, str | None]:
    content, status = (item.get("content"), item.get("status")) if isinstance(item, dict) else (None, None)
    return content if isinstance(content, str) else None, status if isinstance(status, str) else None


def _todos(sent: object) -> list[object] | None:
    """The `todos` of a TodoWrite call; a JSON string of a list is one, as the agent has it."""
    text = text_at(sent, "todos")
    if text is None:
        return list_at(sent, "todos")
    try:
        todos = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return todos if isinstance(todos, list) else None
