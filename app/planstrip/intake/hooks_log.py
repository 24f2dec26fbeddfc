"""Facts of hooks into the log: each once, whatever came before and whichever door told it first (spec.md §2)."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Connection, Engine, bindparam, func, select, text

from planstrip import projection
from planstrip.errors import PlanstripError
from planstrip.eventlog import Draft
from planstrip.intake import tool
from planstrip.intake.check import check_data
from planstrip.intake.hooks_facts import (
    Answered,
    Called,
    Closed,
    Ended,
    Fact,
    Prompted,
    Resumed,
    Titled,
    Told,
    Waits,
    Wrote,
)
from planstrip.intake.hooks_plans import TASK_TOOLS, Plans, task_text
from planstrip.intake.hooks_read import response_text, short
from planstrip.intake.record import take_in
from planstrip.plan.outline import Outline, first_line
from planstrip.tables import MARKED, events
from planstrip.transcripts import codex
from planstrip.transcripts.mapping import MappedList, kept, kept_plan, map_list
from planstrip.writer import Writer

KEYS: Final = "hook/"  # how the keys of this door begin
NEWEST_CALLS: Final = 100  # looked at for one that another door told
LOOKED_AT_CHARS: Final = 1_000


@dataclass(slots=True)
class HookLog:
    """One payload at a time: what it adds depends on what stands."""

    engine: Engine
    writer: Writer
    plans: Plans = field(default_factory=Plans)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def record(self, told: Told) -> int:
        """How many events were new."""
        with self._lock:
            with self.engine.connect() as connection:
                taking = _Taking(connection, told, self.plans)
                drafts = list(taking.drafts())
            try:
                added = 0
                for mapped in taking.of_parent:  # first: by the call's result it is known that all of it is there
                    assert told.parent is not None
                    draft = _draft(told, "todo/write", mapped.data, f"{KEYS}{told.mark}/todo/write")
                    added += take_in(self.writer, told.parent, [draft])
                return added + take_in(self.writer, told.session, drafts)
            except PlanstripError:  # the payload comes again
                self.plans.forget(told.parent or told.session)
                raise


@dataclass(slots=True)
class _Taking:
    connection: Connection
    told: Told
    plans: Plans
    of_parent: list[MappedList] = field(default_factory=list)
    outline: Outline = field(init=False)
    turns: int = field(init=False)
    newest_turn: str | None = field(init=False)

    def __post_init__(self) -> None:
        session = {"session": self.told.session}
        self.outline = projection.current(self.connection, self.told.session).outline
        self.turns = self.connection.execute(_TURNS, session).scalar_one()
        self.newest_turn = self.connection.execute(_NEWEST_TURN, session).scalar()

    def drafts(self) -> Iterator[Draft]:
        """None for a payload that says nothing."""
        facts = [draft for fact in self.told.facts for draft in self._fact(fact)]
        yield from self._start()
        yield from facts

    def _start(self) -> Iterator[Draft]:
        """The session's, and once more where it fills in what was missing."""
        told, outline = self.told, self.outline
        is_news = (told.cwd and outline.cwd is None) or (told.parent and outline.parent is None)
        if outline.agent is None or is_news:
            given = {"agent": told.agent, "cwd": told.cwd, "parent": told.parent}
            yield self._draft("session/start", {k: v for k, v in given.items() if v}, f"{KEYS}start")

    def _fact(self, fact: Fact) -> Iterator[Draft]:
        match fact:
            case Prompted():
                yield from self._turn(fact)
            case Called():
                yield from self._resume()
                if not _is_ours(fact.name):  # its own door tells it, once it is through
                    yield from self._call(fact)
            case Answered():
                yield from self._resume()
                yield from self._answer(fact)
            case Wrote():
                yield from self._write(fact)
            case Ended():
                yield from self._end(fact.kind, fact.key)
            case Waits(subject=subject):
                yield from self._wait(subject)
            case Resumed():
                yield from self._resume()
            case Closed(reason=reason):
                yield from self._close(reason)
            case Titled(title=title):
                yield from self._retitle(title)

    def _turn(self, fact: Prompted) -> Iterator[Draft]:
        key = fact.key or self._of_turn("turn/start")
        label = first_line(fact.prompt)
        if self._has(key) or self._is_told_elsewhere(label):
            return
        self.plans.turn_starts(self.told.session)
        yield self._draft("turn/start", {"turn": self.turns + 1} | ({"prompt": label} if label else {}), key)

    def _is_told_elsewhere(self, label: str) -> bool:
        """Whether a transcript has begun this very turn."""
        if self.newest_turn is None or self.newest_turn.startswith((KEYS, "mcp/")) or self.outline.turn != "open":
            return False
        prompt = self.connection.execute(_NEWEST_PROMPT, {"session": self.told.session}).scalar()
        return bool(label) and _parsed(prompt or "").get("prompt") == label

    def _end(self, kind: str, key: str | None) -> Iterator[Draft]:
        """Only of a turn that is open, and never of one that another has followed."""
        own = self._of_turn("turn/start")
        is_of_older = own != self.newest_turn and self._has(own)
        if self.outline.turn == "open" and not is_of_older:
            key = key or self._of_turn("turn/end")
            if not self._has(key):
                yield self._ended(kind, key)

    def _ended(self, kind: str, key: str) -> Draft:
        return self._draft("turn/end", {"turn": self.turns, "reason": {"kind": kind}}, key)

    def _close(self, reason: str | None) -> Iterator[Draft]:
        if self.outline.turn == "open":
            yield self._ended("interrupted", self._once("turn/end"))
        yield self._draft("session/end", {"reason": reason} if reason else {}, self._once("session/end"))

    def _retitle(self, title: str) -> Iterator[Draft]:
        if title and title != self.outline.title:
            yield self._draft("session/title", {"title": title}, self._once("session/title"))

    def _wait(self, subject: str) -> Iterator[Draft]:
        if self.outline.turn == "open" and self.outline.waits_for is None:
            yield self._draft("turn/wait", {"turn": self.turns, "for": subject}, self._once("turn/wait"))

    def _resume(self) -> Iterator[Draft]:
        if self.outline.waits_for is not None:
            yield self._draft("turn/resume", {"turn": self.turns}, self._once("turn/resume"))

    def _call(self, call: Called) -> Iterator[Draft]:
        key = call.key or self._of_call(call, "tool/call")
        if not self._has(key) and not self._is_others(call, key):
            yield self._call_draft(call, key)

    def _call_draft(self, call: Called, key: str) -> Draft:
        is_plan = call.name.lower().replace("_", "").endswith(("todowrite", "writetodos", "updateplan"))
        text = kept_plan(call.arguments) if is_plan else kept(call.arguments)
        return self._draft("tool/call", {"call_id": call.call_id, "name": call.name, "arguments": text}, key)

    def _answer(self, answer: Answered) -> Iterator[Draft]:
        """A call that is not told yet, the list that it was accepted with, and its result."""
        call = answer.call
        key = answer.key or self._of_call(call, "tool/result")
        if self._has(key) or self._is_others(call, key):
            return
        if call.name:
            yield from self._call(call)
        is_error, words = self._outcome(answer)
        owner = self.told.parent if call.name in TASK_TOOLS and self.told.parent else self.told.session
        mapped = self.plans.after(self.connection, self.told.agent, owner, answer)
        if mapped is not None and (excess := mapped.excess) is not None:
            is_error, words = True, f"not kept: {excess}"
        elif mapped is not None and owner != self.told.session:
            self.of_parent.append(mapped)
        elif mapped is not None and not self._stands_already(mapped):
            yield self._draft("todo/write", mapped.data | {"call_id": call.call_id}, self._of_call(call, "todo/write"))
        yield self._draft("tool/result", {"call_id": call.call_id, "is_error": is_error, "text": kept(words)}, key)

    def _outcome(self, answer: Answered) -> tuple[bool, str]:
        """Whether it failed, by the flag or by the words in which this agent tells it."""
        response = answer.response
        words = task_text(answer) if answer.call.name in TASK_TOOLS else response_text(response)
        is_error = answer.is_error
        if isinstance(response, dict):
            flags = [response.get("isError"), response.get("is_error"), response.get("success") is False]
            is_error = is_error or any(flag is True for flag in flags) or response.get("error") is not None
        elif self.told.agent == "codex":
            is_plan = answer.call.name == codex.PLAN_TOOL
            head = words[:LOOKED_AT_CHARS].partition("\nOutput:")[0]
            is_error = is_error or (is_plan and words != codex.ACCEPTED) or codex.FAILED.search(head) is not None
        return is_error, words

    def _write(self, fact: Wrote) -> Iterator[Draft]:
        mapped = map_list(fact.items)
        if mapped.excess is None:
            yield self._draft("todo/write", mapped.data, fact.key or self._once("todo/write"))

    def _stands_already(self, mapped: MappedList) -> bool:
        """Whether the newest write is this very list, told without its call (opencode's `todo.updated`)."""
        newest = self.connection.execute(_NEWEST_WRITE, {"session": self.told.session}).scalar()
        return newest is not None and _parsed(newest) == mapped.data

    def _is_others(self, call: Called, key: str | None) -> bool:
        """Whether a transcript or our own MCP tool has told this call: by its id, or by its very list."""
        if key is not None and not key.startswith(KEYS):
            return False  # keyed as in its transcript
        rows = self.connection.execute(_CALLS, {"session": self.told.session, "limit": NEWEST_CALLS}).all()
        others = [_parsed(row.data) for row in rows if not (row.key or "").startswith(KEYS)]
        if any(other.get("call_id") == call.call_id for other in others):
            return True
        sent = _parsed(call.arguments) if _is_ours(call.name) else {}
        return bool(sent) and any(
            other.get("name") == tool.NAME and _parsed(other.get("arguments")) == sent for other in others
        )

    def _has(self, key: str) -> bool:
        return self.connection.execute(_BY_KEY, {"session": self.told.session, "key": key}).first() is not None

    def _of_turn(self, type_: str) -> str:
        return f"{KEYS}{self.told.turn or self.told.mark}/{type_}"

    def _of_call(self, call: Called, type_: str) -> str:
        """Call ids repeat: they are told apart by the turn, where the agent names it."""
        return f"{KEYS}{self.told.turn or '-'}/{short(call.call_id)}/{type_}"

    def _once(self, type_: str) -> str:
        return f"{KEYS}{self.told.mark}/{type_}"

    def _draft(self, type_: str, data: dict[str, object], key: str) -> Draft:
        return _draft(self.told, type_, data, key)


