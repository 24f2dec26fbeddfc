"""The route table: every address of the panel, and what answers there."""

from collections.abc import Callable
from importlib import import_module
from inspect import iscoroutinefunction
from typing import Any, Final

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from planstrip.intake import hooks, rest
from planstrip.web import api, health, probe, stream, tokens
from planstrip.web.compression import compressed

# Named as an entry point is, and imported at the first request: together they are a quarter of what start would load.
PAGES: Final[tuple[tuple[str, str, str], ...]] = (
    ("GET", "/", "pages:board"),
    ("GET", "/sessions/{session}", "pages:session_page"),
    ("GET", "/sessions/{session}/rows", "pages:older_rows"),
    ("POST", "/sessions/{session}/dismiss", "viewer:dismiss_form"),
    ("POST", "/sessions/{session}/retire", "viewer:retire_form"),
    ("POST", "/sessions/{session}/restore", "viewer:restore_form"),
    ("GET", "/embed", "embed:embed_several"),
    ("GET", "/embed/{session}", "embed:embed"),
    ("GET", "/sign-in", "signin:sign_in_page"),
    ("GET", "/embed-refused", "signin:embed_refused"),
    ("GET", "/view-refused", "signin:view_refused"),
    ("POST", "/sign-in", "signin:sign_in"),
    ("GET", "/docs", "docs:docs_page"),
    ("GET", "/openapi.json", "docs:document"),
    ("GET", "/static/{name}", "static:static_file"),
    ("GET", "/favicon.ico", "static:favicon"),
)

# Without FastAPI's own layer, which gives a stream nothing. A `todo_write` comes in by `shortcut`; here it is for
# other methods, which get their 405.
BARE: Final[tuple[tuple[str, str, Callable[..., Any]], ...]] = (
    ("POST", "/api/sessions/{session}/todo_write", rest.post_todo_write),
    ("GET", "/stream", stream.board_stream),
    ("GET", "/sessions/{session}/stream", stream.session_stream),
    ("GET", "/embed/{session}/stream", stream.embed_stream),
    ("GET", "/probe/stream", probe.probe),
    ("GET", "/embed/sessions/streams", stream.several_stream),
)

# `docs` adds their bodies and answers to OpenAPI.
API: Final[tuple[tuple[str, str, Callable[..., Any]], ...]] = (
    ("POST", "/api/sessions", rest.post_session),
    ("GET", "/api/sessions", api.get_sessions),
    ("POST", "/api/sessions/{session}/events", rest.post_events),
    ("GET", "/api/sessions/{session}/events", api.get_events),
    ("GET", "/api/sessions/{session}/plan", api.get_plan),
    ("GET", "/api/sessions/{session}/plan.md", api.get_plan_markdown),
    ("GET", "/api/sessions/{session}/plan.svg", api.get_plan_badge),
    ("GET", "/api/sessions/{session}/stream", stream.plan_stream),
    ("POST", "/api/sessions/{session}/retire", api.post_retire),
    ("POST", "/api/sessions/{session}/restore", api.post_restore),
    ("POST", "/api/sessions/{session}/dismiss", api.post_dismiss),
    ("POST", "/api/tokens", tokens.post_token),
    ("GET", "/api/tokens", tokens.get_tokens),
    ("DELETE", "/api/tokens/{token_id}", tokens.delete_token),
    ("POST", "/api/hooks/{agent}", hooks.post_hook),
    ("GET", "/healthz", health.healthz),
    ("GET", "/metrics", health.metrics),
)


def add_routes(app: FastAPI) -> None:
    for method, path, name in PAGES:
        app.router.routes.append(Route(path, _late(name), methods=[method]))
    for method, path, endpoint in BARE:
        app.router.routes.append(Route(path, endpoint, methods=[method]))
    app.router.routes.append(Route("/mcp", app.state.mcp))
    for method, path, endpoint in API:
        app.add_api_route(path, endpoint, methods=[method], response_model=None)
        if method == "GET":  # crawlers and link previews ask so first; the server leaves the body out
            app.add_api_route(path, endpoint, methods=["HEAD"], response_model=None, include_in_schema=False)


def _late(name: str) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        module, _, function = name.partition(":")
        found: Callable[..., Any] = getattr(import_module(f"planstrip.web.{module}"), function)
        if iscoroutinefunction(found):
            return compressed(request, await found(request))
        return await run_in_threadpool(lambda: compressed(request, found(request)))

    return endpoint
