"""Ends the streams of a view token that has ended, or that no longer opens what they show."""

import asyncio
import logging
from contextvars import Context
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from sqlalchemy.exc import SQLAlchemyError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from planstrip.view_tokens import ViewToken
from planstrip.web.view_door import Asked, ViewDoor

LOOK_S: Final = 2.0

Key: TypeAlias = tuple[str, Asked]

log = logging.getLogger(__name__)


@dataclass(slots=True)
class ViewWatch:
    """Looks once for all viewers who hold the same token, and only while there are any. Belongs to the loop."""

    door: ViewDoor
    _ended: dict[Key, "asyncio.Future[None]"] = field(default_factory=dict)
    _viewers: dict[Key, int] = field(default_factory=dict)
    _looking: "asyncio.Task[None] | None" = None

    async def stream(
        self, app: ASGIApp, scope: Scope, receive: Receive, send: Send, token: ViewToken, asked: Asked
    ) -> None:
        """Run a stream's request; when the token ends, the app sees its reader leave, and the reader its end."""
        key, is_open = (token.id, asked), False
        ended = self._enter(key)

        async def receive_until_ended() -> Message:
            coming = asyncio.ensure_future(receive())
            try:
                await asyncio.wait((coming, ended), return_when=asyncio.FIRST_COMPLETED)
                return coming.result() if coming.done() else {"type": "http.disconnect"}
            finally:
                coming.cancel()

        async def send_noting(message: Message) -> None:
            nonlocal is_open
            is_open = message["type"] == "http.response.start" or bool(message.get("more_body"))
            await send(message)

        try:
            await app(scope, receive_until_ended, send_noting)
            if ended.done() and is_open:
                await send({"type": "http.response.body", "body": b""})
        finally:
            self._leave(key)

    def _enter(self, key: Key) -> "asyncio.Future[None]":
        if key not in self._ended:
            self._ended[key] = asyncio.get_running_loop().create_future()
        self._viewers[key] = self._viewers.get(key, 0) + 1
        if self._looking is None:
            self._looking = asyncio.create_task(self._look(), context=Context())
        return self._ended[key]

    def _leave(self, key: Key) -> None:
        self._viewers[key] -= 1
        if not self._viewers[key]:
            del self._viewers[key], self._ended[key]
        if not self._viewers and self._looking is not None:
            self._looking.cancel()
            self._looking = None

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                over = await asyncio.to_thread(self._over, list(self._ended))
            except SQLAlchemyError:
                log.exception("looking for ended view tokens failed, trying again")
                continue
            for key in over:
                if key in self._ended and not self._ended[key].done():
                    self._ended[key].set_result(None)

    def _over(self, keys: list[Key]) -> list[Key]:
        return [(token_id, asked) for token_id, asked in keys if not self.door.is_open_still(token_id, asked)]
