"""`planstrip demo`: recorded sessions, replayed into a temporary database so that a parallel plan is seen to move."""

import json
import sys
import tempfile
import threading
import time
import webbrowser
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from planstrip.errors import UnusableSettings
from planstrip.eventlog import Append
from planstrip.intake.check import check_data
from planstrip.main import create_app
from planstrip.paths import fixtures_dir
from planstrip.serving import address_of, listen, server
from planstrip.settings import Settings
from planstrip.writer import Writer

MAX_PAUSE_S: Final = 2.5  # a recorded minute of building is no minute of the viewer's
SHOWN: Final = "demo-parallel-plan"


@dataclass(frozen=True, slots=True)
class Step:
    """`pause_s`: how long after the step before it, in the recording."""

    session: str
    type: str
    data: dict[str, Any]
    pause_s: float


def run_demo(*, port: int | None, open_browser: bool, speed: float) -> int:
    """Serve until a signal. `speed` 2 replays twice as fast."""
    if speed <= 0:
        raise UnusableSettings(f"--speed is {speed:g}; expected a number above 0")
    with tempfile.TemporaryDirectory(prefix="planstrip-demo-") as folder:
        settings = Settings(
            allow_parallel_in_progress=True,
            database_url=f"sqlite:///{folder}/demo.sqlite3",
            host="127.0.0.1",
            port=Settings.model_fields["port"].default if port is None else port,
            token=None,
            allowed_hosts=(),
            root_path="",
        )
        guard = create_app(settings)
        listener = listen(settings.host, settings.port) if port is not None else _listen_anywhere(settings)
        address = f"{address_of(settings, listener)}sessions/{SHOWN}"
        print(f"planstrip demo: {address}", flush=True)
        print("Ctrl+C ends it; what it showed is then deleted.", file=sys.stderr, flush=True)
        stopped = threading.Event()
        writer = guard.app.state.parts.writer  # type: ignore[attr-defined]
        replaying = [
            threading.Thread(target=_replay, args=(writer, path, speed, stopped), daemon=True) for path in recordings()
        ]
        for thread in replaying:
            thread.start()
        if open_browser:
            webbrowser.open(address)
        server(guard).run(sockets=[listener])
        stopped.set()
    return 0


def recordings() -> list[Path]:
    return sorted((fixtures_dir() / "demo").glob("*.jsonl"))


def steps(path: Path) -> Iterator[Step]:
    """The steps of a recording: an event a line, `time` in ms from its start."""
    before = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        yield Step(f"demo-{path.stem}", event["type"], event["data"], (event["time"] - before) / 1_000)
        before = event["time"]


def _replay(writer: Writer, path: Path, speed: float, stopped: threading.Event) -> None:
    due = time.monotonic()
    for step in steps(path):
        due += min(step.pause_s, MAX_PAUSE_S) / speed
        if stopped.wait(max(0.0, due - time.monotonic())):
            return
        writer.append_blocking(Append(step.session, [check_data(step.type, step.data)]))


def _listen_anywhere(settings: Settings) -> Any:
    """The usual port, or any: a panel that runs already must not keep the demo from starting."""
    try:
        return listen(settings.host, settings.port)
    except UnusableSettings:
        return listen(settings.host, 0)
