"""The API as its own OpenAPI document describes it: whatever is sent is answered as it says there, never with 500."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import BaseSchema, GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.conftest import EXAMPLES
from tests.running import TIMEOUT_S, Panel, running, todos
from tests.web.test_docs import ROUTES

CHECKS = [
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
ENDLESS = "/api/sessions/{session}/stream"  # test_stream reads it
OPERATIONS = sorted((path, method) for method, path in ROUTES if path != ENDLESS)
# Of which nothing is to be had wrong: they take nothing but a path.
PLAIN = ("/api/tokens", "/api/tokens/{token_id}", "/healthz", "/metrics")
WAYS = [
    (mode, path, method)
    for mode in GenerationMode
    for path, method in OPERATIONS
    if mode is GenerationMode.POSITIVE or path not in PLAIN or method == "post"
]
FEW = settings(
    max_examples=max(EXAMPLES // 3, 5),
    suppress_health_check=list(HealthCheck),
)


@dataclass(frozen=True, slots=True)
class Surface:
    panel: Panel
    schema: BaseSchema
    session: requests.Session


@pytest.fixture(scope="module")
def surface(tmp_path_factory: pytest.TempPathFactory, empty_log: bytes) -> Iterator[Surface]:
    path = tmp_path_factory.mktemp("fuzz") / "log.sqlite3"
    path.write_bytes(empty_log)
    with running(path) as panel, requests.Session() as session:
        session.trust_env = False
        for name in ("0", "a"):
            panel.write(name, todos("a=i b=p"))
        yield Surface(panel, schemathesis.openapi.from_dict(panel.client.get("/openapi.json").json()), session)


@pytest.mark.parametrize(("mode", "path", "method"), WAYS)
def test_an_operation_answers_as_it_is_described(
    surface: Surface, mode: GenerationMode, path: str, method: str
) -> None:
    operation = surface.schema[path][method]

    @FEW
    @given(operation.as_strategy(mode))
    def fuzz(case: schemathesis.Case[Any]) -> None:
        answer = case.call(base_url=surface.panel.url, session=surface.session, timeout=TIMEOUT_S)
        case.validate_response(answer, checks=CHECKS)

    fuzz()


@pytest.mark.parametrize(("path", "method"), [way for way in OPERATIONS if way[1] == "post"])
def test_no_bytes_of_a_body_make_a_fault(surface: Surface, path: str, method: str) -> None:
    types = st.sampled_from(["application/json", "application/x-ndjson", "text/plain", "multipart/form-data", ""])
    where = path.replace("{session}", "a").replace("{agent}", "codex")

    @FEW
    @given(st.binary(max_size=200) | st.text(max_size=50).map(lambda text: text.encode("utf-8", "ignore")), types)
    def fuzz(body: bytes, media_type: str) -> None:
        answer = surface.panel.client.request(method, where, content=body, headers={"content-type": media_type})
        assert answer.status_code < 500, (body, media_type)

    fuzz()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
METHODS = (
    "tools/call",
    "tools/list",
    "resources/read",
    "initialize",
    "server/discover",
    "ping",
    "notifications/x",
    "x",
)
CALLS = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | VALUES,
        "id": st.integers() | st.text(max_size=5) | VALUES,
        "method": st.sampled_from(METHODS) | VALUES,
        "params": VALUES
        | st.fixed_dictionaries(
            {}, optional={"name": st.just("todo_write") | VALUES, "arguments": VALUES, "uri": VALUES, "_meta": VALUES}
        ),
    },
)
MCP_HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@pytest.mark.parametrize("version", ["", "2025-06-18", "2026-07-28", "x"])
def test_no_call_over_mcp_makes_a_fault(surface: Surface, version: str) -> None:
    @FEW
    @given(CALLS | VALUES)
    def fuzz(call: object) -> None:
        named = {"mcp-method": str(call.get("method"))} if isinstance(call, dict) else {}
        told = {name: value for name, value in named.items() if value.isascii() and value.isprintable()}
        headers = MCP_HEADERS | told | ({"mcp-protocol-version": version} if version else {})
        answer = surface.panel.client.post("/mcp?session=a", json=call, headers=headers)
        assert answer.status_code < 500, answer.text

    fuzz()
