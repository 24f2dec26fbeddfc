"""LangChain's stream of a graph, a line for each `(mode, chunk)`: `{"mode": "updates", "chunk": {node: update}}`.

formats.md §7. `values` repeats the whole state after each update. Keys: `langchain:header`, `langchain:MESSAGE/TYPE`,
`langchain:MESSAGE/CALL ID/TYPE`. No record has a time.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from planstrip.transcripts.adapter import Adapted, Composer, Format, Header
from planstrip.transcripts.records import Record, at, joined_text, json_of, list_at, text_at

AGENT: Final = "langchain"
PLAN_TOOL: Final = "write_todos"
MODES: Final = frozenset({"values", "updates"})
OTHER_MODES: Final = frozenset({"messages", "custom", "checkpoints", "tasks", "debug"})
MAX_NAME_CHARS: Final = 60


def claims(record: Record) -> bool:
    return text_at(record, "mode") in MODES | OTHER_MODES and "chunk" in record


@dataclass(slots=True)
class LangChain:
    """A message counts once, by its id; a list is what an update sets, beside the message that answers its call."""

    header: Header
    _composer: Composer = field(default_factory=lambda: Composer(AGENT))
    _seen: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, record: Record, path: Path) -> "LangChain":
        """No record names its session: the file's name does, with what is in its first line."""
        name = "".join(char if char.isalnum() or char in "-_." else "-" for char in path.stem)[:MAX_NAME_CHARS]
        digest = hashlib.sha256(json_of(record).encode(errors="replace")).hexdigest()[:12]
        return cls(Header(f"{name or AGENT}-{digest}", AGENT, f"{AGENT}:header"))

    def take(self, record: Record) -> Iterator[Adapted]:
        mode, chunk = text_at(record, "mode"), at(record, "chunk")
        if mode == "values":
            yield from self._state(chunk, is_update=False)
        elif mode == "updates" and isinstance(chunk, dict):
            for update in chunk.values():
                yield from self._state(update, is_update=True)

    def _state(self, state: object, *, is_update: bool) -> Iterator[Adapted]:
        todos = list_at(state, "todos")
        is_written = False
        for message in list_at(state, "messages") or []:
            id_ = text_at(message, "id")
            if id_ is None or id_ in self._seen:
                continue
            self._seen.add(id_)
            match text_at(message, "type"):
                case "human":
                    yield self._composer.start_turn(None, joined_text(at(message, "content")), id_)
                case "ai":
                    yield from self._answer(message, id_)
                case "tool":
                    events = list(self._result(message, id_, todos))
                    is_written = is_written or any(event.type == "todo/write" for event in events)
                    yield from events
        if is_update and todos is not None and not is_written:
            yield from self._composer.write(_pairs(todos), None, None)

    def _answer(self, message: object, id_: str) -> Iterator[Adapted]:
        calls = list_at(message, "tool_calls") or []
        yield from self._composer.resume_turn(None, id_)
        for call in calls:
            call_id, name = text_at(call, "id"), text_at(call, "name")
            if call_id is not None and name is not None:
                arguments, record = json_of(at(call, "args") or {}), f"{id_}/{call_id}"
                yield self._composer.call(call_id, name, arguments, None, record, is_plan=name == PLAN_TOOL)
        if not calls and not list_at(message, "invalid_tool_calls"):
            yield from self._composer.end_turn("completed", None, id_)

    def _result(self, message: object, id_: str, todos: list[object] | None) -> Iterator[Adapted]:
        call_id, is_error = text_at(message, "tool_call_id"), text_at(message, "status") == "error"
        if call_id is None:
            return
        if todos is not None and not is_error and self._composer.arguments(call_id) is not None:
            yield from self._composer.write(_pairs(todos), None, call_id, id_)
        yield self._composer.result(call_id, joined_text(at(message, "content")), None, id_, is_error=is_error)


def _pairs(todos: list[object]) -> Iterator[tuple[str | None, str | None]]:
    return ((text_at(item, "content"), text_at(item, "status")) for item in todos)


FORMAT: Final = Format(AGENT, claims, LangChain.of)
