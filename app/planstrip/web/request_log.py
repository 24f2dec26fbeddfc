"""Each request's id and, where it is wanted, its line in the log: by route, never by address (README, Operation)."""

import logging
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from starlette.routing import BaseRoute, Route
from starlette.types import Scope

from planstrip.intake.check import MAX_ID_CHARS
from planstrip.logs import CONCERN, FIELDS, Concern

SANE: Final = re.compile(r"[A-Za-z0-9._-]{1,100}")
NAMED: Final = re.compile(r"/(?:api/sessions|sessions|embed(?!/sessions/streams$))/([^/]+)")
SECRET: Final = re.compile(r"view_[0-9a-f]{16}", re.IGNORECASE)  # a view token that was put where an id belongs
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
NO_ROUTE: Final = "-"
HIDDEN: Final = "[hidden]"

log = logging.getLogger("planstrip.access")


@dataclass(slots=True)
class Served:
    """A request on its way; `status` is 0 until its answer has begun, and stays so where the client left before."""

    concern: Concern
    method: str
    path: str
    began: float = field(default_factory=time.perf_counter)
    status: int = 0

    @property
    def id(self) -> bytes:
        return self.concern.request_id.encode()


@dataclass(frozen=True, slots=True)
class RequestLog:
    """`routes` are those that may be named; `is_on`: whether each request gets a line."""

    routes: Callable[[], Sequence[BaseRoute]]
    is_on: bool

    def begin(self, scope: Scope, path: str, told: str | None) -> Served:
        """`path` below the prefix; `told` is the client's own `X-Request-ID`, taken where it is sane."""
        is_sane = told is not None and SANE.fullmatch(told) and not SECRET.search(told)
        named = NAMED.match(path)
        concern = Concern(told if told and is_sane else _new_id(), named and _shown(named[1]))
        CONCERN.set(concern)
        return Served(concern, scope["method"], path)

    def end(self, served: Served) -> None:
        if not self.is_on:
            return
        route = self._route(served.path)
        if route == NO_ROUTE:  # then what only looks like a session's id may be anything
            served.concern.session = None
        took_ms = round((time.perf_counter() - served.began) * 1_000, 1)
        method = served.method if served.method in METHODS else "other"
        fields = {"method": method, "route": route, "status": served.status or None, "duration_ms": took_ms}
        log.info("%s %s %s", method, route, served.status or "left", extra={FIELDS: fields})

    def _route(self, path: str) -> str:
        """The template; `-` where no route has the path."""
        fits = (route.path for route in self.routes() if isinstance(route, Route) and route.path_regex.match(path))
        return next(fits, NO_ROUTE)


def _new_id() -> str:
    return f"{random.getrandbits(64):016x}"  # no secret: a write pays for it less than for the system's own


def _shown(session: str) -> str | None:
    if len(session) > MAX_ID_CHARS:
        return None
    return HIDDEN if SECRET.search(session) else session
