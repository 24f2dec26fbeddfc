"""Claude Code: `SESSION.jsonl` and `agent-ID.jsonl`, a row a message block (formats.md §2), since 1.0.

Keys: a row's `uuid` for its event; `UUID~2`, `UUID~3` … for a row's further calls and results, `UUID~todo` for the
list that a result accepts, a subagent's too, `UUID~start` for the `session/start`, `UUID~end` for the end of the turn
before the row's, `UUID~resume` where a turn went on after an answer; `title/N` for the Nth title, whose rows have no
`uuid`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias

from planstrip.plan.outline import first_line
from planstrip.transcripts import claude_code_rows as rows
from planstrip.transcripts.adapter import Adapted, Format, Header, session_start
from planstrip.transcripts.claude_code_lists import TOOLS, Lists
from planstrip.transcripts.claude_code_subagents import Subagents
from planstrip.transcripts.mapping import kept, kept_plan
from planstrip.transcripts.records import Record, at, iso_time_at, text_at

AGENT: Final = "claude-code"
ENDS: Final = frozenset({"stop_hook_summary", "turn_duration"})  # `system` rows that follow a turn's last answer
TITLES: Final = {"summary": ("summary", 1), "ai-title": ("aiTitle", 2), "custom-title": ("customTitle", 3)}
MAX_UUID_CHARS: Final = 200
MAX_KNOWN_ROWS: Final = 100_000  # how far back a row that comes again is known

Last: TypeAlias = Literal["answer", "maybe", "other"]


def claims(record: Record) -> bool:
    """Any row of a session; before the first message these are the ones without a `uuid`."""
    type_ = text_at(record, "type")
    if type_ == "summary":
        return text_at(record, "leafUuid") is not None
    if type_ == "file-history-snapshot":
        return "snapshot" in record
    if type_ is None or text_at(record, "sessionId") is None:
        return False
    return isinstance(record.get("isSidechain"), bool) or "uuid" not in record


@dataclass(slots=True)
class ClaudeCode:
    """Takes a file's rows in order, and among them its subagents' changes of the tasks, by their time.

    Inline sidechains are no part of the session, and their rows passed over.
    """

    path: Path
    header: Header | None = None
    _is_sidechain: bool = False
    _turn: int = 0
    _told: str | None = None  # how this turn ended, if that was told
    _last: Last = "other"  # what this turn's last message is
    _answered_at: int | None = None
    _held: tuple[Record, list[Record]] | None = None  # a slash command that the model may answer or not
    _lists: Lists = field(default_factory=Lists)
    _subagents: Subagents | None = None
    _known: dict[int, None] = field(default_factory=dict)
    _title: tuple[int, str] = (0, "")
    _titles: int = 0

    @classmethod
    def of(cls, _record: Record, path: Path) -> "ClaudeCode":
        return cls(path)

    def take(self, record: Record) -> Iterator[Adapted]:
        if self.header is None:
            self.header = self._header(record)
            if self.header is None:
                return
            yield session_start(self.header)
            if not self._is_sidechain:
                self._subagents = Subagents(self.path, self.header.session)
                self.look()
        if self._subagents is not None and self._subagents.holds_any:
            yield from self._changed(iso_time_at(record, "timestamp") or 0)
        match text_at(record, "type"):
            case "user" | "assistant":
                yield from self._message(record)
            case "system":
                if text_at(record, "subtype") in ENDS and self._last == "maybe":
                    self._last = "answer"
                    yield from self._end(_uuid(record) or "", "", "completed", self._answered_at)
            case type_ if type_ in TITLES:
                yield from self._retitle(record, *TITLES[type_])

    def look(self) -> None:
        if self._subagents is not None:
            self._subagents.look()

    def rest(self) -> Iterator[Adapted]:
        yield from self._changed(None)

    def _changed(self, until: int | None) -> Iterator[Adapted]:
        """The lists that stood after the subagents' calls before a time. The calls are in their own sessions."""
        for change in self._subagents.before(until) if self._subagents is not None else ():
            if self._is_known(change.key):
                continue
            self._lists.called(change.call_id, change.name, change.sent, 0)
            accepted = self._lists.answered(
                change.call_id, change.text, change.details, change.time, change.file, is_error=change.is_error
            )
            if accepted is not None and accepted.list.excess is None:
                yield Adapted("todo/write", accepted.list.data, change.time, f"{change.key}~todo", is_state=True)

    def _header(self, record: Record) -> Header | None:
        session, uuid, agent_id = text_at(record, "sessionId"), _uuid(record), text_at(record, "agentId")
        if uuid is None or not _is_id(session) or not isinstance(record.get("isSidechain"), bool):
            return None
        parent = None
        if record["isSidechain"] and _is_id(agent_id) and self.path.stem != session:
            self._is_sidechain, session, parent = True, agent_id, session
            self._lists.owns_tasks = False
        time, cwd = iso_time_at(record, "timestamp"), text_at(record, "cwd")
        return Header(session or "", AGENT, f"{uuid}~start", time, cwd, parent)

    def _message(self, record: Record) -> Iterator[Adapted]:
        if record.get("isSidechain") is True and not self._is_sidechain:
            return iter(())
        uuid, blocks = _uuid(record), rows.blocks_of(record)
        if uuid is None or blocks is None or self._is_known(uuid):
            return iter(())
        take = self._assistant if record.get("type") == "assistant" else self._user
        return take(record, uuid, blocks, iso_time_at(record, "timestamp"))

    def _is_known(self, uuid: str) -> bool:
        """Rows come again: in forks, after a compaction, from writers that race. A malformed one uses up no `uuid`."""
        mark = hash(uuid)
        if mark in self._known:
            return True
        self._known[mark] = None
        if len(self._known) > MAX_KNOWN_ROWS:
            del self._known[next(iter(self._known))]
        return False

    def _user(self, record: Record, uuid: str, blocks: list[Record], time: int | None) -> Iterator[Adapted]:
        kind = rows.user_kind(record, blocks)
        if kind in ("output", "prompt", "command"):
            self._held = None  # a command that the model was not asked to answer
        elif kind != "aside":
            yield from self._release()
        match kind:
            case "prompt":
                yield from self._start(record, uuid, blocks)
            case "command":
                self._held = record, blocks
            case "results":
                self._last = "other"
                parts = rows.of_type(blocks, "tool_result")
                for number, part in enumerate(parts, 1):
                    details = at(record, "toolUseResult") if len(parts) == 1 else None
                    yield from self._result(part, details, rows.numbered(uuid, number), time)
            case "interrupt":
                self._last = "other"
                yield from self._end(uuid, "", "interrupted", time)

    def _release(self) -> Iterator[Adapted]:
        if self._held is not None:
            (record, blocks), self._held = self._held, None
            yield from self._start(record, _uuid(record) or "", blocks)

    def _start(self, record: Record, uuid: str, blocks: list[Record]) -> Iterator[Adapted]:
        """A turn; and the end of the one before, where only what came after it shows how it ended."""
        if self._last == "maybe":
            yield from self._end(uuid, "~end", "completed", self._answered_at)
        elif self._last == "other" and self._told == "completed":
            yield from self._end(uuid, "~end", "interrupted", iso_time_at(record, "timestamp"))
        self._turn, self._told, self._last = self._turn + 1, None, "other"
        self._lists.tasks.forget_deleted()
        data: dict[str, object] = {"turn": self._turn}
        if label := rows.label_of(blocks):
            data["prompt"] = label
        yield Adapted("turn/start", data, iso_time_at(record, "timestamp"), uuid)

    def _end(self, uuid: str, suffix: str, kind: str, time: int | None) -> Iterator[Adapted]:
        if self._turn and uuid:
            self._told = kind
            yield Adapted("turn/end", {"turn": self._turn, "reason": {"kind": kind}}, time, f"{uuid}{suffix}")

    def _assistant(self, record: Record, uuid: str, blocks: list[Record], time: int | None) -> Iterator[Adapted]:
        yield from self._release()
        for number, part in enumerate(rows.of_type(blocks, "tool_use"), 1):
            yield from self._call(part, rows.numbered(uuid, number), time)
        answer = rows.answer_kind(record, blocks)
        if answer == "failed":
            yield from self._end(uuid, "", "error", time)
        elif answer == "answer" and self._last != "answer":
            yield from self._end(uuid, "", "completed", time)
        self._last, self._answered_at = answer if answer in ("answer", "maybe") else "other", time

    def _call(self, part: Record, key: str, time: int | None) -> Iterator[Adapted]:
        call_id, name = text_at(part, "id"), text_at(part, "name")
        if call_id is None or name is None:
            return
        arguments = rows.raw_arguments(part)
        self._lists.called(call_id, name, part.get("input"), len(arguments))
        if self._last == "answer" and self._turn:
            self._last = "other"
            yield Adapted("turn/resume", {"turn": self._turn}, time, f"{key}~resume")
        is_plan = name in TOOLS or name.endswith("todo_write")  # ours over MCP is `mcp__…__todo_write`
        kept_arguments = kept_plan(arguments) if is_plan else kept(arguments)
        yield Adapted("tool/call", {"call_id": call_id, "name": name, "arguments": kept_arguments}, time, key)

    def _result(self, part: Record, details: object, key: str, time: int | None) -> Iterator[Adapted]:
        call_id = text_at(part, "tool_use_id")
        if call_id is None:
            return
        text = rows.result_text(part)
        is_error = rows.is_failed(part, details)
        accepted = self._lists.answered(call_id, text, details, time, is_error=is_error)
        if accepted is not None and (excess := accepted.list.excess) is not None:
            is_error, text = True, f"not kept: {excess}"
        elif accepted is not None:
            data = accepted.list.data | {"call_id": call_id}
            yield Adapted("todo/write", data, time, f"{key}~todo", is_state=accepted.is_state)
        yield Adapted("tool/result", {"call_id": call_id, "is_error": is_error, "text": kept(text)}, time, key)

    def _retitle(self, record: Record, name: str, rank: int) -> Iterator[Adapted]:
        """A person's title stands above a model's. A summary may be of another session, as its leaf tells."""
        title = first_line(text_at(record, name) or "")
        if not title or rank < self._title[0] or (rank, title) == self._title:
            return
        if rank == 1 and hash(text_at(record, "leafUuid")) not in self._known:
            return
        self._title, self._titles = (rank, title), self._titles + 1
        yield Adapted("session/title", {"title": title}, iso_time_at(record, "timestamp"), f"title/{self._titles}")


def _uuid(record: Record) -> str | None:
    uuid = text_at(record, "uuid")
    return uuid if uuid is not None and 0 < len(uuid) <= MAX_UUID_CHARS else None


def _is_id(value: str | None) -> bool:
    return value is not None and 0 < len(value) <= MAX_UUID_CHARS and "/" not in value and value.isprintable()


FORMAT: Final = Format(AGENT, claims, ClaudeCode.of, rows.parse)
