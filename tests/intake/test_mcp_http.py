"""`/mcp`: the SDK's own client in both protocols, under both policies (spec.md §3, §4, §10; issue 3, point 1)."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from mcp import Client, MCPError

from planstrip.intake.check import check_data
from planstrip.intake.record import take_in
from planstrip.intake.tool import INPUT_SCHEMA, description
from tests.mcp_client import CODEX, PROTOCOLS, call, codex, over_http, use, write
from tests.running import Panel, new_session, running, serving, todos

both_protocols = pytest.mark.parametrize("mode", PROTOCOLS)


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory, empty_log: bytes) -> Iterator[Panel]:
    """A panel that allows one to-do in progress."""
    path: Path = tmp_path_factory.mktemp("single") / "log.sqlite3"
    path.write_bytes(empty_log)
    with running(path, allow_parallel_in_progress=False) as panel:
        yield panel


def address(panel: Panel, query: str = "") -> str:
    return f"{panel.client.base_url}/mcp".replace("//mcp", "/mcp") + (f"?{query}" if query else "")


def types(panel: Panel, session: str) -> list[str]:
    return [event["type"] for event in panel.events(session)]


def sessions(panel: Panel) -> set[str]:
    return {session["id"] for session in panel.client.get("/api/sessions?limit=500").json()["sessions"]}


# What the model is told


@both_protocols
def test_the_tool_is_described_as_the_policy_has_it(shared_panel: Panel, single: Panel, mode: str) -> None:
    async def listed(client: Client) -> Any:
        (tool,) = (await client.list_tools()).tools
        assert (tool.name, tool.input_schema, tool.output_schema) == ("todo_write", INPUT_SCHEMA, None)
        return tool.description

    parallel, one = (use(over_http(address(panel), mode=mode), listed) for panel in (shared_panel, single))
    assert parallel == description(allow_parallel_in_progress=True)
    assert one == description(allow_parallel_in_progress=False)
    assert sum(a != b for a, b in zip(parallel.split(". "), one.split(". "), strict=True)) == 1


# Calls


@both_protocols
def test_an_accepted_call_answers_in_plain_text_and_is_one_append(shared_panel: Panel, mode: str) -> None:
    session, listed = new_session(), todos("a=c b=i c=i d=p")
    client = over_http(address(shared_panel, f"session={session}&cwd=/work/a"), mode=mode, name="opencode")
    assert use(client, lambda opened: write(opened, listed)) == (
        "Updated todo list: 1 pending, 2 in progress, 1 completed."
    )
    start, called, written, result = shared_panel.events(session)
    assert (start["type"], start["data"]) == ("session/start", {"agent": "opencode", "cwd": "/work/a"})
    assert json.loads(called["data"]["arguments"]) == {"todos": listed}
    assert (written["type"], written["data"]["todos"]) == ("todo/write", listed)
    assert written["data"]["call_id"] == result["data"]["call_id"] == called["data"]["call_id"]
    assert len({event["time"] for event in (start, called, written, result)}) == 1
    assert shared_panel.plan(session)["todos"] == listed


REFUSED: list[Any] = [
    {"todos": todos("a=i a=p")},
    {"todos": [{"content": "  ", "status": "pending"}]},
    {"todos": [{"content": "a", "status": "doing"}, {"content": 3, "id": 1}]},
    {"todos": '[{"content": "a", "status": "pending"}]'},
    {"todos": [], "explanation": "none"},
    {"list": []},
    {},
]


@both_protocols
def test_a_refusal_reaches_the_model_in_its_own_words_and_is_recorded(shared_panel: Panel, mode: str) -> None:
    session = new_session()

    async def refused(client: Client) -> list[tuple[bool, str]]:
        return [await call(client, arguments) for arguments in REFUSED]

    answers = use(over_http(address(shared_panel, f"session={session}"), mode=mode), refused)
    over_rest = [
        shared_panel.client.post(f"/api/sessions/{new_session()}/todo_write", json=arguments).json()["detail"]
        for arguments in REFUSED
    ]
    assert answers == [(True, text) for text in over_rest]
    assert types(shared_panel, session) == ["session/start", *(["tool/call", "tool/result"] * len(REFUSED))]
    results = [event["data"] for event in shared_panel.events(session) if event["type"] == "tool/result"]
    assert [(result["is_error"], result["text"]) for result in results] == answers


@both_protocols
def test_the_policy_moves_what_is_accepted(shared_panel: Panel, single: Panel, mode: str) -> None:
    session, listed = new_session(), todos("a=i b=i c=i")
    query = f"session={session}"
    assert use(over_http(address(shared_panel, query), mode=mode), lambda client: call(client, {"todos": listed})) == (
        False,
        "Updated todo list: 0 pending, 3 in progress, 0 completed.",
    )
    assert use(over_http(address(single, query), mode=mode), lambda client: call(client, {"todos": listed})) == (
        True,
        "invalid todos: at most one task may be in_progress (got 3)",
    )


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"todos": [{"content": f"{n}", "status": "pending"} for n in range(1_001)]}, "at most 1000"),
        ({"todos": [{"content": "x" * 20_001, "status": "pending"}]}, "at most 20000"),
        ({"todos": [{"content": f"{n}" + "x" * 19_000, "status": "pending"} for n in range(20)]}, "at most 262144"),
    ],
)
def test_what_is_over_the_limits_is_refused_and_leaves_nothing(
    shared_panel: Panel, arguments: object, reason: str
) -> None:
    session = new_session()
    is_error, text = use(
        over_http(address(shared_panel, f"session={session}"), mode="legacy"), lambda client: call(client, arguments)
    )
    assert is_error
    assert reason in text
    assert shared_panel.events(session) == []


@pytest.mark.parametrize("value", ["NaN", '"\\ud800"'])
def test_what_no_store_can_hold_is_refused_and_leaves_nothing(shared_panel: Panel, value: str) -> None:
    session = new_session()
    meta = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
    params = {"name": "todo_write", "arguments": {"todos": ["@"]}, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).replace('"@"', value)
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "todo_write"}
    accepted = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    answer = shared_panel.client.post(f"/mcp?session={session}", content=body, headers=headers | accepted)
    result = answer.json()["result"]
    assert result["isError"]
    assert "cannot be stored" in result["content"][0]["text"]
    assert shared_panel.events(session) == []


def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(shared_panel: Panel) -> None:
    async def ask(client: Client) -> None:
        with pytest.raises(MCPError, match="there is no tool 'other'; only todo_write"):
            await client.call_tool("other", {})

    use(over_http(address(shared_panel)), ask)


# Whose plan


@both_protocols
def test_a_session_can_be_named_in_the_address_or_in_a_header(shared_panel: Panel, mode: str) -> None:
    one, other = new_session(), new_session()
    use(over_http(address(shared_panel, f"session={one}"), mode=mode), lambda client: write(client, todos("a=i")))
    headers = {"planstrip-session": other}
    use(over_http(address(shared_panel), mode=mode, headers=headers), lambda client: write(client, todos("b=i")))
    assert [shared_panel.plan(session)["todos"] for session in (one, other)] == [todos("a=i"), todos("b=i")]


def test_a_name_that_no_session_can_have_is_told_to_the_model(shared_panel: Panel) -> None:
    client = over_http(address(shared_panel, "session=a%2Fb"))
    is_error, text = use(client, lambda opened: call(opened, {"todos": []}))
    assert is_error
    assert text.startswith("session id 'a/b' has a `/`")


@both_protocols
def test_codex_names_its_thread_and_its_turns(shared_panel: Panel, mode: str) -> None:
    thread = new_session()

    async def work(client: Client) -> None:
        await write(client, todos("a=i"), codex(thread, "u-1", "c-1"))
        await write(client, todos("a=c"), codex(thread, "u-1", "c-2"))
        assert shared_panel.plan(thread)["todos"] == todos("a=c")
        is_error, _ = await call(client, {"todos": 0}, codex(thread, "u-2", "c-3"))
        assert is_error
        await write(client, todos("b=i"), codex(thread, "u-2", "c-4"))

    use(over_http(address(shared_panel), mode=mode, name=CODEX), work)
    written = ["tool/call", "todo/write", "tool/result"]
    refused = ["tool/call", "tool/result"]
    assert types(shared_panel, thread) == [
        "session/start",
        *("turn/start", *written, *written),
        *("turn/start", *refused, *written),
    ]
    events = shared_panel.events(thread)
    assert events[0]["data"] == {"agent": "codex", "cwd": "/work/project"}
    assert [event["data"]["turn"] for event in events if event["type"] == "turn/start"] == [1, 2]
    calls = [event["data"]["call_id"] for event in events if event["type"] == "tool/call"]
    assert calls == ["c-1", "c-2", "c-3", "c-4"]
    assert shared_panel.plan(thread, at=9)["todos"] is None  # the new turn took the finished plan away


def test_two_threads_of_codex_on_one_connection_are_two_sessions(shared_panel: Panel) -> None:
    parent, child = new_session(), new_session()

    async def work(client: Client) -> None:
        await write(client, todos("a=i"), codex(parent, "u-1", "c-1"))
        await write(client, todos("b=i"), codex(child, "u-2", "c-2", sessionId=parent))

    use(over_http(address(shared_panel), mode="legacy", name=CODEX), work)
    assert shared_panel.plan(parent)["todos"] == todos("a=i")
    assert shared_panel.events(child)[0]["data"]["parent"] == parent


def test_each_connection_has_a_session_of_its_own(shared_panel: Panel) -> None:
    before = sessions(shared_panel)

    async def work(client: Client) -> None:
        await write(client, todos("a=i"))
        await write(client, todos("a=c"))

    for _ in range(2):
        use(over_http(address(shared_panel), mode="legacy", name="opencode"), work)
    fresh = sessions(shared_panel) - before
    assert len(fresh) == 2
    assert all(types(shared_panel, session).count("todo/write") == 2 for session in fresh)


def test_the_stateless_and_anonymous_share_one_by_client_and_project(shared_panel: Panel) -> None:
    before = sessions(shared_panel)
    for name, query in (("n-1", "project=a"), ("n-1", "project=a"), ("n-1", "project=b"), ("n-2", "project=a")):
        client = over_http(address(shared_panel, query), mode="2026-07-28", name=name)
        use(client, lambda opened: write(opened, todos("a=i")))
    fresh = sessions(shared_panel) - before
    assert sorted(types(shared_panel, session).count("todo/write") for session in fresh) == [1, 1, 2]


def test_a_connection_outlives_the_panel(database: Path) -> None:
    """Its id is not known to the panel that came after: the session goes on all the same."""

    def rpc(panel: Panel, method: str, params: dict[str, Any], **headers: str) -> httpx.Response:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        accepted = {"accept": "application/json, text/event-stream"}
        answer = panel.client.post("/mcp", json=body, headers=accepted | headers)
        assert answer.status_code == 200, answer.text
        return answer

    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "opencode", "version": "1"}}
    with running(database) as panel:
        connection = rpc(panel, "initialize", hello).headers["mcp-session-id"]
    headers = {"mcp-session-id": connection, "mcp-protocol-version": "2025-06-18"}
    sent = {"name": "todo_write", "arguments": {"todos": todos("a=i")}}
    for _ in range(2):
        with running(database) as panel:
            result = rpc(panel, "tools/call", sent, **headers).json()["result"]
            assert result["content"] == [
                {"type": "text", "text": "Updated todo list: 0 pending, 1 in progress, 0 completed."}
            ]
            (session,) = sessions(panel)
    assert connection not in session


# Turns


@both_protocols
@pytest.mark.parametrize("times", [1, 2])
def test_a_known_session_that_connects_anew_begins_a_turn(shared_panel: Panel, mode: str, times: int) -> None:
    session = new_session()
    greets = "auto" if mode == "2026-07-28" else mode  # which asks `server/discover` first

    async def nothing(client: Client) -> None:
        await client.list_tools()

    query = f"session={session}"
    use(over_http(address(shared_panel, query), mode=greets), lambda client: write(client, todos("a=c")))
    assert "turn/start" not in types(shared_panel, session)
    for _ in range(times):
        use(over_http(address(shared_panel, query), mode=greets), nothing)
    assert types(shared_panel, session).count("turn/start") == 1
    assert shared_panel.plan(session)["todos"] is None


def test_open_todos_survive_a_new_connection(shared_panel: Panel) -> None:
    session = new_session()
    for _ in range(2):
        client = over_http(address(shared_panel, f"session={session}"), mode="legacy")
        use(client, lambda opened: opened.list_tools())
        shared_panel.write(session, todos("a=i b=c"))
    assert shared_panel.plan(session)["todos"] == todos("a=i b=c")


def test_turns_that_another_door_tells_are_not_told_again(shared_panel: Panel) -> None:
    thread = new_session()
    shared_panel.append(thread, {"type": "turn/start", "data": {"turn": 1}, "key": "1/turn"})
    shared_panel.write(thread, todos("a=i"))
    query = f"session={thread}"

    async def work(client: Client) -> None:
        await write(client, todos("a=c"), codex(thread, "u-9", "c-9"))

    use(over_http(address(shared_panel, query), mode="legacy", name=CODEX), work)
    assert types(shared_panel, thread).count("turn/start") == 1


# The same call again


@both_protocols
def test_a_call_that_comes_again_is_recorded_once(shared_panel: Panel, mode: str) -> None:
    session, meta = new_session(), {"claudecode/toolUseId": "toolu_1"}

    async def work(client: Client) -> None:
        assert await write(client, todos("a=i"), meta) == await write(client, todos("a=i"), meta)
        for _ in range(2):
            await call(client, {"todos": 1}, {"claudecode/toolUseId": "toolu_2"})
        await write(client, todos("b=i"), meta)  # another call under the same id

    use(over_http(address(shared_panel, f"session={session}"), mode=mode, name="claude-code"), work)
    events = shared_panel.events(session)
    calls = [event["data"]["call_id"] for event in events if event["type"] == "tool/call"]
    assert calls == ["toolu_1", "toolu_2", "toolu_1"]
    assert shared_panel.plan(session)["todos"] == todos("b=i")


def test_of_a_call_that_a_transcript_told_first_only_the_outcome_is_added(shared_panel: Panel) -> None:
    session, metas = new_session(), [{"claudecode/toolUseId": call_id} for call_id in ("toolu_1", "toolu_2")]
    shared_panel.append(session, {"type": "session/start", "data": {"agent": "claude-code"}, "key": "a"})
    for meta in metas:
        told = {"call_id": meta["claudecode/toolUseId"], "name": "mcp__plan__todo_write", "arguments": "{}"}
        shared_panel.append(session, {"type": "tool/call", "data": told, "key": told["call_id"]})

    async def work(client: Client) -> None:
        await write(client, todos("a=i"), metas[0])
        is_error, _ = await call(client, {"todos": 1}, metas[1])
        assert is_error

    use(over_http(address(shared_panel, f"session={session}"), name="claude-code", mode="legacy"), work)
    outcome = ["todo/write", "tool/result", "tool/result"]
    assert types(shared_panel, session) == ["session/start", "tool/call", "tool/call", *outcome]
    assert shared_panel.plan(session)["todos"] == todos("a=i")
    page = shared_panel.client.get(f"/sessions/{session}").text
    assert [page.count(f'data-state="{state}"') for state in ("running", "ok", "error")] == [0, 1, 1]


@pytest.mark.parametrize("call_id", ["toolu_1", None])
def test_a_transcript_that_comes_after_tells_no_call_of_ours_again(shared_panel: Panel, call_id: str | None) -> None:
    session, meta = new_session(), {"claudecode/toolUseId": call_id} if call_id else None
    client = over_http(address(shared_panel, f"session={session}"), mode="legacy")
    use(client, lambda opened: write(opened, todos("a=i"), meta))
    told = {"call_id": call_id or "qwen-1", "name": "mcp__plan__todo_write"}
    result = {"call_id": told["call_id"], "is_error": False, "text": "Updated"}
    drafts = [
        check_data("turn/start", {"turn": 1}, key="1"),
        check_data("tool/call", told | {"arguments": json.dumps({"todos": todos("a=i")})}, key="2"),
        check_data("tool/result", result, key="3"),
        check_data("tool/call", told | {"call_id": "x", "arguments": json.dumps({"todos": todos("b=i")})}, key="4"),
        check_data("tool/call", {"call_id": "y", "name": "Read", "arguments": "{}"}, key="5"),
    ]
    for _ in range(2):
        take_in(shared_panel.parts.writer, session, drafts)
    calls = [event["data"]["call_id"] for event in shared_panel.events(session) if event["type"] == "tool/call"]
    assert calls[1:] == ["x", "y"]
    page = shared_panel.client.get(f"/sessions/{session}").text
    assert page.count("data-tool=") == 3


def test_parallel_calls_are_all_recorded(shared_panel: Panel) -> None:
    session = new_session()

    async def work(client: Client) -> None:
        await asyncio.gather(*(write(client, todos(f"t{n}=i")) for n in range(20)))

    use(over_http(address(shared_panel, f"session={session}"), mode="legacy"), work)
    assert types(shared_panel, session).count("todo/write") == 20


# Reading back


@both_protocols
def test_an_agent_reads_its_plan_back(shared_panel: Panel, mode: str) -> None:
    session, listed = new_session() + " ü?", todos("a=c b=i")

    async def read(client: Client) -> tuple[Any, Any]:
        (template,) = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "planstrip://sessions/{id}/plan"
        (resource,) = (await client.list_resources()).resources
        plans = []
        for step in (None, listed, []):
            if step is not None:
                await write(client, step)
            (content,) = (await client.read_resource(resource.uri)).contents
            assert content.mime_type == "application/json"
            plans.append(json.loads(content.text)["todos"])  # type: ignore[union-attr]
        return resource.uri, plans

    uri, plans = use(over_http(address(shared_panel, f"session={session}"), mode=mode), read)
    assert uri.startswith(f"planstrip://sessions/{session.partition(' ')[0]}%20%C3%BC%3F/plan")
    assert plans == [None, listed, None]


def test_the_list_names_the_session_that_the_calls_named(shared_panel: Panel) -> None:
    thread = new_session()

    async def work(client: Client) -> str:
        await write(client, todos("a=i"), codex(thread, "u-1", "c-1"))
        return (await client.list_resources()).resources[0].uri

    uri = use(over_http(address(shared_panel), mode="legacy", name=CODEX), work)
    assert uri == f"planstrip://sessions/{thread}/plan"


@both_protocols
@pytest.mark.parametrize("uri", ["planstrip://sessions/nobody/plan", "planstrip://sessions/a", "file:///etc/passwd"])
def test_a_resource_that_is_not_there_is_said(shared_panel: Panel, mode: str, uri: str) -> None:
    async def ask(client: Client) -> int:
        with pytest.raises(MCPError, match="there is no") as caught:
            await client.read_resource(uri)
        return caught.value.error.code

    code = use(over_http(address(shared_panel), mode=mode), ask)
    assert code == (-32002 if mode == "legacy" else -32602)


# The shut door


def test_the_guard_stands_before_it(database: Path) -> None:
    with running(database, token="s3cret") as panel:
        bearer = {"authorization": "Bearer s3cret"}
        for headers, status in (
            ({}, 401),
            ({"authorization": "Bearer other"}, 401),
            (bearer | {"host": "evil.example"}, 400),
            (bearer | {"origin": "http://evil.example"}, 403),
            (bearer | {"sec-fetch-site": "cross-site"}, 403),
        ):
            assert panel.client.post("/mcp", json={}, headers=headers).status_code == status, headers
        client = over_http(address(panel, "session=a"), headers=bearer)
        use(client, lambda opened: write(opened, todos("a=i")))
        assert len(panel.client.get("/api/sessions/a/events", headers=bearer).json()["events"]) == 4


def test_it_stands_below_the_prefix(database: Path) -> None:
    with running(database, root_path="/plans") as panel:
        use(over_http(address(panel, "session=a")), lambda client: write(client, todos("a=i")))
        assert panel.plan("a")["todos"] == todos("a=i")


def test_no_stream_is_offered(shared_panel: Panel) -> None:
    answer = shared_panel.client.get("/mcp", headers={"accept": "text/event-stream"})
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST, DELETE")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}'])
def test_what_is_no_request_is_an_error_and_not_a_crash(shared_panel: Panel, body: bytes) -> None:
    headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
    for version in ("2025-06-18", "2026-07-28"):
        answer = shared_panel.client.post("/mcp", content=body, headers=headers | {"mcp-protocol-version": version})
        assert 400 <= answer.status_code < 500, (version, answer.text)


# Its cost


def test_the_sdk_is_not_loaded_before_it_is_asked_for() -> None:
    probe = "import sys, planstrip.serving, planstrip.cli; print([n for n in sys.modules if n.split('.')[0] == 'mcp'])"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_open_connections_do_not_hold_the_shutdown(database: Path) -> None:
    with serving(database) as program:

        async def work(client: Client) -> tuple[int, float]:
            await write(client, todos("a=i"))
            began = time.monotonic()
            code = await asyncio.to_thread(program.stop)
            return code, time.monotonic() - began

        code, took = use(over_http(f"{program.url}/mcp", mode="legacy"), work)
    assert code == 0
    assert took < 10, "it takes 0.3 s of processor time; this bound only tells a hang"
    assert not [line for line in program.said if "ERROR" in line or "Traceback" in line]
