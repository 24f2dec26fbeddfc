"""Codex: rollouts of 0.45 to 0.171, one `{timestamp, ordinal?, type, payload}` a line (formats.md §3).

Keys: `codex:header`; `codex:ORDINAL/TYPE` where the file numbers its lines, else those of `Composer`.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from planstrip.plan.outline import first_line
from planstrip.transcripts.adapter import Adapted, Composer, Format, Header
from planstrip.transcripts.records import Record, at, iso_time_at, joined_text, json_of, list_at, text_at, whole_at

AGENT: Final = "codex"
PLAN_TOOL: Final = "update_plan"
ACCEPTED: Final = "Plan updated"
PREAMBLE: Final = frozenset({"session_meta", "turn_context", "world_state", "token_usage_record"})
NO_ITEMS: Final = frozenset({"thread_settings_applied", "user_message", "task_started", "token_count"})
OUTPUTS: Final = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})
STARTED_ALONE: Final = {"web_search_call": "web_search", "image_generation_call": "image_generation"}  # without output
SETTLED: Final = ("completed", "failed", "incomplete")
FAILED: Final = re.compile(
    r"^(failed to parse function arguments|unsupported (custom tool )?call)|aborted by user$"
    r"|^(Exit code: |Process exited with code )-?[1-9]",
    re.MULTILINE,
)
FAILED_AS_JSON: Final = re.compile(r'"metadata":\s*\{"exit_code":\s*-?[1-9]')  # 0.45's shell
LOOKED_AT_CHARS: Final = 1_000


def claims(record: Record) -> bool:
    return text_at(record, "type") == "session_meta" and text_at(record, "payload", "id") is not None


@dataclass(frozen=True, slots=True)
class Line:
    """`record`: the file's own number of the line, where it has one."""

    type: str
    kind: str
    payload: object
    time: int | None
    record: str | None

    @classmethod
    def of(cls, record: Record) -> "Line":
        ordinal, payload = whole_at(record, "ordinal"), at(record, "payload")
        number = None if ordinal is None else str(ordinal)
        kind = text_at(payload, "type") or ""
        return cls(text_at(record, "type") or "", kind, payload, iso_time_at(record, "timestamp"), number)

    @property
    def is_before_work(self) -> bool:
        """What may stand between a turn's start and its prompt."""
        if self.type == "response_item":
            return self.kind == "message" and text_at(self.payload, "role") != "assistant"
        return self.type in PREAMBLE or (self.type == "event_msg" and self.kind in NO_ITEMS)

    @property
    def prompt(self) -> str | None:
        """What the person typed, where the line says it: an event of 0.151 and later, or an older one."""
        if self.type != "event_msg":
            return None
        if self.kind == "user_message":
            return text_at(self.payload, "message") or ""
        item = at(self.payload, "item") if self.kind == "item_completed" else None
        return joined_text(at(item, "content")) if text_at(item, "type") == "UserMessage" else None


