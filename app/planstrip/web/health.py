"""Liveness with the store's state, and figures for Prometheus (spec.md §10)."""

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Engine, func, select
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from planstrip import __version__
from planstrip.db import logged, said_by, unwritable
from planstrip.metrics import exposition
from planstrip.parts import parts_of
from planstrip.tables import events, sessions
from planstrip.web.guard import shows

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

DOES_NOT: Final = "it does not answer, or refuses: the server's log says how"

log = logging.getLogger(__name__)


def healthz(request: Request) -> Response:
    """200 while the store can be read and written, 503 when it cannot."""
    parts = parts_of(request)
    fault = _fault(parts.engine, int(time.monotonic()))
    if fault is not None:
        (said, driver_said), secret = fault, parts.settings.secret
        is_known = secret is None or shows(request.headers.get("authorization", ""), secret)
        told = driver_said if driver_said and is_known else said
        return JSONResponse({"status": "failing", "store": told[:200]}, 503)
    policy = parts.settings.allow_parallel_in_progress
    body: dict[str, Any] = {"status": "ok", "store": "ok", "version": __version__, "allow_parallel_in_progress": policy}
    return JSONResponse(body)


@lru_cache(maxsize=4)
def _fault(engine: Engine, _second: int) -> tuple[str, str] | None:
    """What keeps the store from being used, in our words, and in the driver's, which may name hosts and paths.

    Looked for once a second: asking takes the writers' lock.
    """
    try:
        with engine.connect() as connection:
            connection.execute(select(sessions.c.id).limit(1)).first()
        found = unwritable(engine)
    except SQLAlchemyError as error:
        log.warning("the store is failing: %s", logged(error))
        return DOES_NOT, said_by(error)
    return None if found is None else (found, "")


def metrics(request: Request) -> Response:
    """Figures for Prometheus."""
    text, content_type = exposition(request.headers.get("accept", ""), _Stored(parts_of(request).engine))
    return Response(text, headers={"Content-Type": content_type})


@dataclass(frozen=True, slots=True)
class _Stored:
    """What is read from the store as it is asked for; all else is told while the store is away, too."""

    engine: Engine

    def collect(self) -> "Iterator[Metric]":
        from prometheus_client.core import GaugeMetricFamily

        try:
            with self.engine.connect() as connection:
                known = connection.execute(select(func.count()).select_from(sessions)).scalar_one()
                head = connection.execute(select(func.coalesce(func.max(events.c.id), 0))).scalar_one()
        except SQLAlchemyError:
            yield GaugeMetricFamily("planstrip_store_up", "Whether the store answers.", 0)
            return
        yield GaugeMetricFamily("planstrip_store_up", "Whether the store answers.", 1)
        yield GaugeMetricFamily("planstrip_sessions", "Sessions in the store.", known)
        yield GaugeMetricFamily("planstrip_events", "The number of the store's newest event.", head)
