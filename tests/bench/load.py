"""load: agents that write and viewers that watch, for minutes; nothing may be lost, late, or left behind.

`python -m tests.bench.load [--store postgresql --workers 2] [--seconds 600] …`; `python -m tests.bench load` runs both
stores. Exit 0: all is right; 1: an update was lost, or a limit missed.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import fields

from tests.bench import load_verdict, stores
from tests.bench.lines import Line, Scale
from tests.bench.load_run import Plan, run

QUICK = Plan(agents=6, viewers=24, sessions=8, seconds=2.0, slow=1, stalled=1)


class LostError(Exception):
    """A line for each thing that is wrong."""


def measure(scale: Scale) -> Iterator[Line]:
    """Raises LostError."""
    for store in stores.STORES[: scale.pick(2, 1)]:
        plan = QUICK if scale.is_quick else Plan(workers=stores.WORKERS[store])
        with stores.empty(store) as url:
            yield from _measure(f"load, {store}", plan, url)


def _measure(name: str, plan: Plan, url: str) -> Iterator[Line]:
    result = run(plan, url)
    yield from load_verdict.lines(name, result)
    if found := load_verdict.faults(result):
        raise LostError("\n".join(found))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.load", description=__doc__)
    parser.add_argument("--store", choices=stores.STORES, default=stores.SQLITE)
    parser.add_argument("--database-url", help="an empty database in place of one made for the run")
    for field in fields(Plan):
        kind = float if isinstance(field.default, float) else int
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=field.default)
    given = parser.parse_args()
    plan = Plan(**{field.name: getattr(given, field.name) for field in fields(Plan)})
    if plan.agents > plan.sessions:
        parser.error(f"--agents is {plan.agents}; there must be a session for each, and --sessions is {plan.sessions}")
    is_met = True
    with ExitStack() as stack:
        url = given.database_url or stack.enter_context(stores.empty(given.store))
        try:
            for line in _measure("load", plan, url):
                print(line, flush=True)
                is_met = is_met and line.is_met
        except LostError as error:
            print(error, flush=True)
            is_met = False
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
