"""Every agent's own hook payloads through the real route: the plans of the run, as far as its hooks can tell (§10)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.running import JSON, Panel, running

FIXTURES = Path(__file__).parents[2] / "fixtures"

# A recorded run of hooks -> where expected.json has the sessions of that run.
RUNS: dict[str, tuple[str, list[str]]] = {
    "claude-code-todowrite": ("claude-code", ["todowrite-parallel-and-errors.jsonl"]),
    "claude-code-tasks": ("claude-code", ["tasks-parallel-delete/transcript.jsonl"]),
    "claude-code-subagents": (
        "claude-code",
        [
            "todowrite-subagents/main.jsonl",
            "todowrite-subagents/subagents/agent-a20dc255acbeb7b7d.jsonl",
            "todowrite-subagents/subagents/agent-a8db20b80310b47fc.jsonl",
        ],
    ),
    "codex-parallel": ("codex", ["parallel-and-errors.rollout.jsonl"]),
    "codex-subagent": ("codex", ["subagent/parent.rollout.jsonl", "subagent/child.rollout.jsonl"]),
    "gemini-cli-write-todos": ("gemini-cli", ["write_todos-session.jsonl"]),
    "qwen-code-todo-write": ("qwen-code", ["todo_write-session.jsonl"]),
    "opencode-bus": ("opencode", ["opencode-dump.sql"]),
}

# What no hook tells: calls that were refused before they ran fire none (agents.md §4), but Codex's PreToolUse does.
REJECTED_UNSEEN = {"claude-code-todowrite": 3, "claude-code-tasks": 2, "gemini-cli-write-todos": 2}
REJECTED_UNSEEN |= {"qwen-code-todo-write": 3}
PLAN_TOOLS = ("TodoWrite", "TaskCreate", "TaskUpdate", "update_plan", "write_todos", "todo_write", "todowrite")


def payloads(run: str) -> list[dict[str, Any]]:
    """Every payload; of opencode's bus the events that are about a session, as its plugin sends them."""
    found = [json.loads(line) for line in (FIXTURES / "hooks" / f"{run}.jsonl").read_text().splitlines()]
    return [payload for payload in found if "session_id" in payload or "sessionID" in payload["properties"]]


def expected(agent: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FIXTURES / agent / "expected.json").read_text())[name]
    if isinstance(found["plans"], dict):
        plans = found.pop("plans")
        found |= {"plans": [plans["first"], plans["last"]], "count": plans["count"]}
    return found


def summary(panel: Panel, session: str) -> dict[str, Any]:
    """What expected.json says of a session."""
    events = panel.events(session)
    start = next(event["data"] for event in events if event["type"] == "session/start")
    turns: list[dict[str, Any]] = []
    for event in events:
        if event["type"] == "turn/start":
            assert event["data"]["turn"] == len(turns) + 1
            turns.append({"turn": len(turns) + 1, "interrupted": True})
        if event["type"] == "turn/end":
            turns[-1]["interrupted"] = event["data"]["reason"]["kind"] != "completed"
    plans = [event["data"]["todos"] for event in events if event["type"] == "todo/write"]
    calls = [event for event in events if event["type"] == "tool/call" and event["data"]["name"] in PLAN_TOOLS]
    return {
        "agent": start["agent"],
        "session": session,
        "parent": start.get("parent"),
        "turns": turns,
        "plans": plans,
        "rejected": len(calls) - len(plans),
        "final": panel.plan(session)["todos"],
    }


def post(panel: Panel, agent: str, payload: object, **headers: str) -> dict[str, Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = panel.client.post(f"/api/hooks/{agent}", content=json.dumps(payload), headers=JSON | named)
    assert answer.status_code in (200, 202), answer.text
    body: dict[str, Any] = answer.json()
    return body


@pytest.fixture(scope="module", params=RUNS)
def run(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, empty_log: bytes
) -> Iterator[tuple[str, Panel]]:
    path = tmp_path_factory.mktemp("hooks") / "log.sqlite3"
    path.write_bytes(empty_log)
    with running(path) as panel:
        for payload in payloads(request.param):
            post(panel, RUNS[request.param][0], payload)
        yield request.param, panel


def test_each_list_that_a_hook_brings_goes_out_with_its_session_position_and_counts(panel: Panel) -> None:
    """R154: who wants to be told of a plan listens to its stream; no other address is called from here."""
    with panel.stream("/api/sessions/s/stream") as stream:
        assert json.loads(stream.next("plan").data)["todos"] is None
        for number, status in enumerate(("pending", "in_progress", "completed")):
            told = {"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "TodoWrite"}
            listed = [{"content": "a", "status": status}]
            call = {"tool_use_id": f"t{number}", "tool_input": {"todos": listed}, "tool_response": {"newTodos": listed}}
            post(panel, "claude-code", told | call)
            plan = json.loads(stream.next("plan").data)
            written = [event["position"] for event in panel.events("s") if event["type"] == "todo/write"]
            assert (plan["session"], plan["since"]["position"], len(written)) == ("s", written[-1], number + 1)
            assert plan["counts"] == {"completed": 0, "in_progress": 0, "pending": 0} | {status: 1}


def test_hooks_give_the_plans_of_their_run(run: tuple[str, Panel]) -> None:
    name, panel = run
    agent, sessions = RUNS[name]
    for file in sessions:
        wanted = expected(agent, file)
        wanted["rejected"] -= REJECTED_UNSEEN.get(name, 0)
        found = summary(panel, wanted["session"])
        if (count := wanted.pop("count", None)) is not None:
            assert len(found["plans"]) == count
            found["plans"] = [found["plans"][0], found["plans"][-1]]
        wanted.pop("others", None)
        assert found == wanted


def test_the_same_payloads_again_change_nothing(run: tuple[str, Panel]) -> None:
    name, panel = run
    agent, files = RUNS[name]
    sessions = [expected(agent, file)["session"] for file in files]
    before = [panel.events(session) for session in sessions]
    for payload in payloads(name):
        assert post(panel, agent, payload)["recorded"] == 0
    assert [panel.events(session) for session in sessions] == before
