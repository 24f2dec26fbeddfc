"""Gemini CLI: `chats/session-*.jsonl`, a header, messages that are written again as they grow, `$set`, `$rewindTo`.

formats.md §5, and `chatRecordingService.ts` of google-gemini/gemini-cli. Keys: `gemini-cli:header/START` (a resumed
session may leave a second file with a start of its own), `gemini-cli:MESSAGE/TYPE`, `gemini-cli:MESSAGE/CALL ID/TYPE`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from planstrip.plan.outline import first_line
from planstrip.transcripts.adapter import Adapted, Composer, Format, Header
from planstrip.transcripts.gemini_cli_tracker import TOOLS as TRACKER_TOOLS
from planstrip.transcripts.gemini_cli_tracker import Tracker
from planstrip.transcripts.records import Record, at, iso_time_at, json_of, line_of, list_at, text_at

AGENT: Final = "gemini-cli"
PLAN_TOOL: Final = "write_todos"
PLAN_TOOLS: Final = TRACKER_TOOLS | {PLAN_TOOL}
SETTLED: Final = frozenset({"success", "error", "cancelled"})
INJECTED: Final = ("<session_context>", "<state_snapshot>")  # the context; what a compression leaves


def claims(record: Record) -> bool:
    return all(text_at(record, key) is not None for key in ("sessionId", "projectHash"))


@dataclass(slots=True)
class Message:
    """What is known of a message: the turn it came in and the key of its first event."""

    turn: int
    key: str | None = None


@dataclass(slots=True)
class GeminiCli:
    """Messages come again by their id, and all of them in a `$set` on resume: only what is new in one counts.

    No record says that a turn is over. An answer without tool calls is taken for its end; the calls that belong to it
    are added once they have run, and then the turn is resumed.
    """

    header: Header
    _composer: Composer = field(default_factory=lambda: Composer(AGENT))
    _messages: dict[str, Message] = field(default_factory=dict)
    _calls: dict[str, bool] = field(default_factory=dict)  # of this turn: whether it is answered
    _tracker: Tracker = field(default_factory=Tracker)

    @classmethod
    def of(cls, record: Record, path: Path) -> "GeminiCli":
        """A subagent's file lies in a folder named for its parent. The project's path lies beside `chats`."""
        is_child = text_at(record, "kind") == "subagent"
        folders = [folder for folder in list_at(record, "directories") or [] if isinstance(folder, str)]
        header = Header(
            text_at(record, "sessionId") or "",
            AGENT,
            f"{AGENT}:header/{(text_at(record, 'startTime') or '')[:40]}",
            iso_time_at(record, "startTime"),
            folders[0] if folders else _project(path.absolute()),
            path.absolute().parent.name if is_child else None,
        )
        return cls(header)

    def take(self, record: Record) -> Iterator[Adapted]:
        target = text_at(record, "$rewindTo")
        if target is not None:
            yield from self._rewind(target)
        elif "$set" in record:
            for message in list_at(record, "$set", "messages") or []:
                yield from self._message(message)
            title = first_line(text_at(record, "$set", "summary") or "")
            if title:
                yield self._composer.event("session/title", {"title": title}, None, "summary")
        else:
            yield from self._message(record)

    def _rewind(self, target: str) -> Iterator[Adapted]:
        """Drops that message and what follows: the plan is again what it was before the first event of these."""
        if target not in self._messages:
            return
        ids = list(self._messages)
        dropped = [self._messages.pop(id_) for id_ in ids[ids.index(target) :]]
        first = next((message.key for message in dropped if message.key is not None), None)
        if first is not None:
            yield Adapted("session/rewind", {}, None, f"{AGENT}:{target}/session/rewind", before=first)

    def _message(self, message: object) -> Iterator[Adapted]:
        id_, type_ = text_at(message, "id"), text_at(message, "type")
        if id_ is None or type_ not in ("user", "gemini"):
            return
        is_new = id_ not in self._messages
        events = self._prompt(message, id_) if type_ == "user" else self._answer(message, id_, is_new=is_new)
        known = self._messages.setdefault(id_, Message(self._composer.turn))
        if known.turn != self._composer.turn or (type_ == "user" and not is_new):
            return  # of a turn that is over, with the time of its repetition
        for event in events:
            known.turn, known.key = self._composer.turn, known.key or event.key
            yield event

    def _prompt(self, message: object, id_: str) -> Iterator[Adapted]:
        parts = at(message, "content")
        text = _text(parts)
        if not text.strip() or text.lstrip().startswith(INJECTED) or _has(parts, "functionResponse"):
            return
        self._calls.clear()
        yield self._composer.start_turn(
            iso_time_at(message, "timestamp"), _text(at(message, "displayContent")) or text, id_
        )

    def _answer(self, message: object, id_: str, *, is_new: bool) -> Iterator[Adapted]:
        time, parts = iso_time_at(message, "timestamp"), at(message, "content")
        calls = list_at(message, "toolCalls") or []
        if is_new:
            yield from self._composer.resume_turn(time, id_)
        for call in calls:
            yield from self._call(call, id_, time)
        if not calls and _text(parts).strip() and not _has(parts, "functionCall"):
            yield from self._composer.end_turn("completed", time, id_)

    def _call(self, call: object, message: str, time: int | None) -> Iterator[Adapted]:
        call_id, name, status = (text_at(call, key) for key in ("id", "name", "status"))
        if call_id is None or name is None or self._calls.get(call_id):
            return
        record = f"{message}/{call_id}"
        if call_id not in self._calls:
            self._calls[call_id] = False
            yield from self._composer.resume_turn(time, message)
            yield self._composer.call(
                call_id, name, json_of(at(call, "args") or {}), time, record, is_plan=name in PLAN_TOOLS
            )
        if status in SETTLED:
            self._calls[call_id] = True
            time = iso_time_at(call, "timestamp") or time
            if status == "success":
                yield from self._write(call, call_id, name, time, record)
            yield self._composer.result(call_id, _output(call), time, record, is_error=status != "success")

    def _write(self, call: object, call_id: str, name: str, time: int | None, record: str) -> Iterator[Adapted]:
        arguments = at(call, "args")
        items = list_at(arguments, "todos")
        if name == PLAN_TOOL and items is not None:
            pairs = [(text_at(item, "description"), text_at(item, "status")) for item in items]
            yield from self._composer.write(pairs, time, call_id, record)
        elif self._tracker.take(name, arguments, _output(call)):
            yield from self._composer.write(self._tracker.pairs(), time, call_id, record)


def _project(path: Path) -> str | None:
    """What `~/.gemini/tmp/PROJECT/.project_root` says."""
    chats = next((folder for folder in path.parents if folder.name == "chats"), None)
    return None if chats is None else line_of(chats.parent / ".project_root")


def _text(parts: object) -> str:
    """The text of a message that is meant for a reader: a string, or its parts but for thoughts."""
    if not isinstance(parts, list):
        return parts if isinstance(parts, str) else text_at(parts, "text") or ""
    texts = [part if isinstance(part, str) else text_at(part, "text") for part in parts if not at(part, "thought")]
    return "\n".join(text for text in texts if text is not None)


def _has(parts: object, key: str) -> bool:
    return isinstance(parts, list) and any(at(part, key) is not None for part in parts)


def _output(call: object) -> str:
    texts = [
        text_at(part, "functionResponse", "response", key)
        for part in list_at(call, "result") or []
        for key in ("output", "error")
    ]
    return "\n".join(text for text in texts if text is not None) or text_at(call, "resultDisplay") or ""


FORMAT: Final = Format(AGENT, claims, GeminiCli.of)
