"""Every measure runs and prints its line; how fast, it does not ask."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

LONG = pytest.mark.skipif("PLANSTRIP_BENCH_ALL" not in os.environ, reason="PLANSTRIP_BENCH_ALL is not set")
ROOT = Path(__file__).resolve().parents[2]
GROWTH = [f"{what}, {store}" for store in ("sqlite", "postgresql") for what in ("append", "page", "disk")]


@pytest.mark.parametrize(
    ("measure", "names"),
    [
        ("ingest", ["ingest"]),
        ("fanout", ["fanout"]),
        ("open", ["open", "open, growing"]),
        ("refold", ["refold", "refold, read"]),
        pytest.param("paint", ["paint"], marks=pytest.mark.browser),
        ("start", ["start", "idle memory"]),
        ("board", ["board", "board, lag", "board, cost"]),
        ("import", ["import", "import, plans", "import, memory"]),
        ("watch", ["watch, idle", "watch, live"]),
        pytest.param("ingest-pg fanout-pg growth", ["ingest-pg", "fanout-pg", *GROWTH], marks=[pytest.mark.slow, LONG]),
    ],
)
def test_measure_prints_a_line_for_each_of_its_figures(measure: str, names: list[str]) -> None:
    done = _bench(*measure.split(), "--quick")
    lines = [line for line in done.stdout.splitlines() if "  ratio" in line]
    assert [line.split("  ours")[0].strip() for line in lines] == names, done.stderr
    assert all("noise:" in line and ("met" in line or "MISSED" in line or "no target" in line) for line in lines)


def test_unknown_measure_is_refused_with_the_known_ones() -> None:
    done = _bench("speed")
    assert done.returncode == 2
    assert "no measure 'speed'; expected ingest" in done.stderr


def _bench(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.bench", *arguments]
    return subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=200)
