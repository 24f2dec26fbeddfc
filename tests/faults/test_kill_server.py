"""`kill -9` of the server at random moments under load (spec.md §2)."""

import signal
from pathlib import Path

from tests.faults.load import RUNS, Load, Write, check, some
from tests.running import running, serving


def test_no_acknowledged_append_is_lost_when_the_server_is_killed(database: Path) -> None:
    """R036. Every acknowledged append is there once, where it was said to be; no gap; no call is there in part."""
    writes: list[Write] = []
    for _ in range(RUNS):
        with serving(database) as program:
            load = Load(program.url).start()
            load.wait(some(10, 300))
            program.stop(signal.SIGKILL)
            writes += load.join()
        with running(database) as panel:
            check(panel.client, writes)
