"""Qwen Code: `chats/<session>.jsonl`, a row a message, each with its own `uuid` (formats.md §5).

Keys: `qwen-code:header`, `qwen-code:UUID/TYPE`, `qwen-code:UUID/CALL ID/TYPE`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from planstrip.transcripts.adapter import Adapted, Composer, Format, Header
from planstrip.transcripts.records import Record, at, iso_time_at, joined_text, json_of, list_at, text_at

AGENT: Final = "qwen-code"
PLAN_TOOL: Final = "todo_write"
TYPES: Final = frozenset({"user", "assistant", "tool_result", "system"})


def claims(record: Record) -> bool:
    is_row = text_at(record, "type") in TYPES and all(text_at(record, key) for key in ("uuid", "sessionId"))
    return is_row and (text_at(record, "provenance") is not None or list_at(record, "message", "parts") is not None)


@dataclass(slots=True)
class QwenCode:
    """No row says that a turn is over: an answer without a tool call is taken for its end.

    The turn is resumed if the model goes on all the same. `system` rows repeat what other rows say.
    """

    header: Header
    _composer: Composer = field(default_factory=lambda: Composer(AGENT))
    _prompts: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, record: Record, _path: Path) -> "QwenCode":
        session, created = text_at(record, "sessionId") or "", iso_time_at(record, "timestamp")
        return cls(Header(session, AGENT, f"{AGENT}:header", created, text_at(record, "cwd")))

    def take(self, record: Record) -> Iterator[Adapted]:
        uuid, type_ = text_at(record, "uuid"), text_at(record, "type")
        if uuid is None or text_at(record, "sessionId") != self.header.session:
            return
        time = iso_time_at(record, "timestamp")
        if type_ == "user":
            yield from self._prompt(record, uuid, time)
        elif type_ == "assistant":
            yield from self._answer(record, uuid, time)
        elif type_ == "tool_result":
            yield from self._result(record, uuid, time)

    def _prompt(self, record: Record, uuid: str, time: int | None) -> Iterator[Adapted]:
        if text_at(record, "provenance") == "real_user" and uuid not in self._prompts:
            self._prompts.add(uuid)
            yield self._composer.start_turn(time, joined_text(at(record, "message", "parts")), uuid)

    def _answer(self, record: Record, uuid: str, time: int | None) -> Iterator[Adapted]:
        parts = list_at(record, "message", "parts") or []
        calls = [call for part in parts if (call := at(part, "functionCall")) is not None]
        if calls:
            yield from self._composer.resume_turn(time, uuid)
        for call in calls:
            call_id, name = text_at(call, "id"), text_at(call, "name")
            if call_id is not None and name is not None:
                arguments = json_of(at(call, "args") or {})
                yield self._composer.call(
                    call_id, name, arguments, time, f"{uuid}/{call_id}", is_plan=name == PLAN_TOOL
                )
        if not calls and joined_text([part for part in parts if not at(part, "thought")]).strip():
            yield from self._composer.end_turn("completed", time, uuid)

    def _result(self, record: Record, uuid: str, time: int | None) -> Iterator[Adapted]:
        """One row a call; its `status` alone says whether the call was accepted."""
        response = next(
            (found for part in list_at(record, "message", "parts") or [] if (found := at(part, "functionResponse"))),
            None,
        )
        outcome = at(record, "toolCallResult")
        call_id = text_at(outcome, "callId") or text_at(response, "id")
        if call_id is None:
            return
        is_accepted = text_at(outcome, "status") == "success"
        items = list_at(outcome, "resultDisplay", "todos")
        if is_accepted and text_at(response, "name") == PLAN_TOOL and items is not None:
            pairs = [(text_at(item, "content"), text_at(item, "status")) for item in items]
            yield from self._composer.write(pairs, time, call_id, f"{uuid}/{call_id}")
        texts = [text_at(response, "response", "output"), text_at(response, "response", "error")]
        text = next((text for text in texts if text), None) or text_at(outcome, "resultDisplay") or ""
        yield self._composer.result(call_id, text, time, f"{uuid}/{call_id}", is_error=not is_accepted)


FORMAT: Final = Format(AGENT, claims, QwenCode.of)
