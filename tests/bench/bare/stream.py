"""A bare Starlette app that sends given bytes to every open stream at a write, and stores nothing."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

VENDOR = Path(__file__).resolve().parents[3] / "static" / "vendor"
STREAM_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}


class Stage:
    """The page and the frame that the benchmark has put here, and those who wait for the frame."""

    page = b""
    frame = b""
    turned = asyncio.Event()


async def put_page(request: Request) -> Response:
    Stage.page = await request.body()
    return JSONResponse({})


async def put_frame(request: Request) -> Response:
    Stage.frame = await request.body()
    return JSONResponse({})


async def write(request: Request) -> Response:
    body = await request.json()
    turned, Stage.turned = Stage.turned, asyncio.Event()
    turned.set()
    return JSONResponse({"total": len(body["todos"])})


async def stream(request: Request) -> Response:
    return StreamingResponse(_frames(), media_type="text/event-stream", headers=STREAM_HEADERS)


async def _frames() -> AsyncIterator[bytes]:
    yield b": open\n\n"
    while True:
        await Stage.turned.wait()
        yield Stage.frame


async def page(request: Request) -> Response:
    return HTMLResponse(Stage.page)


async def script(request: Request) -> Response:
    return Response((VENDOR / request.path_params["name"]).read_bytes(), media_type="text/javascript")


async def healthz(request: Request) -> Response:
    return JSONResponse({"status": "ok"})


app = Starlette(
    routes=[
        Route("/", page),
        Route("/page", put_page, methods=["POST"]),
        Route("/frame", put_frame, methods=["POST"]),
        Route("/write", write, methods=["POST"]),
        Route("/stream", stream),
        Route("/vendor/{name}", script),
        Route("/healthz", healthz),
    ]
)
