"""curves: throughput and lag against viewers and against writers, as a table and a plot in `docs/`.

`python -m tests.bench curves` writes `docs/load.md` and `docs/load.svg`; PLANSTRIP_BENCH_DOCS names another folder.
"""

import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.bench import load_verdict, servers, stores
from tests.bench.lines import Line, Pair, Scale, percentile
from tests.bench.load import LostError
from tests.bench.load_run import Plan, run
from tests.bench.plot import Chart, svg

VIEWERS = (10, 100, 500, 2_000)
WRITERS = (1, 16, 64, 256)
AGENTS = 50  # of one write a second each, while viewers are varied
VIEWERS_A_SESSION = 4
FEW_VIEWERS = 100  # while writers are varied
COMMAND = "uv run python -m tests.bench curves"


@dataclass(frozen=True, slots=True)
class Point:
    """`x`: viewers or writers. Lags are ms from a write's answer to the frame at a viewer."""

    store: str
    x: int
    writes_per_s: float
    frames_per_s: float
    p50: float
    p99: float
    load: float


def measure(scale: Scale) -> Iterator[Line]:
    """Raises LostError."""
    seconds = scale.pick(8, 1)
    by_viewers = [
        _by_viewers(store, count, seconds) for store in stores.STORES for count in VIEWERS[: scale.pick(4, 2)]
    ]
    by_writers = [
        _by_writers(store, count, seconds) for store in stores.STORES for count in WRITERS[: scale.pick(4, 2)]
    ]
    for kind, points in (("viewers", by_viewers), ("writers", by_writers)):
        for point in points:
            name = f"{point.x} {kind}, {point.store}"
            note = f"{point.writes_per_s:,.0f} writes/s, {point.frames_per_s:,.0f} frames/s; lag p99 against p50"
            yield Line(name, [Pair(point.p99, point.p50)], "ms", None, note=f"{note}; load average {point.load:.1f}")
    docs = Path(os.environ.get("PLANSTRIP_BENCH_DOCS", servers.ROOT / "docs"))
    (docs / "load.md").write_text(_page(by_viewers, by_writers, seconds))
    (docs / "load.svg").write_text(svg(_charts(by_viewers, by_writers)))


def _by_viewers(store: str, viewers: int, seconds: float) -> Point:
    agents = AGENTS
    plan = Plan(agents, 1.0, viewers, max(agents, viewers // VIEWERS_A_SESSION), seconds, 0, 0, stores.WORKERS[store])
    return _point(store, viewers, plan)


def _by_writers(store: str, writers: int, seconds: float) -> Point:
    """Each writes again as soon as it is answered."""
    sessions = max(writers, FEW_VIEWERS // VIEWERS_A_SESSION)
    return _point(store, writers, Plan(writers, 0.0, FEW_VIEWERS, sessions, seconds, 0, 0, stores.WORKERS[store]))


def _point(store: str, x: int, plan: Plan) -> Point:
    with stores.empty(store) as url:
        result = run(plan, url)
    if found := load_verdict.faults(result):
        raise LostError("\n".join(found))
    lags = load_verdict.lags_ms(result) or [0.0]
    return Point(
        store,
        x,
        len(result.writes) / result.took_s,
        load_verdict.frames(result) / result.took_s,
        percentile(lags, 0.5),
        max(percentile(lags, 0.99), 0.1),
        result.loads[0],
    )


def _charts(by_viewers: list[Point], by_writers: list[Point]) -> list[Chart]:
    def lines(points: list[Point], *fields: str) -> dict[str, list[list[tuple[float, float]]]]:
        return {
            store: [[(point.x, getattr(point, field)) for point in points if point.store == store] for field in fields]
            for store in stores.STORES
        }

    lag = "Lag, ms: p99, and p50 dashed"
    return [
        Chart("Frames a second", "viewers", lines(by_viewers, "frames_per_s")),
        Chart(lag, "viewers", lines(by_viewers, "p99", "p50")),
        Chart("Writes a second", "writers", lines(by_writers, "writes_per_s")),
        Chart(lag, "writers", lines(by_writers, "p99", "p50")),
    ]


def _page(by_viewers: list[Point], by_writers: list[Point], seconds: float) -> str:
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    machine = f"{_processor()}, {os.cpu_count()} cores, {memory_gib:.0f} GiB, {platform.system()} {platform.release()}"
    return f"""# Throughput and lag

![Throughput and lag against viewers and writers](load.svg)

Made by `{COMMAND}` on {datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}: {machine}. Server, database,
agents and viewers share these cores. SQLite is one process, PostgreSQL two workers. {seconds:g} s a row. Lag is from a
write's answer to the frame at a viewer, over all viewers; a viewer gets at most ten frames a second. The load average
is the machine's before the run: above the number of cores, others were at work.

## Against viewers

{AGENTS} agents write once a second; {VIEWERS_A_SESSION} viewers a session, in {AGENTS} sessions at least.

{_table("viewers", by_viewers)}

## Against writers

Each writes again as soon as it is answered; {FEW_VIEWERS} viewers.

{_table("writers", by_writers)}
"""


def _table(kind: str, points: list[Point]) -> str:
    rows = [
        f"| store | {kind} | writes/s | frames/s | lag p50 | lag p99 | load average |",
        "| --- " + "| ---: " * 6 + "|",
    ]
    rows += [
        f"| {one.store} | {one.x:,} | {one.writes_per_s:,.0f} | {one.frames_per_s:,.0f} | {one.p50:,.0f} ms"
        f" | {one.p99:,.0f} ms | {one.load:.1f} |"
        for one in points
    ]
    return "\n".join(rows)


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
