"""Hooks of a session whose subagents change its list, with and without the transcripts of the same run."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from planstrip.intake.imports import import_paths
from tests.intake.test_hooks import post
from tests.running import Panel
from tests.transcripts.test_claude_code_subagents import FILES, LISTS, ROOT, SESSION, in_time


def payloads() -> Iterator[dict[str, Any]]:
    """What Claude Code's hooks would have told of the fixture's run, in its order."""
    calls: dict[str, dict[str, Any]] = {}
    for _, line in in_time():
        row = json.loads(line)
        if row["type"] not in ("user", "assistant"):
            continue
        told = {"session_id": SESSION, "cwd": row["cwd"], "timestamp": row["timestamp"]}
        told |= {"agent_id": row["agentId"]} if "agentId" in row else {}
        content = row["message"]["content"]
        if isinstance(content, str):
            begins = {"hook_event_name": "SubagentStart" if "agentId" in row else "UserPromptSubmit"}
            yield told | begins | {"prompt": content}
            continue
        for block in content:
            if block["type"] == "text":
                yield told | {"hook_event_name": "SubagentStop" if "agentId" in row else "Stop"}
                continue
            call = calls.setdefault(block.get("id") or block["tool_use_id"], block)
            told |= {"tool_name": call["name"], "tool_input": call["input"], "tool_use_id": call["id"]}
            if call is block:
                yield told | {"hook_event_name": "PreToolUse"}
            else:
                yield told | {"hook_event_name": "PostToolUse", "tool_response": response(call, block["content"])}


def response(call: dict[str, Any], text: str) -> object:
    if call["name"] == "TaskUpdate":
        if not (match := re.match(r"Updated task #(\d+) (.*)", text)):
            return {"success": False, "error": text}
        change = {"statusChange": {"to": call["input"]["status"]}}
        return {"success": True, "taskId": match[1], "updatedFields": match[2].split(", ")} | change
    if call["name"] == "TaskCreate":
        match = re.match(r"Task #(\d+) created successfully: (.*)", text)
        assert match
        return {"task": {"id": match[1], "subject": match[2]}}
    return text


def lists(panel: Panel) -> list[list[str]]:
    writes = [event["data"]["todos"] for event in panel.events(SESSION) if event["type"] == "todo/write"]
    return [[f"{todo['status']}: {todo['content']}" for todo in todos] for todos in writes]


def take(panel: Panel) -> int:
    return import_paths(panel.parts.writer, [ROOT / name for name in FILES]).added


def test_each_call_of_a_subagent_sets_the_list_of_the_session_it_works_for(panel: Panel) -> None:
    for payload in payloads():
        post(panel, "claude", payload)
    assert lists(panel) == LISTS
    take(panel)
    assert lists(panel) == LISTS
    assert take(panel) == 0


def test_hooks_that_come_after_the_transcripts_tell_nothing_more(panel: Panel) -> None:
    take(panel)
    for payload in payloads():
        post(panel, "claude", payload)
    assert lists(panel) == LISTS


@pytest.mark.parametrize("missed", [10, 25, 45])
def test_lists_whose_beginning_no_hook_told_are_the_transcripts(panel: Panel, missed: int) -> None:
    for payload in [*payloads()][missed:]:
        post(panel, "claude", payload)
    assert lists(panel) == []
    take(panel)
    assert lists(panel)[-1] == LISTS[-1]
    assert take(panel) == 0
