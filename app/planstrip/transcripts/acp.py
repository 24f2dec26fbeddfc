"""The Agent Client Protocol's wire, both directions, versions 1 and 2: what an editor and an agent say (formats.md §6).

Keys: `acp:header`, `acp:TURN/CALL ID/TYPE`; a connection that is recorded live puts its own name in front.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from planstrip.plan.outline import first_line
from planstrip.transcripts.acp_calls import Calls
from planstrip.transcripts.adapter import Adapted, Composer, Format, Header, session_start
from planstrip.transcripts.records import Record, at, joined_text, json_of, list_at, parse, text_at

AGENT: Final = "acp"
LIVE: Final = f"{AGENT}-"  # how the name of a connection begins that is recorded as it talks
CLIENT: Final = "client->agent"
SERVER: Final = "agent->client"
OPENS: Final = ("session/new", "session/fork", "session/load", "session/resume")
REPLAYS: Final = ("session/load", "session/resume")
OF_THE_AGENT: Final = ("session/update", "session/request_permission", "fs/", "terminal/", "elicitation/")
VERSION_1_PLAN: Final = "main"  # what version 2 calls the one plan of version 1
MAX_PENDING: Final = 1_000


def claims(record: Record) -> bool:
    return text_at(_message(record), "jsonrpc") == "2.0"


@dataclass(slots=True)
class AcpSession:
    """One session of a connection: its turns, its plans, its tool calls. An agent tells of no refused plan."""

    header: Header
    name: str
    is_replayed: bool = False  # between a request to load it and the answer: its history, which is not new
    turns: int = 0  # that the session had before this connection
    _composer: Composer = field(init=False)
    _calls: Calls = field(default_factory=Calls)
    _plans: int = 0
    _standing: str | None = None
    _is_running: bool = False  # version 2: the agent has said so since the prompt
    _waits: bool = False

    def __post_init__(self) -> None:
        self._composer = Composer(AGENT, self.turns)

    def start_turn(self, prompt: object, time: int | None) -> Iterator[Adapted]:
        self._is_running = self._waits = False
        yield self._named(self._composer.start_turn(time, joined_text(prompt)))

    def end_turn(self, reason: str, time: int | None) -> Iterator[Adapted]:
        kind = "completed" if reason == "end_turn" else reason
        self._waits = False
        yield from map(self._named, self._composer.end_turn(kind, time))

    def wait(self, subject: str, time: int | None) -> Iterator[Adapted]:
        if self._composer.is_open and not self._waits:
            self._waits = True
            data: dict[str, object] = {"turn": self._composer.turn, "for": subject}
            yield self._named(self._composer.event("turn/wait", data, time))

    def go_on(self, time: int | None) -> Iterator[Adapted]:
        if self._waits:
            self._waits = False
            yield self._named(self._composer.event("turn/resume", {"turn": self._composer.turn}, time))

    def update(self, update: object, time: int | None) -> Iterator[Adapted]:
        kind = text_at(update, "sessionUpdate")
        if self.is_replayed:
            return
        if kind in ("plan", "plan_update", "plan_removed"):
            yield from map(self._named, self._plan(kind, update, time))
        elif kind in ("tool_call", "tool_call_update", "tool_call_content_chunk"):
            yield from map(self._named, self._calls.take(self._composer, update, time))
        elif kind == "state_update":
            yield from self._state(update, time)
        elif kind == "session_info_update" and (title := first_line(text_at(update, "title") or "")):
            yield self._named(self._composer.event("session/title", {"title": title}, time))

    def _plan(self, kind: str, update: object, time: int | None) -> Iterator[Adapted]:
        """An update is a call that was accepted: no agent tells of one that was not."""
        plan = at(update, "plan") if kind == "plan_update" else update
        if not isinstance(plan, dict):
            return
        self._plans += 1
        call_id = f"plan-{self._plans}"
        entries = list_at(plan, "entries") if kind == "plan" or text_at(plan, "type") == "items" else None
        shown = {key: value for key, value in plan.items() if key not in ("sessionUpdate", "_meta")}
        yield self._composer.call(call_id, kind, json_of(shown), time, is_plan=entries is not None)
        named = text_at(plan, "planId") or VERSION_1_PLAN
        if entries is not None:
            self._standing = named
            pairs = [(text_at(entry, "content"), text_at(entry, "status")) for entry in entries]
            yield from self._composer.write(pairs, time, call_id)
        elif kind == "plan_removed" and named == self._standing:
            self._standing = None
            yield from self._composer.write([], time, call_id)
        yield self._composer.result(call_id, "", time, is_error=False)

    def _state(self, update: object, time: int | None) -> Iterator[Adapted]:
        """Version 2: a prompt's answer says only that it was taken. An idle from before the prompt ends no turn."""
        state = text_at(update, "state")
        if state == "running":
            self._is_running = True
            yield from self.go_on(time)
        elif state == "requires_action":
            self._is_running = True
            yield from self.wait("action", time)
        elif state == "idle" and self._is_running:
            self._is_running = False
            yield from self.end_turn(text_at(update, "stopReason") or "end_turn", time)

    def _named(self, event: Adapted) -> Adapted:
        return replace(event, key=f"{self.name}:{event.key}")


