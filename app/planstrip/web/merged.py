"""Several streams as one, so that a frame of many sessions holds one connection."""

import asyncio
from collections.abc import AsyncGenerator, Iterable


async def merged(streams: Iterable[AsyncGenerator[bytes, None]]) -> AsyncGenerator[bytes, None]:
    """The chunks of all, as they come, to the last one's end. Of each stream one chunk at most waits to be taken."""
    coming = {asyncio.ensure_future(anext(stream, None)): stream for stream in streams}
    try:
        while coming:
            done, _ = await asyncio.wait(coming, return_when=asyncio.FIRST_COMPLETED)
            for chunk in done:
                stream = coming.pop(chunk)
                if (found := chunk.result()) is not None:
                    coming[asyncio.ensure_future(anext(stream, None))] = stream
                    yield found
    finally:
        for chunk in coming:
            chunk.cancel()
        await asyncio.gather(*coming, return_exceptions=True)
        for stream in coming.values():
            await stream.aclose()
