"""What a view token opens: its session, or the board that it is held to and the sessions there; nothing else."""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias
from urllib.parse import parse_qs

from sqlalchemy import Connection, Engine, select
from sqlalchemy.exc import SQLAlchemyError

from planstrip import view_tokens
from planstrip.errors import Unauthorized, Unavailable
from planstrip.tables import sessions
from planstrip.view_tokens import PREFIX, ViewToken
from planstrip.web.listing import Filters, conditions
from planstrip.web.readers import Reader

if TYPE_CHECKING:
    from itsdangerous import Signer

Shows: TypeAlias = Literal["board", "session", "sessions"]

# What each address shows, for reading alone. No view token opens what is not named here.
OPENS: Final[Mapping[str, Shows]] = {
    "/": "board",
    "/stream": "board",
    "/sessions/{session}": "session",
    "/sessions/{session}/rows": "session",
    "/sessions/{session}/stream": "session",
    "/embed": "sessions",
    "/embed/sessions/streams": "sessions",
    "/embed/{session}": "session",
    "/embed/{session}/stream": "session",
    "/api/sessions/{session}/plan": "session",
    "/api/sessions/{session}/plan.md": "session",
    "/api/sessions/{session}/plan.svg": "session",
    "/api/sessions/{session}/stream": "session",
}
_PATTERNS: Final = [(re.compile(re.escape(path).replace(r"\{session\}", "([^/]+)")), OPENS[path]) for path in OPENS]
# One answer, whatever is wrong with a token: who tries tokens learns nothing.
REFUSAL: Final = "this token does not open this: it may have ended, or it is for something else"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """`sessions` empty: the board."""

    sessions: tuple[str, ...]
    is_stream: bool


@dataclass(frozen=True, slots=True)
class Given:
    """A view token as it came: in the address, from where the page's own links take it on, or in a header."""

    token: str
    is_in_address: bool


def asked(method: str, path: str, query_string: bytes = b"") -> Asked | None:
    """What a request wants to see, by its path below the prefix; None where a view token opens nothing."""
    if method not in ("GET", "HEAD"):
        return None
    for pattern, shows in _PATTERNS:
        if found := pattern.fullmatch(path):
            named = (
                parse_qs(query_string.decode("latin-1")).get("session", ()) if shows == "sessions" else found.groups()
            )
            if shows != "board" and not named:
                return None
            return Asked(tuple(named), path.endswith(("/stream", "/streams")))
    return None


def given(query_string: bytes, authorization: str) -> Given | None:
    """The view token that a request carries: then it is judged by that alone, whatever else it carries."""
    if PREFIX.encode() in query_string:
        for token in parse_qs(query_string.decode("latin-1")).get("token", ()):
            if token.startswith(PREFIX):
                return Given(token, is_in_address=True)
    kind, _, token = authorization.partition(" ")
    if kind.lower() == "bearer" and token.strip().startswith(PREFIX):
        return Given(token.strip(), is_in_address=False)
    return None


def opens(connection: Connection, token: ViewToken, asked: Asked, now: int) -> bool:
    """Whether a live token is for this: a board's opens the sessions that its filter finds now."""
    if not token.is_live(now):
        return False
    if token.session is not None:
        return set(asked.sessions) == {token.session}
    found = select(sessions.c.id).where(sessions.c.id.in_(asked.sessions), *conditions(Filters(**token.board), now))
    return set(asked.sessions) <= set(connection.execute(found).scalars())


@dataclass(slots=True)
class ViewDoor:
    """Judges view tokens. `clock` gives ms since the epoch, UTC."""

    engine: Engine
    clock: Callable[[], int]
    _signer: "Signer | None" = field(default=None)

    async def admit(self, asked: Asked | None, given: Given) -> Reader:
        """Raises Unauthorized."""
        token = await asyncio.to_thread(self._judge, asked, given)
        if token is None:
            raise Unauthorized(REFUSAL)
        return Reader(token, given.token if given.is_in_address else None)

    def is_open_still(self, token_id: str, asked: Asked) -> bool:
        with self.engine.connect() as connection:
            token = view_tokens.find(connection, token_id)
            return token is not None and opens(connection, token, asked, self.clock())

    def _judge(self, asked: Asked | None, given: Given) -> ViewToken | None:
        try:
            with self.engine.connect() as connection:
                self._signer = self._signer or view_tokens.signer(connection)
                token_id = view_tokens.id_of(self._signer, given.token)
                token = None if token_id is None else view_tokens.find(connection, token_id)
                is_open = token is not None and asked and opens(connection, token, asked, self.clock())
                return token if is_open else None
        except SQLAlchemyError:
            log.exception("the store failed")
            raise Unavailable("the store did not answer") from None
