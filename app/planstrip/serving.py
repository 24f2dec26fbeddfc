"""Runs the panel under uvicorn, and ends it in time: open streams are told before the server waits for them."""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
import threading
import time
import webbrowser
from contextlib import ExitStack
from types import FrameType
from typing import Final

import uvicorn

from planstrip import logs, metrics
from planstrip.deadlines import timed
from planstrip.errors import UnusableSettings
from planstrip.hooks.courier import delivering
from planstrip.keeping import keeping
from planstrip.main import create_app
from planstrip.settings import Settings
from planstrip.web.guard import Guard
from planstrip.web.limited import SPARE_FILES
from planstrip.web.request_log import log as request_log
from planstrip.web.stream import STREAM
from planstrip.writer import Writer

log = logging.getLogger(__name__)

GRACE_S: Final = 1.0  # a stream's reader that takes nothing must not hold the shutdown
STEP_S: Final = 0.1
REST_S: Final = 4.0  # for what comes after the requests: the writer, the readers of transcripts
# Looking through all that 2,000 viewers keep alive takes half a second in which no frame goes out; by default that is
# every few seconds under load, for cycles that are few: with these, about twice an hour.
COLLECTING: Final = (10_000, 20, 1_000)


class Server(uvicorn.Server):
    """`guard` is the app that it serves."""

    def __init__(self, config: uvicorn.Config, guard: Guard) -> None:
        super().__init__(config)
        self._guard = guard
        self.ending = threading.Event()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End in order, with exit code 0: uvicorn's own would raise the signal again at the end."""
        if not self.ending.is_set():
            last = threading.Timer(self._guard.settings.drain_s + REST_S, _give_up)
            last.daemon = True
            last.start()
        self.ending.set()
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let nobody in, end the streams, answer the requests that run, then stop the writer."""
        for listening in (*self.servers, *(sockets or ())):
            listening.close()
        self._guard.app.state.parts.hub.close()  # type: ignore[attr-defined]
        ending = asyncio.create_task(self._end_connections())
        try:
            await super().shutdown(sockets)
        finally:
            ending.cancel()

    async def _end_connections(self) -> None:
        """Also those that came as the door was shut, and those of streams that have ended and are not taken."""
        began = time.monotonic()
        while True:
            await asyncio.sleep(STEP_S)
            for connection in list(self.server_state.connections):
                connection.shutdown()
                cycle = getattr(connection, "cycle", None)
                is_stream = cycle is not None and STREAM in cycle.scope["state"]
                if is_stream and time.monotonic() > began + GRACE_S:
                    connection.transport.abort()


def _give_up() -> None:
    """What was acknowledged is durable; what hangs, a store that does not answer, may not hang forever."""
    log.error("the shutdown took too long and was cut short")
    logging.shutdown()
    os._exit(1)


def run_server(settings: Settings, *, open_browser: bool = False, is_watching: bool = False) -> int:
    """Serve until a signal. Raises UnusableSettings when the address cannot be had, StoreUnusable for the database."""
    if settings.workers > 1:
        return _run_several(settings, open_browser=open_browser, is_watching=is_watching)
    guard = create_app(settings)
    listener = _listening(settings, open_browser=open_browser)
    running = server(guard)
    with ExitStack() as beside:
        beside.enter_context(delivering(_own_address(settings, listener), settings.secret))
        beside.enter_context(keeping(settings))
        if is_watching:
            writer = guard.app.state.parts.writer  # type: ignore[attr-defined]
            _watch(beside, writer, running.ending)
        running.run(sockets=[listener])
    return 0


def _run_several(settings: Settings, *, open_browser: bool, is_watching: bool) -> int:
    """What is there once, the spool's courier and the transcripts' reader, is in the process that the workers have."""
    from planstrip.workers import check_store, run_workers, spread
    from planstrip.writing import writing

    check_store(settings)
    listener, ending = spread(_listening(settings, open_browser=open_browser)), threading.Event()
    set_up_logs(settings)
    with ExitStack() as beside:
        beside.enter_context(metrics.shared())
        beside.enter_context(delivering(_own_address(settings, listener), settings.secret))
        beside.enter_context(keeping(settings))
        if is_watching:
            _watch(beside, beside.enter_context(writing(settings.database_url)), ending)
        run_workers(settings, listener, ending)
    return 0


def _watch(beside: ExitStack, writer: Writer, ending: threading.Event) -> None:
    from planstrip.transcribing import folders_of, transcribing

    beside.enter_context(transcribing(writer, folders_of([]), ending))


def _listening(settings: Settings, *, open_browser: bool) -> socket.socket:
    """Listens, and says where."""
    listener = listen(settings.host, settings.port)
    address = address_of(settings, listener)
    if settings.log_format == "json":
        set_up_logs(settings)
        log.info("serving %s", address)
    else:
        print(f"planstrip: {address}", file=sys.stderr, flush=True)
    if open_browser:
        webbrowser.open(address)
    return listener


def server(guard: Guard) -> Server:
    set_up_logs(guard.settings)
    _allow_files(guard.settings.max_streams)
    gc.freeze()  # what is there by now stays
    gc.set_threshold(*COLLECTING)
    config = uvicorn.Config(
        guard,
        log_config=None,
        http=timed(guard.settings.client_timeout_s),
        access_log=False,
        ws="none",
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=guard.settings.drain_s,
    )  # a proxy's X-Forwarded-Proto is believed from loopback, or from FORWARDED_ALLOW_IPS
    return Server(config, guard)


def set_up_logs(settings: Settings) -> None:
    logs.set_up(settings.log_format, settings.log_level)
    if settings.access_log:
        request_log.setLevel(logging.INFO)


def _allow_files(streams: int) -> None:
    """Systems allow 1,024 open files where nobody asks for more, and each stream is one."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = streams + SPARE_FILES
    wanted = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)  # a thousand viewers may come back at once after a restart
    except OSError as error:
        listener.close()
        raise UnusableSettings(
            f"cannot listen on {host} port {port}: {error.strerror}; choose another --port"
        ) from None
    return listener


def address_of(settings: Settings, listener: socket.socket) -> str:
    return settings.model_copy(update={"port": listener.getsockname()[1]}).base_url + "/"


def _own_address(settings: Settings, listener: socket.socket) -> str:
    """Where this process reaches itself: one that listens everywhere does on loopback as well."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104 - told apart, not bound
    return address_of(settings.model_copy(update={"host": host}), listener).rstrip("/")