@dataclass(slots=True)
class AcpWire:
    """One connection. `name` tells its keys from those of others; a file's is always the same.

    `turns_of`: how many turns a session had before it was opened here.
    """

    name: str = AGENT
    header: Header | None = None  # of the session whose event was given last
    sessions: dict[str, AcpSession] = field(default_factory=dict)
    turns_of: Callable[[str], int] = lambda _: 0
    _asked: dict[tuple[str, object], Record] = field(default_factory=dict)  # requests by sender and id

    @classmethod
    def of(cls, _record: Record, _path: Path) -> "AcpWire":
        return cls()

    def take(self, record: Record) -> Iterator[Adapted]:
        message = _message(record)
        direction = text_at(record, "dir") or _direction(message)
        if isinstance(message, dict):
            yield from self.hear(direction, message, None)

    def hear(self, direction: str | None, message: Record, time: int | None) -> Iterator[Adapted]:
        """`direction` None: of an answer whose sender is not known."""
        id_, method = message.get("id"), text_at(message, "method")
        is_request = method is not None and isinstance(id_, int | str)
        if method is None and isinstance(id_, int | str):
            request = self._answered(direction, id_)
            if request is not None:
                yield from self._answer(request, message, time)
            return
        if is_request and direction is not None:
            self._asked[direction, id_] = message
            if len(self._asked) > MAX_PENDING:  # requests that are never answered are in real logs
                del self._asked[next(iter(self._asked))]
        yield from self._said(method, at(message, "params"), time)

    def _said(self, method: str | None, params: object, time: int | None) -> Iterator[Adapted]:
        session_id = text_at(params, "sessionId")
        if not session_id:
            return
        if method in REPLAYS:
            if session_id not in self.sessions:
                yield from self._open(session_id, text_at(params, "cwd"), time)
            self.sessions[session_id].is_replayed = True
        elif method in ("session/prompt", "session/update", "session/request_permission"):
            yield from self._open(session_id, None, time)
            session = self.sessions[session_id]
            if method == "session/prompt":
                yield from session.start_turn(at(params, "prompt"), time)
            elif method == "session/update":
                yield from session.update(at(params, "update"), time)
            else:
                yield from session.wait("permission", time)

    def _answer(self, request: Record, answer: Record, time: int | None) -> Iterator[Adapted]:
        method, params, result = text_at(request, "method"), at(request, "params"), at(answer, "result")
        session_id = text_at(params, "sessionId")
        if method in ("session/new", "session/fork"):
            session_id = text_at(result, "sessionId")
            if session_id:
                yield from self._open(session_id, text_at(params, "cwd"), time)
            return
        if not session_id or session_id not in self.sessions:
            return
        session = self.sessions[session_id]
        self.header = session.header
        if method in REPLAYS:
            session.is_replayed = False
        elif method == "session/prompt":
            reason = "error" if at(answer, "error") is not None else text_at(result, "stopReason")
            if reason is not None:
                yield from session.end_turn(reason, time)
        elif method == "session/request_permission":
            yield from session.go_on(time)

    def _answered(self, direction: str | None, id_: object) -> Record | None:
        """The request, which the other side has sent."""
        senders = {SERVER: (CLIENT,), CLIENT: (SERVER,)}.get(direction or "", (CLIENT, SERVER))
        found = [self._asked.pop((sender, id_)) for sender in senders if (sender, id_) in self._asked]
        return found[0] if found else None

    def _open(self, id_: str, cwd: str | None, time: int | None) -> Iterator[Adapted]:
        session = self.sessions.get(id_)
        if session is None:
            header = Header(id_, AGENT, f"{self.name}:header", None, cwd)
            session = self.sessions[id_] = AcpSession(header, self.name, turns=self.turns_of(id_))
            self.header = header
            yield replace(session_start(header), time=time)
        self.header = session.header


def _message(record: Record) -> object:
    """The JSON-RPC message: the line itself, or what a log put around it."""
    if text_at(record, "dir") is None:
        return record
    line = text_at(record, "line")
    return at(record, "msg") if line is None else parse(line.encode(errors="replace"))


def _direction(message: object) -> str | None:
    method = text_at(message, "method")
    if method is None:
        return None
    return SERVER if method.startswith(OF_THE_AGENT) else CLIENT


FORMAT: Final = Format(AGENT, claims, AcpWire.of)
