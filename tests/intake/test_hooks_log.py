"""What hooks leave in the log, where it is not only what a run of them says: repeats, other doors, hostile payloads."""

import json
from html import unescape
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planstrip.errors import Unavailable
from planstrip.intake.hooks_plans import _from_log
from tests.counts import joined
from tests.intake.test_hooks import FIXTURES, payloads, post
from tests.running import JSON, Panel, new_session, todos


def told(session: str, event: str, **more: object) -> dict[str, object]:
    return {"session_id": session, "prompt_id": "p1", "cwd": "/project", "hook_event_name": event, **more}


def tool(session: str, name: str, call_id: str = "t1", event: str = "PostToolUse", **more: object) -> dict[str, object]:
    return told(session, event, tool_name=name, tool_use_id=call_id, **more)


def types(panel: Panel, session: str) -> list[str]:
    return [event["type"] for event in panel.events(session)]


def test_a_call_is_shown_while_it_runs_and_once(shared_panel: Panel) -> None:
    session = new_session()
    post(shared_panel, "claude", told(session, "UserPromptSubmit", prompt="Go\nand more"))
    post(shared_panel, "claude", tool(session, "Bash", event="PreToolUse", tool_input={"command": "make"}))
    assert types(shared_panel, session) == ["session/start", "turn/start", "tool/call"]
    post(
        shared_panel,
        "claude",
        tool(session, "Bash", tool_input={"command": "make"}, tool_response={"stdout": "ok", "stderr": ""}),
    )
    events = shared_panel.events(session)
    assert events[1]["data"] == {"turn": 1, "prompt": "Go"}
    assert events[3]["data"] == {"call_id": "t1", "is_error": False, "text": "ok"}
    assert len(events) == 4


def test_a_failure_is_one(shared_panel: Panel) -> None:
    session = new_session()
    post(shared_panel, "claude", tool(session, "Bash", event="PostToolUseFailure", error="Exit code 1"))
    assert shared_panel.events(session)[2]["data"] == {"call_id": "t1", "is_error": True, "text": "Exit code 1"}


@pytest.mark.parametrize(
    ("agent", "name", "sent", "response"),
    [
        ("codex", "update_plan", {"plan": [{"step": "a", "status": "pending"}]}, "failed to parse function arguments"),
        ("gemini", "write_todos", {"todos": [{"description": "a", "status": "pending"}]}, {"llmContent": "Error: x"}),
        ("gemini", "write_todos", {"todos": [{"description": "a", "status": "pending"}]}, {"error": {"message": "x"}}),
        ("qwen", "todo_write", {"todos": [{"content": "a", "status": "pending"}]}, {"error": {"message": "no"}}),
        ("claude", "TodoWrite", {"todos": 7}, None),
        ("claude", "TaskUpdate", {"taskId": "9", "status": "completed"}, {"success": False, "error": "Task not found"}),
        ("claude", "TaskUpdate", {"taskId": "9", "subject": "x"}, {"success": True, "taskId": "9"}),  # of what list?
        ("claude", "mcp__plan__todo_write", {"todos": todos("a=p")}, [{"type": "text", "text": "Updated todo list"}]),
        ("gemini", "mcp_plan_todo_write", {"todos": todos("a=p")}, {"llmContent": "Updated todo list: 1 pending"}),
    ],
)
def test_a_call_that_was_not_accepted_is_no_plan(
    shared_panel: Panel, agent: str, name: str, sent: object, response: object
) -> None:
    session = new_session()
    event = "AfterTool" if agent == "gemini" else "PostToolUse"
    post(shared_panel, agent, tool(session, name, event=event, tool_input=sent, tool_response=response))
    assert types(shared_panel, session) == ["session/start", "tool/call", "tool/result"]


