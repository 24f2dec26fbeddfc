"""The SDK's own client, over both transports and in both protocols, for tests of the MCP door."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

import httpx2
import mcp_types as types
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.running import TIMEOUT_S

Result = TypeVar("Result")

PROTOCOLS: Final = ("legacy", "2026-07-28")  # the handshake with its connection, and the stateless one
CODEX: Final = "codex-mcp-client"


@asynccontextmanager
async def over_http(
    url: str, *, mode: str = "auto", name: str = "probe", headers: Mapping[str, str] | None = None
) -> AsyncIterator[Client]:
    async with httpx2.AsyncClient(headers=dict(headers or {}), timeout=TIMEOUT_S, trust_env=False) as http_client:
        transport = streamable_http_client(url, http_client=http_client)
        async with Client(transport, mode=mode, client_info=_info(name), cache=None) as client:
            yield client


@asynccontextmanager
async def over_stdio(
    *arguments: str, mode: str = "auto", name: str = "probe", env: Mapping[str, str] | None = None
) -> AsyncIterator[Client]:
    """`planstrip mcp …` as a process, with no setting of this one's environment."""
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "planstrip", "mcp", *arguments], env=dict(env or {})
    )
    async with Client(command, mode=mode, client_info=_info(name), cache=None) as client:
        yield client


def use(client: Any, do: Callable[[Client], Awaitable[Result]]) -> Result:
    """What `do` returns, with a client that is open while it runs."""

    async def using() -> Result:
        async with asyncio.timeout(120), client as opened:
            return await do(opened)

    return asyncio.run(using())


async def call(client: Client, arguments: object, meta: Mapping[str, Any] | None = None) -> tuple[bool, str]:
    """Whether it was an error, and the text that the model reads. The result holds nothing else."""
    result = await client.call_tool("todo_write", arguments, meta=meta)  # type: ignore[arg-type]
    assert result.structured_content is None
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return result.is_error, content.text


async def write(client: Client, todos: object, meta: Mapping[str, Any] | None = None) -> str:
    """The text of an accepted call."""
    is_error, text = await call(client, {"todos": todos}, meta)
    assert not is_error, text
    return text


def codex(thread: str, turn: str, call_id: str, **more: Any) -> dict[str, Any]:
    """`_meta` as Codex sends it."""
    turn_metadata = {"turn_id": turn, "workspaces": {"/work/project": {}}}
    return {"threadId": thread, "sessionId": thread, "callId": call_id, "x-codex-turn-metadata": turn_metadata, **more}


def _info(name: str) -> types.Implementation:
    return types.Implementation(name=name, version="1")