@dataclass(slots=True)
class Codex:
    """A `turn/start` is held until its prompt, or a line that comes after that.

    A file that knows no `task_started` starts its turns at `user_message`; there the turn ends with the usage that is
    told after an answer, and is resumed if the model goes on all the same.
    """

    header: Header
    _composer: Composer = field(default_factory=lambda: Composer(AGENT))
    _held: Adapted | None = None
    _prompt: str = ""  # told before its turn
    _turn_id: str | None = None
    _turn_ids: set[str] = field(default_factory=set)
    _has_tasks: bool = False
    _is_fresh: bool = False  # nothing of this turn came yet but its prompt
    _is_answered: bool = False  # the last thing that the model made is an answer
    _is_inferred: bool = False  # this turn's end, where no line tells it

    @classmethod
    def of(cls, record: Record, _path: Path) -> "Codex":
        meta = at(record, "payload")
        parent = text_at(meta, "parent_thread_id") or text_at(
            meta, "source", "subagent", "thread_spawn", "parent_thread_id"
        )
        created = iso_time_at(meta, "timestamp")
        return cls(Header(text_at(meta, "id") or "", AGENT, "codex:header", created, text_at(meta, "cwd"), parent))

    def take(self, record: Record) -> Iterator[Adapted]:
        line = Line.of(record)
        prompt = line.prompt
        if prompt is not None:
            yield from self._prompted(line, prompt)
            return
        if not line.is_before_work:
            yield from self._release()
            self._is_fresh = False
        if line.type == "event_msg":
            yield from self._event(line)
        elif line.type == "response_item":
            yield from self._item(line)

    def _release(self) -> Iterator[Adapted]:
        if self._held is not None:
            yield self._held
            self._held = None

    def _prompted(self, line: Line, prompt: str) -> Iterator[Adapted]:
        if self._held is not None:
            if label := first_line(prompt):
                self._held.data["prompt"] = label
            yield from self._release()
        elif self._has_tasks:
            if not self._composer.is_open:
                self._prompt = prompt
        elif line.kind == "user_message":
            if self._is_answered:
                yield from self._composer.end_turn("completed", line.time, line.record)
            self._turn_id, self._is_answered, self._is_fresh, self._is_inferred = None, False, True, False
            yield self._composer.start_turn(line.time, prompt, line.record)

    def _event(self, line: Line) -> Iterator[Adapted]:
        turn_id = text_at(line.payload, "turn_id")
        if line.kind == "task_started":
            yield from self._start(line, turn_id)
        elif line.kind in ("task_complete", "turn_aborted"):
            if turn_id is None or self._turn_id is None or turn_id == self._turn_id:
                self._is_answered = self._is_inferred = False
                yield from self._composer.end_turn(_reason(line), line.time, line.record)
        elif line.kind == "token_count" and self._is_answered and not self._has_tasks:
            self._is_inferred = True
            yield from self._composer.end_turn("completed", line.time, line.record)
        elif line.kind == "thread_name_updated" and text_at(line.payload, "thread_id") == self.header.session:
            title = first_line(text_at(line.payload, "thread_name") or "")
            if title:
                yield self._composer.event("session/title", {"title": title}, line.time, line.record)

    def _start(self, line: Line, turn_id: str | None) -> Iterator[Adapted]:
        yield from self._release()
        if turn_id is not None and turn_id in self._turn_ids:
            return  # a line that was written twice
        if turn_id is not None:
            self._turn_ids.add(turn_id)
        self._has_tasks, self._turn_id = True, turn_id
        if self._is_fresh:  # its prompt came first, and started it
            self._is_fresh = False
            return
        start = self._composer.start_turn(line.time, self._prompt, line.record)
        if self._prompt:
            self._prompt = ""
            yield start
        else:
            self._held = start

    def _item(self, line: Line) -> Iterator[Adapted]:
        if line.kind == "message":
            self._is_answered = self._is_answered or text_at(line.payload, "role") == "assistant"
        elif line.kind in OUTPUTS:
            yield from self._output(line)
        else:
            self._is_answered = False
            yield from self._call(line)

    def _call(self, line: Line) -> Iterator[Adapted]:
        call_id = text_at(line.payload, "call_id") or text_at(line.payload, "id")
        found = _named(line)
        if call_id is None or found is None:
            return
        if self._is_inferred and not self._has_tasks:
            yield from self._composer.resume_turn(line.time, line.record)
        name, arguments = found
        yield self._composer.call(
            call_id, name, arguments, line.time, line.record, is_plan=line.kind == "function_call" and name == PLAN_TOOL
        )
        status = text_at(line.payload, "status")
        if line.kind in STARTED_ALONE and status in SETTLED:
            yield self._composer.result(call_id, status, line.time, line.record, is_error=status != "completed")

    def _output(self, line: Line) -> Iterator[Adapted]:
        call_id = text_at(line.payload, "call_id")
        if call_id is None:
            return
        output = at(line.payload, "output")
        text = joined_text(output) or text_at(output, "text") or joined_text(at(output, "content"))
        if line.kind == "tool_search_output":
            text = json_of(at(line.payload, "tools"))
        arguments = self._composer.arguments(call_id)
        is_error = at(output, "success") is False or _failed(text)
        if arguments is not None:
            items = _plan(arguments) if text == ACCEPTED else None
            is_error = text != ACCEPTED
            if items is not None:
                yield from self._composer.write(items, line.time, call_id, line.record)
        yield self._composer.result(call_id, text, line.time, line.record, is_error=is_error)


def _reason(line: Line) -> str:
    if line.kind == "task_complete":
        return "completed" if at(line.payload, "error") is None else "error"
    reason = text_at(line.payload, "reason")
    return reason if reason and reason != "completed" else "interrupted"


def _named(line: Line) -> tuple[str, str] | None:
    """The call's name and its arguments; None for what is no call."""
    payload = line.payload
    name, found = text_at(payload, "name"), None
    if line.kind == "function_call":
        space = text_at(payload, "namespace")
        name = f"{space}__{name}" if name and space and space.startswith("mcp__") else name
        found = text_at(payload, "arguments")
    elif line.kind == "custom_tool_call":
        found = text_at(payload, "input")
    elif line.kind == "local_shell_call":
        name, found = "local_shell", json_of(at(payload, "action"))
    elif line.kind == "tool_search_call":
        name, found = "tool_search", json_of(at(payload, "arguments"))
    elif line.kind in STARTED_ALONE:
        name = STARTED_ALONE[line.kind]
        found = json_of(at(payload, "action") or {"prompt": text_at(payload, "revised_prompt") or ""})
    return None if name is None or found is None else (name, found)


def _failed(text: str) -> bool:
    """Outputs carry no flag: told by the words that Codex itself writes around them."""
    head = text[:LOOKED_AT_CHARS].partition("\nOutput:")[0]
    if text.startswith('{"output":'):
        return FAILED_AS_JSON.search(text[-LOOKED_AT_CHARS:]) is not None
    return FAILED.search(head) is not None


def _plan(arguments: str) -> list[tuple[str | None, str | None]] | None:
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    items = list_at(value, "plan")
    return None if items is None else [(text_at(item, "step"), text_at(item, "status")) for item in items]


FORMAT: Final = Format(AGENT, claims, Codex.of)
