"""View tokens: who may look at one session, or at one filter of the board, and until when.

A token is an id with its signature. What it opens stands in the table alone, so that it can be revoked at once; the
table never holds a token. The key lies in the same database: it lets its holder read, which the database does too.
"""

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, delete, insert, select, update

from planstrip.errors import StoreUnusable
from planstrip.tables import signing_keys, view_tokens

if TYPE_CHECKING:
    from itsdangerous import Signer

PREFIX: Final = "view_"  # tells a view token from the panel's own, also to a scanner for leaked secrets
FILTERS: Final = ("q", "agent", "state", "cwd")
DEFAULT_LIFE_S: Final = 7 * 24 * 3600
MIN_LIFE_S: Final = 60
MAX_LIFE_S: Final = 366 * 24 * 3600
MAX_LABEL_CHARS: Final = 200
MAX_FILTER_CHARS: Final = 1_000
KEPT_MS: Final = 30 * 24 * 3600 * 1000  # a token that has ended is listed for so long


@dataclass(frozen=True, slots=True)
class ViewToken:
    """`session` None: it opens the board, held to the filter `board`. Times in ms since the epoch, UTC."""

    id: str
    session: str | None
    board: Mapping[str, str]
    label: str | None
    created_at: int
    expires_at: int
    revoked_at: int | None = None

    def is_live(self, now: int) -> bool:
        return self.revoked_at is None and now < self.expires_at


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants to show. `board` is passed over where a session is named."""

    session: str | None = None
    board: Mapping[str, str] = field(default_factory=dict)
    label: str | None = None
    life_s: int = DEFAULT_LIFE_S


def make(wish: Wish, now: int) -> ViewToken:
    board = {} if wish.session is not None else {name: wish.board[name] for name in FILTERS if wish.board.get(name)}
    return ViewToken(secrets.token_hex(8), wish.session, board, wish.label, now, now + wish.life_s * 1000)


def store(connection: Connection, token: ViewToken) -> None:
    """Those that ended long ago go on this occasion."""
    connection.execute(delete(view_tokens).where(view_tokens.c.expires_at < token.created_at - KEPT_MS))
    row = {name: getattr(token, name) for name in view_tokens.c.keys()}  # noqa: SIM118 - columns, not a dict
    connection.execute(insert(view_tokens), row | {"board": json.dumps(dict(token.board), ensure_ascii=False)})


def revoke(connection: Connection, token_id: str, now: int) -> None:
    """One that was revoked before stays so since then."""
    still = view_tokens.c.id == token_id, view_tokens.c.revoked_at.is_(None)
    connection.execute(update(view_tokens).where(*still).values(revoked_at=now))


def find(connection: Connection, token_id: str) -> ViewToken | None:
    row = connection.execute(select(view_tokens).where(view_tokens.c.id == token_id)).first()
    return None if row is None else _of(row)


def all_tokens(connection: Connection) -> list[ViewToken]:
    """The newest first."""
    query = select(view_tokens).order_by(view_tokens.c.created_at.desc(), view_tokens.c.id)
    return [_of(row) for row in connection.execute(query)]


def signer(connection: Connection) -> "Signer":
    """Raises StoreUnusable for a database whose key was taken out."""
    from itsdangerous import Signer  # only where a view token is shown or made

    key = connection.execute(select(signing_keys.c.value).where(signing_keys.c.name == "view")).scalar()
    if not key:
        raise StoreUnusable("the database has no key for view tokens: restore its table signing_keys")
    return Signer(str(key), salt="planstrip-view-token", key_derivation="hmac", digest_method=hashlib.sha256)


def signed(signer: "Signer", token: ViewToken) -> str:
    return signer.sign(PREFIX + token.id).decode()


def id_of(signer: "Signer", given: str) -> str | None:
    """The id of a token that was signed here; the signatures are compared in constant time."""
    from itsdangerous import BadSignature

    try:
        return signer.unsign(given).decode().removeprefix(PREFIX)
    except (BadSignature, UnicodeError):
        return None


def _of(row: Any) -> ViewToken:
    board = json.loads(row.board)
    return ViewToken(row.id, row.session, board, row.label, row.created_at, row.expires_at, row.revoked_at)
