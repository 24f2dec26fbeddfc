"""What a tool's row says, by the names and arguments that the published agents record."""

import json

import pytest

from planstrip.events import ToolCall
from planstrip.plan.tools import Tool, describe, plan_of

PATCH = "*** Begin Patch\n*** Update File: src/parser.py\n@@\n-a\n+b\n*** End Patch"


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("exec_command", {"cmd": "make", "workdir": "/p"}, Tool("run", "make")),  # codex
        ("write_stdin", {"session_id": 7, "chars": "y\n"}, Tool("run", "y")),
        ("write_stdin", {"session_id": 7, "chars": ""}, Tool("run", "7")),
        ("view_image", {"path": "a.png"}, Tool("read", "a.png")),
        ("spawn_agent", {"message": "Look", "fork_context": False}, Tool("delegate", "Look")),
        ("spawn_agent", {"items": [{"type": "text", "text": "Look"}]}, Tool("delegate", "Look")),
        ("wait_agent", {"targets": ["a", "b"]}, Tool("other", "a b")),
        ("request_user_input", {"questions": [{"id": "q", "question": "Which?"}]}, Tool("other", "Which?")),
        ("create_goal", {"objective": "Ship"}, Tool("other", "Ship")),
        ("Agent", {"description": "Look", "prompt": "Long"}, Tool("delegate", "Look")),  # Claude Code
        ("ToolSearch", {"query": "select:TodoWrite"}, Tool("search", "select:TodoWrite")),
        ("TaskCreate", {"subject": "Alpha", "description": "a"}, Tool("other", "Alpha")),
        ("TaskUpdate", {"taskId": "1", "status": "in_progress"}, Tool("other", "#1 in_progress")),
        ("TaskList", {}, Tool("other", "")),
        ("AskUserQuestion", {"questions": [{"question": "Which?", "options": []}]}, Tool("other", "Which?")),
        ("run_shell_command", {"command": "make", "is_background": False}, Tool("run", "make")),  # Gemini, Qwen
        ("read_background_output", {"pid": 12}, Tool("run", "12")),
        ("list_directory", {"dir_path": "src"}, Tool("search", "src")),
        ("grep_search", {"pattern": "x+"}, Tool("search", "x+")),
        ("read_many_files", {"include": ["a", "b"]}, Tool("read", "a b")),
        ("update_topic", {"title": "Parser", "summary": "s"}, Tool("other", "Parser")),
        ("invoke_agent", {"agent_name": "codebase", "prompt": "Look"}, Tool("delegate", "Look")),
        ("tracker_create_task", {"title": "Alpha", "type": "task"}, Tool("other", "Alpha")),
        ("tracker_update_task", {"id": "d76419", "status": "closed"}, Tool("other", "#d76419 closed")),
        ("read", {"filePath": "a.py"}, Tool("read", "a.py")),  # opencode
        ("task", {"description": "Look", "subagent_type": "general"}, Tool("delegate", "Look")),
        ("read_mcp_resource", {"server": "s", "uri": "x://y"}, Tool("read", "x://y")),
        ("StrReplaceFile", {"path": "a.py", "edit": {}}, Tool("edit", "a.py")),  # Kimi
        ("FetchURL", {"url": "http://a.b"}, Tool("fetch", "http://a.b")),
        ("AgentSwarm", {"description": "Look", "items": ["a"]}, Tool("delegate", "Look")),
        ("run_code", {"code": "\nawait tools.bash()"}, Tool("run", "await tools.bash()")),  # DeepSeek Harness
    ],
)
def test_a_row_says_what_the_call_is_about(name: str, arguments: object, expected: Tool) -> None:
    assert describe(ToolCall("c", name, json.dumps(arguments))) == expected


def test_a_patch_is_named_by_its_first_file() -> None:
    assert describe(ToolCall("c", "apply_patch", PATCH)) == Tool("edit", "src/parser.py")
    assert describe(ToolCall("c", "apply_patch", "*** Begin Patch")) == Tool("edit", "*** Begin Patch")


@pytest.mark.parametrize("arguments", ["[]", "null", "7", "not JSON", '{"cmd": [[]]}', '{"cmd": true}'])
def test_arguments_that_say_nothing_are_shown_as_they_came(arguments: str) -> None:
    assert describe(ToolCall("c", "exec_command", arguments)) == Tool("run", arguments)


def test_a_list_of_ours_that_is_missing_is_shown_as_it_came() -> None:
    assert describe(ToolCall("c", "mcp__plan__todo_write", "{}")) == Tool("other", "{}")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("todo_write", {"todos": [{"content": "A", "status": "in_progress"}]}),
        ("mcp__plan__todo_write", {"todos": [{"content": "A", "status": "in_progress"}]}),
        ("update_plan", {"plan": [{"step": "A", "status": "in_progress"}]}),
        ("plan", {"entries": [{"content": "A", "status": "in_progress", "priority": "high"}]}),
        ("TodoList", {"todos": [{"title": "A", "status": "in_progress"}]}),
        ("write_todos", {"todos": [{"description": "A", "status": "in_progress"}]}),
    ],
)
def test_the_shapes_of_agents_end_in_one_and_others_are_readable(name: str, arguments: dict[str, object]) -> None:
    """R113."""
    call = ToolCall("c", name, json.dumps(arguments))
    assert plan_of(call) == [{"content": "A", "status": "in_progress"}]
    other = ToolCall("c", name, '{"list": ["A"]}')
    assert (plan_of(other), describe(other).summary) == (None, '{"list": ["A"]}')


@pytest.mark.parametrize("name", ["TodoList", "SetTodoList"])
def test_kimis_lists_are_plans(name: str) -> None:
    call = ToolCall("c", name, '{"todos": [{"title": "Read", "status": "done"}]}')
    assert plan_of(call) == [{"content": "Read", "status": "completed"}]
