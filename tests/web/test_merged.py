"""Several streams as one: every chunk, in each stream's order, and nothing left running."""

import asyncio
from collections.abc import AsyncGenerator

from planstrip.web.merged import merged


async def counted(name: str, count: int, ended: list[str]) -> AsyncGenerator[bytes, None]:
    try:
        for number in range(count):
            await asyncio.sleep(0)
            yield f"{name}{number}".encode()
    finally:
        ended.append(name)


def test_all_chunks_come_in_the_order_of_their_stream() -> None:
    async def collect() -> list[bytes]:
        return [chunk async for chunk in merged(counted(name, count, ended) for name, count in (("a", 5), ("b", 2)))]

    ended: list[str] = []
    chunks = asyncio.run(collect())
    assert [chunk for chunk in chunks if chunk.startswith(b"a")] == [b"a0", b"a1", b"a2", b"a3", b"a4"]
    assert [chunk for chunk in chunks if chunk.startswith(b"b")] == [b"b0", b"b1"]
    assert sorted(ended) == ["a", "b"]


def test_who_leaves_early_ends_all_of_them_also_one_that_waits() -> None:
    async def leave() -> None:
        stream = merged([counted("a", 1_000, ended), silent(), counted("b", 1_000, ended)])
        await anext(stream)
        await stream.aclose()

    async def silent() -> AsyncGenerator[bytes, None]:
        try:
            await asyncio.Event().wait()
            yield b""
        finally:
            ended.append("silent")

    ended: list[str] = []
    asyncio.run(leave())
    assert sorted(ended) == ["a", "b", "silent"]


def test_a_slow_reader_is_waited_for() -> None:
    """Of each stream one chunk at most has been made ahead."""

    async def read() -> None:
        made: list[int] = []

        async def eager() -> AsyncGenerator[bytes, None]:
            for number in range(100):
                made.append(number)
                yield b"x"

        stream = merged([eager()])
        await anext(stream)
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(made) <= 2
        await stream.aclose()

    asyncio.run(read())
