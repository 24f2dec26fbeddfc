"""Whose plan an MCP call writes (issue 3, point 1; agents.md §3)."""

import json
from typing import Any

import pytest

from planstrip.errors import Invalid
from planstrip.intake.mcp_caller import CALLER_META, Caller, Given, agent_of, cwd_of, identify
from tests.mcp_client import CODEX, codex


@pytest.mark.parametrize(
    ("client", "agent"),
    [
        ("claude-code", "claude-code"),
        ("codex-mcp-client", "codex"),
        ("opencode", "opencode"),
        ("qwen-cli-mcp-client-plan", "qwen-code"),
        ("gemini-cli-mcp-client", "gemini-cli"),
        ("dsh-mcp-client", "deepseek-harness"),
        ("Kimi CLI", "kimi"),
        ("Somebody's Editor", "Somebody's Editor"),
        ("a\nb", "ab"),
        ("x" * 500, "x" * 100),
        (" ", "mcp"),
        (None, "mcp"),
    ],
)
def test_agents_are_named_as_their_samples_are(client: str | None, agent: str) -> None:
    assert agent_of(client) == agent


def test_what_is_said_explicitly_comes_before_all() -> None:
    given = Given(
        client=CODEX,
        meta=codex("t-1", "u-1", "c-1"),
        session="mine",
        environment={"CLAUDE_CODE_SESSION_ID": "c"},
        connection="k",
    )
    caller = identify(given)
    assert (caller.session, caller.agent, caller.turn, caller.call_id) == ("mine", "codex", "u-1", "c-1")


def test_codex_says_its_thread_its_turn_its_call_and_where_it_works() -> None:
    caller = identify(Given(client=CODEX, meta=codex("t-1", "u-1", "c-1"), connection="k"))
    assert caller == Caller("t-1", "codex", "/work/project", None, "u-1", "c-1", "k")


def test_the_turn_of_codex_may_come_as_json_in_a_string() -> None:
    meta = codex("t-1", "u-1", "c-1")
    meta["x-codex-turn-metadata"] = json.dumps(meta["x-codex-turn-metadata"])
    assert identify(Given(client=CODEX, meta=meta)).turn == "u-1"


def test_a_thread_of_codex_below_another_is_its_child() -> None:
    caller = identify(Given(client=CODEX, meta=codex("t-2", "u-1", "c-1", sessionId="t-1")))
    assert (caller.session, caller.parent) == ("t-2", "t-1")


@pytest.mark.parametrize(
    ("client", "variable", "session"),
    [
        ("claude-code", "CLAUDE_CODE_SESSION_ID", "s-1"),
        ("qwen-cli-mcp-client-plan", "QWEN_CODE_SESSION_ID", "s-1"),
        (None, "QWEN_CODE_SESSION_ID", "s-1"),
        ("opencode", "CLAUDE_CODE_SESSION_ID", "mcp-k"),  # started from Claude's shell: it inherits the variable
        ("qwen-cli-mcp-client-plan", "CLAUDE_CODE_SESSION_ID", "mcp-k"),
        ("claude-code", "SOME_SESSION_ID", "mcp-k"),
    ],
)
def test_an_agents_variable_is_believed_for_that_agent_alone(client: str | None, variable: str, session: str) -> None:
    assert identify(Given(client=client, environment={variable: "s-1"}, connection="k")).session == session


def test_a_connection_has_a_session_of_its_own() -> None:
    one, other = (identify(Given(client="opencode", connection=name)).session for name in ("a", "b"))
    assert one != other


def test_the_anonymous_share_a_session_by_client_and_project() -> None:
    def session(client: str, project: str) -> str:
        return identify(Given(client=client, project=project)).session

    assert session("claude-code", "project=a") == session("claude-code", "project=a")
    assert session("claude-code", "project=a").startswith("claude-code-")
    names = {session(client, project) for client in ("claude-code", "a/b") for project in ("", "project=a")}
    assert len(names) == 4
    assert not any("/" in name for name in names)


def test_claudes_call_id_is_the_call_s() -> None:
    assert identify(Given(client="claude-code", meta={"claudecode/toolUseId": "toolu_1"})).call_id == "toolu_1"


@pytest.mark.parametrize("value", [7, "", "a/b", "a\nb", "x" * 201, ["t"], None])
def test_an_id_that_is_none_is_passed_over_where_nobody_asked_for_it(value: Any) -> None:
    meta = {"threadId": value, "callId": value, "x-codex-turn-metadata": {"turn_id": value, "workspaces": value}}
    caller = identify(Given(client=CODEX, meta=meta, environment={"CODEX": str(value)}, connection="k"))
    assert (caller.session, caller.turn, caller.call_id) == ("mcp-k", None, None)


@pytest.mark.parametrize("value", ["{", "[]", 3, "[" * 100_000])
def test_turn_metadata_that_is_none_is_passed_over(value: Any) -> None:
    assert identify(Given(meta={"x-codex-turn-metadata": value}, connection="k")).turn is None


def test_an_explicit_session_that_is_none_is_refused() -> None:
    with pytest.raises(Invalid, match="session id 'a/b' has a `/`"):
        identify(Given(session="a/b"))


def test_a_caller_is_handed_on_whole() -> None:
    caller = Caller("s", "codex", "/w", "p", "u", "c", "k")
    assert identify(Given(client="planstrip", meta={CALLER_META: caller.as_json()}, session="other")) == caller
    assert identify(Given(client="planstrip", meta={CALLER_META: {"session": "s"}}, session="other")).session == "other"


def test_the_folder_is_the_agents_where_it_says_so() -> None:
    assert cwd_of({"CLAUDE_PROJECT_DIR": "/a"}, "/b") == "/a"
    assert cwd_of({}, "/b") == "/b"
