"""The writes of the REST API: one atomic, durable, guarded append each (spec.md §2, §10)."""

import itertools
import json
from typing import Any

import pytest

from tests.running import Panel, new_session, todos

TITLE = {"type": "session/title", "data": {"title": "t"}}


def write(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "todo/write", "data": {"todos": todos(text)}, **more}


def post(panel: Panel, session: str, body: bytes | str, content_type: str = "application/json") -> Any:
    return panel.client.post(
        f"/api/sessions/{session}/events", content=body, headers={"content-type": content_type} if content_type else {}
    )


# Sessions


def test_a_session_is_opened_once(panel: Panel) -> None:
    body = {"id": "a", "agent": "codex", "title": "T", "cwd": "/w", "parent": "p"}
    first = panel.client.post("/api/sessions", json=body)
    again = panel.client.post("/api/sessions", json={**body, "title": "other"})
    assert (first.status_code, first.json()) == (201, {"id": "a", "position": 1})
    assert (again.status_code, again.json()) == (200, {"id": "a", "position": 1})
    assert [(event["type"], event["data"]) for event in panel.events("a")] == [
        ("session/start", {"agent": "codex", "title": "T", "cwd": "/w", "parent": "p"})
    ]


def test_a_session_without_an_id_gets_one_of_its_own(panel: Panel) -> None:
    ids = {panel.client.post("/api/sessions", json={"agent": "codex"}).json()["id"] for _ in range(3)}
    assert len(ids) == 3


def test_a_session_is_created_by_its_first_append_with_no_event_of_its_own(panel: Panel) -> None:
    answer = panel.append("fresh", write("a=i"))
    assert (answer.status_code, answer.json()) == (201, {"first_position": 1, "last_position": 1})
    started = panel.client.post("/api/sessions", json={"id": "fresh", "agent": "codex"})
    assert (started.status_code, started.json()["position"]) == (201, 2)
    assert panel.client.get("/api/sessions").json()["sessions"][0]["agent"] == "codex"


def test_a_later_start_fills_in_what_is_missing(panel: Panel) -> None:
    panel.append("a", {"type": "session/start", "data": {"agent": "codex"}})
    panel.append("a", {"type": "session/start", "data": {"agent": "other", "title": "T", "cwd": "/w"}})
    (listed,) = panel.client.get("/api/sessions").json()["sessions"]
    assert (listed["agent"], listed["title"], listed["cwd"]) == ("codex", "T", "/w")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"agent": "x", "colour": "red"}, "colour"),
        ({"id": "a/b", "agent": "x"}, "id"),
        ({"id": "", "agent": "x"}, "id"),
        ({"id": "x" * 201, "agent": "x"}, "id"),
        ({"id": "a\x00b", "agent": "x"}, "id"),
        ({"id": "a\x85b", "agent": "x"}, "id"),
        ({"id": 7, "agent": "x"}, "id"),
        ({"id": "a", "agent": 7}, "agent"),
        ({"id": "a"}, "agent"),
        ({"id": "a", "agent": "x", "parent": "p/q"}, "parent"),
        ({"id": "a", "agent": "x", "parent": ""}, "parent"),
    ],
)
def test_a_faulty_session_is_refused_by_the_path_of_its_fault(
    shared_panel: Panel, body: dict[str, Any], path: str
) -> None:
    answer = shared_panel.client.post("/api/sessions", json=body)
    assert answer.status_code == 422
    assert any(path in error["path"] for error in answer.json()["errors"])


@pytest.mark.parametrize("session", ["会话", "a b", "a.b:c@d", "x" * 200, "%2e%2e", "😀", "a?b#c", "\u202eabc"])
def test_an_id_may_hold_what_an_agent_calls_it(panel: Panel, session: str) -> None:
    assert panel.client.post("/api/sessions", json={"id": session, "agent": "x"}).status_code == 201
    assert [listed["id"] for listed in panel.client.get("/api/sessions").json()["sessions"]] == [session]


