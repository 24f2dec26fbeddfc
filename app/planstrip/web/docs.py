"""OpenAPI: the document, and a page that shows it without a request to another host (spec.md §10)."""

from dataclasses import dataclass
from gettext import NullTranslations
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from planstrip.errors import msgid as _
from planstrip.hooks.names import AGENTS, ALIASES
from planstrip.intake import tool
from planstrip.parts import parts_of
from planstrip.web import schemas
from planstrip.web.contexts import DocsPage, Operation, Schema
from planstrip.web.languages import translations
from planstrip.web.pages import frame, html, language

SESSION: Final = "/api/sessions/{session}"
TODO_WRITE: Final = f"{SESSION}/todo_write"
HOOKS: Final = "/api/hooks/{agent}"
REF: Final = "#/components/schemas/{model}"

# What the operations' docstrings say, for the catalogue.
DESCRIPTIONS: Final = (
    _("Open a session; the same id again changes nothing."),
    _("The sessions, the newest last event first."),
    _("Append events, all of them or none; as JSON, or as NDJSON, an event a line, with `?expected_position=`."),
    _("The log from a position on."),
    _("The standing plan."),
    _("The standing plan as a Markdown task list."),
    _("The standing plan's counts as an SVG badge."),
    _("The plan as JSON over SSE, whenever it changes; a session that does not exist yet is waited for."),
    _("Retire the standing plan: a person's act, which the agent's next write supersedes."),
    _("Undo a retirement that still stands."),
    _("Dismiss a to-do that the agent dropped while it was open: it is listed under the plan no longer."),
    _("Make a view token: a link that shows one session, or the board held to a filter, and lets nobody do anything."),
    _("The view tokens, the newest first; those that ended a month ago are listed no longer."),
    _("Revoke a view token: what it opened shuts at once, open streams within seconds."),
    _("Take in what an agent's hook says: record it, or read on in its transcript where that lies here."),
    _("200 while the store can be read and written, 503 when it cannot."),
    _("Figures for Prometheus."),
    _("Write the complete list, as the model does. A refused list is recorded and answered with 422."),
)


@dataclass(frozen=True, slots=True)
class Shape:
    """What an operation takes and gives, as JSON; `status` is that of success."""

    answer: type[BaseModel]
    body: type[BaseModel] | None = None
    status: int = 200


TOKENS: Final = "/api/tokens"
SHAPES: Final[dict[tuple[str, str], Shape]] = {
    ("post", "/api/sessions"): Shape(schemas.SessionAnswer, schemas.SessionBody, 201),
    ("get", "/api/sessions"): Shape(schemas.SessionsAnswer),
    ("post", f"{SESSION}/events"): Shape(schemas.AppendedAnswer, schemas.EventsBody, 201),
    ("get", f"{SESSION}/events"): Shape(schemas.EventsAnswer),
    ("post", TODO_WRITE): Shape(schemas.ToolAnswer, schemas.TodoWriteBody),
    ("get", f"{SESSION}/plan"): Shape(schemas.PlanAnswer),
    ("post", f"{SESSION}/retire"): Shape(schemas.PlanAnswer, schemas.ViewerBody),
    ("post", HOOKS): Shape(schemas.HookAnswer, schemas.HookBody),
    ("post", f"{SESSION}/restore"): Shape(schemas.PlanAnswer, schemas.ViewerBody),
    ("post", f"{SESSION}/dismiss"): Shape(schemas.PlanAnswer, schemas.DismissBody),
    ("post", TOKENS): Shape(schemas.MadeViewTokenAnswer, schemas.ViewTokenBody, 201),
    ("get", TOKENS): Shape(schemas.ViewTokensAnswer),
}
TEXTS: Final = {
    f"{SESSION}/plan.md": "text/markdown",
    f"{SESSION}/plan.svg": "image/svg+xml",
    f"{SESSION}/stream": "text/event-stream",
    "/metrics": "text/plain",
}


