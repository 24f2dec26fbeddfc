"""The route table: every address of the panel, and what answers there."""

from collections.abc import Callable
from typing import Any, Final

from fastapi import FastAPI
from pydantic import BaseModel
from starlette.routing import Route

from planstrip.intake import rest
from planstrip.web import api, docs, health, pages, schemas, signin, static, stream

Endpoint = Callable[..., Any]

PAGES: Final[tuple[tuple[str, str, Endpoint], ...]] = (
    ("GET", "/", pages.board),
    ("GET", "/sessions/{session}", pages.session_page),
    ("GET", "/sessions/{session}/rows", pages.older_rows),
    ("GET", "/sessions/{session}/stream", stream.session_stream),
    ("GET", "/embed/{session}", pages.embed),
    ("GET", "/embed/{session}/stream", stream.embed_stream),
    ("GET", "/sign-in", signin.sign_in_page),
    ("POST", "/sign-in", signin.sign_in),
    ("GET", "/docs", docs.docs_page),
    ("GET", "/openapi.json", docs.document),
    ("GET", "/static/{name}", static.static_file),
    ("GET", "/favicon.ico", static.favicon),
)

# The busiest route passes no framework: FastAPI's own layer costs a third of what a write may (checked.md, Ingest).
TODO_WRITE: Final = "/api/sessions/{session}/todo_write"

Answer = type[BaseModel] | None

API: Final[tuple[tuple[str, str, Endpoint, Answer, type[BaseModel] | None], ...]] = (
    ("POST", "/api/sessions", rest.post_session, schemas.SessionAnswer, schemas.SessionBody),
    ("GET", "/api/sessions", api.get_sessions, schemas.SessionsAnswer, None),
    ("POST", "/api/sessions/{session}/events", rest.post_events, schemas.AppendedAnswer, schemas.EventsBody),
    ("GET", "/api/sessions/{session}/events", api.get_events, schemas.EventsAnswer, None),
    ("GET", "/api/sessions/{session}/plan", api.get_plan, schemas.PlanAnswer, None),
    ("GET", "/api/sessions/{session}/plan.md", api.get_plan_markdown, None, None),
    ("GET", "/api/sessions/{session}/plan.svg", api.get_plan_badge, None, None),
    ("GET", "/api/sessions/{session}/stream", stream.plan_stream, None, None),
    ("POST", "/api/sessions/{session}/retire", api.post_retire, schemas.PlanAnswer, schemas.ViewerBody),
    ("POST", "/api/sessions/{session}/restore", api.post_restore, schemas.PlanAnswer, schemas.ViewerBody),
    ("GET", "/healthz", health.healthz, None, None),
    ("GET", "/metrics", health.metrics, None, None),
)

CREATES: Final = (rest.post_session, rest.post_events)


def add_routes(app: FastAPI) -> None:
    for method, path, endpoint in PAGES:
        app.router.routes.append(Route(path, endpoint, methods=[method]))
    app.router.routes.append(Route(TODO_WRITE, rest.post_todo_write, methods=["POST"]))
    for method, path, endpoint, answer, body in API:
        app.add_api_route(
            path,
            endpoint,
            methods=[method],
            response_model=answer,
            status_code=201 if endpoint in CREATES else 200,
            responses=docs.PROBLEMS,
            openapi_extra=docs.body(body) if body else None,
        )
    app.openapi = lambda: docs.describe(app)  # type: ignore[method-assign]
