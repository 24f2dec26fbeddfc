"""Waiting for what is to come."""

import time
from collections.abc import Callable


def wait_until(holds: Callable[[], object], within_s: float, shown_on_failure: object = None) -> None:
    end = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < end, shown_on_failure
        time.sleep(0.01)
