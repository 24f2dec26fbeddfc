"""The benchmark command: `uv run python -m tests.bench [MEASURE …] [--rounds N] [--quick]`, a line for each measure."""

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import cast

from tests.bench.lines import MIN_ROUNDS, Line, Scale

# A measure's module is imported when its turn comes: what one loads must not weigh on another.
MEASURES = {name: name for name in ("ingest", "fanout", "refold", "paint", "start", "board")} | {
    "open": "open_page",
    "import": "import_transcript",
    "watch": "watch",
    "ingest-pg": "ingest_postgresql",
    "fanout-pg": "fanout_workers",
    "growth": "growth",
    "load": "load",
    "curves": "curves",
}
LONG = {"growth", "load", "curves"}  # minutes each: run when they are named


def main() -> int:
    """0: every target met; 1: one missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "measures",
        nargs="*",
        metavar="MEASURE",
        help=f"of {', '.join(MEASURES)}; when none all but {', '.join(sorted(LONG))}",
    )
    parser.add_argument("--rounds", type=int, default=7, help="pairs of ours and bare a measure (default: 7)")
    parser.add_argument("--quick", action="store_true", help="one short round each, to show that they run")
    given = parser.parse_args()
    unknown = [name for name in given.measures if name not in MEASURES]
    if unknown:
        parser.error(f"no measure {unknown[0]!r}; expected {', '.join(MEASURES)}")
    if given.rounds < MIN_ROUNDS and not given.quick:
        parser.error(f"--rounds is {given.rounds}; at least {MIN_ROUNDS} make a median")
    scale = Scale(1 if given.quick else given.rounds, given.quick)
    print(f"load before: {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores; ratio = median of paired rounds")
    is_met = True
    for name in given.measures or [name for name in MEASURES if name not in LONG]:
        for line in _measure(name)(scale):
            print(line, flush=True)
            is_met = is_met and line.is_met
    return 0 if is_met else 1


def _measure(name: str) -> Callable[[Scale], Iterator[Line]]:
    module = importlib.import_module(f"tests.bench.{MEASURES[name]}")
    return cast(Callable[[Scale], Iterator[Line]], module.measure)


if __name__ == "__main__":
    sys.exit(main())