# Atomic, keyed, guarded


def test_a_batch_with_one_bad_event_stores_nothing(shared_panel: Panel) -> None:
    session = new_session()
    answer = shared_panel.append(session, write("a=i"), write("b=i"), {"type": "todo/write", "data": {"todos": 5}})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["path"].startswith("events[2].data")
    assert shared_panel.client.get(f"/api/sessions/{session}/events").status_code == 404


def test_the_same_key_with_the_same_content_answers_the_first_position(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, TITLE, write("a=i", key="k", time=5))
    answer = shared_panel.append(session, write("a=i", key="k", time=9))
    assert (answer.status_code, answer.json()) == (201, {"first_position": 2, "last_position": 2})
    assert len(shared_panel.events(session)) == 2
    assert shared_panel.events(session)[1]["time"] == 5


def test_content_is_compared_as_parsed_json(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, {"type": "x", "key": "k", "data": {"a": 1, "b": "é"}})
    assert post(
        shared_panel, session, r'{"events":[{"data" : {"b":"\u00e9","a":1}, "key":"k","type":"x"}]}'
    ).json() == {"first_position": 1, "last_position": 1}


def test_the_same_key_with_other_content_is_a_conflict_and_stores_nothing(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, write("a=i", key="k"))
    for other in (write("b=i", key="k"), {"type": "session/title", "data": {"title": "t"}, "key": "k"}):
        answer = shared_panel.append(session, TITLE, other)
        assert answer.status_code == 409
        assert answer.json()["title"] == "Conflict"
    assert len(shared_panel.events(session)) == 1


def test_a_key_is_of_its_session(shared_panel: Panel) -> None:
    one, other = new_session(), new_session()
    shared_panel.append(one, write("a=i", key="k"))
    assert shared_panel.append(other, write("b=i", key="k")).status_code == 201


def test_a_batch_partly_repeated_appends_only_the_rest(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, write("a=i", key="1"), write("b=i", key="2"))
    answer = shared_panel.append(session, write("b=i", key="2"), write("c=i", key="3"), TITLE)
    assert answer.json() == {"first_position": 2, "last_position": 4}
    assert [event["type"] for event in shared_panel.events(session)] == ["todo/write"] * 3 + ["session/title"]


def test_a_key_repeated_inside_a_batch_is_appended_once(shared_panel: Panel) -> None:
    session = new_session()
    answer = shared_panel.append(session, write("a=i", key="k"), TITLE, write("a=i", key="k"), write("z=p", key="z"))
    assert answer.status_code == 201, answer.text
    assert answer.json() == {"first_position": 1, "last_position": 3}
    assert [event["position"] for event in shared_panel.events(session)] == [1, 2, 3]


def test_a_key_that_names_two_contents_inside_a_batch_is_a_conflict(shared_panel: Panel) -> None:
    session = new_session()
    assert shared_panel.append(session, write("a=i", key="k"), write("b=i", key="k")).status_code == 409
    assert shared_panel.events(session) == []


def test_a_known_key_is_found_before_the_expected_position_is_looked_at(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, write("a=i", key="k"), expected_position=0)
    shared_panel.append(session, TITLE)
    again = shared_panel.append(session, write("a=i", key="k"), expected_position=0)
    assert (again.status_code, again.json()) == (201, {"first_position": 1, "last_position": 1})


def test_a_log_that_moved_on_is_a_conflict(shared_panel: Panel) -> None:
    session = new_session()
    assert shared_panel.append(session, write("a=i"), expected_position=1).status_code == 409
    assert shared_panel.append(session, write("a=i"), expected_position=0).status_code == 201
    stale = shared_panel.append(session, write("b=i"), expected_position=0)
    assert stale.status_code == 409
    assert "stands at 1" in stale.json()["detail"]
    assert len(shared_panel.events(session)) == 1


