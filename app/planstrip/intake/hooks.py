"""`POST /api/hooks/{agent}`: a hook's payload as that agent sends it (spec.md §10)."""

import asyncio
import hashlib
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from planstrip.errors import NotFound
from planstrip.events import MAX_TIME_MS
from planstrip.hooks.names import AGENTS, agent_of
from planstrip.hooks.post import DELIVERY_HEADER, TIME_HEADER
from planstrip.intake import payload as bodies
from planstrip.intake.mcp_owners import Owners
from planstrip.parts import Parts

if TYPE_CHECKING:
    from planstrip.intake.hooks_door import Door, Taken

MAX_DELIVERY_CHARS: Final = 100


@dataclass(slots=True)
class Hooks:
    """Made with the panel, loaded at the first hook: it needs every reader. What it starts ends with `stop`."""

    parts: Parts
    owners: Owners
    _door: "Door | None" = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, agent: str, payload: dict[str, Any], mark: str, time: int | None) -> "Taken":
        with self._lock:
            if self._door is None:
                from planstrip.intake.hooks_door import Door

                self._door = Door.of(self.parts, self.owners)
        return self._door.take(agent, payload, mark, time)

    def stop(self) -> None:
        if self._door is not None:
            self._door.readers.stop()


async def post_hook(request: Request, agent: str) -> Response:
    """Take in what an agent's hook says: record it, or read on in its transcript where that lies here."""
    known = agent_of(agent)
    if known is None:
        raise NotFound(f"there is no agent {agent[:60]!r}; expected one of {', '.join(sorted(AGENTS))}")
    bodies.content_type(request, bodies.JSON)
    text = bodies.text_of(await bodies.read_body(request))
    payload = bodies.parse_object(text)
    hooks: Hooks = request.app.state.hooks
    taken = await asyncio.to_thread(hooks.take, known, payload, _mark(request, payload, text), _time(request))
    body = {"session": taken.session, "recorded": taken.recorded, "woken": taken.is_woken}
    return JSONResponse(body, status_code=202 if taken.is_woken else 200)


def _mark(request: Request, payload: dict[str, Any], text: str) -> str:
    """Names the payload: an agent's own time or id makes its text unique, else the delivery's id tells repeats."""
    delivery = request.headers.get(DELIVERY_HEADER, "")
    is_unique = "timestamp" in payload or isinstance(payload.get("id"), str) or isinstance(payload.get("event"), dict)
    if not is_unique and 0 < len(delivery) <= MAX_DELIVERY_CHARS and delivery.isprintable():
        return delivery
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _time(request: Request) -> int | None:
    given = request.headers.get(TIME_HEADER, "")
    is_time = given.isdecimal() and len(given) <= 15 and int(given) <= MAX_TIME_MS
    return int(given) if is_time else None
