"""The viewers of `fanout-pg`: on both servers, in a process of its own, written to in turn."""

import asyncio
import json
import sys
from statistics import median

import uvloop

from tests.bench.fanout_load import PAUSE_S, Audience
from tests.bench.logs import todos


async def drive(session: str, audiences: tuple[Audience, Audience], rounds: int, writes: int) -> None:
    """Says `ready` when all streams are open, then the pairs."""
    for audience in audiences:
        await audience.open(f"/sessions/{session}/stream")
    print("ready", flush=True)
    pairs = []
    for number in range(-1, rounds):
        took: tuple[list[float], list[float]] = ([], [])
        for step in range(writes):
            body = json.dumps({"todos": todos(1_000 + number * writes + step)}).encode()
            for audience, times in zip(audiences, took, strict=True):
                await asyncio.sleep(PAUSE_S)
                times.append(await audience.write(f"/api/sessions/{session}/todo_write", body))
        pairs.append((median(took[0]), median(took[1])))
    print(json.dumps({"pairs": pairs[1:]}))  # the first only warmed up


if __name__ == "__main__":
    ours, bare, viewers, rounds, writes = map(int, sys.argv[2:7])
    uvloop.run(drive(sys.argv[1], (Audience(ours, viewers), Audience(bare, viewers)), rounds, writes))
