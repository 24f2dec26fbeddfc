"""`create_app`: the one place that wires the parts and mounts the routes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI

from planstrip import __version__, metrics
from planstrip.db import open_engine, prepare
from planstrip.follower import Follower
from planstrip.intake.hooks import Hooks
from planstrip.intake.mcp_http import McpEndpoint
from planstrip.intake.mcp_owners import Owners
from planstrip.masks import Masks, masks_of
from planstrip.parts import Parts
from planstrip.projection import StandingProjector
from planstrip.refolding import refold_outdated
from planstrip.room import Room
from planstrip.settings import Settings
from planstrip.web import failures
from planstrip.web.guard import Guard
from planstrip.web.limited import Limited
from planstrip.web.live import Hub
from planstrip.web.request_log import RequestLog
from planstrip.web.routes import add_routes
from planstrip.web.shortcut import Shortcut
from planstrip.web.view_door import ViewDoor
from planstrip.writer import Writer
from planstrip.writing import now_ms

if TYPE_CHECKING:
    from planstrip.web.render import Renderer


def create_app(settings: Settings) -> Guard:
    """The panel as an ASGI app. Raises StoreUnusable when its database is not one that it can use."""
    metrics.switch_on()
    engine = open_engine(settings.database_url)
    prepare(engine)
    masks = masks_of(settings.mask)
    hub = Hub(engine, now_ms, masks)
    room = Room(settings.max_sessions, settings.max_session_events)
    writer = Writer(engine, StandingProjector(), now_ms, on_commit=hub.wake, room=room)
    parts = Parts(settings, engine, writer, hub, cache(partial(_renderer, settings.root_path, masks)), now_ms, masks)
    app = FastAPI(
        title="planstrip",
        version=__version__,
        description="The live plan panel for coding agents.",
        servers=[{"url": settings.root_path or "/"}],
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=_lifespan(parts),
        telemetry={"tracing": False, "logs": False},  # a span holds the query, a log record an error's words
        exception_handlers=failures.HANDLERS,
    )
    app.state.parts = parts
    owners = Owners()
    app.state.mcp = McpEndpoint(parts, owners)
    app.state.hooks = Hooks(parts, owners)
    guard = app.state.guard = Guard(
        Limited(Shortcut(app), app, settings),
        settings,
        ViewDoor(engine, now_ms),
        RequestLog(lambda: app.routes, is_on=settings.access_log),
    )
    add_routes(app)
    return guard


def _renderer(root: str, masks: Masks) -> "Renderer":
    from planstrip.web.assets import Assets
    from planstrip.web.render import Renderer

    return Renderer(Assets(root), root, masks)


def _lifespan(parts: Parts) -> Any:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        hub = parts.hub
        hub.bind(asyncio.get_running_loop())
        follower = Follower(parts.engine, hub.is_watched, hub.wake, lambda: parts.writer.backend, hub.doubt)
        parts.writer.start()
        follower.start()
        loading = asyncio.create_task(asyncio.to_thread(metrics.load))
        refolding = asyncio.create_task(asyncio.to_thread(refold_outdated, parts.engine, parts.writer))
        try:
            yield
        finally:
            hub.close()
            await app.state.mcp.stop()
            await asyncio.to_thread(app.state.hooks.stop)
            await asyncio.to_thread(follower.stop)
            await asyncio.to_thread(parts.writer.stop)
            await asyncio.gather(loading, refolding)
            hub.dispose()
            parts.engine.dispose()

    return lifespan
