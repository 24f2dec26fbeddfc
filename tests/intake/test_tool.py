"""`todo_write`: what the model is told, what is accepted, and what a call leaves in the log (spec.md §3)."""

import difflib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planstrip.errors import Invalid
from planstrip.events import STATUSES, Todo
from planstrip.intake.check import check_data
from planstrip.intake.tool import INPUT_SCHEMA, check, description
from planstrip.plan.todos import WHITE_SPACE, trim
from tests.running import Panel, new_session, running, todos

PARALLEL = (
    "Record the plan of the current work as a list of to-dos. Send the COMPLETE list on every call: it replaces the"
    " previous one; there are no partial updates. Write it before you start work of several steps, and again as soon"
    " as the status of a to-do changes. Mark every to-do that is actively being worked on as in_progress: several"
    " while work really runs in parallel (subagents, background commands), one for sequential work, and keep at least"
    " one while work remains. Mark a to-do completed only when it is wholly done, add what you discover, and leave"
    " out what is no longer needed. An empty list clears the plan. Each `content` is a short imperative sentence,"
    " non-empty and unique in the list."
)
SINGLE_CLAUSE = "Keep exactly one to-do in_progress while work remains, and never more than one."


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory, empty_log: bytes) -> Iterator[Panel]:
    """A panel that allows one to-do in progress."""
    path: Path = tmp_path_factory.mktemp("single") / "log.sqlite3"
    path.write_bytes(empty_log)
    with running(path, allow_parallel_in_progress=False) as panel:
        yield panel


# What the model is told


def test_the_parallel_description_reads_exactly_so() -> None:
    assert description(allow_parallel_in_progress=True) == PARALLEL


def test_nothing_but_one_clause_differs_between_the_descriptions() -> None:
    parallel, single = (description(allow_parallel_in_progress=policy) for policy in (True, False))
    assert SINGLE_CLAUSE in single
    before, after = single.split(SINGLE_CLAUSE)
    assert parallel.startswith(before)
    assert parallel.endswith(after)
    clause = parallel[len(before) : len(parallel) - len(after)]
    assert clause.startswith("Mark every to-do")
    assert clause.endswith("while work remains.")
    sentences = difflib.ndiff(parallel.split(". "), single.split(". "))
    assert sum(line.startswith(("- ", "+ ")) for line in sentences) == 2


def test_the_schema_refuses_unknown_keys_as_the_tool_does() -> None:
    assert INPUT_SCHEMA["additionalProperties"] is False
    assert INPUT_SCHEMA["properties"]["todos"]["items"]["additionalProperties"] is False
    assert INPUT_SCHEMA["properties"]["todos"]["items"]["properties"]["status"]["enum"] == list(STATUSES)


# Accepted


def test_an_accepted_call_is_one_append_of_three_events(shared_panel: Panel) -> None:
    session, listed = new_session(), todos("a=c b=i c=i d=p")
    answer = shared_panel.write(session, listed)
    assert answer.status_code == 200
    assert answer.json() == {
        "todos": listed,
        "counts": {"pending": 1, "in_progress": 2, "completed": 1},
        "text": "Updated todo list: 1 pending, 2 in progress, 1 completed.",
        "position": 2,
    }
    call, write, result = shared_panel.events(session)
    call_id = call["data"]["call_id"]
    assert (call["type"], call["data"]["name"]) == ("tool/call", "todo_write")
    assert json.loads(call["data"]["arguments"]) == {"todos": listed}
    assert (write["type"], write["data"]) == ("todo/write", {"todos": listed, "call_id": call_id})
    assert result["type"] == "tool/result"
    assert result["data"] == {"call_id": call_id, "is_error": False, "text": answer.json()["text"]}
    assert (write["time"], result["time"]) == (call["time"], call["time"])


