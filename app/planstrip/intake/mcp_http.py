"""`/mcp` as the app mounts it: MCP's SDK takes a second to load, and does so at the first request."""

import asyncio
from contextvars import Context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from planstrip.intake.mcp_owners import Owners
from planstrip.parts import Parts

if TYPE_CHECKING:
    from planstrip.intake.mcp_transports import Transports


@dataclass(slots=True)
class McpEndpoint:
    """An ASGI app. What it starts ends with `stop`."""

    parts: Parts
    owners: Owners
    _transports: "asyncio.Future[Transports] | None" = None
    _task: "asyncio.Task[None] | None" = None
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # No stream is offered, which the protocol allows: the panel never speaks unasked, and shutdown has none to end.
        if scope["method"] not in ("POST", "DELETE"):
            await Response(status_code=405, headers={"Allow": "POST, DELETE"})(scope, receive, send)
            return
        if self._transports is None:
            self._transports = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._run(self._transports), context=Context())
        transports = await asyncio.shield(self._transports)
        await transports.handle(scope, receive, send)

    async def stop(self) -> None:
        self._stopping.set()
        if self._task is not None:
            await self._task

    async def _run(self, transports: "asyncio.Future[Transports]") -> None:
        """Holds the connections' tasks: they must end in the task that they began in."""
        try:
            made = await asyncio.to_thread(_load, self.parts, self.owners)
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to who asked
            self._transports = None  # the next request tries again
            transports.set_exception(error)
            return
        async with made.running():
            transports.set_result(made)
            await self._stopping.wait()


def _load(parts: Parts, owners: Owners) -> "Transports":
    from planstrip.intake.mcp_transports import transports

    return transports(parts, owners)
