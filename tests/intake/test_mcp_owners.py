"""A Claude Code subagent's call of our tool comes under its parent's session id: other doors tell whose it is."""

import json
from pathlib import Path

import pytest
from mcp import Client

from planstrip.intake.imports import import_file
from tests.intake.test_hooks import post
from tests.mcp_client import over_http, use, write
from tests.running import Panel, new_session, todos

TOOL = "mcp__plan__todo_write"


def called(panel: Panel, session: str, *lists: tuple[str, str]) -> None:
    """`todo_write` of each list by Claude Code, which says the parent's session and the call's own id."""

    async def work(client: Client) -> None:
        for call_id, listed in lists:
            await write(client, todos(listed), {"claudecode/toolUseId": call_id})

    use(over_http(f"{panel.url}/mcp?session={session}", name="claude-code"), work)


def sidechain(folder: Path, parent: str, child: str, *lists: tuple[str, str]) -> Path:
    """The subagent's own transcript, of the same calls."""
    common = {"isSidechain": True, "sessionId": parent, "agentId": child, "cwd": "/w"}
    contents: list[tuple[str, object]] = [("user", "Survey A")]
    for call_id, listed in lists:
        sent = {"type": "tool_use", "id": call_id, "name": TOOL, "input": {"todos": todos(listed)}}
        contents.append(("assistant", [sent]))
        contents.append(("user", [{"type": "tool_result", "tool_use_id": call_id, "content": "Updated todo list"}]))
    rows = [
        common
        | {"uuid": f"{child}-{n}", "type": role, "timestamp": f"2026-11-30T10:00:{n:02}Z", "message": {"content": said}}
        for n, (role, said) in enumerate(contents)
    ]
    path = folder / f"agent-{child}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def standing(panel: Panel, session: str) -> object:
    return panel.plan(session)["todos"]


@pytest.mark.parametrize("told_by", ["hook", "transcript"])
def test_a_subagents_list_is_its_own_where_its_call_is_known(shared_panel: Panel, tmp_path: Path, told_by: str) -> None:
    parent, child = new_session(), new_session()
    called(shared_panel, parent, (f"toolu_{parent}", "a=i b=p"))
    call_id = f"toolu_{child}"
    if told_by == "hook":
        payload = {"session_id": parent, "agent_id": child, "hook_event_name": "PreToolUse", "tool_name": TOOL}
        post(shared_panel, "claude", payload | {"tool_use_id": call_id, "tool_input": {}})
    else:
        import_file(shared_panel.parts.writer, sidechain(tmp_path, parent, child, (call_id, "x=i")))
    called(shared_panel, parent, (call_id, "x=i"))
    assert standing(shared_panel, parent) == todos("a=i b=p")
    assert standing(shared_panel, child) == todos("x=i")
    starts = [event["data"] for event in shared_panel.events(child) if event["type"] == "session/start"]
    assert starts[0]["parent"] == parent
    import_file(shared_panel.parts.writer, sidechain(tmp_path, parent, child, (call_id, "x=i")))
    assert [event["type"] for event in shared_panel.events(child)].count("tool/call") == 1


@pytest.mark.parametrize("before", ["a=i b=p", ""])
def test_a_subagents_lists_are_given_back_once_its_transcript_shows_them(
    shared_panel: Panel, tmp_path: Path, before: str
) -> None:
    parent, child = new_session(), new_session()
    theirs = ((f"toolu_{child}_1", "x=i"), (f"toolu_{child}_2", "x=c y=i"))
    called(shared_panel, parent, *((("toolu_own", before),) if before else ()), *theirs)
    assert standing(shared_panel, parent) == todos("x=c y=i")
    path = sidechain(tmp_path, parent, child, *theirs)
    for _ in range(2):
        import_file(shared_panel.parts.writer, path)
        assert standing(shared_panel, parent) == (todos(before) or None)
        assert standing(shared_panel, child) == todos("x=c y=i")
        assert [event["type"] for event in shared_panel.events(child)].count("todo/write") == 2


def test_what_the_parent_has_written_since_is_left_as_it_is(shared_panel: Panel, tmp_path: Path) -> None:
    parent, child = new_session(), new_session()
    theirs = (f"toolu_{child}", "x=i")
    called(shared_panel, parent, ("toolu_own", "a=i"), theirs, ("toolu_own_2", "a=c b=i"))
    position = shared_panel.plan(parent)["position"]
    import_file(shared_panel.parts.writer, sidechain(tmp_path, parent, child, theirs))
    assert shared_panel.plan(parent)["position"] == position
    assert standing(shared_panel, child) == todos("x=i")


def test_a_list_that_the_subagent_has_replaced_does_not_come_back(shared_panel: Panel, tmp_path: Path) -> None:
    """Its transcript is read while it works: one list at a time."""
    parent, child = new_session(), new_session()
    lists = [(f"toolu_{child}_{n}", listed) for n, listed in enumerate(("x=i", "x=c y=i", "x=c y=c"))]
    called(shared_panel, parent, ("toolu_own", "a=i"), *lists)
    for count in range(1, 4):
        import_file(shared_panel.parts.writer, sidechain(tmp_path, parent, child, *lists[:count]))
    assert standing(shared_panel, parent) == todos("a=i")
    assert standing(shared_panel, child) == todos("x=c y=c")
