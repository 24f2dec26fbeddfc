"""The reads of the REST API (spec.md §10)."""

import base64
import json
from typing import Any
from xml.etree import ElementTree

import pytest
from httpx import Response

from planstrip.db import for_writing, hold
from planstrip.plan.outline import QUIET_AFTER_MS
from tests.running import Panel, new_session, todos

TITLE = {"type": "session/title", "data": {"title": "t"}}
READS = ("events", "plan", "plan.md", "plan.svg")


def write(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "todo/write", "data": {"todos": todos(text)}, **more}


def problem(answer: Response, status: int) -> dict[str, Any]:
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert set(body) - {"errors"} == {"title", "status", "detail"}
    assert body["status"] == status
    assert all(set(error) == {"path", "message"} for error in body.get("errors", []))
    return body


# The plan


def test_the_plan_is_the_list_its_counts_and_what_set_it(shared_panel: Panel) -> None:
    session = new_session()
    omitted = [{"content": "x", "status": "cancelled"}]
    event = {"type": "todo/write", "data": {"todos": todos("a=c b=i c=p"), "omitted": omitted}, "time": 77}
    shared_panel.append(session, TITLE, event, TITLE)
    assert shared_panel.plan(session) == {
        "session": session,
        "position": 3,
        "todos": todos("a=c b=i c=p"),
        "omitted": omitted,
        "counts": {"completed": 1, "in_progress": 1, "pending": 1},
        "since": {"position": 2, "time": 77},
    }


def test_no_plan_is_null_and_not_an_empty_list(shared_panel: Panel) -> None:
    """R070."""
    session = new_session()
    shared_panel.append(session, TITLE)
    assert shared_panel.plan(session) == {
        "session": session,
        "position": 1,
        "todos": None,
        "omitted": [],
        "counts": {"completed": 0, "in_progress": 0, "pending": 0},
        "since": None,
    }


def test_the_plan_is_told_as_it_stood(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, TITLE, write("a=i"), TITLE, write("b=i"))
    expected = [(0, None), (1, None), (2, "a=i"), (3, "a=i"), (4, "b=i")]
    for at, text in expected:
        plan = shared_panel.plan(session, at)
        assert (plan["position"], plan["todos"]) == (at, todos(text) if text else None)
    for read in ("plan", "plan.md", "plan.svg"):
        problem(shared_panel.client.get(f"/api/sessions/{session}/{read}?at=5"), 404)
        problem(shared_panel.client.get(f"/api/sessions/{session}/{read}?at=-1"), 422)
        problem(shared_panel.client.get(f"/api/sessions/{session}/{read}?at=x"), 422)
        problem(shared_panel.client.get(f"/api/sessions/{session}/{read}?at={10**30}"), 422)


def test_the_plan_as_markdown_is_a_task_list_that_nothing_breaks_out_of(shared_panel: Panel) -> None:
    session = new_session()
    listed = [
        {"content": "**bold** <b>[x](y)", "status": "completed"},
        {"content": "two\nlines # no heading", "status": "in_progress"},
        {"content": "c", "status": "pending"},
    ]
    shared_panel.write(session, listed)
    answer = shared_panel.client.get(f"/api/sessions/{session}/plan.md")
    assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    lines = answer.text.splitlines()
    assert [line[:6] for line in lines] == ["- [x] ", "- [ ] ", "- [ ] "]
    assert "<b>" not in answer.text
    assert "\\*\\*bold" in lines[0]