@pytest.mark.parametrize(
    ("sent", "header", "omitted", "summary"),
    [
        (  # R014: a key that we do not know
            [
                {"content": "Phase 1", "status": "in_progress", "level": 0},
                {"content": "step a", "status": "completed", "level": 1},
                {"content": "step b", "status": "completed", "level": 1},
            ],
            "2 completed\u2002·\u20021 in progress",
            [],
            "2/3 completed · Phase 1",
        ),
        (  # R020: given up for a reason
            [
                {"content": "A", "status": "completed"},
                {"content": "B", "status": "completed"},
                {"content": "C", "status": "failed", "reason": "quota"},
            ],
            "2 completed",
            [{"content": "C", "status": "failed"}],
            "2/3 completed",
        ),
        (  # R021: its word is pending by our table, which has three statuses
            [{"content": "Ask owner for release date", "status": "blocked"}, *todos("a=i b=p")],
            "1 in progress\u2002·\u20022 pending",
            [],
            "0/3 completed · a",
        ),
        (  # R024
            [{"content": "A", "status": "doing"}, {"content": "B", "status": None}],
            "2 pending",
            [],
            "0/2 completed",
        ),
    ],
)
def test_whatever_an_agent_puts_into_its_list_the_page_opens_and_shows_it(
    shared_panel: Panel, sent: list[dict[str, object]], header: str, omitted: list[object], summary: str
) -> None:
    """R014, R020, R021, R024: its own words stay in the row, the plan has ours; nothing is ticked by guess."""
    session = new_session()
    answer = {"oldTodos": [], "newTodos": sent}
    post(shared_panel, "claude", tool(session, "TodoWrite", tool_input={"todos": sent}, tool_response=answer))
    plan = shared_panel.plan(session)
    assert plan["omitted"] == omitted
    page = unescape(joined(shared_panel.client.get(f"/sessions/{session}").text))
    assert f'data-field="header">{header}<' in page
    assert f'data-field="summary">{summary}<' in page
    assert page.count("data-omitted") == len(omitted)
    assert f"/sessions/{session}/retire" in page
    assert all(json.dumps(word) in page for item in sent for word in item.values())
    shared_panel.append(session, *[{"type": "turn/start", "data": {"turn": turn}} for turn in range(10)])
    is_done = plan["counts"]["completed"] == len(plan["todos"])
    assert shared_panel.plan(session)["todos"] == (None if is_done else plan["todos"])


def test_our_own_tools_call_is_shown_once_where_its_own_door_told_it(shared_panel: Panel) -> None:
    session, plan = new_session(), todos("a=i b=p")
    shared_panel.write(session, plan)
    before = types(shared_panel, session)
    call = tool(session, "mcp__plan__todo_write", tool_input={"todos": plan}, tool_response="Updated todo list: …")
    post(shared_panel, "qwen", call | {"hook_event_name": "PreToolUse"})
    post(shared_panel, "qwen", call)
    assert types(shared_panel, session) == [*before, "session/start"]


def test_a_call_that_a_transcript_told_is_not_told_again_but_for_the_result_that_it_lacks(shared_panel: Panel) -> None:
    session = new_session()
    call = {"call_id": "t1", "name": "Bash", "arguments": "{}"}
    shared_panel.append(
        session,
        {"type": "turn/start", "data": {"turn": 1, "prompt": "Go"}, "key": "uuid-1"},
        {"type": "tool/call", "data": call, "key": "uuid-2"},
    )
    for payload in (told(session, "UserPromptSubmit", prompt="Go"), tool(session, "Bash", tool_input={})):
        post(shared_panel, "claude", payload)
    assert types(shared_panel, session) == ["turn/start", "tool/call", "session/start", "tool/result"]


def test_waiting_for_a_person_ends_with_the_next_thing_that_happens(shared_panel: Panel) -> None:
    session = new_session()
    post(shared_panel, "claude", told(session, "Notification", notification_type="idle_prompt", message="idle"))
    post(shared_panel, "claude", told(session, "UserPromptSubmit", prompt="Go"))
    post(shared_panel, "claude", told(session, "PermissionRequest", tool_name="Bash"))
    post(
        shared_panel,
        "claude",
        told(session, "Notification", notification_type="permission_prompt", message="Claude needs your permission"),
    )
    assert types(shared_panel, session) == ["session/start", "turn/start", "turn/wait"]
    assert shared_panel.events(session)[2]["data"] == {"turn": 1, "for": "permission: Bash"}
    post(shared_panel, "claude", tool(session, "Bash", event="PreToolUse", tool_input={}))
    assert types(shared_panel, session)[3:] == ["turn/resume", "tool/call"]


