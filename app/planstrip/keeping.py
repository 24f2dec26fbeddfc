"""`serve --keep-days N --archive-to FOLDER`: archives what has rested for so long, from the start on and every hour."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy.exc import SQLAlchemyError

from planstrip.db import logged
from planstrip.errors import PlanstripError
from planstrip.retention import archive, told
from planstrip.settings import Settings

EVERY_S: Final = 3600.0

log = logging.getLogger(__name__)


@contextmanager
def keeping(settings: Settings) -> Iterator[None]:
    """In a thread until the block ends, where the settings say so. A fault is logged, and tried again the next hour."""
    if settings.keep_days is None or settings.archive_to is None:
        yield
        return
    ending = threading.Event()
    given = (settings.database_url, settings.archive_to, settings.keep_days, ending)
    thread = threading.Thread(target=_keep, args=given, name="planstrip-keeping", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()


def _keep(database_url: str, folder: Path, keep_days: int, ending: threading.Event) -> None:
    while not ending.is_set():
        now_ms = time.time_ns() // 1_000_000
        try:
            for moved in archive(database_url, folder, keep_days=keep_days, now_ms=now_ms):
                log.log(logging.WARNING if moved.outcome == "failed" else logging.INFO, "%s", told(moved))
                if ending.is_set():
                    return
        except (PlanstripError, SQLAlchemyError) as error:
            said = error.detail if isinstance(error, PlanstripError) else logged(error)
            log.warning("archiving failed, the next hour tries again: %s", said)
        ending.wait(EVERY_S)
