"""Each request's id, its line in the log, and nothing secret there, whatever is sent (docs/operation.md)."""

import contextlib
import io
import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from planstrip.logs import JsonLines
from tests.databases import SQLITE, STORE
from tests.running import Panel, Stream, running, todos
from tests.views import view
from tests.web.test_access import ACCESS, VALUES

MARK = "M4RK"
TOKEN = "t0k3n-M4RK"


@contextlib.contextmanager
def everything_logged() -> Iterator[io.StringIO]:
    """What the log's handler writes of every record at every level, of libraries too."""
    loggers = [logging.getLogger(name) for name in list(logging.root.manager.loggerDict)]
    known = [logger for logger in (logging.root, *loggers) if logger.level]
    before = [logger.level for logger in known]
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    handler.setFormatter(JsonLines())
    logging.root.addHandler(handler)
    for logger in known:
        logger.setLevel(1)
    try:
        yield said
    finally:
        logging.root.removeHandler(handler)
        for logger, level in zip(known, before, strict=True):
            logger.setLevel(level)


@pytest.fixture
def marked(database: Path) -> Iterator[Panel]:
    with running(database, token=TOKEN, access_log=True) as panel:
        panel.client.headers["Authorization"] = f"Bearer {TOKEN}"
        yield panel


def lines_of(said: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.getvalue().splitlines()]


BODIES: list[Any] = [
    {"todos": todos(f"{MARK}=i")},
    {"todos": MARK},
    {"events": [{"type": "session/start", "data": {"agent": "codex", "title": MARK}}]},
    {"events": [{"type": "todo/write", "data": {"todos": [{"content": MARK, "status": MARK}]}, "key": f"k-{MARK}"}]},
    {"events": [{"type": MARK, "data": {MARK: MARK}, "time": MARK}], "expected_position": 7},
    {"id": "made", "agent": "codex", "title": MARK, "cwd": f"/{MARK}"},
    {"session": "mine", "label": MARK},
    {"session_id": "hooked", "hook_event_name": "UserPromptSubmit", "prompt": MARK, "transcript_path": f"/{MARK}"},
    {"jsonrpc": "2.0", "id": 1, "method": MARK, "params": {MARK: MARK}},
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "todo_write", "arguments": {"todos": todos(f"{MARK}=i"), MARK: MARK}},
    },
    [MARK],
    MARK,
]


