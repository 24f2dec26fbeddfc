"""`planstrip hook AGENT`: hands a payload on within 300 ms, or leaves it in the spool. Standard library only.

The payload is spooled first and sent from there, so that a hook that is killed at any point loses nothing. Nothing is
printed, and the exit code is 0 whatever happens: an agent may take either for an answer.
"""

import contextlib
import os
import select
import sys
import threading
import time
from collections.abc import Sequence
from typing import Final

from planstrip.hooks.names import DEFAULT_URL, agent_of, panel_url
from planstrip.hooks.payload import good_part, session_of
from planstrip.hooks.post import Panel
from planstrip.hooks.spool import Parcel, Spool, spool_of

BUDGET_S: Final = 0.24  # from the process's start; of the 300 ms, the rest is Python's own end
READ_BY_S: Final = 0.15
READ_AT_LEAST_S: Final = 0.05  # also on a machine that took all of the time to start Python
START_S: Final = 0.06  # what that takes, where the system does not tell
LOCK_WAIT_S: Final = 0.05
LATE_S: Final = 10.0  # for a payload that comes late, or slowly: nobody waits for it
MAX_STDIN_BYTES: Final = 64 * 1024 * 1024


def run(arguments: Sequence[str]) -> int:
    """Always 0."""
    try:
        _run(arguments, time.monotonic() - _age_s())
    except Exception:  # noqa: BLE001 - whatever it is, the agent is not to hear of it
        return 0
    return 0


def _run(arguments: Sequence[str], started: float) -> None:
    deadline = started + BUDGET_S
    raw, is_whole = read_all(0, max(started + READ_BY_S, time.monotonic() + READ_AT_LEAST_S))
    if not is_whole and hasattr(os, "fork"):
        if os.fork():  # the agent goes on; who was forked off waits for the rest
            return
        _detach()
        deadline = time.monotonic() + LATE_S
        rest, _ = read_all(0, deadline)
        raw, deadline = raw + rest, time.monotonic() + LATE_S
    panel = Panel(panel_url(os.environ) or DEFAULT_URL, (os.environ.get("PLANSTRIP_TOKEN") or "").strip())
    spool = spool_of(panel.url)
    agent = agent_of(arguments[0]) if arguments else None
    payload = good_part(raw)
    if agent is None or payload is None:
        if raw.strip():
            spool.note(f"{len(raw)} bytes of {ascii(arguments[:1])[:60]}: no payload of an agent that is known")
        return
    try:
        name = spool.put(agent, payload, f"{agent}/{session_of(payload)}")
    except OSError:  # a full or read-only disk
        panel.send(
            Parcel(f"{time.time_ns()}", agent, time.time_ns() // 1_000_000, payload), deadline - time.monotonic()
        )
        return
    if name is not None or spool.names():
        deliver(spool, panel, deadline, LOCK_WAIT_S)


def deliver(spool: Spool, panel: Panel, deadline: float, lock_wait_s: float = 0.0) -> None:
    """Send what waits, in order, unless another process is doing that."""
    with spool.lock(lock_wait_s) as is_ours:
        if is_ours:
            spool.drain(
                panel.sender(lambda: deadline - time.monotonic()),
                until=lambda: time.monotonic() >= deadline,
            )


def read_all(source: int, deadline: float) -> tuple[bytes, bool]:
    """What comes until the end or the deadline, and whether that was the end: an agent may keep the pipe open."""
    return _read_by_thread(source, deadline) if os.name == "nt" else _read_by_select(source, deadline)


def _read_by_select(source: int, deadline: float) -> tuple[bytes, bool]:
    parts: list[bytes] = []
    size = 0
    while size < MAX_STDIN_BYTES:
        try:
            ready, _, _ = select.select([source], [], [], max(0.0, deadline - time.monotonic()))
            part = os.read(source, 1 << 20) if ready else None
        except OSError:
            break
        if part is None:
            return b"".join(parts), False
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts), True


def _read_by_thread(source: int, deadline: float) -> tuple[bytes, bool]:
    """Where nothing tells whether a pipe has more."""
    parts: list[bytes] = []

    def read() -> None:
        with contextlib.suppress(OSError):
            while sum(map(len, parts)) < MAX_STDIN_BYTES and (part := os.read(source, 1 << 20)):
                parts.append(part)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(max(0.0, deadline - time.monotonic()))
    return b"".join(list(parts)), not reader.is_alive()


def _detach() -> None:
    """Leave the agent's process group and its pipes: it waits for nobody who holds neither."""
    os.setsid()
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(null, stream)


def _age_s() -> float:
    """Since when this process runs: what it took to come here is part of the time that it has."""
    try:
        with open("/proc/self/stat", "rb") as source:
            ticks = int(source.read().rpartition(b")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return START_S
    return age if 0 <= age < 2 else START_S


def main() -> None:
    sys.exit(run(sys.argv[2:]))
