"""Addresses within the panel. `root` is the prefix that it is mounted below, `kept` what a reader's links all have."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final
from urllib.parse import quote, urlencode

from planstrip.plan.rows import Window

NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


def session_url(root: str, session: str, query: Mapping[str, str]) -> str:
    return f"{root}/sessions/{quote(session, safe='')}" + (f"?{urlencode(query)}" if query else "")


def board_url(root: str, query: Mapping[str, str]) -> str:
    return f"{root}/" + (f"?{urlencode(query)}" if query else "")


def view_path(session: str | None, token: str) -> str:
    """Below the panel's address: the session's page, or for None the board, opened by a view token."""
    return session_url("", session, {"token": token}) if session is not None else board_url("", {"token": token})


def past_url(root: str, session: str, position: int, lang: str, kept: Mapping[str, str] = NOTHING) -> str:
    """The session's page as it stood at a position."""
    return session_url(root, session, {"lang": lang, "at": str(position), **kept})


def older_url(
    root: str, session: str, lang: str, window: Window, at: int | None = None, kept: Mapping[str, str] = NOTHING
) -> str | None:
    """Where the rows before these are, if there can be any; `at` is the position that the page shows, if not now."""
    if not window.dropped or not window.rows:
        return None
    query = {"before": window.rows[0].position, "lang": lang} | ({} if at is None else {"at": at}) | dict(kept)
    return f"{root}/sessions/{quote(session, safe='')}/rows?{urlencode(query)}"


def older_revisions_url(
    root: str, session: str, lang: str, begin: int | None, kept: Mapping[str, str] = NOTHING
) -> str | None:
    """The session's page as it stood before the revision at `begin`, the oldest one that is shown."""
    return past_url(root, session, begin - 1, lang, kept) if begin is not None else None


def act_url(root: str, session: str, act: str, lang: str) -> str:
    """Where a form does what a person asks: `dismiss`, `retire` or `restore`."""
    return f"{root}/sessions/{quote(session, safe='')}/{act}?{urlencode({'lang': lang})}"


def plan_url(root: str, session: str, name: str, kept: Mapping[str, str] = NOTHING) -> str:
    """The plan for a program or a file: `plan`, `plan.md`, `plan.svg`."""
    return f"{root}/api/sessions/{quote(session, safe='')}/{name}" + (f"?{urlencode(kept)}" if kept else "")


def stream_url(root: str, page: str, session: str, position: int, lang: str, **more: str) -> str:
    """The stream of a page, `sessions` or `embed`, that shows the session as of `position`."""
    query = {"after": str(position), "lang": lang, **more}
    return f"{root}/{page}/{quote(session, safe='')}/stream?{urlencode(query)}"


def several_stream_url(root: str, sessions: Sequence[str], lang: str, more: Mapping[str, str]) -> str:
    """The one stream of a frame of several sessions. No session has this address: an id has no slash."""
    query = [*(("session", session) for session in sessions), ("lang", lang), *more.items()]
    return f"{root}/embed/sessions/streams?{urlencode(query)}"


def board_stream_url(root: str, query: Mapping[str, str], lang: str) -> str:
    """The stream of the board that this query asks for."""
    return f"{root}/stream?{urlencode({**query, 'lang': lang})}"
