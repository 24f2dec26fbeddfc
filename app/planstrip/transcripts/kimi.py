"""Kimi Code: `sessions/<folder>/<session>/agents/<main|agent-N>/wire.jsonl`, the agent's own records (formats.md §7).

Keys: `kimi:header`; `kimi:ID/TYPE` for a prompt and for a call, by the ids that they have; else those of `Composer`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from planstrip.transcripts.adapter import Adapted, Composer, Format, Header
from planstrip.transcripts.records import (
    Record,
    at,
    beside,
    joined_text,
    json_of,
    list_at,
    parse,
    text_at,
    time_at,
    whole_at,
)

AGENT: Final = "kimi"
PLAN_TOOL: Final = "TodoList"
STORE_KEY: Final = "todo"


def claims(record: Record) -> bool:
    is_metadata = text_at(record, "type") == "metadata" and text_at(record, "protocol_version") is not None
    return is_metadata and time_at(record, "created_at") is not None


@dataclass(slots=True)
class Kimi:
    """A list is what `tools.update_store` puts under `todo`; it stands between its call and that call's result."""

    header: Header
    _composer: Composer = field(default_factory=lambda: Composer(AGENT))
    _turn_id: int | None = None
    _prompts: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, record: Record, path: Path) -> "Kimi":
        created = time_at(record, "created_at")
        session, parent = _session(path.absolute(), created)
        session_folder = path.absolute().parent.parent.parent  # the root is its own parent
        state = parse(beside(session_folder / "state.json"))
        return cls(Header(session, AGENT, "kimi:header", created, text_at(state, "cwd"), parent))

    def take(self, record: Record) -> Iterator[Adapted]:
        type_, time = text_at(record, "type"), time_at(record, "time")
        if type_ == "turn.prompt":
            yield from self._start(record, time)
        elif type_ == "turn.ended":
            yield from self._end(record, time)
        elif type_ == "tools.update_store":
            yield from self._write(record, time)
        elif type_ == "context.append_loop_event":
            event = at(record, "event")
            if text_at(event, "type") == "tool.call":
                yield from self._call(event, time)
            elif text_at(event, "type") == "tool.result":
                yield from self._result(event, time)

    def _start(self, record: Record, time: int | None) -> Iterator[Adapted]:
        prompt_id = text_at(record, "promptId")
        if prompt_id is not None:
            if prompt_id in self._prompts:
                return  # a line that was written twice
            self._prompts.add(prompt_id)
        self._turn_id = whole_at(record, "turnId")
        yield self._composer.start_turn(time, joined_text(at(record, "input")), prompt_id)

    def _end(self, record: Record, time: int | None) -> Iterator[Adapted]:
        turn_id, reason = whole_at(record, "turnId"), text_at(record, "reason")
        if reason is not None and (turn_id is None or self._turn_id is None or turn_id == self._turn_id):
            yield from self._composer.end_turn(reason, time)

    def _call(self, event: object, time: int | None) -> Iterator[Adapted]:
        call_id, name, uuid = (text_at(event, key) for key in ("toolCallId", "name", "uuid"))
        if call_id is not None and name is not None:
            is_plan = name == PLAN_TOOL and at(event, "args", "todos") is not None  # else it reads the list
            arguments = json_of(at(event, "args") or {})
            yield self._composer.call(call_id, name, arguments, time, uuid, is_plan=is_plan)

    def _write(self, record: Record, time: int | None) -> Iterator[Adapted]:
        items = list_at(record, "value")
        if text_at(record, "key") != STORE_KEY or items is None:
            return
        call_id = next(iter(self._composer.unanswered), None)
        pairs = [(text_at(item, "title"), text_at(item, "status")) for item in items]
        yield from self._composer.write(pairs, time, call_id)

    def _result(self, event: object, time: int | None) -> Iterator[Adapted]:
        call_id, result = text_at(event, "toolCallId"), at(event, "result")
        if call_id is not None and isinstance(result, dict):
            text = joined_text(at(result, "output"))
            is_error = at(result, "isError") is True
            yield self._composer.result(call_id, text, time, text_at(event, "parentUuid"), is_error=is_error)


def _session(path: Path, created_at: int | None) -> tuple[str, str | None]:
    """The session and its parent by the file's place; elsewhere the folder and the time of its making name it."""
    agent, agents, root = path.parent.name, path.parent.parent.name, path.parent.parent.parent.name
    if agents != "agents" or not root:
        return f"{path.parent.name or AGENT}-{created_at}", None
    return (root, None) if agent == "main" else (f"{root}:{agent}", root)


FORMAT: Final = Format(AGENT, claims, Kimi.of)
