"""`kill -9` of the server under load loses no acknowledged append (spec.md §2)."""

import itertools
import os
import random
import signal
import threading
import time
from pathlib import Path
from typing import Final

import httpx

from tests.running import TIMEOUT_S, Program, serving, todos

KILLS: Final = int(os.environ.get("PLANSTRIP_KILLS", "3"))
WRITERS: Final = 8
_numbers = itertools.count()


class Load:
    """Writers that note what was acknowledged to them, until the server is gone."""

    def __init__(self, program: Program) -> None:
        self.acknowledged: list[tuple[str, int, str]] = []
        self._program = program
        self._threads = [threading.Thread(target=self._write, args=(f"s{n % 3}",)) for n in range(WRITERS)]
        for thread in self._threads:
            thread.start()

    def _write(self, session: str) -> None:
        with httpx.Client(base_url=self._program.url, timeout=10, trust_env=False) as client:
            while True:
                content = f"t{next(_numbers)}"
                try:
                    answer = client.post(f"/api/sessions/{session}/todo_write", json={"todos": todos(f"{content}=i")})
                except httpx.TransportError:
                    return
                assert answer.status_code == 200, answer.text
                self.acknowledged.append((session, answer.json()["position"], content))

    def wait(self, count: int) -> None:
        """Until so many appends have been acknowledged."""
        end = time.monotonic() + TIMEOUT_S
        while len(self.acknowledged) < count and time.monotonic() < end:
            time.sleep(0.005)
        assert self.acknowledged

    def join(self) -> None:
        for thread in self._threads:
            thread.join(20)


def stored(program: Program, session: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    after: int | None = 0
    while after is not None:
        params = {"after": after, "limit": 1000}
        page = httpx.get(f"{program.url}/api/sessions/{session}/events", params=params, trust_env=False).json()
        found += page["events"]
        after = page["next"]
    return found


def check(program: Program, acknowledged: list[tuple[str, int, str]]) -> None:
    for session in sorted({session for session, _, _ in acknowledged}):
        events = stored(program, session)
        assert [event["position"] for event in events] == list(range(1, len(events) + 1))
        by_position = {event["position"]: event["data"] for event in events}
        for one, position, content in acknowledged:
            if one == session:
                assert by_position[position]["todos"] == todos(f"{content}=i")  # type: ignore[index]
        assert len(events) % 3 == 0, "a call was stored in part"
        newest = httpx.get(f"{program.url}/api/sessions/{session}/plan", trust_env=False).json()
        assert newest["todos"] == events[-2]["data"]["todos"]  # type: ignore[index]


def test_no_acknowledged_append_is_lost_when_the_server_is_killed(database: Path) -> None:
    """R036."""
    acknowledged: list[tuple[str, int, str]] = []
    for _ in range(KILLS):
        with serving(database) as program:
            check(program, acknowledged)
            load = Load(program)
            load.wait(random.randint(10, 150))
            program.stop(signal.SIGKILL)
            load.join()
            acknowledged += load.acknowledged
    with serving(database) as program:
        check(program, acknowledged)