@pytest.mark.parametrize(
    ("agent", "event", "kind"),
    [
        ("claude", "SessionEnd", "interrupted"),
        ("codex", "Interrupt", "interrupted"),
        ("claude", "StopFailure", "error"),
    ],
)
def test_a_turn_that_does_not_end_well_says_so(shared_panel: Panel, agent: str, event: str, kind: str) -> None:
    session = new_session()
    for payload in (told(session, "UserPromptSubmit", prompt="Go"), told(session, event), told(session, "Stop")):
        post(shared_panel, agent, payload)
    ends = [event["data"] for event in shared_panel.events(session) if event["type"] == "turn/end"]
    assert ends == [{"turn": 1, "reason": {"kind": kind}}]


def test_an_end_that_comes_late_ends_no_later_turn(shared_panel: Panel) -> None:
    session = new_session()
    for turn in ("p1", "p2"):
        post(shared_panel, "claude", told(session, "UserPromptSubmit", prompt=turn) | {"prompt_id": turn})
    post(shared_panel, "claude", told(session, "Stop"))
    assert "turn/end" not in types(shared_panel, session)


def test_the_same_prompt_twice_is_two_turns_where_the_agent_names_none(shared_panel: Panel) -> None:
    session = new_session()
    payload = {"session_id": session, "hook_event_name": "UserPromptSubmit", "prompt": "continue"}
    for delivery in ("one", "two", "one"):
        post(shared_panel, "claude", payload, planstrip_delivery=delivery)
    assert types(shared_panel, session) == ["session/start", "turn/start", "turn/start"]


def test_a_task_list_is_known_again_after_a_restart(shared_panel: Panel) -> None:
    session = new_session()
    created = {"task": {"id": "1", "subject": "Explore"}}
    post(shared_panel, "claude", tool(session, "TaskCreate", "c1", tool_input={}, tool_response=created))
    with shared_panel.parts.engine.connect() as connection:
        tasks = _from_log(connection, session)
    assert tasks.is_whole
    assert tasks.lists.tasks.pairs == [("Explore", "pending")]


def test_a_subagents_task_call_changes_the_list_of_the_session_that_it_works_for(shared_panel: Panel) -> None:
    session, child = new_session(), new_session()
    created = {"task": {"id": "1", "subject": "Explore"}}
    update = {"success": True, "taskId": "1", "updatedFields": ["status"], "statusChange": {"to": "completed"}}
    post(shared_panel, "claude", tool(session, "TaskCreate", "c1", tool_input={}, tool_response=created))
    sent = {"taskId": "1", "status": "completed"}
    for _ in range(2):
        payload = tool(session, "TaskUpdate", "c2", agent_id=child, tool_input=sent, tool_response=update)
        post(shared_panel, "claude", payload)
    assert shared_panel.plan(session)["todos"] == todos("Explore=c")
    assert types(shared_panel, session).count("todo/write") == 2
    assert types(shared_panel, child) == ["session/start", "tool/call", "tool/result"]


def test_the_calls_of_subagents_are_known_again_after_a_restart_in_their_order(shared_panel: Panel) -> None:
    session, child = new_session(), new_session()
    for number, (id_, status, by) in enumerate([("1", "in_progress", {}), ("1", "completed", {"agent_id": child})]):
        if not number:
            created = {"task": {"id": "1", "subject": "Explore"}}
            post(shared_panel, "claude", tool(session, "TaskCreate", "c", tool_input={}, tool_response=created))
        update = {"success": True, "taskId": id_, "updatedFields": ["status"], "statusChange": {"to": status}}
        sent = {"taskId": id_, "status": status}
        call = tool(session, "TaskUpdate", f"c{number}", tool_input=sent, tool_response=update)
        post(shared_panel, "claude", call | by)
    created = {"task": {"id": "2", "subject": "By a subagent"}}
    call = tool(session, "TaskCreate", "c9", agent_id=child, tool_input={}, tool_response=created)
    post(shared_panel, "claude", call)
    with shared_panel.parts.engine.connect() as connection:
        tasks = _from_log(connection, session)
    assert tasks.is_whole
    assert tasks.lists.tasks.pairs == [("Explore", "completed"), ("By a subagent", "pending")]
    assert shared_panel.plan(session)["todos"] == [
        {"content": "Explore", "status": "completed"},
        {"content": "By a subagent", "status": "pending"},
    ]