def test_the_arguments_are_kept_as_they_were_sent(shared_panel: Panel) -> None:
    session, raw = (
        new_session(),
        '{ "todos" :[ ],\n\t"todos": [{"status":"pending","content":"\\u0061 \\ud83d\\ude00"}] }',
    )
    answer = shared_panel.client.post(
        f"/api/sessions/{session}/todo_write", content=raw, headers={"content-type": "application/json"}
    )
    assert answer.json()["todos"] == [{"content": "a 😀", "status": "pending"}]
    assert shared_panel.events(session)[0]["data"]["arguments"] == raw


def test_two_calls_have_call_ids_of_their_own(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    shared_panel.write(session, todos("a=c"))
    calls = [event["data"]["call_id"] for event in shared_panel.events(session) if event["type"] == "tool/call"]
    assert len(set(calls)) == 2


def test_contents_are_trimmed_of_unicode_white_space_alone(shared_panel: Panel) -> None:
    session = new_session()
    padding = WHITE_SPACE
    listed = [
        {"content": f"{padding}a b{padding}", "status": "pending"},
        {"content": "\x1ca\x1c", "status": "pending"},
        {"content": "\x1c", "status": "pending"},
        {"content": "\u200b", "status": "pending"},
        {"content": "\x00", "status": "pending"},
    ]
    kept = [todo["content"] for todo in shared_panel.write(session, listed).json()["todos"]]
    assert kept == ["a b", "\x1ca\x1c", "\x1c", "\u200b", "\x00"]
    assert [todo["content"] for todo in shared_panel.plan(session)["todos"]] == kept


def test_an_empty_list_clears_the_plan(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    answer = shared_panel.write(session, [])
    assert answer.json()["text"] == "Updated todo list: 0 pending, 0 in progress, 0 completed."
    assert shared_panel.plan(session)["todos"] is None


def test_any_number_may_be_in_progress_where_that_is_the_policy(shared_panel: Panel, single: Panel) -> None:
    """R025, R026: the stricter policy refuses with a reason, and nothing changes."""
    session, listed = new_session(), todos("a=i b=i c=i")
    assert shared_panel.write(session, listed).status_code == 200
    refused = single.write(session, listed)
    assert refused.status_code == 422
    assert refused.json()["detail"] == "invalid todos: at most one task may be in_progress (got 3)"
    for fine in ("a=p b=p", "a=i b=c", "a=c", ""):
        assert single.write(session, todos(fine)).status_code == 200


def test_the_policy_takes_no_part_in_the_log(single: Panel) -> None:
    """R026: what was written while parallel work was allowed stands where it no longer is."""
    session, listed = new_session(), todos("a=i b=i")
    event = {"type": "todo/write", "data": {"todos": listed}}
    assert single.append(session, event).status_code == 201
    assert single.plan(session)["todos"] == listed


# Refused


@pytest.mark.parametrize(
    ("listed", "reason"),
    [
        ([{"content": "", "status": "pending"}], "invalid todo: `content` must be a non-empty string"),
        ([{"content": " \ufeff\u3000", "status": "pending"}], "invalid todo: `content` must be a non-empty string"),
        (todos("a=p b=p a=c"), 'invalid todos: duplicate content "a"'),
        (
            [{"content": "a", "status": "pending"}, {"content": "\ufeffa ", "status": "pending"}],
            'invalid todos: duplicate content "a"',
        ),
        (
            [{"content": "", "status": "pending"}, *todos("a=p a=p")],
            "invalid todo: `content` must be a non-empty string",
        ),
    ],
)
def test_a_refusal_gives_the_first_reason_exactly(shared_panel: Panel, listed: object, reason: str) -> None:
    answer = shared_panel.write(new_session(), listed)
    assert (answer.status_code, answer.json()["detail"]) == (422, reason)
    assert answer.headers["content-type"] == "application/problem+json"
    assert set(answer.json()) == {"title", "status", "detail", "errors"}


def test_a_duplicate_is_told_before_the_policy(single: Panel) -> None:
    assert "duplicate" in single.write(new_session(), todos("a=i a=i")).json()["detail"]


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ({}, ["todos"]),
        ({"todos": None}, ["todos"]),
        ({"todos": {}}, ["todos"]),
        ({"todos": '[{"content":"a","status":"pending"}]'}, ["todos"]),
        ({"todos": '[{"content":"Repair build","status":"in_progress"}]'}, ["todos"]),  # R116
        ({"todos": [], "merge": True}, ["merge"]),
        (  # R118: a blank content is the next check's, which this list does not come to
            {"todos": ["Check logs", {"content": "B"}, None, {"content": " ", "status": "pending"}]},
            ["todos[0]", "todos[1].status", "todos[2]"],
        ),
        (  # R014: of our own tool's model
            {"todos": [{"content": "Phase 1", "status": "in_progress", "level": 0}]},
            ["todos[0].level"],
        ),
        (
            {"todos": ["a", {"content": "B"}, None, {"content": 1, "status": "p"}]},
            ["todos[0]", "todos[1].status", "todos[2]", "todos[3].content", "todos[3].status"],
        ),
        (
            {"todos": [{"content": "a", "status": "pending", "id": 1, "activeForm": "x"}]},
            ["todos[0].id", "todos[0].activeForm"],
        ),
        ({"todos": [{"content": "a", "status": ["pending"]}]}, ["todos[0].status"]),
        ({"todos": [{"content": "a", "status": None}]}, ["todos[0].status"]),
    ],
)
def test_a_schema_fault_is_named_by_the_path_of_every_offending_entry(
    shared_panel: Panel, body: dict[str, Any], paths: list[str]
) -> None:
    session = new_session()
    answer = shared_panel.client.post(f"/api/sessions/{session}/todo_write", json=body)
    assert answer.status_code == 422
    assert [error["path"] for error in answer.json()["errors"]] == paths
    assert all(path in answer.json()["detail"] for path in paths)
    assert shared_panel.plan(session)["todos"] is None