@pytest.mark.parametrize("expected", [-1, 1.5, "1", True, [], 10**30])
def test_an_expected_position_that_is_none_is_refused(shared_panel: Panel, expected: object) -> None:
    session = new_session()
    assert shared_panel.append(session, TITLE, expected_position=expected).status_code in (409, 422)
    assert shared_panel.events(session) == []


# Time


@pytest.mark.parametrize("time", [0, 1, 253402300799999])
def test_a_given_time_is_kept(shared_panel: Panel, time: int) -> None:
    session = new_session()
    shared_panel.append(session, {**TITLE, "time": time})
    assert shared_panel.events(session)[0]["time"] == time


def test_a_time_that_runs_backwards_is_kept_and_none_is_the_servers(shared_panel: Panel) -> None:
    session = new_session()
    before = shared_panel.parts.clock()
    shared_panel.append(session, {**TITLE, "time": 9}, {**TITLE, "time": 3}, TITLE)
    first, second, third = (event["time"] for event in shared_panel.events(session))
    assert (first, second) == (9, 3)
    assert before <= third <= shared_panel.parts.clock()


@pytest.mark.parametrize("time", [-1, 253402300800000, 1.0, 1.5, "5", True, [], 10**400])
def test_a_time_that_is_none_is_refused(shared_panel: Panel, time: object) -> None:
    session = new_session()
    assert shared_panel.append(session, {**TITLE, "time": time}).status_code == 422
    assert shared_panel.events(session) == []


# Limits


def padded(size: int, **more: Any) -> dict[str, Any]:
    """An event whose compact JSON is a little under `size` bytes."""
    return {"type": "x", "data": {"text": "x" * (size - 100)}, **more}


def test_an_event_just_within_the_limit_is_taken_and_one_beyond_is_not(shared_panel: Panel) -> None:
    session = new_session()
    assert shared_panel.append(session, padded(256 * 1024)).status_code == 201
    assert shared_panel.append(session, {"type": "x", "data": {"text": "x" * 256 * 1024}}).status_code == 413
    assert shared_panel.append(session, {"type": "x", "data": {"text": "é" * 129 * 1024}}).status_code == 413
    assert len(shared_panel.events(session)) == 1


def test_a_batch_of_a_thousand_events_is_taken_and_of_one_more_is_not(shared_panel: Panel) -> None:
    session = new_session()
    assert shared_panel.append(session, *[TITLE] * 1001).status_code == 413
    assert shared_panel.events(session) == []
    assert shared_panel.append(session, *[TITLE] * 1000).json() == {"first_position": 1, "last_position": 1000}


@pytest.mark.parametrize("count", [17, 40])
def test_a_batch_over_four_mebibytes_is_too_large(shared_panel: Panel, count: int) -> None:
    session = new_session()
    assert shared_panel.append(session, *[padded(255 * 1024)] * count).status_code == 413
    assert shared_panel.events(session) == []


def test_the_size_is_that_of_compact_utf8_however_it_was_sent(shared_panel: Panel) -> None:
    session = new_session()
    events = [{"type": "x", "data": {"text": "任" * (80 * 1024)}}] * 15
    assert post(shared_panel, session, json.dumps({"events": events})).status_code == 201  # twice as long escaped


def test_a_body_without_end_is_cut_off(shared_panel: Panel) -> None:
    def chunks() -> Any:
        yield b'{"events":["'
        yield from itertools.repeat(b"x" * 1024 * 1024, 64)

    answer = shared_panel.client.post(
        "/api/sessions/a/events", content=chunks(), headers={"content-type": "application/json"}
    )
    assert answer.status_code == 413


@pytest.mark.parametrize(
    "data",
    [
        {"todos": [{"content": f"{n}", "status": "pending"} for n in range(1001)]},
        {"todos": [{"content": "x" * 20_001, "status": "pending"}]},
        {"todos": [], "omitted": [{"content": "x" * 20_001, "status": "cancelled"}]},
    ],
)
def test_a_list_over_the_limits_is_refused(shared_panel: Panel, data: dict[str, Any]) -> None:
    session = new_session()
    assert shared_panel.append(session, {"type": "todo/write", "data": data}).status_code == 422
    assert shared_panel.events(session) == []