def test_the_plan_as_a_badge_says_its_counts(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=c b=i"))
    answer = shared_panel.client.get(f"/api/sessions/{session}/plan.svg")
    assert answer.headers["content-type"].startswith("image/svg+xml")
    assert (answer.headers["cache-control"], answer.headers["vary"]) == ("no-cache", "Accept-Language")
    assert "1 completed" in answer.text
    assert "已完成" in shared_panel.client.get(f"/api/sessions/{session}/plan.svg?lang=zh").text
    assert "1 completed" in shared_panel.client.get(f"/api/sessions/{session}/plan.svg?lang=none").text


def test_a_badge_is_a_picture_of_its_own_without_a_word_of_the_agents(shared_panel: Panel) -> None:
    session = new_session()
    hostile = ']]></svg><script xmlns="http://www.w3.org/1999/xhtml">alert(1)</script>'
    shared_panel.append(session, {"type": "session/title", "data": {"title": hostile}})
    shared_panel.write(session, [{"content": hostile, "status": "in_progress"}])
    for query in ("", "?lang=zh", "?at=1"):
        text = shared_panel.client.get(f"/api/sessions/{session}/plan.svg{query}").text
        drawing = ElementTree.fromstring(text)
        assert {element.tag.rpartition("}")[2] for element in drawing.iter()} == {"svg", "rect", "g", "text"}
        assert "alert" not in text
        assert drawing.attrib["aria-label"] == ": ".join(
            element.text or "" for element in drawing.iter("{http://www.w3.org/2000/svg}text")
        )


# Events


def test_events_are_read_page_by_page(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, *[{"type": "x", "data": {"n": n}, "time": n} for n in range(5)])
    path = f"/api/sessions/{session}/events"
    first = shared_panel.client.get(path, params={"limit": 2}).json()
    assert first == {
        "events": [
            {"position": 1, "type": "x", "time": 0, "data": {"n": 0}},
            {"position": 2, "type": "x", "time": 1, "data": {"n": 1}},
        ],
        "next": 2,
    }
    second = shared_panel.client.get(path, params={"limit": 2, "after": 2}).json()
    third = shared_panel.client.get(path, params={"limit": 2, "after": second["next"]}).json()
    assert [event["position"] for event in second["events"] + third["events"]] == [3, 4, 5]
    assert third["next"] is None
    assert shared_panel.client.get(path, params={"after": 5}).json() == {"events": [], "next": None}
    assert shared_panel.client.get(path, params={"after": 99}).json() == {"events": [], "next": None}


def test_five_hundred_events_are_a_page(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, *[TITLE] * 501)
    answer = shared_panel.client.get(f"/api/sessions/{session}/events").json()
    assert (len(answer["events"]), answer["next"]) == (500, 500)


@pytest.mark.parametrize("query", ["after=-1", "after=x", "limit=0", "limit=x", "limit=-1", f"after={10**30}"])
def test_a_faulty_page_is_refused(shared_panel: Panel, query: str) -> None:
    session = new_session()
    shared_panel.append(session, TITLE)
    problem(shared_panel.client.get(f"/api/sessions/{session}/events?{query}"), 422)


# The list


def listed(panel: Panel, query: str = "") -> list[dict[str, Any]]:
    answer = panel.client.get(f"/api/sessions{query}")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["sessions"]
    return found


def test_a_session_is_listed_with_its_figures(panel: Panel) -> None:
    body = {"id": "a", "agent": "codex", "title": "T", "cwd": "/w", "parent": "p"}
    panel.client.post("/api/sessions", json=body)
    panel.append("a", write("x=c y=i z=p w=p", time=253402300799999))
    assert panel.client.get("/api/sessions").json() == {
        "sessions": [
            {
                **body,
                "position": 2,
                "updated_at": 253402300799999,
                "counts": {"completed": 1, "in_progress": 1, "pending": 2},
                "state": "open",
            }
        ],
        "next": None,
    }


def test_an_empty_panel_lists_nothing(panel: Panel) -> None:
    assert panel.client.get("/api/sessions").json() == {"sessions": [], "next": None}


def test_the_newest_last_event_stands_first(panel: Panel) -> None:
    for session, time in (("a", 5), ("b", 9), ("c", 7), ("d", 7)):
        panel.append(session, {**TITLE, "time": time})
    panel.append("a", {**TITLE, "time": 8})
    panel.append("b", {**TITLE, "time": 1})  # the last event's, not the newest
    assert [session["id"] for session in listed(panel)] == ["a", "d", "c", "b"]


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_list_is_read_page_by_page_without_loss_or_repeat(panel: Panel, limit: int) -> None:
    for number in range(7):
        panel.append(f"s{number}", {**TITLE, "time": number // 3})
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        answer = panel.client.get("/api/sessions", params={"limit": limit} | ({"after": cursor} if cursor else {}))
        found += [session["id"] for session in answer.json()["sessions"]]
        cursor = answer.json()["next"]
    assert found == ["s6", "s5", "s4", "s3", "s2", "s1", "s0"]


def test_the_list_is_filtered(panel: Panel) -> None:
    panel.client.post("/api/sessions", json={"id": "a", "agent": "codex", "title": "Fix 100% of it", "cwd": "/w/one"})
    panel.client.post("/api/sessions", json={"id": "b", "agent": "claude-code", "title": "other", "cwd": "/w/two"})
    panel.append("b", write("Repair=i"))
    for query, ids in [
        ("?agent=codex", ["a"]),
        ("?agent=cod", []),
        ("?cwd=/w/two", ["b"]),
        ("?cwd=/w", []),
        ("?q=FIX", ["a"]),
        ("?q=100%25", ["a"]),
        ("?q=1_0", []),
        ("?q=w/two", ["b"]),
        ("?q=repair", ["b"]),
        ("?q=nowhere", []),
        ("?q=", ["a", "b"]),
        ("?state=none", ["a"]),
        ("?state=open", ["b"]),
        ("?state=open&agent=codex", []),
    ]:
        assert sorted(session["id"] for session in listed(panel, query)) == ids, query


def test_states_follow_from_the_events_and_the_clock(panel: Panel) -> None:
    now = panel.parts.clock()
    start, old = {"type": "turn/start", "data": {"turn": 1}}, now - QUIET_AFTER_MS - 60_000
    end = {"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "completed"}}}
    abort = {"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "aborted"}}}
    wait = {"type": "turn/wait", "data": {"turn": 1, "for": "permission"}}
    made: dict[str, list[dict[str, Any]]] = {
        "waiting": [start, write("a=i"), wait],
        "working": [start, write("a=i")],
        "quiet": [{**start, "time": old}, write("a=i", time=old)],
        "interrupted": [start, write("a=i"), abort],
        "open": [start, write("a=i"), end],
        "done": [start, write("a=c"), end],
        "none": [start, end],
    }
    for state, events in made.items():
        assert panel.append(state, *events).status_code == 201
    for state in made:
        assert [(session["id"], session["state"]) for session in listed(panel, f"?state={state}")] == [(state, state)]


@pytest.mark.parametrize(
    "query",
    [
        "state=busy",
        "limit=0",
        "limit=x",
        "limit=100000",
        "after=x",
        "after=!!!",
        "after=é",
        *(
            f"after={base64.urlsafe_b64encode(json.dumps(value).encode()).decode()}"
            for value in (7, [], [1], [1, 2, 3], ["a", "b"], [10**30, "a"], [-1, "a"], {"a": 1, "b": 2}, [1, "\ud800"])
        ),
    ],
)
def test_a_faulty_filter_is_refused(shared_panel: Panel, query: str) -> None:
    problem(shared_panel.client.get(f"/api/sessions?{query}"), 422)


# What is not there


@pytest.mark.parametrize("read", READS)
def test_a_session_that_does_not_exist_is_not_found(shared_panel: Panel, read: str) -> None:
    body = problem(shared_panel.client.get(f"/api/sessions/nobody/{read}"), 404)
    assert "nobody" in body["detail"]


@pytest.mark.parametrize("read", READS)
def test_an_id_that_is_none_is_refused(shared_panel: Panel, read: str) -> None:
    problem(shared_panel.client.get(f"/api/sessions/{'x' * 201}/{read}"), 422)
    problem(shared_panel.client.get(f"/api/sessions/a%07b/{read}"), 422)


@pytest.mark.parametrize("path", ["/api", "/api/", "/api/nothing", "/api/sessions/a/b/c", "/nothing", "/static/no.css"])
def test_what_is_nowhere_is_not_found(shared_panel: Panel, path: str) -> None:
    problem(shared_panel.client.get(path), 404)


@pytest.mark.parametrize("path", ["/api/sessions/a/plan", "/healthz", "/docs", "/sessions/a"])
def test_another_method_is_not_allowed(shared_panel: Panel, path: str) -> None:
    answer = shared_panel.client.post(path, json={})
    problem(answer, 405)
    assert "GET" in answer.headers["allow"]


def test_an_error_on_a_page_is_a_page_for_a_person_and_json_for_a_program(shared_panel: Panel) -> None:
    for path in ("/nothing", f"/sessions/{'x' * 201}"):
        page = shared_panel.client.get(path, headers={"accept": "text/html"})
        assert page.status_code in (404, 422)
        assert page.headers["content-type"].startswith("text/html")
        assert shared_panel.client.get(path).headers["content-type"] == "application/problem+json"
    api = shared_panel.client.get("/api/nothing", headers={"accept": "text/html"})
    assert api.headers["content-type"] == "application/problem+json"


def test_a_locked_store_is_answered_with_503_and_a_hint(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planstrip.sqlite.BUSY_TIMEOUT_MS", 50)
    monkeypatch.setattr("planstrip.postgresql.LOCK_TIMEOUT_MS", 50)
    panel.parts.engine.dispose()  # what was opened before waits longer
    with for_writing(panel.parts.engine).begin() as connection:
        hold(connection, ["a"])
        answer = panel.write("a", todos("a=i"))
    problem(answer, 503)
    assert answer.headers["retry-after"] == "1"
    assert panel.write("a", todos("a=i")).json()["position"] == 2


def test_a_plan_that_cannot_be_read_is_not_told_as_no_plan(panel: Panel) -> None:
    """R070: neither on the wire nor on a page, and an open page keeps what it shows."""
    panel.write("a", todos("a=i"))
    with panel.stream("/sessions/a/stream") as stream:
        stream.next()
        with panel.parts.engine.begin() as connection:
            connection.exec_driver_sql("ALTER TABLE events RENAME TO elsewhere")
        panel.parts.hub.wake({"a": 9})
        assert stream.wait(0.4) is None
        problem(panel.client.get("/api/sessions/a/plan"), 503)
        page = panel.client.get("/sessions/a", headers={"accept": "text/html"})
        assert (page.status_code, page.headers["content-type"]) == (503, "text/html; charset=utf-8")
        with panel.parts.engine.begin() as connection:
            connection.exec_driver_sql("ALTER TABLE elsewhere RENAME TO events")
        panel.write("a", todos("a=c"))
        assert "1 completed" in stream.next().data
