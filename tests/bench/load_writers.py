"""The agents of `load`, in a process of their own, each on a connection of its own.

`python -m tests.bench.load_writers PORT SESSIONS AGENTS PER_S SECONDS OUT`: agent i writes the sessions i, i + AGENTS
and so on in turn, `PER_S` times a second (0: as soon as it is answered). OUT gets every write, as JSON.
"""

import asyncio
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from tests.bench.client import content_length, request_bytes
from tests.bench.logs import todos

ANSWER_TIMEOUT_S = 30


@dataclass(slots=True)
class Written:
    """What was acknowledged: session, position, step, when it was sent and when it was answered."""

    rows: list[tuple[int, int, int, float, float]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Agent:
    port: int
    sessions: list[int]
    written: Written
    steps: dict[int, int] = field(default_factory=dict)
    _reader: asyncio.StreamReader | None = None
    _writer: asyncio.StreamWriter | None = None

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def run(self, first_s: float, per_s: float, end: float) -> None:
        """`first_s`: when it begins, so that the agents do not all write at once."""
        due, turn = time.perf_counter() + first_s, 0
        while True:
            await asyncio.sleep(max(0.0, due - time.perf_counter()) if per_s else 0)
            if time.perf_counter() >= end:
                return
            try:
                await asyncio.wait_for(self._write(self.sessions[turn % len(self.sessions)]), ANSWER_TIMEOUT_S)
            except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
                self.written.faults.append(f"{type(error).__name__} {error}")
                return
            turn += 1
            due += 1 / per_s if per_s else 0

    async def _write(self, session: int) -> None:
        assert self._reader is not None
        assert self._writer is not None
        step = self.steps.get(session, 1)
        self.steps[session] = step + 1
        body = json.dumps({"todos": todos(step)}).encode()
        sent = time.perf_counter()
        self._writer.write(request_bytes("POST", f"/api/sessions/load-{session}/todo_write", body))
        head = await self._reader.readuntil(b"\r\n\r\n")
        answer = await self._reader.readexactly(content_length(head))
        answered = time.perf_counter()
        if head.startswith(b"HTTP/1.1 200"):
            self.written.rows.append((session, json.loads(answer)["position"], step, sent, answered))
        else:
            self.written.faults.append(head.split(b"\r\n", 1)[0].decode())


async def write(port: int, sessions: int, agents: int, per_s: float, seconds: float, out: Path) -> None:
    written = Written()
    some = [Agent(port, list(range(number, sessions, agents)), written) for number in range(min(agents, sessions))]
    for agent in some:
        await agent.open()
    end = time.perf_counter() + seconds
    spread = 1 / per_s / len(some) if per_s else 0.0
    await asyncio.gather(*(agent.run(number * spread, per_s, end) for number, agent in enumerate(some)))
    told = json.dumps({"rows": written.rows, "faults": written.faults})
    await asyncio.to_thread(out.write_text, told)


if __name__ == "__main__":
    numbers = list(map(int, sys.argv[1:4]))
    uvloop.run(write(numbers[0], numbers[1], numbers[2], float(sys.argv[4]), float(sys.argv[5]), Path(sys.argv[6])))