def test_a_list_at_the_limits_is_taken(shared_panel: Panel) -> None:
    many = [{"content": f"{n}", "status": "pending"} for n in range(1000)]
    long = [{"content": "任" * 20_000, "status": "pending"}]
    for listed in (many, long):
        assert shared_panel.append(new_session(), {"type": "todo/write", "data": {"todos": listed}}).status_code == 201


@pytest.mark.parametrize(
    "event",
    [
        {"type": "todo/write", "data": {"todos": [1] * 100_000}},
        {
            "type": "todo/write",
            "data": {"todos": [{"content": "a", "status": "pending", **{f"k{n}": 1 for n in range(9_000)}}]},
        },
        {"type": "x", "data": {}, **{f"k{n}": 1 for n in range(50_000)}},
        {"type": "x", "data": {}, "k" * 1_000_000: 1},
        {"type": "x" * 1_000_000, "data": {}},
    ],
    ids=["bad items", "unknown keys in a todo", "unknown keys in an event", "a long key", "a long type"],
)
def test_a_refusal_is_short_however_much_is_wrong(shared_panel: Panel, event: dict[str, Any]) -> None:
    answer = shared_panel.append(new_session(), event)
    assert answer.status_code in (413, 422)
    assert len(answer.content) < 100_000


# JSON that is none


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b'"x"',
        b"null",
        b'{"events": [{"type": "x", "data": {"a": NaN}}]}',
        b'{"events": [{"type": "x", "data": {"a": Infinity}}]}',
        b'{"events": [{"type": "x", "data": {"a": -Infinity}}]}',
        b'{"events": [{"type": "x", "data": {"a": 1e400}}]}',
        b'{"events": [{"type": "x", "data": {"a": "\\ud800"}}]}',
        b'{"events": [{"type": "x", "data": {"\\udfff": 1}}]}',
        b'{"events": [{"type": "\\uD800", "data": {}}]}',
        b'{"events": [{"type": "x", "data": {}, "key": "\\ud800"}]}',
        b'{"events": [{"type": "x", "data": {"a": "\xff"}}]}',
        b'{"events": [{"type": "x", "data": {"a": "\xed\xa0\x80"}}]}',
        b"\xff\xfe{\x00}\x00",
        b'\xef\xbb\xbf{"events": []}',
        b'{"events": [{"type": "x", "data": {"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}]}",
        b'{"events": [{"type": "x", "data": {"a": ' + b"9" * 5_000 + b"}}]}",
    ],
)
def test_what_is_no_json_is_refused(shared_panel: Panel, body: bytes) -> None:
    session = new_session()
    answer = post(shared_panel, session, body)
    assert answer.status_code in (400, 422)
    assert answer.headers["content-type"] == "application/problem+json"
    assert len(answer.content) < 2_000
    assert shared_panel.events(session) == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"events": None},
        {"events": {}},
        {"events": []},
        {"events": "[]"},
        {"events": [TITLE], "more": 1},
        {"events": [7]},
        {"events": [None]},
        {"events": [{"type": "x"}]},
        {"events": [{"data": {}}]},
        {"events": [{"type": 7, "data": {}}]},
        {"events": [{"type": "", "data": {}}]},
        {"events": [{"type": "x", "data": []}]},
        {"events": [{"type": "x", "data": "{}"}]},
        {"events": [{**TITLE, "key": 7}]},
        {"events": [{**TITLE, "key": ""}]},
        {"events": [{**TITLE, "position": 7}]},
    ],
)
def test_a_faulty_batch_names_its_fault(shared_panel: Panel, body: object) -> None:
    session = new_session()
    answer = post(shared_panel, session, json.dumps(body))
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["message"]
    assert shared_panel.events(session) == []


