"""`create_app`: the one place that wires the parts and mounts the routes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI

from planstrip import __version__
from planstrip.db import open_engine, prepare
from planstrip.follower import Follower
from planstrip.intake.hooks import Hooks
from planstrip.intake.mcp_http import McpEndpoint
from planstrip.intake.mcp_owners import Owners
from planstrip.parts import Parts
from planstrip.projection import StandingProjector
from planstrip.refolding import refold_outdated
from planstrip.settings import Settings
from planstrip.web import failures
from planstrip.web.guard import Guard
from planstrip.web.live import Hub
from planstrip.web.routes import add_routes
from planstrip.web.shortcut import Shortcut
from planstrip.web.view_door import ViewDoor
from planstrip.writer import Writer
from planstrip.writing import now_ms

if TYPE_CHECKING:
    from planstrip.web.render import Renderer


def create_app(settings: Settings) -> Guard:
    """The panel as an ASGI app. Raises StoreUnusable when its database is not one that it can use."""
    engine = open_engine(settings.database_url)
    prepare(engine)
    hub = Hub(engine, now_ms)
    writer = Writer(engine, StandingProjector(), now_ms, on_commit=hub.wake)
    parts = Parts(settings, engine, writer, hub, cache(partial(_renderer, settings.root_path)), now_ms)
    app = FastAPI(
        title="planstrip",
        version=__version__,
        description="The live plan panel for coding agents.",
        servers=[{"url": settings.root_path or "/"}],
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=_lifespan(parts),
        exception_handlers=failures.HANDLERS,
    )
    app.state.parts = parts
    owners = Owners()
    app.state.mcp = McpEndpoint(parts, owners)
    app.state.hooks = Hooks(parts, owners)
    guard = app.state.guard = Guard(Shortcut(app), settings, ViewDoor(engine, now_ms))
    add_routes(app)
    return guard


def _renderer(root: str) -> "Renderer":
    from planstrip.web.assets import Assets
    from planstrip.web.render import Renderer

    return Renderer(Assets(root), root)


def _lifespan(parts: Parts) -> Any:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        hub = parts.hub
        hub.bind(asyncio.get_running_loop())
        follower = Follower(parts.engine, hub.is_watched, hub.wake, lambda: parts.writer.backend, hub.doubt)
        parts.writer.start()
        follower.start()
        refolding = asyncio.create_task(asyncio.to_thread(refold_outdated, parts.engine, parts.writer))
        try:
            yield
        finally:
            hub.close()
            await app.state.mcp.stop()
            await asyncio.to_thread(app.state.hooks.stop)
            await asyncio.to_thread(follower.stop)
            await asyncio.to_thread(parts.writer.stop)
            await refolding
            parts.engine.dispose()

    return lifespan
