"""Runs the panel under uvicorn, and ends it in time: open streams are told before the server waits for them."""

import logging
import signal
import socket
import sys
import threading
import webbrowser
from contextlib import ExitStack
from types import FrameType
from typing import Final

import uvicorn

from planstrip.errors import UnusableSettings
from planstrip.hooks.courier import delivering
from planstrip.main import create_app
from planstrip.settings import Settings
from planstrip.web.access_log import set_up_access_log
from planstrip.web.guard import Guard
from planstrip.writer import Writer

GRACE_S: Final = 1  # a reader that takes nothing must not hold the shutdown


class Server(uvicorn.Server):
    """`guard` is the app that it serves."""

    def __init__(self, config: uvicorn.Config, guard: Guard) -> None:
        super().__init__(config)
        self._guard = guard
        self.ending = threading.Event()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End in order, with exit code 0: uvicorn's own would raise the signal again at the end."""
        self.ending.set()
        self._guard.app.state.parts.hub.close()  # type: ignore[attr-defined]
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def run_server(settings: Settings, *, open_browser: bool = False, is_watching: bool = False) -> int:
    """Serve until a signal. Raises UnusableSettings when the address cannot be had, StoreUnusable for the database."""
    if settings.workers > 1:
        return _run_several(settings, open_browser=open_browser, is_watching=is_watching)
    guard = create_app(settings)
    listener = _listening(settings, open_browser=open_browser)
    running = server(guard)
    with ExitStack() as beside:
        beside.enter_context(delivering(_own_address(settings, listener), settings.secret))
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
    _log_to_stderr()
    with ExitStack() as beside:
        beside.enter_context(delivering(_own_address(settings, listener), settings.secret))
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
    print(f"planstrip: {address}", file=sys.stderr, flush=True)
    if open_browser:
        webbrowser.open(address)
    return listener


def server(guard: Guard) -> Server:
    _log_to_stderr()
    config = uvicorn.Config(
        guard,
        log_config=None,
        access_log=guard.settings.access_log,
        ws="none",
        lifespan="on",
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
    )  # a proxy's X-Forwarded-Proto is believed from loopback, or from FORWARDED_ALLOW_IPS
    set_up_access_log(is_on=guard.settings.access_log)
    return Server(config, guard)


def _log_to_stderr() -> None:
    logging.basicConfig(level=logging.INFO, format="planstrip: %(levelname)s %(message)s", stream=sys.stderr)
    for name in ("uvicorn", "watchfiles"):  # the one says what we say better, the other tells every change
        logging.getLogger(name).setLevel(logging.WARNING)


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
