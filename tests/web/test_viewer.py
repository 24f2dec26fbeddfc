"""A person's acts on a session's page (spec.md §9, §10)."""

import re
from pathlib import Path

import pytest

from tests.running import Panel, new_session, running, todos


@pytest.fixture
def form(shared_panel: Panel) -> tuple[str, dict[str, str]]:
    """The dismissal that a session's page offers: its address and what it sends."""
    session = new_session()
    shared_panel.write(session, todos("a=i b=p"))
    shared_panel.write(session, todos("a=c"))
    html = shared_panel.client.get(f"/sessions/{session}").text
    (action,) = re.findall(r'<form method="post" action="([^"]+/dismiss[^"]*)"', html)
    (item,) = re.findall(r'name="item" value="(\w+)"', html)
    return action, {"item": item}


def test_the_form_dismisses_and_leads_back_to_the_page(shared_panel: Panel, form: tuple[str, dict[str, str]]) -> None:
    action, data = form
    answer = shared_panel.client.post(action, data=data)
    path = action.partition("/dismiss")[0]
    assert (answer.status_code, answer.headers["location"]) == (303, f"{path}?lang=en")
    assert shared_panel.events(path.rpartition("/")[2])[-1]["type"] == "viewer/dismiss"
    assert "data-unlisted" not in shared_panel.client.get(path).text


def test_to_htmx_it_answers_with_nothing_since_the_stream_brings_the_change(
    shared_panel: Panel, form: tuple[str, dict[str, str]]
) -> None:
    action, data = form
    for _ in range(2):  # the second finds it dismissed
        assert shared_panel.client.post(action, data=data, headers={"HX-Request": "true"}).status_code == 204
    session = action.split("/")[2]
    assert [event["type"] for event in shared_panel.events(session)].count("viewer/dismiss") == 1


def test_what_no_item_names_changes_nothing(shared_panel: Panel, form: tuple[str, dict[str, str]]) -> None:
    action, data = form
    session = action.split("/")[2]
    stored = shared_panel.events(session)
    for sent in ({}, {"item": "0" * 32}, {"content": "b"}):
        assert shared_panel.client.post(action, data={"x": "", **sent}).status_code == 303
    assert shared_panel.client.post(action, json=data).status_code == 415
    assert shared_panel.client.post(action, data={"item": "x" * 20_000}).status_code == 413
    assert shared_panel.client.post(f"/sessions/{new_session()}/dismiss", data=data).status_code == 303
    foreign = shared_panel.client.post(action, data=data, headers={"Origin": "http://elsewhere.example"})
    assert foreign.status_code == 403
    assert shared_panel.events(session) == stored


def test_below_a_prefix_and_with_a_token_it_needs_both(database: Path) -> None:
    with running(database, root_path="/plans", token="s3cret") as panel:
        bearer = {"Authorization": "Bearer s3cret"}
        for text in ("a=i b=p", "a=c"):
            panel.client.post("/api/sessions/s/todo_write", json={"todos": todos(text)}, headers=bearer)
        html = panel.client.get("/sessions/s", headers=bearer).text
        (action,) = re.findall(r'<form method="post" action="([^"]+/dismiss[^"]*)"', html)
        (item,) = re.findall(r'name="item" value="(\w+)"', html)
        assert action.startswith("/plans/sessions/s/dismiss")
        assert panel.client.post(panel.origin + action, data={"item": item}).status_code == 401
        answer = panel.client.post(panel.origin + action, data={"item": item}, headers=bearer)
        assert (answer.status_code, answer.headers["location"]) == (303, "/plans/sessions/s?lang=en")
