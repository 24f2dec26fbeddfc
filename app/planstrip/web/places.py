"""Which pages of a browser hold a stream, and which ask now and then: over HTTP/1.1 all of them share six connections.

Such a page tells a random name of its own and its browser's (static/js/places.js); they are kept while it has a stream.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

from starlette.requests import Request

MAX_STREAMS: Final = 4  # of six: pages load, and the others ask, over the two that are left
ASK_MS: Final = 5_000
RETRY_MS: Final = 500
MAX_NAME_CHARS: Final = 64


@dataclass(frozen=True, slots=True)
class Page:
    name: str
    browser: str


def page_of(request: Request) -> Page | None:
    """None where all may hold streams: over HTTP/2, and for whoever is no page of ours.

    A browser that lets a frame keep nothing names itself by its address and its kind: the best that is left.
    """
    told = request.headers.get("planstrip-browser")
    if told is None:
        return None
    name, _, browser = told.partition(" ")
    client = f"{request.client.host if request.client else ''} {request.headers.get('user-agent', '')}"
    return Page(name[:MAX_NAME_CHARS], browser[:MAX_NAME_CHARS] or client)


@dataclass(slots=True)
class Places:
    _held: dict[str, dict[str, object]] = field(default_factory=dict)

    def held(self, browser: str) -> int:
        return len(self._held.get(browser, ()))

    @property
    def total(self) -> int:
        return sum(map(len, self._held.values()))

    async def stream(
        self, page: Page | None, chunks: Callable[[bool], AsyncGenerator[bytes, None]]
    ) -> AsyncGenerator[bytes, None]:
        """`chunks(waits)`, and how soon to come back when they end; `waits` False: what is there at once alone."""
        if page is None:
            async with aclosing(chunks(True)) as stream:
                async for chunk in stream:
                    yield chunk
            return
        held, place = self._held.setdefault(page.browser, {}), object()
        waits = page.name in held or len(held) < MAX_STREAMS
        if waits:
            held[page.name] = place  # also for one that comes back before its old connection is known to be gone
        try:
            retry = f"retry: {RETRY_MS if waits else ASK_MS}\n".encode()
            async with aclosing(chunks(waits)) as stream:
                async for chunk in stream:
                    yield retry + chunk
                    retry = b""
        finally:
            if held.get(page.name) is place:
                del held[page.name]
            if not held and self._held.get(page.browser) is held:
                del self._held[page.browser]
