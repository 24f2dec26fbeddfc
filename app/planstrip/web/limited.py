"""How much one client may ask for: writes and new streams a minute, and streams that are open (README, "Limits")."""

import asyncio
import ipaddress
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from fastapi import FastAPI
from starlette.datastructures import State
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from planstrip.errors import Crowded, PlanstripError, Said, TooMany
from planstrip.errors import msgid as _
from planstrip.settings import Settings
from planstrip.web.failures import response_to
from planstrip.web.readers import READER, Reader

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
SPARE_FILES: Final = 128  # for the store, the log and the requests that are no streams
SHARE: Final = 100  # a client is given its writes by the hundredth, since asking takes longer than a write may
MAX_GRANT: Final = 100
WINDOW_S: Final = 60
MAX_CLIENTS: Final = 10_000
TOO_MANY_WRITES: Final = _("too many writes in a minute come from here (limit: %(limit)d); send it again later")
TOO_MANY_OPENED: Final = _("too many streams are opened from here in a minute (limit: %(limit)d); try again later")
TOO_MANY_STREAMS: Final = _("too many streams are open from here (limit: %(limit)d); close some")
CROWDED: Final = _("too many streams are open (limit: %(limit)d); try again later")


@dataclass(slots=True)
class Rate:
    """So many a minute of one client, in a window that slides."""

    limit: int
    said: str
    _granted: dict[str, int] = field(default_factory=dict)
    _window: Callable[[str, int], int] | None = None

    async def take(self, client: str) -> None:
        """Raises TooMany."""
        left = self._granted.get(client, 0)
        if left:
            self._granted[client] = left - 1
            return
        if len(self._granted) >= MAX_CLIENTS:  # what is forgotten is asked for again
            self._granted.clear()
        grant = min(max(self.limit // SHARE, 1), MAX_GRANT)
        if self._window is None:
            self._window = await asyncio.to_thread(_window, self.limit)
        wait_s = self._window(client, grant)
        if wait_s:
            raise TooMany(Said(self.said, limit=self.limit), wait_s)
        self._granted[client] = self._granted.get(client, 0) + grant - 1


@dataclass(slots=True)
class Limited:
    """ASGI inside the guard, which has told who asks. What is over a limit reaches no route and changes nothing."""

    app: ASGIApp
    panel: FastAPI
    settings: Settings
    _writes: Rate = field(init=False)
    _opened: Rate = field(init=False)
    _streams: dict[str, int] = field(default_factory=dict)
    _total: int = 0

    def __post_init__(self) -> None:
        self._writes = Rate(self.settings.writes_per_minute, TOO_MANY_WRITES)
        self._opened = Rate(self.settings.streams_per_minute, TOO_MANY_OPENED)

    @property
    def state(self) -> State:
        return self.panel.state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        client, is_stream = client_of(scope), _is_stream(scope)
        try:
            if scope["method"] not in SAFE_METHODS:
                await self._writes.take(client)
            elif is_stream:
                await self._opened.take(client)
                self._check_streams(client)
        except PlanstripError as error:
            request = Request({**scope, "app": self.panel}, receive, send)
            await response_to(request, error)(scope, receive, send)
            return
        if is_stream:
            await self._stream(client, scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _check_streams(self, client: str) -> None:
        most = min(self.settings.max_streams, _max_files() - SPARE_FILES)
        if self._total >= most:
            raise Crowded(Said(CROWDED, limit=most))
        if self._streams.get(client, 0) >= self.settings.max_client_streams:
            raise TooMany(Said(TOO_MANY_STREAMS, limit=self.settings.max_client_streams), 10)

    async def _stream(self, client: str, scope: Scope, receive: Receive, send: Send) -> None:
        self._total += 1
        self._streams[client] = self._streams.get(client, 0) + 1
        try:
            await self.app(scope, receive, send)
        finally:
            self._total -= 1
            self._streams[client] -= 1
            if not self._streams[client]:
                del self._streams[client]


def client_of(scope: Scope) -> str:
    """A guest's token, or the address: of IPv6 the network, of which one machine has every address."""
    reader: Reader | None = scope.get(READER)
    if reader is not None and reader.view is not None:
        return f"view {reader.view.id}"
    host: str = scope["client"][0] if scope.get("client") else ""
    return _network(host) if ":" in host else host


def _window(limit: int) -> Callable[[str, int], int]:
    """Takes so many for a client, or says after how many seconds there is room again; 0: taken."""
    from limits import RateLimitItemPerMinute  # a quarter of a start's time, for which no start waits
    from limits.storage import MemoryStorage
    from limits.strategies import SlidingWindowCounterRateLimiter

    limiter, item = SlidingWindowCounterRateLimiter(MemoryStorage()), RateLimitItemPerMinute(limit)

    def take(client: str, count: int) -> int:
        if limiter.hit(item, client, cost=count):
            return 0
        opens_s = limiter.get_window_stats(item, client).reset_time - time.time()
        return min(max(math.ceil(opens_s), 1), WINDOW_S)

    return take


def _network(host: str) -> str:
    try:
        address = ipaddress.IPv6Address(host.partition("%")[0])
    except ValueError:
        return host
    return str(address.ipv4_mapped or ipaddress.IPv6Network((int(address) >> 64 << 64, 64)))


def _is_stream(scope: Scope) -> bool:
    path: str = scope["path"]
    return scope["method"] == "GET" and path.endswith(("/stream", "/streams", "/mcp"))


def _max_files() -> int:
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return 1 << 20
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 20 if soft == resource.RLIM_INFINITY else soft
