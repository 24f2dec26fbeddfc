"""Writers that note what was acknowledged to them, and what must be true of the log afterwards (spec.md §2)."""

import contextlib
import itertools
import os
import random
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from tests.faults.waiting import wait_until
from tests.running import TIMEOUT_S, todos

RUNS: Final = int(os.environ.get("PLANSTRIP_FAULT_RUNS", "1"))
WRITERS: Final = 8
SESSIONS: Final = ("s0", "s1", "s2")
RECOVERY_S: Final = 5.0  # of the panel, once the fault is gone (issue 6)
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Write:
    """One call of `todo_write`, whose only to-do is named `content`; `status` 0: no answer came."""

    session: str
    content: str
    status: int
    position: int = 0
    detail: str = ""

    @property
    def is_acknowledged(self) -> bool:
        return self.status == 200

    @property
    def is_refused(self) -> bool:
        """Whether it was told that nothing was written."""
        return self.status == 503 and "nothing was written" in self.detail


@dataclass(slots=True)
class Load:
    """Writers on `url`, until `stop`; those who are not `persistent` end with their first broken connection."""

    url: str
    is_persistent: bool = False
    pause_s: float = 0.0
    writes: list[Write] = field(default_factory=list)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self, writers: int = WRITERS) -> "Load":
        for number in range(writers):
            session = SESSIONS[number % len(SESSIONS)]
            self._threads.append(threading.Thread(target=self._write, args=(session,)))
            self._threads[-1].start()
        return self

    @property
    def acknowledged(self) -> list[Write]:
        return [write for write in self.writes if write.is_acknowledged]

    @property
    def refused(self) -> int:
        return sum(write.is_refused for write in self.writes)

    def wait(self, count: int, within_s: float = TIMEOUT_S) -> None:
        """Until so many more appends have been acknowledged."""
        wanted = len(self.acknowledged) + count
        wait_until(lambda: len(self.acknowledged) >= wanted, within_s, self.writes[-WRITERS:])

    def recover(self) -> None:
        """The fault is gone: within the time promised appends are acknowledged again."""
        self.wait(1, RECOVERY_S)

    def stop(self) -> list[Write]:
        self._stopped.set()
        return self.join()

    def join(self) -> list[Write]:
        for thread in self._threads:
            thread.join(2 * TIMEOUT_S)
            assert not thread.is_alive()
        return self.writes

    def _write(self, session: str) -> None:
        with httpx.Client(base_url=self.url, timeout=TIMEOUT_S, trust_env=False) as client:
            while not self._stopped.is_set():
                write = write_one(client, session)
                self.writes.append(write)
                if not write.status and not self.is_persistent:
                    return
                time.sleep(self.pause_s if write.is_acknowledged else max(0.02, self.pause_s))


@contextlib.contextmanager
def loaded(url: str, pause_s: float = 0.0) -> Iterator[Load]:
    """Persistent writers for the block's time."""
    load = Load(url, is_persistent=True, pause_s=pause_s).start()
    try:
        yield load
    finally:
        load.stop()


def write_one(client: httpx.Client, session: str) -> Write:
    content = f"t{next(_numbers)}"
    try:
        answer = client.post(f"/api/sessions/{session}/todo_write", json={"todos": todos(f"{content}=i")})
    except httpx.TransportError:
        return Write(session, content, 0)
    body = answer.json()
    if answer.status_code != 200:
        assert answer.status_code == 503, answer.text
        assert answer.headers["retry-after"] == "1"
        return Write(session, content, 503, detail=body["detail"])
    return Write(session, content, 200, body["position"])


def stored(client: httpx.Client, session: str) -> list[dict[str, Any]]:
    """Every event of a session; none for one that does not exist."""
    found: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None:
        answer = client.get(f"/api/sessions/{session}/events", params={"after": after, "limit": 1000})
        if answer.status_code == 404:
            return found
        page = answer.json()
        found += page["events"]
        after = page["next"]
    return found


def check(client: httpx.Client, writes: Sequence[Write]) -> None:
    """Each acknowledged write is there once and where it was said to be; nothing is there that nobody sent, that was
    refused, or in part; positions have no gap; the plan is that of the last write."""
    for session in sorted({write.session for write in writes}):
        check_log(stored(client, session), [write for write in writes if write.session == session])
        events = stored(client, session)
        plan = client.get(f"/api/sessions/{session}/plan").json()
        if events:
            assert plan["todos"] == events[-2]["data"]["todos"]


def check_log(events: Sequence[dict[str, Any]], writes: Sequence[Write]) -> None:
    """As `check`, of one session's events."""
    assert [event["position"] for event in events] == list(range(1, len(events) + 1))
    assert [event["type"] for event in events] == ["tool/call", "todo/write", "tool/result"] * (len(events) // 3)
    found = {e["position"]: e["data"]["todos"][0]["content"] for e in events if e["type"] == "todo/write"}
    contents = list(found.values())
    assert len(set(contents)) == len(contents), "an append was doubled"
    for write in writes:
        if write.is_acknowledged:
            assert found[write.position] == write.content
    assert set(contents) <= {write.content for write in writes if not write.is_refused}


def some(low: int, high: int) -> int:
    """A random number of writes after which a fault comes."""
    return random.randint(low, high)
