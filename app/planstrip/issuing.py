"""The command line's view tokens: made, revoked and listed in the database, whether a server runs or not."""

import json
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text
from sqlalchemy import Connection, select

from planstrip import view_tokens
from planstrip.db import for_writing, open_engine, open_log, prepare
from planstrip.errors import UnusableSettings
from planstrip.hooks.names import DEFAULT_URL, panel_url
from planstrip.tables import sessions
from planstrip.terminal import plain, say
from planstrip.view_tokens import ViewToken, Wish
from planstrip.web.links import view_path
from planstrip.web.wishes import wish_of

UNITS_S: Final = {"m": 60, "h": 3600, "d": 24 * 3600}
WIDE: Final = 10_000  # for what is no terminal: nothing is cut or folded there
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def create_link(
    database_url: str, shown: str | Mapping[str, str] | None, *, expires: str, label: str | None, server: str | None
) -> None:
    """Prints the link alone on stdout. `shown` is a session, or the filter of a board.

    Raises UnusableSettings for what is none of both, and for each value that is not one.
    """
    if shown is None:
        raise UnusableSettings("nothing to show: name a session, or --board")
    base = _address(server)
    wish = _wish(shown, life_s(expires), label)
    token = view_tokens.make(wish, _now())
    with _writing(database_url, is_new=True) as connection:
        text = view_tokens.signed(view_tokens.signer(connection), token)
        view_tokens.store(connection, token)
        is_known = wish.session is None or bool(
            connection.execute(select(sessions.c.id).where(sessions.c.id == wish.session)).first()
        )
    say(sys.stdout, base + view_path(token.session, text))
    told = f"{token.id}: opens {_opens(token)} until {_moment(token.expires_at)}, for reading"
    say(sys.stderr, told + ("" if is_known else "; nothing has been heard of it yet"))


def revoke_tokens(database_url: str, ids: Sequence[str]) -> None:
    """All of them or none. Raises UnusableSettings for one that there is not."""
    with _writing(database_url) as connection:
        for token_id in ids:
            if view_tokens.find(connection, token_id) is None:
                raise UnusableSettings(f"there is no view token {token_id!r:.80}; `planstrip token list` has them all")
            view_tokens.revoke(connection, token_id, _now())
    say(sys.stdout, f"{len(ids)} revoked" if len(ids) != 1 else "revoked")


def list_tokens(database_url: str, *, as_json: bool) -> None:
    with _writing(database_url) as connection:
        tokens = view_tokens.all_tokens(connection)
    if as_json:
        say(sys.stdout, json.dumps([asdict(token) | {"board": dict(token.board)} for token in tokens]))
        return
    now, table = _now(), Table(box=None, pad_edge=False)
    for name in ("id", "state", "opens", "label", "created", "expires"):
        table.add_column(name, overflow="fold", no_wrap=name in ("id", "state"))
    for token in tokens:
        told = (_opens(token), token.label or "", _moment(token.created_at), _moment(token.expires_at))
        table.add_row(token.id, _state(token, now), *(Text(plain(part)) for part in told))
    Console(width=None if sys.stdout.isatty() else WIDE).print(table)


def life_s(expires: str) -> int:
    found = re.fullmatch(r"([0-9]{1,9})([mhd])", expires.strip())
    if found is None:
        raise UnusableSettings(
            f"--expires is {expires[:40]!r}; expected a number of minutes, hours or days: 30m, 12h, 7d"
        )
    return int(found[1]) * UNITS_S[found[2]]


def _wish(shown: str | Mapping[str, str], seconds: int, label: str | None) -> Wish:
    what = {"session": shown} if isinstance(shown, str) else {"board": dict(shown)}
    return wish_of({**what, "expires_in_s": seconds, "label": label})


def _opens(token: ViewToken) -> str:
    if token.session is not None:
        return f"session {token.session}"
    held = " ".join(f"{name}={value}" for name, value in token.board.items())
    return f"the board where {held}" if held else "the board"


def _state(token: ViewToken, now: int) -> str:
    if token.revoked_at is not None:
        return "revoked"
    return "live" if token.is_live(now) else "expired"


def _moment(time_ms: int) -> str:
    return f"{EPOCH + timedelta(milliseconds=time_ms):%Y-%m-%d %H:%M} UTC"


def _address(given: str | None) -> str:
    url = (given or panel_url(os.environ) or DEFAULT_URL).rstrip("/")
    if not url.startswith(("http://", "https://")):
        raise UnusableSettings(f"--server is {url[:80]!r}; expected the panel's address, such as {DEFAULT_URL}")
    return url


def _now() -> int:
    return time.time_ns() // 1_000_000


@contextmanager
def _writing(database_url: str, *, is_new: bool = False) -> Iterator[Connection]:
    """`is_new`: a database that is not there yet is made, which a server may open later."""
    engine = open_engine(database_url) if is_new else open_log(database_url)
    try:
        if is_new:
            prepare(engine)
        with for_writing(engine).begin() as connection:
            yield connection
    finally:
        engine.dispose()
