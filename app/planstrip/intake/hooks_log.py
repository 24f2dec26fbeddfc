"""Facts of hooks into the log: each once, whatever came before and whichever door told it first (spec.md §2)."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Connection, Engine, bindparam, func, select

from planstrip import projection
from planstrip.errors import PlanstripError
from planstrip.eventlog import Draft
from planstrip.intake import tool
from planstrip.intake.across import HOOKS as KEYS
from planstrip.intake.across import Stored, door_of
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
from planstrip.intake.hooks_others import Others
from planstrip.intake.hooks_plans import TASK_TOOLS, Plans, task_text
from planstrip.intake.hooks_read import response_text, short
from planstrip.intake.record import take_in
from planstrip.marks import IN_SESSION
from planstrip.plan.outline import Outline, first_line
from planstrip.tables import events
from planstrip.transcripts import codex
from planstrip.transcripts.mapping import MappedList, kept, kept_plan, map_list
from planstrip.writer import Writer

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
    others: Others = field(init=False)

    def __post_init__(self) -> None:
        session = {"session": self.told.session}
        self.outline = projection.current(self.connection, self.told.session).outline
        self.turns = self.connection.execute(_TURNS, session).scalar_one()
        is_open = self.outline.turn == "open"
        self.others = Others(self.connection, self.told.session, self.told.time, is_open)

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
        if self._has(key) or (not _is_transcripts(key) and self.others.has_turn(label)):
            return
        self.plans.turn_starts(self.told.session)
        yield self._draft("turn/start", {"turn": self.turns + 1} | ({"prompt": label} if label else {}), key)

    def _end(self, kind: str, key: str | None) -> Iterator[Draft]:
        """Only of a turn that is open, and never of one that another has followed."""
        newest, own = self.others.newest_turn, self._of_turn("turn/start")
        is_of_older = newest is not None and own != newest.key and self._has(own)
        if self._is_open and not is_of_older:
            key = key or self._of_turn("turn/end")
            if not self._has(key):
                yield self._ended(kind, key)

    @property
    def _is_open(self) -> bool:
        """Whether a turn is open that this payload can be of."""
        return self.outline.turn == "open" and not self.others.is_past

    def _ended(self, kind: str, key: str) -> Draft:
        return self._draft("turn/end", {"turn": self.turns, "reason": {"kind": kind}}, key)

    def _close(self, reason: str | None) -> Iterator[Draft]:
        if self._is_open:
            yield self._ended("interrupted", self._once("turn/end"))
        yield self._draft("session/end", {"reason": reason} if reason else {}, self._once("session/end"))

    def _retitle(self, title: str) -> Iterator[Draft]:
        if title and title != self.outline.title:
            yield self._draft("session/title", {"title": title}, self._once("session/title"))

    def _wait(self, subject: str) -> Iterator[Draft]:
        if self._is_open and self.outline.waits_for is None:
            yield self._draft("turn/wait", {"turn": self.turns, "for": subject}, self._once("turn/wait"))

    def _resume(self) -> Iterator[Draft]:
        if self.outline.waits_for is not None:
            yield self._draft("turn/resume", {"turn": self.turns}, self._once("turn/resume"))

    def _call(self, call: Called) -> Iterator[Draft]:
        key = call.key or self._of_call(call, "tool/call")
        if not self._has(key) and self._may_tell(call, key) and (_is_transcripts(key) or not self.others.twin(call)):
            yield self._call_draft(call, key)

    def _call_draft(self, call: Called, key: str) -> Draft:
        is_plan = call.name.lower().replace("_", "").endswith(("todowrite", "writetodos", "updateplan"))
        text = kept_plan(call.arguments) if is_plan else kept(call.arguments)
        return self._draft("tool/call", {"call_id": call.call_id, "name": call.name, "arguments": text}, key)

    def _answer(self, answer: Answered) -> Iterator[Draft]:
        """A call that is not told yet, the list that it was accepted with, and its result."""
        call = answer.call
        key = answer.key or self._of_call(call, "tool/result")
        twin = None if _is_transcripts(key) else self.others.twin(call) or self._own(call)
        if self._has(key) or not self._may_tell(call, key) or (twin and self._is_through(twin, call)):
            return
        if call.name:
            yield from self._call(call)
        call_id = (twin and twin.call_id) or call.call_id
        is_error, words = self._outcome(answer)
        owner = self._owner(call)
        mapped = self.plans.after(self.connection, self.told.agent, owner, answer)
        if mapped is not None and (excess := mapped.excess) is not None:
            is_error, words = True, f"not kept: {excess}"
        elif mapped is not None and owner != self.told.session:
            self.of_parent.append(mapped)
        elif mapped is not None and not self._stands_already(mapped, twin):
            yield self._draft("todo/write", mapped.data | {"call_id": call_id}, self._of_call(call, "todo/write"))
        data: dict[str, object] = {"call_id": call_id, "is_error": is_error, "text": kept(words)}
        if answer.error is not None:
            data["error"] = dict(zip(("name", "code"), answer.error, strict=True))
        yield self._draft("tool/result", data, key)

    def _owner(self, call: Called) -> str:
        """The session whose list a call changes: a subagent's tasks are those of the session that it works for."""
        return self.told.parent if call.name in TASK_TOOLS and self.told.parent else self.told.session

    def _may_tell(self, call: Called, key: str) -> bool:
        """Neither what our own tool has told, nor anything of a turn that a wire tells."""
        if _is_transcripts(key):
            return True
        return not self.others.is_wires and not (_is_ours(call.name) and self.others.has_ours(call))

    def _is_through(self, twin: Stored, call: Called) -> bool:
        """Whether another door has told all of a call, or will."""
        is_through = door_of(twin.key) == "mcp" or self.others.has_result(twin)
        if is_through and call.name in TASK_TOOLS:
            self.plans.forget(self._owner(call))  # it is in the log, from which the list is read again
        return is_through

    def _own(self, call: Called) -> Stored | None:
        """The call as it was told before it ran; a transcript may have told by now what became of it."""
        return self.others.stored(self._of_call(call, "tool/call"))

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
        mapped, key = map_list(fact.items), fact.key or self._once("todo/write")
        if mapped.excess is not None or self._has(key):
            return
        if _is_transcripts(key):
            call_id = self.others.open_plan_call()
            yield self._draft("todo/write", mapped.data | ({"call_id": call_id} if call_id else {}), key)
        elif not self.others.has_list(mapped.todos):
            yield self._draft("todo/write", mapped.data, key)

    def _stands_already(self, mapped: MappedList, twin: Stored | None) -> bool:
        """Whether the list was told without its call (opencode's `todo.updated`), or by another door."""
        newest = self.connection.execute(_NEWEST_WRITE, {"session": self.told.session}).scalar()
        if newest is not None and _parsed(newest) == mapped.data:
            return True
        return twin is not None and self.others.has_list(mapped.todos, twin)

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


def _is_transcripts(key: str) -> bool:
    """Whether an event is keyed as in its transcript."""
    return not key.startswith(KEYS)


def _parsed(value: object) -> dict[str, Any]:
    try:
        found = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


_TURNS: Final = select(func.count()).where(*IN_SESSION, events.c.type == "turn/start")
_NEWEST_WRITE: Final = (
    select(events.c.data).where(*IN_SESSION, events.c.type == "todo/write").order_by(events.c.position.desc()).limit(1)
)
_BY_KEY: Final = select(events.c.position).where(
    events.c.session == bindparam("session"), events.c.key == bindparam("key")
)
