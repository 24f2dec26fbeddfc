"""OpenAPI, and its page without a request to another host (spec.md §10)."""

import re

from planstrip.intake.tool import description
from tests.running import Panel

ROUTES = {
    ("post", "/api/sessions"),
    ("get", "/api/sessions"),
    ("post", "/api/sessions/{session}/events"),
    ("get", "/api/sessions/{session}/events"),
    ("post", "/api/sessions/{session}/todo_write"),
    ("get", "/api/sessions/{session}/plan"),
    ("get", "/api/sessions/{session}/plan.md"),
    ("get", "/api/sessions/{session}/plan.svg"),
    ("get", "/api/sessions/{session}/stream"),
    ("post", "/api/sessions/{session}/retire"),
    ("post", "/api/sessions/{session}/restore"),
    ("post", "/api/sessions/{session}/dismiss"),
    ("post", "/api/tokens"),
    ("get", "/api/tokens"),
    ("delete", "/api/tokens/{token_id}"),
    ("post", "/api/hooks/{agent}"),
    ("get", "/healthz"),
    ("get", "/metrics"),
}


def test_the_document_names_every_route(shared_panel: Panel) -> None:
    document = shared_panel.client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.")
    assert {(method, path) for path, ways in document["paths"].items() for method in ways} == ROUTES


def test_every_reference_of_the_document_leads_somewhere(shared_panel: Panel) -> None:
    text = shared_panel.client.get("/openapi.json").text
    known = shared_panel.client.get("/openapi.json").json()["components"]["schemas"]
    assert set(re.findall(r'"#/components/schemas/(\w+)"', text)) <= set(known)


def test_the_page_shows_every_route_and_what_the_model_is_told(shared_panel: Panel) -> None:
    text = shared_panel.client.get("/docs").text
    assert all(path in text for _, path in ROUTES)
    assert description(allow_parallel_in_progress=True).split("`")[0][:60] in text


def test_the_page_asks_no_other_host(shared_panel: Panel) -> None:
    text = shared_panel.client.get("/docs").text
    assert not re.findall(r'(?:src|href|action)="(?:https?:)?//', text)
    assert "cdn" not in text


def test_a_hooks_body_and_answer_are_described(shared_panel: Panel) -> None:
    document = shared_panel.client.get("/openapi.json").json()
    hook = document["paths"]["/api/hooks/{agent}"]["post"]
    assert hook["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("/HookBody")
    schemas = document["components"]["schemas"]
    assert {"session_id", "hook_event_name", "tool_input", "transcript_path"} <= set(schemas["HookBody"]["properties"])
    names = next(given["schema"]["enum"] for given in hook["parameters"] if given["name"] == "agent")
    assert {"claude", "claude-code", "dsh", "opencode"} <= set(names)
    for name in names:
        answer = shared_panel.client.post(f"/api/hooks/{name}", json={"session_id": "described", "sessionID": "x"})
        assert answer.status_code in (200, 422)
        if answer.status_code == 200:
            assert set(answer.json()) == set(schemas["HookAnswer"]["properties"])
    assert {"200", "202", "4XX", "429", "503"} == set(hook["responses"])
    assert "HookBody" in shared_panel.client.get("/docs").text


def test_an_append_as_ndjson_is_described(shared_panel: Panel) -> None:
    append = shared_panel.client.get("/openapi.json").json()["paths"]["/api/sessions/{session}/events"]["post"]
    assert set(append["requestBody"]["content"]) == {"application/json", "application/x-ndjson"}
    assert [given["name"] for given in append["parameters"] if given["in"] == "query"] == ["expected_position"]
