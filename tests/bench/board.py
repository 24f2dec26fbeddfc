"""board: the first page and a change's way to a viewer, with 10,000 sessions of which 200 are live, against 100."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from planstrip.db import open_engine, prepare
from planstrip.intake.check import check_data
from planstrip.intake.record import take_in
from planstrip.projection import StandingProjector
from planstrip.writer import Writer
from planstrip.writing import now_ms
from tests.bench import servers
from tests.bench.client import Client, Stream
from tests.bench.lines import Line, Pair, Scale
from tests.bench.logs import todos

PAGE_TARGET = 2.0
COST_TARGET = 1.25
LIMIT_MS = 100.0
SMALL, LIVE = 100, 200
PAUSE_S = 0.2  # longer than the frame interval: what is measured is a frame, not the wait for the next
DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Side:
    """One board, with a viewer on it."""

    server: servers.Server
    client: Client
    stream: Stream

    def page(self) -> float:
        """Milliseconds until the page is whole."""
        began = time.perf_counter()
        body = self.client.request("GET", "/")
        took_s = time.perf_counter() - began
        assert b'data-session-state="working"' in body
        return took_s * 1_000

    def change(self, step: int) -> float:
        """Milliseconds from a write until the viewer has its frame."""
        time.sleep(PAUSE_S)
        body = {"todos": todos(step)}
        began = time.perf_counter()
        self.client.post_json("/api/sessions/s-0/todo_write", body)
        self.stream.frame()
        return (time.perf_counter() - began) * 1_000


def measure(scale: Scale) -> Iterator[Line]:
    large, opens, changes = scale.pick(10_000, 300), scale.pick(25, 2), scale.pick(25, 2)
    with tempfile.TemporaryDirectory(prefix="planstrip-bench-") as folder, ExitStack() as stack:
        big, small = (_side(stack, Path(folder) / f"{count}.sqlite3", count) for count in (large, SMALL))
        pages, lags, costs = [], [], []
        for _ in range(scale.rounds):
            opened = [(big.page(), small.page()) for _ in range(opens)]
            pages.append(Pair(median(ours for ours, _ in opened), median(bare for _, bare in opened)))
            before = big.server.cpu_s(), small.server.cpu_s()
            moved = [(big.change(step), small.change(step)) for step in range(changes)]
            lags.append(Pair(median(ours for ours, _ in moved), LIMIT_MS))
            used = big.server.cpu_s() - before[0], small.server.cpu_s() - before[1]
            costs.append(Pair(*(max(one, 1 / servers.TICKS_PER_S) * 1_000 / changes for one in used)))
    note = f"{large:,} sessions, {min(LIVE, large)} of them live, against {SMALL}"
    yield Line("board", pages, "ms", PAGE_TARGET, digits=2, note=f"{note}, median of {opens} opens a round")
    yield Line(
        "board, lag", lags, "ms", 1.0, note=f"from a write to a viewer's frame, median of {changes}; bare: the limit"
    )
    yield Line("board, cost", costs, "ms", COST_TARGET, digits=2, note=f"CPU of the server for a change, {note}")


def _side(stack: ExitStack, database: Path, count: int) -> Side:
    _seed(database, count)
    server = stack.enter_context(servers.planstrip(database))
    side = Side(server, stack.enter_context(Client(server.port)), Stream(server.port, "/stream"))
    stack.callback(side.stream.close)
    side.stream.frame()
    side.page()
    return side


def _seed(database: Path, count: int) -> None:
    engine = open_engine(f"sqlite:///{database}")
    prepare(engine)
    writer = Writer(engine, StandingProjector(), now_ms)
    writer.start()
    try:
        for number in range(count):
            is_live = number < min(LIVE, count)
            time = now_ms() - (number * 1_000 if is_live else (number % 30 + 1) * DAY_MS)
            take_in(
                writer, f"s-{number}", [check_data(type_, data, time=time) for type_, data in _events(number, is_live)]
            )
    finally:
        writer.stop()
        engine.dispose()


def _events(number: int, is_live: bool) -> Iterator[tuple[str, dict[str, object]]]:
    yield (
        "session/start",
        {"agent": ("codex", "kimi")[number % 2], "title": f"Session {number}", "cwd": f"/w/{number % 40}"},
    )
    yield "turn/start", {"turn": 1, "prompt": "Do it"}
    yield "todo/write", {"todos": todos(number)}
    if not is_live:
        yield "turn/end", {"turn": 1, "reason": {"kind": "completed"}}
