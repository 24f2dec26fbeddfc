"""One event that does not read, of every kind and at every place: nobody else's page and no other event suffers."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pytest
from sqlalchemy import text as sql

from planstrip.events import TYPES
from planstrip.projection import rebuild
from tests.faults.load import RUNS
from tests.running import Panel, new_session, run, running, todos
from tests.stores import Store, opened

DEEP: Final = "[" * 100_000
VALID: Final = '{"todos":[{"content":"x","status":"pending"}]}'
# What may stand in a row in spite of every check at the door: another program wrote it, or a disk did.
DATA: Final = {
    "no JSON": "{",
    "nothing": "",
    "a list": "[]",
    "a number": "7",
    "null": "null",
    "an empty object": "{}",
    "wrong types": '{"todos":7,"turn":"x","call_id":1,"agent":[],"title":{},"reason":"x","content":3,"arguments":{}}',
    "a wrong item": '{"todos":[{"content":7,"status":"pending"}],"turn":1.5,"reason":{"kind":null}}',
    "a wrong status": '{"todos":[{"content":"x","status":"lost"}],"turn":true}',
    "a wrong shape": '{"todos":["x"],"omitted":[3],"error":7,"call_id":"a","text":"x","is_error":0}',
    "deep": DEEP,
    "NaN": '{"turn":NaN,"todos":[{"content":NaN,"status":"pending"}]}',
    "a large number": '{"turn":' + "9" * 5_000 + ',"to_position":' + "9" * 5_000 + "}",
    "NUL": '{"todos":[{"content":"a\\u0000b","status":"pending"}],"turn":1,"prompt":"a\\u0000b","agent":"a\\u0000",'
    '"title":"\\u0000","call_id":"\\u0000","name":"\\u0000","arguments":"\\u0000","text":"\\u0000","for":"\\u0000",'
    '"content":"\\u0000","is_error":true,"reason":{"kind":"\\u0000"},"to_position":0}',
    "a lone surrogate": '{"todos":[{"content":"a\\ud800b","status":"pending"}],"turn":1,"prompt":"\\ud800",'
    '"agent":"\\ud800","title":"\\ud800","cwd":"\\ud800","parent":"\\ud800","call_id":"\\ud800","name":"\\ud800",'
    '"arguments":"\\ud800","text":"\\ud800","for":"\\ud800","content":"\\ud800","is_error":true,'
    '"reason":{"kind":"\\ud800"},"to_position":0}',
    "huge": json.dumps(
        {
            "todos": [{"content": f"{n}" + "x" * 200, "status": "pending"} for n in range(2_000)],
            "turn": 1,
            "prompt": "x" * 500_000,
            "agent": "x" * 500_000,
            "title": "x" * 500_000,
            "call_id": "x",
            "name": "x" * 500_000,
            "arguments": "x" * 500_000,
            "text": "x" * 500_000,
            "is_error": True,
            "for": "x" * 500_000,
            "content": "x" * 500_000,
            "reason": {"kind": "x" * 500_000},
            "to_position": 0,
        }
    ),
    "twice the same": '{"todos":[{"content":"x","status":"pending"},{"content":"x","status":"pending"}]}',
    "blank": '{"todos":[{"content":" ","status":"pending"}],"agent":"","title":"","name":"","call_id":""}',
}
UNREADABLE: Final = ("no JSON", "nothing", "deep", "NaN", "a large number", "a lone surrogate")  # for everybody
INSERT: Final = (
    "INSERT INTO events (session, position, type, time, data) VALUES (:session, :position, :type, :time, :data)"
)
LOG: Final[Sequence[tuple[str, dict[str, Any]]]] = (
    ("session/start", {"agent": "codex", "title": "A title"}),
    ("turn/start", {"turn": 1, "prompt": "Do it"}),
    ("tool/call", {"call_id": "a", "name": "bash", "arguments": "{}"}),
    ("todo/write", {"todos": todos("x=c y=i")}),
    ("tool/result", {"call_id": "a", "is_error": False, "text": "done"}),
)
PATHS: Final = (
    "/sessions/{}",
    "/sessions/{}?at={at}",
    "/sessions/{}/rows?before={at}",
    "/embed/{}?rows=5",
    "/embed/{}?at={at}",
    "/embed?session={}",
    "/api/sessions/{}/plan",
    "/api/sessions/{}/plan?at={at}",
    "/api/sessions/{}/plan.md",
    "/api/sessions/{}/plan.svg",
    "/api/sessions/{}/events",
)
STREAMS: Final = ("/sessions/{}/stream", "/embed/{}/stream", "/api/sessions/{}/stream")
PLACES: Final = (1, 3, len(LOG) + 1)


@pytest.fixture(scope="module")
def poisoned(tmp_path_factory: pytest.TempPathFactory, empty_log: bytes) -> Iterator[tuple[Panel, Store]]:
    """A panel with one sound session, and its store, into which anything may be put."""
    path = tmp_path_factory.mktemp("poison") / "log.sqlite3"
    path.write_bytes(empty_log)
    with running(path) as panel, opened(path) as store:
        panel.write("sound", todos("x=i y=p"))
        yield panel, store


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", DATA if RUNS > 1 else ["all but huge", "huge"])
def test_an_event_that_does_not_read(poisoned: tuple[Panel, Store], kind: str, place: int) -> None:
    """One of each type, beside sound events: every page, stream and answer of that session is there, its sound events
    are shown, its log tells which do not read; its agent writes on; other sessions and the board are as they were."""
    panel, store = poisoned
    session = new_session()
    kinds = [kind] if kind in DATA else [name for name in DATA if name != "huge"]
    types = [type_ for type_ in TYPES if kind != "huge" or type_ in ("todo/write", "tool/call", "turn/start")]
    insert(store, session, [(type_, DATA[name], 5_000) for type_ in [*types, "later/type"] for name in kinds], place)
    look(panel, session, place)
    answer = panel.client.get(f"/api/sessions/{session}/events").json()["events"]
    told = [event["problem"] for event in answer if "problem" in event]
    assert all("does not read" in problem for problem in told)
    assert len(told) == (len(types) + 1) * len({*kinds} & {*UNREADABLE})


@pytest.mark.parametrize("time", [-1, 2**62, -(2**62), pytest.param("soon", marks=pytest.mark.sqlite)])
def test_an_event_whose_time_is_none(poisoned: tuple[Panel, Store], time: object) -> None:
    """As above: it is shown at the nearest time that is one."""
    panel, store = poisoned
    session = new_session()
    insert(store, session, [("todo/write", VALID, time), ("turn/start", '{"turn":2}', time)], 3)
    look(panel, session, 3)


def test_a_snapshot_and_an_export_of_what_does_not_read(poisoned: tuple[Panel, Store]) -> None:
    """Both are there."""
    panel, store = poisoned
    session = new_session()
    insert(store, session, [(type_, DATA["a lone surrogate"], 5_000) for type_ in TYPES], 3)
    code, out, err = run("snapshot", f"{panel.url}/sessions/{session}")
    assert (code, err) == (0, "")
    assert "item=in_progress y" in out
    assert panel.client.get(f"/api/sessions/{session}/plan.md").status_code == 200


def insert(store: Store, session: str, poison: Sequence[tuple[str, str, object]], place: int) -> None:
    """A session of sound events, with others in between from position `place` on, which no door has seen."""
    rows: list[tuple[str, str, object]] = [(type_, json.dumps(data), 1_000) for type_, data in LOG]
    rows[place - 1 : place - 1] = poison
    numbered = enumerate(rows, 1)
    with store.engine.begin() as connection:
        for position, (type_, data, time) in numbered:
            row = {"session": session, "position": position, "type": type_, "time": time, "data": data}
            connection.execute(sql(INSERT), row)
        rebuild(connection, session)


def look(panel: Panel, session: str, at: int) -> None:
    for path in (*(path.format(session, at=at) for path in PATHS), "/", "/api/sessions", "/sessions/sound"):
        answer = panel.client.get(path, headers={"accept": "text/html"})
        assert answer.status_code == 200, path
    for path in STREAMS:
        with panel.stream(path.format(session)) as stream:
            frame = stream.frame()
            assert frame is not None, path
            assert frame.event != "behind", path
    assert panel.write(session, todos("later=i")).status_code == 200
    assert panel.plan(session)["todos"] == todos("later=i")
    assert panel.plan("sound")["todos"] == todos("x=i y=p")
