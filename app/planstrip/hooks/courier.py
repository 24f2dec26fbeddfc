"""Beside a running panel: what hooks left in its spool while it was away, delivered at start and then and again."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from planstrip.hooks.held import try_again
from planstrip.hooks.post import Panel
from planstrip.hooks.send import deliver
from planstrip.hooks.spool import Spool, spool_of

LOOK_S: Final = 1.0
AT_START_S: Final = 0.2  # the server listens by then, or soon
ROUND_S: Final = 10.0

log = logging.getLogger(__name__)


@contextmanager
def delivering(url: str, token: str | None) -> Iterator[None]:
    """Delivers to the panel at `url` while the block runs."""
    stop = threading.Event()
    courier = threading.Thread(
        target=_run, args=(spool_of(url), Panel(url, token), stop), name="planstrip-courier", daemon=True
    )
    courier.start()
    try:
        yield
    finally:
        stop.set()


def _run(spool: Spool, panel: Panel, stop: threading.Event) -> None:
    try_again(spool.folder)
    wait_s = AT_START_S
    while not stop.wait(wait_s):
        wait_s = LOOK_S
        try:
            if spool.names():
                deliver(spool, panel, time.monotonic() + ROUND_S)
            note = spool.take_note()
        except OSError as error:
            log.warning("the spool of hooks at %s cannot be read: %s", spool.folder, error)
            stop.wait(60.0)
            continue
        if note is not None:
            log.warning("%s payloads of hooks were left out; the last: %s", note.get("count"), note.get("why"))
