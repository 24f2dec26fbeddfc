"""`serve --workers N`: processes that share one socket and one PostgreSQL; another takes the place of one that dies."""

import logging
import multiprocessing
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from multiprocessing.process import parent_process
from typing import Final

from planstrip import metrics
from planstrip.db import open_engine, prepare, tells_commits
from planstrip.errors import UnusableSettings
from planstrip.serving import REST_S
from planstrip.settings import Settings

MARGIN_S: Final = 0.5  # a worker that is not cut short by itself by then is killed
MIN_LIFE_S: Final = 1.0  # workers that cannot start are not tried again more often than this
LOOK_S: Final = 0.25  # a signal's handler ends no wait
BACKLOG: Final = 2048  # a thousand viewers may come back at once after a restart
SPREADS: Final = sys.platform == "linux"  # elsewhere the last to listen gets every connection

log = logging.getLogger(__name__)


def check_store(settings: Settings) -> None:
    """Bring the schema up to date before any worker starts. Raises UnusableSettings for a store of one process."""
    engine = open_engine(settings.database_url)
    try:
        if not tells_commits(engine):
            raise UnusableSettings(
                f"workers is {settings.workers}, but a SQLite file takes one writer at a time, and more processes would"
                " wait for each other: name a PostgreSQL with --database-url, or leave --workers out"
            )
        prepare(engine)
    finally:
        engine.dispose()


def spread(listener: socket.socket) -> socket.socket:
    """Its address, for each worker to listen on with a queue of its own, which the system fills evenly.

    From one queue the first to wake takes all that wait: of 50 streams one worker had 49.
    """
    if not SPREADS:
        return listener
    with listener:  # whose own bind has shown that nobody else has this address
        address = listener.getsockname()
    return _beside(listener.family, address)


def _beside(family: int, address: object) -> socket.socket:
    beside = socket.socket(family, socket.SOCK_STREAM)
    beside.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    beside.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    beside.bind(address)  # type: ignore[arg-type]
    return beside


def run_workers(settings: Settings, listener: socket.socket, ending: threading.Event) -> None:
    """Until SIGINT or SIGTERM: then `ending` is set first, and every worker is told to end."""
    context = multiprocessing.get_context("spawn")  # nothing is inherited: neither threads nor connections

    def begin() -> SpawnProcess:
        process = context.Process(target=_work, args=(settings, listener), daemon=True)
        process.start()
        return process

    with _signals(ending):
        workers, began = [begin() for _ in range(settings.workers)], time.monotonic()
        while not ending.is_set():
            wait([worker.sentinel for worker in workers], timeout=LOOK_S)
            for index, worker in enumerate(workers):
                if not worker.is_alive() and not ending.is_set():
                    metrics.process_ended(worker.pid or 0)
                    log.error("worker %s ended with %s; another takes its place", worker.pid, worker.exitcode)
                    ending.wait(began + MIN_LIFE_S - time.monotonic())
                    workers[index], began = begin(), time.monotonic()
    listener.close()  # while it is open the system takes connections that nobody will serve
    _end(workers, settings.drain_s + REST_S + MARGIN_S)


def _work(settings: Settings, listener: socket.socket) -> None:
    from planstrip.main import create_app
    from planstrip.serving import server

    threading.Thread(target=_end_with_parent, name="planstrip-parent", daemon=True).start()
    if SPREADS:
        listener = _beside(listener.family, listener.getsockname())
        listener.listen(BACKLOG)
    server(create_app(settings)).run(sockets=[listener])


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _end(workers: list[SpawnProcess], within_s: float) -> None:
    for worker in workers:
        worker.terminate()
    end = time.monotonic() + within_s
    for worker in workers:
        worker.join(max(0.0, end - time.monotonic()))
        if worker.is_alive():
            log.error("worker %s did not end, and is killed", worker.pid)
            worker.kill()


@contextmanager
def _signals(ending: threading.Event) -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: ending.set())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
