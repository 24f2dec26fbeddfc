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