@pytest.mark.parametrize(
    ("type_", "data"),
    [
        ("session/start", {}),
        ("session/title", {"title": 7}),
        ("session/rewind", {}),
        ("session/rewind", {"to_position": "0"}),
        ("session/rewind", {"to_position": 10**30}),
        ("session/rewind", {"to_position": -1}),
        ("turn/start", {"turn": "1"}),
        ("turn/start", {"turn": 1.5}),
        ("turn/start", {"turn": True}),
        ("turn/end", {"turn": 1}),
        ("turn/end", {"turn": 1, "reason": "completed"}),
        ("turn/wait", {"turn": 1}),
        ("turn/wait", {"turn": 1, "subject": "x"}),
        ("tool/call", {"call_id": "c", "name": "n", "arguments": {}}),
        ("tool/result", {"call_id": "c", "is_error": "no", "text": ""}),
        ("todo/write", {}),
        ("todo/write", {"todos": "[]"}),
        ("todo/write", {"todos": [{"content": "a"}]}),
        ("todo/write", {"todos": [{"content": "a", "status": "doing"}]}),
        ("todo/write", {"todos": [{"content": "a", "status": "pending", "level": 0}]}),
        ("todo/write", {"todos": [{"content": " a", "status": "pending"}]}),
        ("todo/write", {"todos": [{"content": "\ufeffa", "status": "pending"}]}),
        ("todo/write", {"todos": [{"content": "", "status": "pending"}]}),
        ("todo/write", {"todos": [{"content": "\u3000", "status": "pending"}]}),
        ("todo/write", {"todos": todos("a=p a=c")}),
        ("viewer/dismiss", {}),
    ],
)
def test_an_event_of_a_known_type_must_have_its_data(shared_panel: Panel, type_: str, data: dict[str, Any]) -> None:
    session = new_session()
    answer = shared_panel.append(session, {"type": type_, "data": data})
    assert answer.status_code == 422, answer.text
    assert shared_panel.events(session) == []


# What is kept


def test_an_event_of_an_unknown_type_is_kept_verbatim_and_shown_nowhere(shared_panel: Panel) -> None:
    session, data = new_session(), {"n": 1.5, "big": 2**70, "deep": [[[{}]]], "null": None, "todos": "x"}
    shared_panel.append(session, write("a=i"), {"type": "later/thing", "data": data, "time": 4})
    assert shared_panel.events(session)[1] == {"position": 2, "type": "later/thing", "time": 4, "data": data}
    plan = shared_panel.plan(session)
    assert (plan["position"], plan["todos"]) == (2, todos("a=i"))


def test_unknown_keys_are_kept_but_in_a_todo(shared_panel: Panel) -> None:
    session = new_session()
    event = write("a=i")
    event["data"]["later"] = {"x": 1}
    shared_panel.append(session, event)
    assert shared_panel.events(session)[0]["data"] == event["data"]


@pytest.mark.parametrize(
    "text",
    ["\x00", "a\x00b", "\u2028x\u2029", "\u202etxet", "\x1b[31m", "😀", "\U0010ffff", "\ufffe", "\x1c", "'\"\\<>&"],
)
def test_every_character_survives(shared_panel: Panel, text: str) -> None:
    session, content = new_session(), f"[{text}]"
    events = [
        {"type": "todo/write", "data": {"todos": [{"content": content, "status": "pending"}]}, "key": text},
        {"type": f"x{text}", "data": {text: text}},
        {"type": "session/title", "data": {"title": text}},
    ]
    assert shared_panel.append(session, *events).status_code == 201
    stored = shared_panel.events(session)
    assert [(event["type"], event["data"]) for event in stored] == [(event["type"], event["data"]) for event in events]
    assert shared_panel.plan(session)["todos"][0]["content"] == content
    assert shared_panel.append(session, events[0]).json() == {"first_position": 1, "last_position": 1}
    assert shared_panel.client.get(f"/sessions/{session}").status_code == 200


