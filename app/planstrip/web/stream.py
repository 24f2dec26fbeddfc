"""Server-sent events: a page's or a frame's own partials, and the plan as JSON (spec.md §8)."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from planstrip import metrics
from planstrip.errors import Invalid
from planstrip.intake.check import check_session_id
from planstrip.parts import parts_of
from planstrip.plan.todos import Problem
from planstrip.plan.view import View
from planstrip.web.api import SessionId, plan_json
from planstrip.web.channels import Base, Kind
from planstrip.web.languages import negotiate, translations
from planstrip.web.merged import merged
from planstrip.web.places import page_of
from planstrip.web.readers import reader_of
from planstrip.web.sse import sse

if TYPE_CHECKING:
    from planstrip.web.frames import Frames

STREAM: Final = "planstrip.stream"  # in the state of a request that is answered by one
HEADERS: Final = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
}


class EventStream(Response):
    """Sends chunks as they come, and stops as soon as the reader has gone; never compressed, never buffered."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._chunks = chunks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        scope.setdefault("state", {})[STREAM] = True
        metrics.streams_changed(1)
        sending = asyncio.ensure_future(self._send(send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            metrics.streams_changed(-1)
            sending.cancel()
            leaving.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)

    async def _send(self, send: Send) -> None:
        try:
            async for chunk in self._chunks:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            await self._chunks.aclose()  # type: ignore[attr-defined]


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def session_stream(request: Request) -> Response:
    """The HTML stream of a session's page."""
    frames = _frames(request)
    is_guest = frames.reader.is_guest  # who is shown no other session, and none of their changes
    name = f"page {frames.lang} {frames.reader.key}"
    kind = Kind(name, frames.page, lambda view: view.changed, lambda view: 0 if is_guest else view.family.serial)
    return _stream(request, frames.session, kind)


async def embed_stream(request: Request) -> Response:
    """The HTML stream of a frame of one session."""
    from planstrip.web.embed import rows_of
    from planstrip.web.framed import Framing

    session = check_session_id(request.path_params["session"])
    return _stream(request, session, Framing(parts_of(request), _language(request)).alone(session, rows_of(request)))


async def several_stream(request: Request) -> Response:
    """The one HTML stream of a frame of several sessions; each of its frames is whole, so nobody is behind."""
    from planstrip.web.embed import sessions_of
    from planstrip.web.framed import Framing

    hub, framing = parts_of(request).hub, Framing(parts_of(request), _language(request))
    sessions = sessions_of(request)
    return _sharing(
        request,
        lambda waits: merged(
            hub.frames(hub.session(one), framing.beside_others(one), 0, waits=waits) for one in sessions
        ),
    )


async def board_stream(request: Request) -> Response:
    """The HTML stream of the board, for the query of its page."""
    from planstrip.web import board_labels, board_live, pins
    from planstrip.web.board import query_of

    parts, reader, lang = parts_of(request), reader_of(request), _language(request)
    query = board_labels.own_query(request.query_params, reader)
    root, tr = parts.settings.root_path, translations(lang)
    frames = board_live.BoardFrames(
        parts.renderer, lang, lambda board: board_labels.board_list(board, root, query, tr, reader)
    )
    shown = {
        name: value for name, value in query.items() if name not in reader.kept
    }  # no token stands in a topic's name
    asked = pins.marking(query_of(query, reader), request)
    marked = urlencode({"pinned": asked.pinned, "muted": asked.muted}, doseq=True)
    topic = board_live.topic(parts, asked, f"{reader.key}?{urlencode(sorted(shown.items()))}#{marked}")
    # It holds a version of this very process: whoever comes gets the list whole.
    kind = Kind(f"board {lang}", frames.build, lambda view: view.version)
    return _sharing(request, lambda waits: parts.hub.frames(topic, kind, 0, waits=waits))


async def plan_stream(request: Request, session: SessionId) -> Response:
    """The plan as JSON over SSE, whenever it changes; a session that does not exist yet is waited for."""
    check_session_id(session)
    kind = Kind("json", partial(_plan_frame, session), lambda view: view.standing.position)
    return _stream(request, session, kind)


def _frames(request: Request) -> "Frames":
    from planstrip.web.frames import Frames  # with the templates, which no start waits for

    parts, session = parts_of(request), check_session_id(request.path_params["session"])
    return Frames(parts.renderer, session, _language(request), parts.clock, reader_of(request))


def _language(request: Request) -> str:
    return negotiate(request.query_params.get("lang"), request.headers.get("accept-language"))


def _stream(request: Request, session: str, kind: Kind[View]) -> Response:
    hub, after = parts_of(request).hub, _position(request)
    is_back = "last-event-id" in request.headers
    return _sharing(
        request,
        lambda waits: hub.frames(hub.session(session), kind, after, waits=waits, is_new=waits or not is_back),
    )


def _sharing(request: Request, chunks: Callable[[bool], AsyncGenerator[bytes, None]]) -> Response:
    return EventStream(parts_of(request).hub.places.stream(page_of(request), chunks))


def _plan_frame(session: str, view: View, base: Base, is_first: bool) -> bytes | None:
    standing = view.standing
    if not is_first and standing.plan_changed <= base.position:
        return None
    data = json.dumps(plan_json(session, standing.position, standing.plan), ensure_ascii=False, separators=(",", ":"))
    return sse(data, position=standing.position, event="plan")


def _position(request: Request) -> int:
    """On reconnect the browser comes back to the same URL: what it last saw wins over the page's `after`."""
    given = request.headers.get("last-event-id") or request.query_params.get("after") or "0"
    if not given.isascii() or not given.isdecimal() or len(given) > 18:
        message = f"after is {given[:40]!r}; expected a position, 0 or more"
        raise Invalid(message, [Problem("after", message)])
    return int(given)
