"""Whose plan an MCP call writes: from what is said explicitly to what the client gives away (agents.md §3)."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final
from urllib.parse import quote

from planstrip.intake.check import MAX_ID_CHARS, check_session_id
from planstrip.intake.mcp_calls import UNNAMED

CALLER_META: Final = "planstrip/caller"  # how `planstrip mcp` hands on whom it found, to a server
OWN: Final = "mcp-"  # how the id of a connection's own session begins
SESSION_HEADER: Final = "planstrip-session"
MAX_TEXT_CHARS: Final = 1_000

# How a client's `clientInfo.name` begins -> our name for the agent (the folders under `samples/`).
AGENTS: Final[dict[str, str]] = {
    "claude-code": "claude-code",
    "codex": "codex",
    "opencode": "opencode",
    "qwen": "qwen-code",
    "gemini": "gemini-cli",
    "kimi": "kimi",
    "dsh": "deepseek-harness",
    "langchain": "langchain",
}

# Where an agent tells the processes that it starts which session they belong to.
SESSION_VARIABLES: Final[dict[str, str]] = {
    "CLAUDE_CODE_SESSION_ID": "claude-code",
    "QWEN_CODE_SESSION_ID": "qwen-code",
}
CWD_VARIABLES: Final = ("CLAUDE_PROJECT_DIR",)
CALL_IDS: Final = ("claudecode/toolUseId", "callId")
CODEX_TURN: Final = "x-codex-turn-metadata"


@dataclass(frozen=True, slots=True)
class Caller:
    """`turn` and `call_id` are the client's own ids; `connection` names what it connected with, where that lasts.

    `own`: the id of the session that it has for want of a better one.
    """

    session: str
    agent: str
    cwd: str | None = None
    parent: str | None = None
    turn: str | None = None
    call_id: str | None = None
    connection: str | None = None
    own: str | None = field(default=None, compare=False)

    @property
    def is_anonymous(self) -> bool:
        """Whether nothing says whose it is but the connection, or the client's name and its project."""
        return self.session == self.own

    @property
    def client_call_id(self) -> str | None:
        """The call's id as the client has it; `planstrip mcp` gives one to a call without."""
        return None if self.call_id is None or self.call_id.startswith(UNNAMED) else self.call_id

    def as_json(self) -> dict[str, str]:
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True)
class Given:
    """What one request says of who sent it. `connection` is empty for a client that holds none.

    `project` is what tells one anonymous client from another: the rest of its URL's query, or its folder.
    """

    client: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    session: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    connection: str | None = None
    cwd: str | None = None
    project: str = ""


def identify(given: Given) -> Caller:
    """Who calls. Raises Invalid for a session id that is none, where it was given explicitly."""
    handed = _handed_on(given.meta.get(CALLER_META))
    if handed is not None:
        return handed
    agent = agent_of(given.client)
    turn = _codex_turn(given.meta)
    thread, root = (_id(given.meta.get(name)) for name in ("threadId", "sessionId"))
    session = given.session
    if session is not None:
        check_session_id(session, "session")
    elif thread is not None:
        session = thread
    own = _own(given, agent)
    return Caller(
        session=session or _from_environment(given, agent) or own,
        agent=agent,
        cwd=given.cwd or _workspace(turn),
        parent=root if session == thread and root != thread else None,
        turn=_id(turn.get("turn_id")),
        call_id=next((found for name in CALL_IDS if (found := _id(given.meta.get(name)))), None),
        connection=given.connection,
        own=own,
    )


def agent_of(client: str | None) -> str:
    """Our name for an agent; for a client that we do not know its own name, made fit for a label."""
    name = "".join(char for char in client or "" if char.isprintable()).strip()
    for start, agent in AGENTS.items():
        if name.lower().startswith(start):
            return agent
    return name[:100] or "mcp"


def cwd_of(environment: Mapping[str, str], otherwise: str) -> str:
    return next((environment[name] for name in CWD_VARIABLES if environment.get(name)), otherwise)


def _from_environment(given: Given, agent: str) -> str | None:
    """An agent's variable is believed for that agent alone: one started from another's shell inherits it."""
    for variable, owner in SESSION_VARIABLES.items():
        if (found := _id(given.environment.get(variable))) and (agent == owner or given.client is None):
            return found
    return None


def _own(given: Given, agent: str) -> str:
    """A session for this connection; without one, for this client in this project."""
    if given.connection is not None:
        return f"{OWN}{given.connection}"
    return f"{quote(agent, safe='')[:100]}-{digest(given.client, given.project)[:12]}"


def digest(*parts: str | None) -> str:
    """A name made of what may be long, secret or unfit for an id."""
    return hashlib.sha256("\n".join(part or "" for part in parts).encode(errors="replace")).hexdigest()[:20]


def _codex_turn(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    value = meta.get(CODEX_TURN)
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def _workspace(turn: Mapping[str, Any]) -> str | None:
    """The first of Codex's workspaces, which are an object by path."""
    workspaces = turn.get("workspaces")
    first = next(iter(workspaces), None) if isinstance(workspaces, dict | list) else None
    return _text(first)


def _handed_on(value: object) -> Caller | None:
    if not isinstance(value, dict):
        return None
    known = {part.name: text for part in fields(Caller) if (text := _text(value.get(part.name))) is not None}
    if "session" not in known or "agent" not in known:
        return None
    check_session_id(known["session"], "session")
    return Caller(**known)


def _id(value: object) -> str | None:
    """An id that can be one of ours: what a client gives unasked is passed over when it can't."""
    text = _text(value)
    return text if text is not None and len(text) <= MAX_ID_CHARS and "/" not in text else None


def _text(value: object) -> str | None:
    fits = isinstance(value, str) and 0 < len(value) <= MAX_TEXT_CHARS and value.isprintable()
    return value if fits else None  # type: ignore[return-value]
