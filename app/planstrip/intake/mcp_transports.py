"""MCP over streamable HTTP: the handshake protocols, and the stateless one of 2026-07-28, on the SDK's transports."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from planstrip.intake.mcp import Context, client_name, make_server, meta_of
from planstrip.intake.mcp_caller import SESSION_HEADER, Caller, Given, digest, identify
from planstrip.intake.mcp_log import LoggedPlans
from planstrip.intake.mcp_owners import Owners
from planstrip.intake.payload import MAX_BODY_BYTES
from planstrip.parts import Parts

CONNECTION: Final = "mcp-session-id"
MAX_OPENED: Final = 20_000  # remembered; twice as many as the SDK keeps open
IDLE_TIMEOUT_S: Final = 24 * 3600  # an agent may wait for a person overnight


@dataclass(slots=True)
class Transports:
    """`unbound` serves the connections that an earlier process of this panel opened: a restart breaks no agent."""

    bound: StreamableHTTPSessionManager
    unbound: StreamableHTTPSessionManager
    _opened: dict[str, None] = field(default_factory=dict)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self.bound.run(), self.unbound.run():
            yield

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = Headers(scope=scope).get(CONNECTION)
        if connection is not None and connection not in self._opened and scope["method"] == "POST":
            await self.unbound.handle_request(scope, receive, send)
            return

        async def send_noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._note(Headers(raw=message["headers"]).get(CONNECTION))
            await send(message)

        await self.bound.handle_request(scope, receive, send_noted)

    def _note(self, opened: str | None) -> None:
        if opened is not None:
            self._opened[opened] = None
            if len(self._opened) > MAX_OPENED:
                del self._opened[next(iter(self._opened))]


def transports(parts: Parts, owners: Owners) -> Transports:
    logging.getLogger("mcp").setLevel(logging.WARNING)  # it tells every connection's id, which is good for writing
    plans = LoggedPlans(parts.engine, parts.writer, parts.settings.allow_parallel_in_progress, owners, parts.masks)
    server = make_server(plans, _identify)
    common: dict[str, Any] = {"json_response": True, "max_request_body_size": MAX_BODY_BYTES}
    return Transports(
        StreamableHTTPSessionManager(server, session_idle_timeout=IDLE_TIMEOUT_S, **common),
        StreamableHTTPSessionManager(server, stateless=True, **common),
    )


def _identify(context: Context) -> Caller:
    request = context.request
    assert isinstance(request, Request)  # every message of these transports has its request
    query = dict(parse_qsl(request.url.query))
    session = query.pop("session", None) or request.headers.get(SESSION_HEADER)
    connection = request.headers.get(CONNECTION)
    given = Given(
        client=client_name(context),
        meta=meta_of(context),
        session=session,
        connection=digest(connection) if connection else None,  # the id itself is good for writing
        cwd=query.get("cwd"),
        project=urlencode(sorted(query.items())),
    )
    return identify(given)
