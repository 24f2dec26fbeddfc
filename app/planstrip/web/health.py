"""Liveness with the store's state, and figures for Prometheus (spec.md §10)."""

import time
from functools import lru_cache
from typing import Any

from sqlalchemy import Engine, func, select
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from planstrip import __version__
from planstrip.db import said_by, unwritable
from planstrip.parts import parts_of
from planstrip.tables import events, sessions


def healthz(request: Request) -> Response:
    """200 while the store can be read and written, 503 when it cannot."""
    parts = parts_of(request)
    fault = _fault(parts.engine, int(time.monotonic()))
    if fault is not None:
        return JSONResponse({"status": "failing", "store": fault[:200]}, 503)
    policy = parts.settings.allow_parallel_in_progress
    body: dict[str, Any] = {"status": "ok", "store": "ok", "version": __version__, "allow_parallel_in_progress": policy}
    return JSONResponse(body)


@lru_cache(maxsize=4)
def _fault(engine: Engine, _second: int) -> str | None:
    """What keeps the store from being used. Looked for once a second: asking takes the writers' lock."""
    try:
        with engine.connect() as connection:
            connection.execute(select(sessions.c.id).limit(1)).first()
        return unwritable(engine)
    except SQLAlchemyError as error:
        return said_by(error)


def metrics(request: Request) -> Response:
    """Figures for Prometheus."""
    parts = parts_of(request)
    with parts.engine.connect() as connection:
        known = connection.execute(select(func.count()).select_from(sessions)).scalar_one()
        head = connection.execute(select(func.coalesce(func.max(events.c.id), 0))).scalar_one()
    figures = (
        ("planstrip_sessions", "gauge", "Sessions in the store.", known),
        ("planstrip_events", "counter", "Events appended to the store.", head),
        ("planstrip_streams", "gauge", "Open streams of this process.", parts.hub.viewers),
        ("planstrip_appends_total", "counter", "Appends that this process has committed.", parts.writer.appends),
        ("planstrip_commits_total", "counter", "Commits that they shared.", parts.writer.commits),
    )
    lines = [f"# HELP {name} {text}\n# TYPE {name} {kind}\n{name} {value}\n" for name, kind, text, value in figures]
    return PlainTextResponse("".join(lines), media_type="text/plain; version=0.0.4; charset=utf-8")
