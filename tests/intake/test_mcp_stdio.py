"""`planstrip mcp`: the SDK's own client over standard input and output (spec.md §3; issue 3, point 1)."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from planstrip.db import open_engine
from planstrip.eventlog import read_stored
from planstrip.intake.tool import description
from tests.databases import url_of
from tests.mcp_client import CODEX, PROTOCOLS, call, codex, over_stdio, use, write
from tests.running import new_session, run, running, serving, todos

NOWHERE = "http://127.0.0.1:9"  # nobody listens on the discard port
PARALLEL = "--allow-parallel-in-progress"

both_protocols = pytest.mark.parametrize("mode", PROTOCOLS)


def stored(database: Path, session: str) -> list[tuple[str, dict[str, Any]]]:
    engine = open_engine(url_of(database))
    try:
        with engine.connect() as connection:
            return [(event.type, json.loads(event.data)) for event in read_stored(connection, session, 0, 1_000)]
    finally:
        engine.dispose()


def into(database: Path, *arguments: str, **more: Any) -> Any:
    """A client of `planstrip mcp` without a server."""
    flags = ("--server", NOWHERE, "--database-url", url_of(database))
    policy = () if any("in-progress" in argument for argument in arguments) else (PARALLEL,)
    return over_stdio(*flags, *policy, *arguments, **more)


# What it refuses to start with


def test_it_needs_a_policy_where_no_server_says_one(database: Path) -> None:
    code, out, err = run("mcp", "--server", NOWHERE, "--database-url", url_of(database))
    assert (code, out) == (2, "")
    assert err.startswith("planstrip: allow_parallel_in_progress is not set: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "env", "reason"),
    [
        ((), {"PLANSTRIP_ALLOW_PARALLEL_IN_PROGRESS": "maybe"}, "is 'maybe'; expected true or false"),
        ((), {"PLANSTRIP_TOKEN": "other"}, "wants another token: set PLANSTRIP_TOKEN"),
        (("--no-allow-parallel-in-progress",), {}, "allow_parallel_in_progress is false here, but true at the server"),
        (("--session", "a/b"), {}, "session id 'a/b' has a `/`"),
        (("--server", "127.0.0.1:8765"), {}, "--server (or PLANSTRIP_URL) is '127.0.0.1:8765'; expected"),
        ((), {"PLANSTRIP_URL": "one:1", "PLANSTRIP_SERVER": "two:2"}, "PLANSTRIP_URL) is 'one:1'; expected an address"),
        ((), {"PLANSTRIP_SERVER": "two:2"}, "PLANSTRIP_URL) is 'two:2'; expected an address"),
    ],
)
def test_what_can_not_work_is_said_in_one_line(
    database: Path, arguments: tuple[str, ...], env: Mapping[str, str], reason: str
) -> None:
    with running(database, token="s3cret") as panel:
        given = {"PLANSTRIP_TOKEN": "s3cret", **env}
        server = () if "PLANSTRIP_SERVER" in env else ("--server", panel.url)
        code, out, err = run("mcp", *server, *arguments, env=given)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert reason in err


# Through a server


@both_protocols
def test_it_writes_through_the_server_and_takes_its_policy(database: Path, tmp_path: Path, mode: str) -> None:
    session, other = new_session(), tmp_path / "never.sqlite3"

    async def work(client: Client) -> None:
        (tool,) = (await client.list_tools()).tools
        assert tool.description == description(allow_parallel_in_progress=False)
        assert await write(client, todos("a=i b=p")) == "Updated todo list: 1 pending, 1 in progress, 0 completed."
        refused = True, "invalid todos: at most one task may be in_progress (got 2)"
        assert await call(client, {"todos": todos("a=i b=i")}) == refused
        (resource,) = (await client.list_resources()).resources
        (content,) = (await client.read_resource(resource.uri)).contents
        assert json.loads(content.text)["todos"] == todos("a=i b=p")  # type: ignore[union-attr]

    with running(database, allow_parallel_in_progress=False, token="s3cret") as panel:
        flags = ("--server", f"{panel.url}/mcp", "--database-url", f"sqlite:///{other}", "--session", session)
        env = {"PLANSTRIP_TOKEN": "s3cret"}
        use(over_stdio(*flags, mode=mode, name="gemini-cli-mcp-client", env=env), work)
        assert panel.parts.writer.appends == 2
    events = stored(database, session)
    assert [type_ for type_, _ in events] == [
        "session/start",
        *("tool/call", "todo/write", "tool/result"),
        *("tool/call", "tool/result"),
    ]
    assert events[0][1] == {"agent": "gemini-cli", "cwd": str(Path.cwd())}
    assert not other.exists()


def test_a_server_that_has_no_time_says_when_to_come_back(database: Path, tmp_path: Path) -> None:
    other = f"sqlite:///{tmp_path / 'never.sqlite3'}"

    async def work(client: Client) -> tuple[bool, str]:
        for _ in range(3):
            found = await call(client, {"todos": todos("a=i")})
        return found

    with running(database, writes_per_minute=3) as panel:
        is_error, said = use(over_stdio("--server", panel.url, "--database-url", other, "--session", "a"), work)
    assert is_error
    assert re.search(r"too many writes in a minute .*; it says to come back in \d+ s$", said), said


def test_a_server_that_goes_away_and_comes_back_is_nothing_to_the_agent(database: Path, unused_port: int) -> None:
    session = new_session()
    serve = ("--port", str(unused_port))
    flags = ("--server", f"http://127.0.0.1:{unused_port}", "--database-url", url_of(database))

    async def work(client: Client) -> None:
        with serving(database, *serve) as program:
            await write(client, todos("a=i"))
            await asyncio.to_thread(program.stop)
        await write(client, todos("b=i"))
        with serving(database, *serve):
            await write(client, todos("c=i"))
        with serving(database, *serve, "--no-allow-parallel-in-progress") as program:
            refused = True, "invalid todos: at most one task may be in_progress (got 2)"
            assert await call(client, {"todos": todos("d=i e=i")}) == refused  # not what the model was told at first
            await asyncio.to_thread(program.stop)
        assert await call(client, {"todos": todos("f=i g=i")}) == refused  # it is the last that was seen

    use(over_stdio(*flags, PARALLEL, "--session", session), work)
    written = [data["todos"][0]["content"] for type_, data in stored(database, session) if type_ == "todo/write"]
    assert written == ["a", "b", "c"]


# Into the database


@both_protocols
def test_it_writes_into_the_database_where_no_server_is(database: Path, mode: str) -> None:
    session = new_session()

    async def work(client: Client) -> None:
        (tool,) = (await client.list_tools()).tools
        assert tool.description == description(allow_parallel_in_progress=False)
        await write(client, todos("a=i"), {"claudecode/toolUseId": "toolu_1"})
        is_error, text = await call(client, {"todos": "[]"})
        assert (is_error, text) == (
            True,
            "invalid arguments: todos must be a list of objects, not JSON in a string (got string '[]')",
        )

    env = {"CLAUDE_CODE_SESSION_ID": session, "CLAUDE_PROJECT_DIR": "/work/a"}
    client = into(database, "--no-allow-parallel-in-progress", mode=mode, name="claude-code", env=env)
    use(client, work)
    events = stored(database, session)
    assert [type_ for type_, _ in events] == [
        "session/start",
        *("tool/call", "todo/write", "tool/result"),
        *("tool/call", "tool/result"),
    ]
    assert events[0][1] == {"agent": "claude-code", "cwd": "/work/a"}
    assert events[1][1]["call_id"] == "toolu_1"


def test_a_resumed_session_begins_a_turn_and_an_unknown_one_does_not(database: Path) -> None:
    session = new_session()
    env = {"QWEN_CODE_SESSION_ID": session}
    for listed in ("a=c", "b=i"):
        client = into(database, name="qwen-cli-mcp-client-plan", env=env, mode="legacy")
        use(client, lambda opened, listed=listed: write(opened, todos(listed)))  # type: ignore[misc]
    written = ["tool/call", "todo/write", "tool/result"]
    assert [type_ for type_, _ in stored(database, session)] == ["session/start", *written, "turn/start", *written]


def test_codex_is_known_by_its_thread(database: Path) -> None:
    thread = new_session()

    async def work(client: Client) -> None:
        await write(client, todos("a=i"), codex(thread, "u-1", "c-1"))
        assert (await client.list_resources()).resources[0].uri == f"planstrip://sessions/{thread}/plan"

    use(into(database, name=CODEX, mode="legacy"), work)
    assert [type_ for type_, _ in stored(database, thread)][:2] == ["session/start", "turn/start"]


def test_a_call_that_comes_again_is_recorded_once_through_either_way(database: Path) -> None:
    session, meta = new_session(), {"claudecode/toolUseId": "toolu_1"}
    with running(database) as panel:
        flags = ("--server", panel.url, "--session", session)
        use(over_stdio(*flags, name="claude-code"), lambda client: write(client, todos("a=i"), meta))
    use(into(database, "--session", session, name="claude-code"), lambda client: write(client, todos("a=i"), meta))
    assert [type_ for type_, _ in stored(database, session)].count("tool/call") == 1


# The wire


def test_nothing_but_the_protocol_is_on_standard_output(database: Path) -> None:
    flags = ("--server", NOWHERE, "--database-url", url_of(database), PARALLEL)
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "n", "version": "1"}}
    sent = [
        "this is no JSON",
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json.dumps({"jsonrpc": "2.0", "id": 2, "method": "nothing/at/all"}),
        json.dumps({"jsonrpc": "2.0", "id": 3, "method": "tools/list"}),
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "planstrip", "mcp", *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n".join(sent) + "\n")
        process.stdin.flush()
        lines: list[dict[str, Any]] = []
        while not any(line.get("id") == 3 for line in lines):
            lines.append(json.loads(process.stdout.readline()))
        rest, _ = process.communicate(timeout=20)
    assert rest == ""
    assert process.returncode == 0
    assert all(line["jsonrpc"] == "2.0" for line in lines)
    assert {line.get("id") for line in lines} >= {1, 2, 3}