def test_of_a_duplicate_key_the_last_one_is_read_and_stored(shared_panel: Panel) -> None:
    session = new_session()
    body = '{"events":[{"type":"todo/write","data":{"todos":[],"todos":[{"content":"a","status":"pending"}]}}]}'
    assert post(shared_panel, session, body).status_code == 201
    assert shared_panel.events(session)[0]["data"] == {"todos": todos("a=p")}
    assert shared_panel.plan(session)["todos"] == todos("a=p")


# Content types


@pytest.mark.parametrize("route", ["", "/a/events", "/a/todo_write"])
@pytest.mark.parametrize(
    "given", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json", ""]
)
def test_a_body_of_another_type_is_refused(shared_panel: Panel, route: str, given: str) -> None:
    answer = shared_panel.client.post(
        f"/api/sessions{route}", content=b'{"todos":[]}', headers={"content-type": given} if given else {}
    )
    assert (answer.status_code, answer.json()["title"]) == (415, "Unsupported content type")


def test_a_viewer_route_takes_no_other_type_either(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, write("a=i"))
    answer = shared_panel.client.post(
        f"/api/sessions/{session}/retire", content=b'{"by":"x"}', headers={"content-type": "text/plain"}
    )
    assert answer.status_code == 415


@pytest.mark.parametrize("given", ["application/json", "application/json; charset=utf-8", "Application/JSON"])
def test_json_is_json_with_parameters_too(shared_panel: Panel, given: str) -> None:
    assert post(shared_panel, new_session(), json.dumps({"events": [TITLE]}), given).status_code == 201


def test_an_event_a_line_is_a_batch(shared_panel: Panel) -> None:
    session = new_session()
    lines = "\r\n".join([json.dumps(write("a=i")), "", json.dumps(TITLE)])
    answer = post(shared_panel, session, lines + "\n", "application/x-ndjson")
    assert answer.json() == {"first_position": 1, "last_position": 2}


@pytest.mark.parametrize("lines", ["", "\n\n", '{"type": "x", "data": {}}\n{', "[]\n", '{"type": "x"}\n'])
def test_lines_with_a_bad_one_store_nothing(shared_panel: Panel, lines: str) -> None:
    session = new_session()
    assert post(shared_panel, session, lines, "application/x-ndjson").status_code in (400, 422)
    assert shared_panel.events(session) == []


def test_too_many_lines_are_too_large(shared_panel: Panel) -> None:
    session = new_session()
    lines = (json.dumps(TITLE) + "\n") * 1001
    assert post(shared_panel, session, lines, "application/x-ndjson").status_code == 413


# Retire and restore


def test_a_retirement_is_an_event_that_the_next_write_supersedes(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, write("a=i"))
    retired = shared_panel.client.post(f"/api/sessions/{session}/retire", json={"by": "ann"})
    assert (retired.status_code, retired.json()["todos"], retired.json()["position"]) == (200, None, 2)
    assert shared_panel.events(session)[1]["data"] == {"by": "ann"}
    assert shared_panel.client.post(f"/api/sessions/{session}/retire").status_code == 409
    restored = shared_panel.client.post(f"/api/sessions/{session}/restore")
    assert (restored.status_code, restored.json()["todos"]) == (200, todos("a=i"))
    assert restored.json()["since"]["position"] == 3
    assert shared_panel.client.post(f"/api/sessions/{session}/restore").status_code == 409


def test_what_the_agent_wrote_since_cannot_be_undone(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, write("a=i"))
    shared_panel.client.post(f"/api/sessions/{session}/retire")
    shared_panel.append(session, write("b=i"))
    assert shared_panel.client.post(f"/api/sessions/{session}/restore").status_code == 409
    assert shared_panel.plan(session)["todos"] == todos("b=i")


