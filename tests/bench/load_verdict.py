"""What a run of `load` has shown: what was lost, how late the viewers were, and whether memory and files came back."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import mean

from tests.bench.lines import Line, Pair, percentile
from tests.bench.load_run import Late, Receipts, Result, Sample
from tests.bench.logs import todos

LAG_LIMIT_MS = 500.0
GROWTH_LIMIT = 1.05
SHOWN = 5  # faults of a kind


def faults(result: Result) -> list[str]:
    """Each in a line: what was refused, lost, doubled or never shown. Empty when all is right."""
    kinds = (
        [f"a write was not acknowledged: {fault}" for fault in result.write_faults],
        [f"a viewer of session {one.session}: {one.fault}" for one in result.viewers if one.fault],
        list(_unequal_log(result)),
        list(_behind(result)),
    )
    told = []
    for kind in kinds:
        told += kind[:SHOWN]
        if len(kind) > SHOWN:
            told.append(f"… and {len(kind) - SHOWN} more like it")
    return told


def _unequal_log(result: Result) -> Iterator[str]:
    """Each acknowledged write stands once in the log, with its to-dos, and nothing else does but the first plan."""
    times = Counter((one.session, one.position) for one in result.stored)
    statuses = {(one.session, one.position): one.statuses for one in result.stored}
    for write in result.writes:
        place = write.session, write.position
        if times[place] != 1:
            told = f"write {write.step} of session {write.session}, acknowledged at {write.position}"
            yield f"lost: {told}, is stored {times[place]} times"
        elif statuses[place] != tuple(todo["status"] for todo in todos(write.step)):
            yield f"wrong: write {write.step} of session {write.session} is stored as {statuses[place]}"
    expected = len(result.writes) + result.plan.sessions
    if len(result.stored) > expected and not result.write_faults:  # what was not acknowledged may stand or not
        yield f"doubled: {expected} plans were written, {len(result.stored)} are stored"


def _behind(result: Result) -> Iterator[str]:
    heads = result.heads
    for viewer in result.viewers:
        head = heads.get(viewer.session)
        if head is None or viewer.fault:
            continue
        position = viewer.positions[-1] if viewer.positions else 0
        if position < head.position or viewer.completed != done(head.step):
            yield _stands("a viewer", viewer, position, head.position)
    for late in result.slow:
        head = heads.get(late.session)
        if head and not late.is_cut and (late.position < head.position or late.completed != done(head.step)):
            yield _stands("a slow viewer", late, late.position, head.position)


def _stands(who: str, viewer: Receipts | Late, position: int, head: int) -> str:
    return f"lost: {who} of session {viewer.session} ends at {position}, {viewer.completed} done; the log at {head}"


def done(step: int) -> int:
    return sum(todo["status"] == "completed" for todo in todos(step))


def lags_ms(result: Result, *, from_request: bool = False) -> list[float]:
    """From each write's answer (or request) until each viewer of its session held a frame of it."""
    by_session: dict[int, list[Receipts]] = {}
    for viewer in result.viewers:
        by_session.setdefault(viewer.session, []).append(viewer)
    lags = []
    for write in result.writes:
        for viewer in by_session.get(write.session, ()):
            index = bisect_left(viewer.positions, write.position)
            if index < len(viewer.times):
                since = write.sent if from_request else write.answered
                lags.append(max(0.0, viewer.times[index] - since) * 1_000)
    return lags


def frames(result: Result) -> int:
    """That came while the agents wrote: each viewer's first was there before."""
    return sum(max(0, len(viewer.positions) - 1) for viewer in result.viewers)


def growth(samples: Sequence[Sample]) -> tuple[float, float]:
    """MiB at the beginning and at the end of the run's last half, each the mean of a tenth of the run."""
    half, tenth = len(samples) // 2, max(1, len(samples) // 10)
    return mean(one.rss_mib for one in samples[half : half + tenth]), mean(one.rss_mib for one in samples[-tenth:])


def lines(name: str, result: Result) -> list[Line]:
    plan = result.plan
    lags, whole = lags_ms(result), lags_ms(result, from_request=True)
    middle, end = growth(result.samples)
    files = max(one.files for one in result.samples)
    cuts = sum(late.is_cut for late in result.slow)
    load = f"load average {result.loads[0]:.1f} before, {result.loads[1]:.1f} after"
    shape = (
        f"{plan.agents} agents × {plan.per_s:g}/s, {plan.viewers} viewers over {plan.sessions} sessions,"
        f" {plan.seconds:g} s, {plan.workers} worker(s); {load}"
    )
    acknowledged = [Pair(len(result.writes) / result.took_s, plan.agents * plan.per_s or 1)]
    half = f"p50 {percentile(lags, 0.5):.0f} ms; p99 from the request {percentile(whole, 0.99):.0f} ms" if lags else ""
    return [
        Line(f"{name}, writes", acknowledged, "/s", None, note=f"{len(result.writes)} acknowledged, {shape}"),
        Line(
            f"{name}, lag p99",
            [Pair(percentile(lags, 0.99) if lags else 0.0, LAG_LIMIT_MS)],
            "ms",
            1.0,
            note=f"{half}; {frames(result)} frames",
        ),
        Line(
            f"{name}, memory",
            [Pair(end, middle)],
            "MiB",
            GROWTH_LIMIT if plan.seconds >= 60 else None,  # a short run is all warming up
            note=f"at the end against the middle; at first {result.samples[0].rss_mib:.1f};"
            f" processor {result.cpu_s / result.took_s:.0%} of a core",
        ),
        Line(
            f"{name}, files",
            [Pair(result.files_after, result.files_before)],
            "",
            1.0,
            digits=0,
            note=f"open at the end against the start, {files} at most; {plan.slow} slow viewers, {cuts} of them cut,"
            f" {plan.stalled} that never read",
        ),
    ]
