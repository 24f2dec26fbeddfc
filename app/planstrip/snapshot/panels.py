"""A session of a running panel, read over HTTP from the address of its page."""

import json
import re
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Final
from urllib.parse import parse_qs, quote, unquote, urlsplit

from planstrip.errors import UnusableSettings
from planstrip.events import Entry, decode

TIMEOUT_S: Final = 20.0
PAGE_EVENTS: Final = 500
_PAGE: Final = re.compile(r"(?P<root>.*)/(?:sessions|embed)/(?P<id>[^/]+)/?")


@dataclass(frozen=True, slots=True)
class Address:
    """`events_url` has no query; `at` None: the log's end."""

    session: str
    events_url: str
    token: str | None
    at: int | None


def is_url(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def read_session(address: Address) -> list[Entry]:
    """Its events, up to `at`. Raises UnusableSettings for whatever keeps them from being read."""
    entries: list[Entry] = []
    following: int | None = 0
    while following is not None and (address.at is None or following < address.at):
        answer = _get(f"{address.events_url}?after={following}&limit={PAGE_EVENTS}", address.token)
        entries += map(_entry, answer["events"])
        following = answer["next"]
    head = entries[-1].position if entries else 0
    if address.at is not None and address.at > head:
        raise UnusableSettings(f"at is {address.at}, but session {address.session!r} stands at {head}")
    return [entry for entry in entries if address.at is None or entry.position <= address.at]


def address_of(url: str, token: str | None) -> Address:
    """Of a page `…/sessions/ID` or `…/embed/ID`, as it stood `?at=` a position. `token`: unless it has its own."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise UnusableSettings(f"{url}: {error}") from error
    page = _PAGE.fullmatch(parts.path)
    if page is None or not parts.hostname:
        raise UnusableSettings(
            f"{url} is no session's page; expected an address such as http://127.0.0.1:8765/sessions/ID"
        )
    query = parse_qs(parts.query)
    at = query.get("at", [""])[-1]
    if at and not (at.isascii() and at.isdecimal() and len(at) < 19):
        raise UnusableSettings(f"at is {at!r:.40}; expected a position, a whole number from 0")
    session = unquote(page["id"])
    events_url = f"{parts.scheme}://{parts.netloc}{page['root']}/api/sessions/{quote(session, safe='')}/events"
    return Address(session, events_url, query.get("token", [token])[-1], int(at) if at else None)


def _get(url: str, token: str | None) -> dict[str, Any]:
    """No redirect is followed: the token is for this server alone."""
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with closing(kind(parts.hostname or "", parts.port, timeout=TIMEOUT_S)) as connection:
            connection.request("GET", f"{parts.path}?{parts.query}", headers=headers)
            answer = connection.getresponse()
            status, body = answer.status, json.loads(answer.read())
    except (OSError, ValueError, HTTPException) as error:
        raise UnusableSettings(f"{parts.scheme}://{parts.netloc} gives no session: {error}") from error
    if status == 401:
        limits = "; a view token opens the page, not the log that a record is made of" if token else ""
        raise UnusableSettings(f"{parts.scheme}://{parts.netloc} wants a token: set PLANSTRIP_TOKEN to its own{limits}")
    if status != 200 or not isinstance(body, dict) or "events" not in body:
        said = body.get("detail") if isinstance(body, dict) else None
        raise UnusableSettings(
            f"{parts.scheme}://{parts.netloc} gives no session ({status}): {said or 'no reason given'}"
        )
    return body


def _entry(event: dict[str, Any]) -> Entry:
    return Entry(event["position"], event["time"], decode(event["type"], json.dumps(event["data"])))