def document(request: Request) -> Response:
    return JSONResponse(describe(request.app))


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, made once."""
    if app.openapi_schema is None:
        described = get_openapi(
            title=app.title,
            version=app.version,
            description=app.description,
            routes=app.routes,
            servers=app.servers,
        )
        for way in (way for ways in described["paths"].values() for way in ways.values()):
            if way["responses"].pop("422", None):  # FastAPI's own shape of a refusal, which is never sent
                way["responses"]["4XX"] = _refusal()
        described["paths"][TODO_WRITE] = {"post": _todo_write()}  # a bare route, which FastAPI does not see
        for (method, path), shape in SHAPES.items():
            _shape(described["paths"][path][method], shape)
        _add_what_types_do_not_say(described["paths"])
        _add_later(described["paths"])
        described.setdefault("components", {})["schemas"] = _schemas()
        app.openapi_schema = described
    return app.openapi_schema


def docs_page(request: Request) -> Response:
    parts, lang = parts_of(request), language(request)
    described = describe(request.app)
    operations = [(path, *way) for path, ways in described["paths"].items() for way in ways.items()]
    known = [(name, schema["properties"]) for name, schema in sorted(described["components"]["schemas"].items())]
    page = DocsPage(
        frame(request, lang),
        [_operation(method, path, entry, translations(lang)) for path, method, entry in operations],
        [Schema(name, [(field, _type(value)) for field, value in properties.items()]) for name, properties in known],
        f"{parts.settings.root_path}/openapi.json",
        tool.description(allow_parallel_in_progress=parts.settings.allow_parallel_in_progress),
    )
    return html(parts, "docs.html", lang, page)


def _shape(operation: dict[str, Any], shape: Shape) -> None:
    operation["responses"] = {
        str(shape.status): {"description": "Done", "content": {"application/json": {"schema": _ref(shape.answer)}}},
        "4XX": _refusal(),
    }
    if shape.body is not None:
        content = {"application/json": {"schema": _ref(shape.body)}}
        operation["requestBody"] = {"required": shape.body is not schemas.ViewerBody, "content": content}


def _add_what_types_do_not_say(paths: dict[str, Any]) -> None:
    append, hook = paths[f"{SESSION}/events"]["post"], paths[HOOKS]["post"]
    begun = paths["/api/sessions"]["post"]["responses"]
    begun["200"] = begun["201"] | {"description": "It was there"}
    for path, media_type in TEXTS.items():
        paths[path]["get"]["responses"]["200"]["content"] = {media_type: {"schema": {"type": "string"}}}
    append["requestBody"]["content"]["application/x-ndjson"] = {"schema": _ref(schemas.EventBody)}
    append["parameters"].append(
        {"name": "expected_position", "in": "query", "description": "For NDJSON alone.", "schema": {"type": "integer"}}
    )
    hook["responses"]["202"] = hook["responses"]["200"] | {"description": "Its transcript is read instead"}
    for parameter in hook["parameters"]:
        if parameter["name"] == "agent":
            parameter["schema"] = {"type": "string", "enum": sorted(AGENTS | ALIASES.keys())}


def _add_later(paths: dict[str, Any]) -> None:
    """What any of them may hear when it is asked too much, or its store is away: when to come back."""
    after = {"Retry-After": {"description": "Seconds", "schema": {"type": "integer"}}}
    for path, ways in paths.items():
        for way in ways.values():
            if path != "/healthz":
                way["responses"]["429"] = _refusal() | {"description": "Too many requests", "headers": after}
                way["responses"]["503"] = _refusal() | {"description": "Try again later", "headers": after}


def _refusal() -> dict[str, Any]:
    return {"description": "Refused", "content": {"application/problem+json": {"schema": _ref(schemas.ProblemAnswer)}}}


def _todo_write() -> dict[str, Any]:
    return {
        "summary": "Post Todo Write",
        "description": "Write the complete list, as the model does. A refused list is recorded and answered with 422.",
        "operationId": "post_todo_write",
        "parameters": [{"name": "session", "in": "path", "required": True, "schema": {"type": "string"}}],
    }


def _schemas() -> dict[str, Any]:
    models: list[type[BaseModel]] = [schemas.ProblemAnswer]
    for shape in SHAPES.values():
        models += [model for model in (shape.answer, shape.body) if model is not None and model not in models]
    _, found = models_json_schema([(model, "validation") for model in models], ref_template=REF)
    definitions: dict[str, Any] = found["$defs"]
    return definitions


def _operation(method: str, path: str, entry: dict[str, Any], tr: NullTranslations) -> Operation:
    content = entry.get("requestBody", {}).get("content", {}).get("application/json", {})
    success: dict[str, Any] = next((answer for code, answer in entry["responses"].items() if code[0] == "2"), {})
    answer = success.get("content", {}).get("application/json", {}).get("schema", {})
    query = ", ".join(parameter["name"] for parameter in entry.get("parameters", ()) if parameter["in"] == "query")
    return Operation(
        method.upper(),
        f"{path}?{query}" if query else path,
        tr.gettext(entry.get("description") or entry["summary"]),
        _type(content["schema"]) if content else None,
        _type(answer),
    )


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": REF.format(model=model.__name__)}


def _type(schema: dict[str, Any]) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(_type(part) for part in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", ""))
