"""`planstrip hook AGENT`: hands a payload on within 300 ms, or leaves it in the spool. Standard library only.

The payload is spooled first and sent from there, so that a hook that is killed at any point loses nothing. Nothing is
printed, and the exit code is 0 whatever happens: an agent may take either for an answer.
"""

import os
import sys
import threading
import time
from collections.abc import Sequence
from typing import Final

from planstrip.hooks.names import DEFAULT_URL, agent_of, panel_url
from planstrip.hooks.payload import good_part
from planstrip.hooks.post import Panel
from planstrip.hooks.spool import Parcel, Spool, spool_of

BUDGET_S: Final = 0.24  # from the process's start; of the 300 ms, the rest is Python's own end
READ_BY_S: Final = 0.15
READ_AT_LEAST_S: Final = 0.05  # also on a machine that took all of the time to start Python
START_S: Final = 0.06  # what that takes, where the system does not tell
LOCK_WAIT_S: Final = 0.05
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
    raw = read_all(0, max(started + READ_BY_S, time.monotonic() + READ_AT_LEAST_S))
    panel = Panel(panel_url(os.environ) or DEFAULT_URL, (os.environ.get("PLANSTRIP_TOKEN") or "").strip())
    spool = spool_of(panel.url)
    agent = agent_of(arguments[0]) if arguments else None
    payload = good_part(raw)
    if agent is None or payload is None:
        if raw.strip():
            spool.note(f"{len(raw)} bytes of {ascii(arguments[:1])[:60]}: no payload of an agent that is known")
        return
    try:
        name = spool.put(agent, payload)
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


def read_all(source: int, deadline: float) -> bytes:
    """What comes until the end or the deadline: an agent that keeps the pipe open must not hold us."""
    parts: list[bytes] = []

    def read() -> None:
        size = 0
        while size < MAX_STDIN_BYTES:
            try:
                part = os.read(source, 1 << 20)
            except OSError:
                return
            if not part:
                return
            parts.append(part)
            size += len(part)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(max(0.0, deadline - time.monotonic()))
    return b"".join(list(parts))


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
