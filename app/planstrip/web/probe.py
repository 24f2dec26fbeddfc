"""What `planstrip doctor --url` listens to: how its request came here, and ticks that tell when each was sent."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from planstrip.web.stream import EventStream

TICKS: Final = 5
TICK_S: Final = 0.25  # together shorter than a shutdown may take
PAD: Final = "." * 4096  # as large as a page's first frame: proxies leave small answers uncompressed


async def probe(request: Request) -> Response:
    """A stream that ends by itself. It tells a client nothing but how its own request came."""
    seen = {
        "path": request.scope["raw_path"].decode("latin-1"),
        "host": request.headers.get("host", ""),
        "scheme": request.url.scheme,
        "http_version": request.scope["http_version"],
    }
    return EventStream(_ticks(json.dumps(seen)))


async def _ticks(seen: str) -> AsyncIterator[bytes]:
    start = time.monotonic()
    yield f": {PAD}\nevent: request\ndata: {seen}\n\n".encode()
    for _ in range(TICKS):
        await asyncio.sleep(TICK_S)
        yield f"event: tick\ndata: {round((time.monotonic() - start) * 1000)}\n\n".encode()