def test_a_refused_call_is_recorded_with_its_failure_and_no_write(shared_panel: Panel) -> None:
    """R013, R121."""
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    answer = shared_panel.write(session, todos("b=p b=p"))
    call, result = shared_panel.events(session)[3:]
    assert (call["type"], json.loads(call["data"]["arguments"])["todos"]) == ("tool/call", todos("b=p b=p"))
    assert result["type"] == "tool/result"
    assert result["data"]["is_error"] is True
    assert result["data"]["call_id"] == call["data"]["call_id"]
    assert result["data"]["text"] == answer.json()["detail"]
    assert set(result["data"]["error"]) == {"name", "code"}
    assert shared_panel.plan(session)["todos"] == todos("a=i")


def test_a_list_as_a_string_is_refused_with_a_reason_and_never_stored(shared_panel: Panel) -> None:
    """R116."""
    session = new_session()
    answer = shared_panel.write(session, json.dumps(todos("a=i")))
    assert "string" in answer.json()["detail"]
    assert [event["type"] for event in shared_panel.events(session)] == ["tool/call", "tool/result"]


def test_of_a_refused_call_the_first_16_kib_are_kept(shared_panel: Panel) -> None:
    session = new_session()
    body = json.dumps({"todos": "任务" * 20_000}, ensure_ascii=False)
    answer = shared_panel.client.post(
        f"/api/sessions/{session}/todo_write", content=body.encode(), headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422
    kept = shared_panel.events(session)[0]["data"]["arguments"]
    assert body.startswith(kept)
    assert 16 * 1024 - 4 < len(kept.encode()) <= 16 * 1024


@pytest.mark.parametrize(
    "listed",
    [
        [{"content": f"{n}", "status": "pending"} for n in range(1001)],
        [{"content": "x" * 20_001, "status": "pending"}],
        [1] * 1001,
        [
            {"content": "任" * 19_000, "status": "pending"},
            *({"content": f"{n}" * 8_000, "status": "pending"} for n in range(25)),
        ],
    ],
    ids=["many", "long", "many bad ones", "large"],
)
def test_a_call_over_the_limits_records_nothing(shared_panel: Panel, listed: object) -> None:
    session = new_session()
    assert shared_panel.write(session, listed).status_code in (413, 422)
    assert shared_panel.events(session) == []


@pytest.mark.parametrize(
    "body",
    [
        *("", "[]", '"x"', "7", "null", "{", '{"todos": NaN}', '{"todos": ["\\ud800"]}', "\xff"),
        '{"todos":[{"content":"A","st',  # R120: arguments that are still being sent
    ],
)
def test_a_body_that_is_no_json_object_records_nothing(shared_panel: Panel, body: str) -> None:
    session = new_session()
    answer = shared_panel.client.post(
        f"/api/sessions/{session}/todo_write",
        content=body.encode("latin-1"),
        headers={"content-type": "application/json"},
    )
    assert answer.status_code in (400, 422)
    assert shared_panel.events(session) == []


@pytest.mark.parametrize("body", [{"todos": [1] * 200_000}, {f"k{n}": 1 for n in range(200_000)}, {"k" * 1_000_000: 1}])
def test_the_answer_to_a_refused_call_is_no_larger_than_the_call(shared_panel: Panel, body: dict[str, Any]) -> None:
    answer = shared_panel.client.post(f"/api/sessions/{new_session()}/todo_write", json=body)
    assert answer.status_code in (413, 422)
    assert len(answer.content) < 10_000


def test_a_call_of_a_session_id_that_is_none_records_nothing(shared_panel: Panel) -> None:
    assert shared_panel.write("x" * 201, todos("a=i")).status_code == 422
    assert shared_panel.write("a%00b", todos("a=i")).status_code == 422


# The invariant at the door and the tool agree

_contents = st.text(st.sampled_from(["a", "b", " ", "\ufeff", "\x1c", "\u3000", "\x85", "\u200b"]), max_size=3)
_items = st.fixed_dictionaries({"content": _contents, "status": st.sampled_from(STATUSES)})


@given(st.lists(_items, max_size=4))
def test_the_door_takes_just_what_the_tool_accepts_where_parallel_work_is_allowed(listed: list[dict[str, str]]) -> None:
    accepted, problems = check({"todos": listed}, allow_parallel_in_progress=True)
    trimmed = [{"content": trim(item["content"]), "status": item["status"]} for item in listed]
    assert _door_takes(trimmed) == (not problems)
    if not problems:
        assert accepted == tuple(Todo(**item) for item in trimmed)  # type: ignore[arg-type]
    if _door_takes(listed):  # which is trimmed then
        assert listed == trimmed
        assert not problems


@given(st.lists(_items, max_size=4))
def test_the_stricter_policy_refuses_only_for_the_number_in_progress(listed: list[dict[str, str]]) -> None:
    _, parallel = check({"todos": listed}, allow_parallel_in_progress=True)
    _, single = check({"todos": listed}, allow_parallel_in_progress=False)
    active = sum(item["status"] == "in_progress" for item in listed)
    assert bool(single) == (bool(parallel) or active > 1)


_anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["content", "status", "x"]), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["todos", "x"]), _anything | st.lists(_anything)))
def test_no_arguments_break_the_tool_and_what_it_accepts_the_door_takes(arguments: dict[str, Any]) -> None:
    accepted, problems = check(arguments, allow_parallel_in_progress=True)
    assert problems or _door_takes([{"content": todo.content, "status": todo.status} for todo in accepted])


def _door_takes(listed: list[dict[str, str]]) -> bool:
    try:
        check_data("todo/write", {"todos": listed})
    except Invalid:
        return False
    return True


def test_arguments_beyond_an_event_are_too_large_and_leave_nothing(shared_panel: Panel) -> None:
    session = new_session()
    assert shared_panel.write(session, "x" * 300_000).status_code == 413
    assert shared_panel.events(session) == []
