"""OpenAPI: the document, and a page that shows it without a request to another host (spec.md §10)."""

from dataclasses import dataclass
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from planstrip.intake import tool
from planstrip.parts import parts_of
from planstrip.web import schemas
from planstrip.web.contexts import Frame

PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {"4XX": {"model": schemas.ProblemAnswer, "description": "Refused"}}
TODO_WRITE: Final = "/api/sessions/{session}/todo_write"


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str
    summary: str
    body: str | None
    answer: str


@dataclass(frozen=True, slots=True)
class Schema:
    name: str
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class DocsPage:
    frame: Frame
    operations: tuple[Operation, ...]
    schemas: tuple[Schema, ...]
    openapi_url: str
    tool: str


def body(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    return {"requestBody": {"content": {"application/json": {"schema": schema}}}}


def describe(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document. `todo_write` is no FastAPI route, so it is described here."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes, servers=app.servers
        )
        components = document.setdefault("components", {}).setdefault("schemas", {})
        for model in (schemas.TodoItem, schemas.EventBody, schemas.TodoWriteBody, schemas.ToolAnswer):
            components.setdefault(model.__name__, _schema(model))
        document["paths"][TODO_WRITE] = {"post": _todo_write()}
        app.openapi_schema = document
    return app.openapi_schema


def document(request: Request) -> Response:
    return JSONResponse(request.app.openapi())


def docs_page(request: Request) -> Response:
    from planstrip.web.pages import frame, html, language  # pages stand above

    parts, lang = parts_of(request), language(request)
    described = request.app.openapi()
    paths = described["paths"]
    page = DocsPage(
        frame(request, lang),
        tuple(_operation(method, path, entry) for path, ways in paths.items() for method, entry in ways.items()),
        tuple(
            Schema(name, tuple((field, _type(value)) for field, value in schema.get("properties", {}).items()))
            for name, schema in sorted(described["components"]["schemas"].items())
            if schema.get("properties")
        ),
        f"{parts.settings.root_path}/openapi.json",
        tool.description(allow_parallel_in_progress=parts.settings.allow_parallel_in_progress),
    )
    return html(parts, "docs.html", lang, page)


def _todo_write() -> dict[str, Any]:
    answer = {"application/json": {"schema": _ref(schemas.ToolAnswer)}}
    refused = {"application/problem+json": {"schema": _ref(schemas.ProblemAnswer)}}
    return {
        "summary": "Todo Write",
        "description": "Write the complete list, as the model does. Refused lists are recorded and answered with 422.",
        "operationId": "todo_write",
        "parameters": [{"name": "session", "in": "path", "required": True, "schema": {"type": "string"}}],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": _ref(schemas.TodoWriteBody)}},
        },
        "responses": {
            "200": {"description": "Accepted", "content": answer},
            "4XX": {"description": "Refused", "content": refused},
        },
    }


def _operation(method: str, path: str, entry: dict[str, Any]) -> Operation:
    content = entry.get("requestBody", {}).get("content", {}).get("application/json", {})
    success: dict[str, Any] = next((answer for code, answer in entry["responses"].items() if code.startswith("2")), {})
    answer = success.get("content", {}).get("application/json", {}).get("schema", {})
    query = ", ".join(parameter["name"] for parameter in entry.get("parameters", ()) if parameter["in"] == "query")
    shown = f"{path}?{query}" if query else path
    return Operation(
        method.upper(),
        shown,
        entry.get("description") or entry.get("summary", ""),
        _type(content["schema"]) if content else None,
        _type(answer),
    )


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    return schema


def _ref(model: type[BaseModel]) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}


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
    return str(schema.get("title") if schema.get("type") == "object" and "title" in schema else schema.get("type", ""))