def _draft(told: Told, type_: str, data: dict[str, object], key: str) -> Draft:
    return check_data(type_, data, time=told.time, key=key, path=type_)


def _is_ours(name: str) -> bool:
    """Whether it is a `todo_write` over MCP: there the agents put the server's name before it (agents.md §3)."""
    return name.endswith(tool.NAME) and name != tool.NAME


def _parsed(value: object) -> dict[str, Any]:
    try:
        found = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


_MARKED_OF: Final = (events.c.session == bindparam("session"), text(MARKED))
_TURNS: Final = select(func.count()).where(*_MARKED_OF, events.c.type == "turn/start")
_TURN_ROWS: Final = (*_MARKED_OF, events.c.type == "turn/start")
_NEWEST_TURN: Final = select(events.c.key).where(*_TURN_ROWS).order_by(events.c.position.desc()).limit(1)
_NEWEST_PROMPT: Final = select(events.c.data).where(*_TURN_ROWS).order_by(events.c.position.desc()).limit(1)
_NEWEST_WRITE: Final = (
    select(events.c.data).where(*_MARKED_OF, events.c.type == "todo/write").order_by(events.c.position.desc()).limit(1)
)
_CALLS: Final = (
    select(events.c.key, events.c.data)
    .where(*_MARKED_OF, events.c.type == "tool/call")
    .order_by(events.c.position.desc())
    .limit(bindparam("limit"))
)
_BY_KEY: Final = select(events.c.position).where(
    events.c.session == bindparam("session"), events.c.key == bindparam("key")
)
