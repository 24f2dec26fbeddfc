"""DeepSeek Harness: `session.jsonl` and `session.jsonl.zstd`, a header line and then one event a line (formats.md §1).

Keys: `dsh:header` for the `session/start`, `dsh:SEQ` for a record that has a `seq`, else `TURN/CALL ID/TYPE` with the
turn's ordinal and `-` for no call, and `~2`, `~3` … where that repeats within a turn.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from planstrip.plan.outline import first_line
from planstrip.transcripts.adapter import Adapted, Format, Header
from planstrip.transcripts.mapping import kept, kept_plan, map_list
from planstrip.transcripts.records import Record, at, joined_text, list_at, text_at, time_at, whole_at

AGENT: Final = "deepseek-harness"
PLAN_TOOL: Final = "todo_write"
MAX_KEY_CHARS: Final = 400
BETWEEN_TURN_AND_PROMPT: Final = frozenset(
    {"agent/inbox/spliced", "step/start", "subagent/descriptor", "approval/policy", "user/message"}
)


def claims(record: Record) -> bool:
    return text_at(record, "type") == "session" and text_at(record, "id") is not None and "version" in record


MAX_KNOWN: Final = 100_000  # how far back a record that comes again is known


@dataclass(slots=True)
class DeepseekHarness:
    """Takes a file's records in order. A `turn/start` is held until its prompt, or a record that comes after that."""

    header: Header
    _turn: int = 0
    _held: Adapted | None = None
    _open: list[str] = field(default_factory=list)  # plan calls of this step without their list, oldest first
    _refused: dict[str, str] = field(default_factory=dict)  # accepted lists that no log may hold: call id -> why
    _keys: Counter[str] = field(default_factory=Counter)
    _known: dict[int, int] = field(default_factory=dict)  # by `seq`: what stood in the record

    @classmethod
    def of(cls, record: Record, _path: Path) -> "DeepseekHarness":
        header = Header(
            text_at(record, "id") or "",
            AGENT,
            "dsh:header",
            time_at(record, "createdAt"),
            text_at(record, "cwd"),
            text_at(record, "parentSession"),
        )
        return cls(header)

    def take(self, record: Record) -> Iterator[Adapted]:
        type_ = text_at(record, "type")
        if type_ is None or type_ == "session":
            return
        adapt = _ADAPTERS.get(type_)
        if adapt is not None and self._is_repeat(record):
            return
        yield from self._release(type_, record)
        event = adapt(self, record) if adapt else None
        if event is not None:
            yield event

    def _release(self, type_: str, record: Record) -> Iterator[Adapted]:
        """The held `turn/start`, once its prompt is known or can't come any more."""
        if self._held is None:
            return
        if type_ in BETWEEN_TURN_AND_PROMPT:
            if type_ != "user/message" or text_at(record, "data", "source", "kind") != "user":
                return
            prompt = first_line(joined_text(at(record, "data", "content")))
            if prompt:
                self._held.data["prompt"] = prompt
        yield self._held
        self._held = None

    def _is_repeat(self, record: Record) -> bool:
        """A writer that raced, or was copied, wrote the very same record again: it counts once."""
        seq = whole_at(record, "seq")
        if seq is None:
            return False
        mark = hash(str(record))
        if self._known.get(seq) == mark:
            return True
        self._known[seq] = mark
        if len(self._known) > MAX_KNOWN:
            del self._known[next(iter(self._known))]
        return False

    def _event(self, record: Record, type_: str, data: dict[str, object], call_id: str | None = None) -> Adapted:
        seq = whole_at(record, "seq")
        key = f"dsh:{seq}" if seq is not None else self._unnumbered(f"{self._turn}/{call_id or '-'}/{type_}")
        return Adapted(type_, data, time_at(record, "time"), key)

    def _unnumbered(self, key: str) -> str:
        if len(key) > MAX_KEY_CHARS:
            key = f"{key[: MAX_KEY_CHARS - 20]}…{hashlib.sha256(key.encode()).hexdigest()[:16]}"
        self._keys[key] += 1
        return key if self._keys[key] == 1 else f"{key}~{self._keys[key]}"

    def _end_step(self, _record: Record) -> None:
        self._open.clear()

    def _start_turn(self, record: Record) -> None:
        self._turn += 1
        self._open.clear()
        self._refused.clear()
        self._keys.clear()
        self._held = self._event(record, "turn/start", {"turn": self._turn})

    def _end_turn(self, record: Record) -> Adapted | None:
        kind = text_at(record, "data", "reason", "kind")
        if kind is None or not self._turn:
            return None
        self._open.clear()
        return self._event(record, "turn/end", {"turn": self._turn, "reason": {"kind": kind}})

    def _title(self, record: Record) -> Adapted | None:
        title = first_line(text_at(record, "data", "title") or "")
        return self._event(record, "session/title", {"title": title}) if title else None

    def _call(self, record: Record) -> Adapted | None:
        call_id, name, arguments = (text_at(record, "data", key) for key in ("callId", "name", "arguments"))
        if call_id is None or name is None or arguments is None:
            return None
        if name == PLAN_TOOL:
            self._open.append(call_id)
        is_plan = name.endswith(PLAN_TOOL)  # ours over MCP is `mcp__…__todo_write`
        text = kept_plan(arguments) if is_plan else kept(arguments)
        return self._event(record, "tool/call", {"call_id": call_id, "name": name, "arguments": text}, call_id)

    def _write(self, record: Record) -> Adapted | None:
        """A list names no call: it stands between its call and that call's result."""
        items = list_at(record, "data", "todos")
        if items is None:
            return None
        call_id = self._open.pop(0) if self._open else None
        mapped = map_list((text_at(item, "content"), text_at(item, "status")) for item in items)
        excess = mapped.excess
        if excess is not None:
            if call_id is not None:
                self._refused[call_id] = excess
            return None
        data = mapped.data if call_id is None else mapped.data | {"call_id": call_id}
        return self._event(record, "todo/write", data, call_id)

    def _result(self, record: Record) -> Adapted | None:
        message = at(record, "data", "message")
        parts = [part for part in list_at(message, "content") or [] if text_at(part, "type") == "tool-result"]
        call_id = text_at(message, "source", "callId") or next((text_at(part, "toolCallId") for part in parts), None)
        if call_id is None or not parts:
            return None
        if call_id in self._open:
            self._open.remove(call_id)
        text = "\n".join(joined_text(at(part, "content")) for part in parts)
        data: dict[str, object] = {
            "call_id": call_id,
            "is_error": any(at(part, "isError") is True for part in parts),
            "text": kept(text),
        }
        name, code = text_at(record, "data", "error", "name"), text_at(record, "data", "error", "code")
        if name is not None and code is not None:
            data["error"] = {"name": name, "code": code}
        if call_id in self._refused:
            data |= {"is_error": True, "text": f"not kept: {self._refused.pop(call_id)}"}
        return self._event(record, "tool/result", data, call_id)


_ADAPTERS: Final[dict[str, Callable[[DeepseekHarness, Record], Adapted | None]]] = {
    "turn/start": DeepseekHarness._start_turn,
    "turn/end": DeepseekHarness._end_turn,
    "step/end": DeepseekHarness._end_step,
    "session/title": DeepseekHarness._title,
    "tool/call": DeepseekHarness._call,
    "todo/write": DeepseekHarness._write,
    "tool/result": DeepseekHarness._result,
}

FORMAT: Final = Format(AGENT, claims, DeepseekHarness.of)