def test_a_dropped_to_do_is_dismissed_once(shared_panel: Panel) -> None:
    session, path = new_session(), "/api/sessions/{}/dismiss"
    assert shared_panel.client.post(path.format(session), json={"content": "b"}).status_code == 404
    shared_panel.append(session, write("a=i b=p"), write("a=c"))
    assert shared_panel.client.post(path.format(session), json={"content": "B"}).status_code == 409
    dismissed = shared_panel.client.post(path.format(session), json={"content": "b", "by": "ann"})
    assert (dismissed.status_code, dismissed.json()) == (200, shared_panel.plan(session))
    assert shared_panel.events(session)[-1]["data"] == {"content": "b", "by": "ann"}
    assert shared_panel.client.post(path.format(session), json={"content": "b"}).status_code == 409
    for body in ({}, {"content": 1}, {"content": "b", "at": 1}):
        assert shared_panel.client.post(path.format(session), json=body).status_code == 422
    assert shared_panel.client.post(path.format(session), data={"content": "b"}).status_code == 415
    assert len(shared_panel.events(session)) == 3


@pytest.mark.parametrize("act", ["retire", "restore"])
def test_there_is_nothing_to_do_without_a_plan(shared_panel: Panel, act: str) -> None:
    session = new_session()
    answer = shared_panel.client.post(f"/api/sessions/{session}/{act}")
    assert answer.status_code == 404
    assert shared_panel.client.get(f"/api/sessions/{session}/plan").status_code == 404  # nothing was created
    shared_panel.append(session, TITLE)
    assert shared_panel.client.post(f"/api/sessions/{session}/{act}").status_code == 409
    assert shared_panel.client.post(f"/api/sessions/{session}/{act}", json={"at": 1}).status_code == 422
    assert len(shared_panel.events(session)) == 1


@pytest.mark.parametrize("key", [None, "k"])
def test_an_event_is_measured_as_its_whole_compact_json(shared_panel: Panel, key: str | None) -> None:
    """At the limit it is taken, one byte further it is not (spec.md §2)."""
    session = new_session()
    event: dict[str, Any] = {"type": "x/y", "data": {"a": ""}} | ({"key": key} if key else {})
    envelope = len(json.dumps(event, separators=(",", ":")))
    for size, status in ((262_144, 201), (262_145, 413)):
        event["data"] = {"a": "x" * (size - envelope)}
        assert shared_panel.append(session, event).status_code == status


NDJSON = {"content-type": "application/x-ndjson"}


def test_an_append_as_ndjson_keeps_to_its_expected_position(shared_panel: Panel) -> None:
    session = new_session()
    line = json.dumps(write("a=i")) + "\n"
    address = f"/api/sessions/{session}/events?expected_position="
    for position, status in ((1, 409), (0, 201), (0, 409), (1, 201)):
        answer = shared_panel.client.post(f"{address}{position}", content=line, headers=NDJSON)
        assert answer.status_code == status, answer.text
    for bad in ("-1", "one", "1.0", "9" * 40, ""):
        answer = shared_panel.client.post(f"{address}{bad}", content=line, headers=NDJSON)
        assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "expected_position")
    assert len(shared_panel.events(session)) == 2


def test_an_expected_position_in_the_address_of_a_json_append_is_refused(shared_panel: Panel) -> None:
    session = new_session()
    answer = shared_panel.client.post(
        f"/api/sessions/{session}/events?expected_position=7", json={"events": [write("a=i")]}
    )
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("expected_position belongs into the body")
    assert shared_panel.events(session) == []


@pytest.mark.parametrize("agent", ["", " ", "\ufeff\n"])
def test_a_session_without_an_agents_name_is_refused(shared_panel: Panel, agent: str) -> None:
    session = new_session()
    opened = shared_panel.client.post("/api/sessions", json={"id": session, "agent": agent})
    started = shared_panel.append(session, {"type": "session/start", "data": {"agent": agent}})
    for answer, path in ((opened, "agent"), (started, "events[0].data.agent")):
        assert answer.status_code == 422
        assert [error["path"] for error in answer.json()["errors"]] == [path]
        assert "agent must be a non-empty string, got string" in answer.json()["detail"]
    assert shared_panel.events(session) == []
