"""Folds again, once after start, what another version of the fold has left (spec.md §4)."""

import logging
from functools import partial
from typing import Final

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from planstrip import projection
from planstrip.db import logged
from planstrip.errors import Unavailable
from planstrip.writer import Writer

SESSIONS_PER_TRANSACTION: Final = 50  # appends wait for no more than that

log = logging.getLogger(__name__)


def refold_outdated(engine: Engine, writer: Writer) -> None:
    """Until nothing is outdated, or the writer has stopped. What is read meanwhile is folded as it is read."""
    try:
        while sessions := _outdated(engine):
            writer.run_blocking(partial(projection.rebuild_all, session_ids=sessions))
            log.info("%d sessions folded again for a newer version of the fold", len(sessions))
    except (SQLAlchemyError, Unavailable) as error:
        log.warning("folding outdated sessions again stopped, the next start goes on: %s", logged(error))


def _outdated(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return projection.outdated(connection, SESSIONS_PER_TRANSACTION)