def drive(panel: Panel, method: str, path: str, session: str) -> None:
    """A route with every secret there is, right and wrong, in each place that a request has."""
    for name, value in (VALUES | {"session": session}).items():
        path = path.replace(f"{{{name}}}", value)
    query = f"q={MARK}&token={TOKEN}&session={session}&lang={MARK}&next=/{MARK}&before=1&at={MARK}"
    headers = {"X-Request-ID": f"no id: {MARK}", "User-Agent": MARK, "Cookie": f"planstrip={MARK}", "Referer": MARK}
    if method == "GET" and path.endswith(("/stream", "/streams")):
        for asked in (f"{path}?{query}", f"{path}?session={session}"):
            with Stream(panel.url, asked, {"Authorization": f"Bearer {TOKEN}", "X-Request-ID": "stream"}) as stream:
                assert stream.status
        return
    method = method.replace("*", "POST")
    for accept in ("text/html", "application/json, text/event-stream"):
        panel.client.request(method, f"{path}?{query}", headers={**headers, "Accept": accept})
    panel.client.request(method, path, headers={"Authorization": f"Bearer view_{'0' * 16}.{MARK}"})
    if method != "GET":
        accepts = {**headers, "Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        for body in BODIES:
            panel.client.request(method, path, headers=accepts, content=json.dumps(body))
        panel.client.request(method, path, headers=accepts, content=f'{{"{MARK}": ')
        panel.client.request(method, path, headers={**accepts, "Content-Type": f"text/{MARK}"}, content=MARK)


def test_no_secret_stands_in_the_log_whatever_is_sent_to_whatever_route(marked: Panel) -> None:
    marked.client.post("/mcp", json={})  # its library sets its own level as it comes
    with everything_logged() as said:
        for method, path in ACCESS:
            drive(marked, method, path, "mine")
        link = view(marked, "mine")
        marked.client.get(f"/sessions/mine?token={link}", headers={"Authorization": ""})
        marked.client.get(f"/sessions/{link}?{MARK}")
    assert MARK not in said.getvalue()
    assert link not in said.getvalue()
    lines = lines_of(said)
    served = {(line["method"], line["route"]) for line in lines if line["logger"] == "planstrip.access"}
    assert {(method.replace("*", "POST"), path) for method, path in ACCESS} <= served
    withheld = [line for line in lines if "withheld" in line["message"]]
    assert any(line["logger"].startswith("mcp") for line in withheld)  # libraries were heard, at every level
    assert "[hidden]" in {line.get("session") for line in lines}


def test_no_secret_stands_in_the_log_when_the_store_or_we_ourselves_fail(marked: Panel) -> None:
    assert marked.write("mine", todos(f"{MARK}=i")).status_code == 200
    with everything_logged() as said, marked.stream("/api/sessions/mine/stream", Authorization=f"Bearer {TOKEN}"):
        clock, marked.parts.writer.clock = marked.parts.writer.clock, lambda: dict[str, int]()[MARK]
        bug = marked.write("mine", todos(f"{MARK}=c"))
        marked.parts.writer.clock = clock
        for table, column in (("events", "data"), ("sessions", "title")):
            with marked.parts.engine.begin() as connection:
                connection.exec_driver_sql(f"ALTER TABLE {table} RENAME COLUMN {column} TO gone")
        answers = [marked.write("mine", todos(f"{MARK}=c")), marked.client.get(f"/?q={MARK}")]
        answers += [marked.client.get("/api/sessions/mine/plan"), marked.client.get(f"/api/sessions?q={MARK}")]
    assert all(answer.status_code >= 500 for answer in answers)
    failed = [line for line in lines_of(said) if "traceback" in line]
    if STORE == SQLITE:  # PostgreSQL tells it apart from a failure of its own
        assert "the store did not take appends: no such column" in said.getvalue()
    told = {line.get("request_id") for line in failed}
    assert {answer.headers["x-request-id"] for answer in (bug, *answers[1:])} <= told
    assert (bug.status_code, bug.json()["request_id"]) == (500, bug.headers["x-request-id"])
    assert any(line.get("session") == "mine" for line in failed)
    assert MARK not in said.getvalue()


@pytest.mark.parametrize("given", ["a-b_c.9", "0" * 100])
def test_a_sane_id_is_taken_and_given_back(shared_panel: Panel, given: str) -> None:
    for path in ("/healthz", "/nothing", "/api/sessions/none/plan"):
        answer = shared_panel.client.get(path, headers={"X-Request-ID": given})
        assert answer.headers.get_list("x-request-id") == [given]


@pytest.mark.parametrize("given", ["", "a b", "0" * 101, "a,b", "a/b", '"', f"view_{'0' * 16}.x", None])
def test_any_other_id_is_made_anew(shared_panel: Panel, given: str | None) -> None:
    headers = {} if given is None else {"X-Request-ID": given}
    made = {shared_panel.client.get("/healthz", headers=headers).headers["x-request-id"] for _ in range(2)}
    assert len(made) == 2
    assert all(len(one) == 16 and int(one, 16) for one in made)


def test_what_the_guard_refuses_has_an_id_and_a_line_as_well(marked: Panel) -> None:
    with everything_logged() as said:
        answer = marked.client.get("/api/sessions/mine/plan", headers={"Authorization": "Bearer wrong"})
    (line,) = [line for line in lines_of(said) if line["logger"] == "planstrip.access"]
    assert line["request_id"] == answer.headers["x-request-id"]
    assert (line["route"], line["status"], line["session"]) == ("/api/sessions/{session}/plan", 401, "mine")
    assert line["message"] == "GET /api/sessions/{session}/plan 401"


def test_a_stream_of_several_sessions_is_said_to_be_of_none(marked: Panel) -> None:
    """Which `/embed/stream` is not: that is the page of a session of this name."""
    with everything_logged() as said:
        with marked.stream(f"/embed/sessions/streams?session=mine&token={TOKEN}") as stream:
            stream.next()
        marked.client.get("/embed/stream?session=mine")
        while len(lines := [line for line in lines_of(said) if line["logger"] == "planstrip.access"]) < 2:
            time.sleep(0.01)
    told = {line["route"]: line.get("session") for line in lines}
    assert told == {"/embed/sessions/streams": None, "/embed/{session}": "stream"}


def test_a_session_that_a_body_names_is_told(marked: Panel) -> None:
    with everything_logged() as said:
        marked.client.post("/api/sessions", json={"id": "named", "agent": "codex"})
        hook = {"session_id": "hooked", "hook_event_name": "SessionStart", "cwd": "/x"}
        assert marked.client.post("/api/hooks/claude-code", json=hook).status_code < 300
    told = {line["route"]: line.get("session") for line in lines_of(said) if line["logger"] == "planstrip.access"}
    assert told == {"/api/sessions": "named", "/api/hooks/{agent}": "hooked"}
