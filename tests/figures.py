"""Reads what a panel tells Prometheus."""

import time
from collections.abc import Callable

from tests.running import TIMEOUT_S, Panel


def figures_in(text: str) -> dict[str, float]:
    """Each sample's value by its name with its labels."""
    pairs = (line.rpartition(" ") for line in text.splitlines() if line and not line.startswith("#"))
    return {name: float(value) for name, _, value in pairs}


def figures(panel: Panel) -> dict[str, float]:
    answer = panel.client.get("/metrics")
    assert answer.status_code == 200
    return figures_in(answer.text)


def grown(before: dict[str, float], now: dict[str, float], name: str) -> float:
    return now.get(f"planstrip_{name}", 0) - before.get(f"planstrip_{name}", 0)


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + TIMEOUT_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)
