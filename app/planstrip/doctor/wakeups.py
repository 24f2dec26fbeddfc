"""Whether what another process writes is heard of here: without that a page waits for a reload."""

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from planstrip.db import announce, listening, open_engine
from planstrip.doctor.findings import Finding, ok, wrong
from planstrip.errors import PlanstripError
from planstrip.follower import Follower
from planstrip.tables import events

HEARD_S: Final = 5.0
PROBE: Final = "/doctor"  # no session's id has a slash
LATE: Final = "keep the file on a local disk, or use PostgreSQL"
UNHEARD: Final = "let a connection pooler pool sessions, not transactions, or name the server itself"
_WRITE: Final = """
import sqlite3, sys, time
log = sqlite3.connect(sys.argv[1], isolation_level=None)
for position in range(1, 1000):
    log.execute("INSERT INTO events VALUES (?, '/doctor', ?, 'probe', 0, NULL, '{}')", [position, position])
    time.sleep(0.1)
"""  # again and again: the first may come before anybody listens


def file_wake_ups(folder: Path) -> Finding:
    """Measured on a file of its own beside the log, which is gone again afterwards: the log itself is never written."""
    try:
        with tempfile.TemporaryDirectory(prefix=".planstrip-doctor-", dir=folder) as scratch:
            return _between_processes(Path(scratch, "probe.sqlite3"))
    except (OSError, PlanstripError, SQLAlchemyError) as error:
        return wrong("wake-ups", f"cannot be tried at {folder}: {error}", LATE)


def served_wake_ups(engine: Engine) -> Finding:
    """A notice to ourselves, over two connections, as one server process sends it to another."""
    try:
        with listening(engine) as hear:
            began = time.monotonic()
            with engine.begin() as connection:
                announce(connection, {PROBE: 0})
            while (left := began + HEARD_S - time.monotonic()) > 0:
                if any(notice.session == PROBE for notice in hear(left)):
                    took_ms = round((time.monotonic() - began) * 1000)
                    return ok("wake-ups", f"a notice of what another process writes comes within {took_ms} ms")
    except PlanstripError as error:
        return wrong("wake-ups", error.detail, UNHEARD)
    return wrong("wake-ups", f"no notice came within {HEARD_S:.0f} s", UNHEARD)


def _between_processes(path: Path) -> Finding:
    engine, is_watched, heard = open_engine(f"sqlite:///{path}"), threading.Event(), threading.Event()
    is_watched.set()
    follower = Follower(engine, is_watched, lambda _heads: heard.set())
    try:
        events.create(engine)
        follower.start()
        command = [sys.executable, "-c", _WRITE, os.fspath(path)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as other:  # noqa: S603
            if not heard.wait(HEARD_S) and other.poll():
                said = (other.stderr.read().strip().splitlines() if other.stderr else []) or ["it ended"]
                return wrong("wake-ups", f"another process cannot write here: {said[-1]}", LATE)
            other.kill()
    finally:
        follower.stop()
        engine.dispose()
    if heard.is_set():
        return ok("wake-ups", "what another process writes is heard of")
    return wrong("wake-ups", f"what another process writes was not heard of within {HEARD_S:.0f} s", LATE)