def test_a_task_that_could_not_be_stored_is_taken_when_it_comes_again(
    shared_panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = new_session()
    calls = [
        tool(session, "TaskCreate", f"c{n}", tool_input={}, tool_response={"task": {"id": str(n), "subject": f"T{n}"}})
        for n in (1, 2)
    ]
    post(shared_panel, "claude", calls[0])
    writer, append = type(shared_panel.parts.writer), type(shared_panel.parts.writer).append_blocking
    monkeypatch.setattr(writer, "append_blocking", lambda *_: (_ for _ in ()).throw(Unavailable("the disk is full")))
    answer = shared_panel.client.post("/api/hooks/claude", json=calls[1])
    assert answer.status_code == 503
    monkeypatch.setattr(writer, "append_blocking", append)
    post(shared_panel, "claude", calls[1])
    assert shared_panel.plan(session)["todos"] == todos("T1=p T2=p")


def test_dshs_events_are_keyed_as_its_transcript_has_them(shared_panel: Panel) -> None:
    session = new_session()
    name, folder = "real-parallel-multi-turn.jsonl", FIXTURES / "deepseek-harness"
    lines = (folder / name).read_text().splitlines()
    for line in lines[1:]:
        post(shared_panel, "dsh", {"session_id": session, "cwd": "/project", "event": json.loads(line)})
    expected = json.loads((FIXTURES / "deepseek-harness" / "expected.json").read_text())[
        "real-parallel-multi-turn.jsonl"
    ]
    events = shared_panel.events(session)
    assert [event["data"]["todos"] for event in events if event["type"] == "todo/write"] == expected["plans"]
    assert shared_panel.plan(session)["todos"] == expected["final"]
    kinds = types(shared_panel, session)
    assert kinds.count("tool/call") == kinds.count("tool/result") > 0
    assert kinds.count("turn/start") == kinds.count("turn/end") == len(expected["turns"])


@pytest.mark.parametrize(
    ("agent", "body", "headers", "status"),
    [
        ("nobody", b"{}", JSON, 404),
        ("claude", b"{}", {"content-type": "text/plain"}, 415),
        ("claude", b"{", JSON, 400),
        ("claude", b"[]", JSON, 400),
        ("claude", b"\xff", JSON, 400),
        ("claude", b"{}", JSON, 422),
        ("claude", b'{"session_id": "a/b"}', JSON, 422),
        ("opencode", b'{"type": "session.idle"}', JSON, 422),
        ("dsh", b'{"event": {}}', JSON, 422),
        ("claude", b'{"session_id": "a"}', JSON | {"origin": "http://evil.example"}, 403),
    ],
)
def test_what_is_no_payload_is_refused(
    shared_panel: Panel, agent: str, body: bytes, headers: dict[str, str], status: int
) -> None:
    answer = shared_panel.client.post(f"/api/hooks/{agent}", content=body, headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status


VALUES: st.SearchStrategy[object] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=30), st.builds(list), st.builds(dict)
)


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A real payload in which one or two places hold what nobody expects."""
    run, agent = draw(
        st.sampled_from(
            [
                ("claude-code-tasks", "claude"),
                ("claude-code-subagents", "claude"),
                ("codex-parallel", "codex"),
                ("gemini-cli-write-todos", "gemini"),
                ("qwen-code-todo-write", "qwen"),
                ("opencode-bus", "opencode"),
            ]
        )
    )
    payload = json.loads(json.dumps(draw(st.sampled_from(payloads(run)))))
    for _ in range(draw(st.integers(1, 2))):
        place: Any = payload
        for _ in range(draw(st.integers(0, 3))):
            inner = [value for value in (place.values() if isinstance(place, dict) else place) if value]
            inner = [value for value in inner if isinstance(value, dict | list)]
            if inner:
                place = draw(st.sampled_from(inner))
        if place:
            key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
            place[key] = draw(VALUES)
    return agent, payload


@given(mutated())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_payload_brings_the_panel_down(shared_panel: Panel, sent: tuple[str, dict[str, Any]]) -> None:
    agent, payload = sent
    answer = shared_panel.client.post(f"/api/hooks/{agent}", content=json.dumps(payload), headers=JSON)
    assert answer.status_code in (200, 202, 413, 422), answer.text
