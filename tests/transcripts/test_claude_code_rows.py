"""Claude Code rows become events: what starts a turn, what ends it, whose a row is, what is kept of a call."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from planstrip.events import ToolCall
from planstrip.plan.tools import describe
from planstrip.transcripts.adapter import Adapted
from planstrip.transcripts.claude_code import FORMAT, ClaudeCode

Row = dict[str, object]
numbers = itertools.count(1)


def row(type_: str, content: object, message: Row | None = None, **more: object) -> Row:
    base: Row = {"type": type_, "uuid": f"u{next(numbers)}", "sessionId": "s", "cwd": "/w", "isSidechain": False}
    return base | {"message": {"role": type_, "content": content} | (message or {})} | more


def user(text: str, **more: Any) -> Row:
    return row("user", text, **more)


def says(text: str, stop: str | None = "end_turn", tokens: int | None = None, **more: object) -> Row:
    usage: Row = {} if tokens is None else {"usage": {"output_tokens": tokens}}
    return row("assistant", [{"type": "text", "text": text}], {"stop_reason": stop} | usage, **more)


def calls(call_id: str, name: str = "Bash", sent: object = None, stop: str | None = "tool_use") -> Row:
    block = {"type": "tool_use", "id": call_id, "name": name, "input": {} if sent is None else sent}
    return row("assistant", [block], {"stop_reason": stop})


def result(call_id: str, content: object = "ok", *, is_error: bool = False, details: object = None) -> Row:
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": is_error}
    return row("user", [block], toolUseResult=details)


def adapted(*rows: Row, path: str = "transcript.jsonl") -> list[Adapted]:
    adapter = FORMAT.adapter(rows[0], Path(path))
    return [event for one in rows for event in adapter.take(one)]


def turns(*rows: Row) -> list[str | None]:
    """Per `turn/start` its label, per `turn/end` its kind."""
    told: list[str | None] = []
    for event in adapted(*rows):
        if event.type == "turn/start":
            told.append(str(event.data["prompt"]))
        if event.type == "turn/end":
            assert isinstance(event.data["reason"], dict)
            told.append(f"- {event.data['reason']['kind']}")
    return told


def header(*rows: Row, path: str = "transcript.jsonl") -> tuple[str, str | None] | None:
    adapter = ClaudeCode.of(rows[0], Path(path))
    for one in rows:
        list(adapter.take(one))
    return None if adapter.header is None else (adapter.header.session, adapter.header.parent)


QUEUED: Row = {"type": "queue-operation", "operation": "enqueue", "sessionId": "s", "content": "Hi"}
SUMMARY: Row = {"type": "summary", "summary": "Of another session", "leafUuid": "far"}
SNAPSHOT: Row = {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}
COMMAND = "<command-name>/model</command-name>\n<command-args>opus</command-args>"
INTERRUPT = "[Request interrupted by user for tool use]"


@pytest.mark.parametrize("first", [QUEUED, SUMMARY, SNAPSHOT, {"type": "new-kind", "sessionId": "s"}, user("Hi")])
def test_a_file_is_known_by_any_first_row_and_starts_at_the_first_that_says_whose_it_is(first: Row) -> None:
    assert FORMAT.claims(first)
    events = adapted(first, user("Hello"))
    assert [event.type for event in events if event.data.get("turn") != 2] == ["session/start", "turn/start"]
    assert events[0].data == {"agent": "claude-code", "cwd": "/w"}
    assert events[0].key == events[1].key + "~start"


@pytest.mark.parametrize(
    "record",
    [
        {"type": "summary"},
        {"type": "session", "version": 0, "id": "s"},
        {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "parts": []}},
        {"type": "session_meta", "payload": {"id": "s"}},
        {"type": "system", "subtype": "init", "session_id": "s", "uuid": "u"},
        {"sessionId": "s", "projectHash": "p"},
        {},
    ],
)
def test_other_agents_files_and_other_views_of_a_run_are_not_claimed(record: Row) -> None:
    assert not FORMAT.claims(record)


def test_a_sidechain_file_is_a_session_of_its_own() -> None:
    inside = user("Survey", isSidechain=True, agentId="a1")
    assert header(inside) == ("a1", "s")
    assert turns(inside, says("Fine.", isSidechain=True, agentId="a1")) == ["Survey", "- completed"]
    assert header(user("Survey", isSidechain=True)) == ("s", None)
    assert header(inside, path="s.jsonl") == ("s", None)  # named for the session: its main file, begun by a sidechain


def test_an_inline_sidechain_is_no_part_of_the_session() -> None:
    inside = [user("Look", isSidechain=True), calls("x"), result("x"), says("Seen.", isSidechain=True)]
    for one in inside:
        one["isSidechain"] = True
    events = adapted(user("Hi"), calls("t", "Task"), *inside, result("t"))
    assert [event.type for event in events] == ["session/start", "turn/start", "tool/call", "tool/result"]


def test_only_a_prompt_starts_a_turn() -> None:
    told = turns(
        user("First", rowSource="local"),
        user("Hidden", isMeta=True),
        user("So far: …", isCompactSummary=True),
        user("Ran on", rowSource="harness"),
        user("Caveat: The messages below were generated by the user while running local commands. DO NOT"),
        user("<bash-input>ls</bash-input>"),
        user("<bash-stdout>a</bash-stdout>"),
        user("  "),
        row("user", ["wow error"]),
        row("user", None),
        {"type": "user", "uuid": "x", "message": "error"},
        user("No uuid") | {"uuid": None},
        row("user", [{"type": "image"}, {"type": "text", "text": "What is this?"}]),
    )
    assert told == ["First", "What is this?"]


def test_a_command_starts_a_turn_once_the_model_was_asked() -> None:
    assert turns(user(COMMAND), user("Expanded", isMeta=True)) == ["/model opus"]
    assert turns(user(COMMAND), says("Done.")) == ["/model opus", "- completed"]
    assert turns(user(COMMAND), user("<local-command-stdout>Set</local-command-stdout>"), calls("a")) == []
    assert turns(user(COMMAND), user("Fix it")) == ["Fix it"]
    assert turns(user(COMMAND)) == []


def test_an_answer_ends_its_turn_at_once() -> None:
    assert turns(user("Hi"), calls("a"), result("a"), says("Done.")) == ["Hi", "- completed"]
    assert turns(says("Nothing asked.")) == []


@pytest.mark.parametrize(
    "last",
    [
        says("I'll look.", "tool_use"),
        says("Cut o", "max_tokens"),
        says("", "end_turn"),
        says("No response requested.", "stop_sequence", isMeta=False) | {"message": {"model": "<synthetic>"}},
        says("Torn", "end_turn", isAbortedMidStream=True),
        row("assistant", [{"type": "thinking", "thinking": "Hm"}], {"stop_reason": "end_turn"}),
        calls("a", stop=None),
    ],
)
def test_what_is_no_answer_leaves_the_turn_open(last: Row) -> None:
    assert turns(user("Hi"), last, user("Next")) == ["Hi", "Next"]


def test_an_old_row_ends_its_turn_when_its_tokens_are_the_whole_messages() -> None:
    text = "A line of text that a model took some thirty tokens for."
    assert turns(user("Hi"), says(text, None, 30)) == ["Hi", "- completed"]
    assert turns(user("Hi"), says(text, None)) == ["Hi", "- completed"]
    assert turns(user("Hi"), says(text, None, 1)) == ["Hi"]
    assert turns(user("Hi"), says(text, None, 1), calls("a"), user("Next")) == ["Hi", "Next"]


def test_an_answer_that_only_what_follows_shows_is_told_then_with_its_own_time() -> None:
    answer = says("Long enough a text.", None, 1, timestamp="2025-09-03T00:47:21.540Z")
    (end,) = [e for e in adapted(user("Hi"), answer, user("Next", uuid="n")) if e.type == "turn/end"]
    assert (end.key, end.time, end.data["turn"]) == ("n~end", 1756860441540, 1)
    hook: Row = {"type": "system", "subtype": "turn_duration", "uuid": "d", "sessionId": "s"}
    assert turns(user("Hi"), answer | {"uuid": "b"}, hook, user("Next")) == ["Hi", "- completed", "Next"]


def test_a_turn_that_went_on_after_its_answer_ends_as_its_last_row_says() -> None:
    assert turns(user("Hi"), says("Done."), calls("a"), result("a"), says("Now.")) == [
        "Hi",
        "- completed",
        "- completed",
    ]
    assert turns(user("Hi"), says("Done."), calls("a"), user("Next")) == ["Hi", "- completed", "- interrupted", "Next"]
    assert turns(user("Hi"), says("One."), says("Two."), user("Next")) == ["Hi", "- completed", "Next"]


def test_a_call_after_an_answer_resumes_its_turn_once() -> None:
    events = adapted(user("Hi"), says("Done."), calls("a"), calls("b"), result("a"))
    assert [event.type for event in events[2:]] == ["turn/end", "turn/resume", "tool/call", "tool/call", "tool/result"]
    assert events[3].key == f"{events[4].key}~resume"
    assert [event.type for event in adapted(says("Done."), calls("a"))] == ["session/start", "tool/call"]


def test_an_interruption_and_an_api_error_end_a_turn_at_once() -> None:
    stop = user(INTERRUPT, rowSource="harness")
    assert turns(user("Hi"), calls("a"), result("a", is_error=True), stop) == ["Hi", "- interrupted"]
    assert turns(user("Hi"), row("user", [{"type": "text", "text": INTERRUPT}])) == ["Hi", "- interrupted"]
    assert turns(user("Hi"), says("API Error: 529", "stop_sequence", isApiErrorMessage=True)) == ["Hi", "- error"]


def test_a_call_of_any_kind_is_a_row_with_its_result() -> None:
    listed = [{"type": "text", "text": "one"}, {"type": "image"}, {"type": "text", "text": "two"}]
    found = [{"type": "tool_reference", "tool_name": "TodoWrite"}]
    events = adapted(
        user("Hi"), calls("a", "Bash", {"command": "ls · 梳"}), result("a", listed, is_error=True), result("b", found)
    )
    call, first, second = events[2:]
    assert call.data == {"call_id": "a", "name": "Bash", "arguments": '{"command":"ls · 梳"}'}
    assert first.data == {"call_id": "a", "is_error": True, "text": "one\ntwo"}
    assert second.data["text"] == "TodoWrite"


def test_several_calls_and_results_of_one_row_have_keys_of_their_own() -> None:
    blocks = [{"type": "tool_use", "id": call_id, "name": "Read", "input": {}} for call_id in "ab"]
    results = [{"type": "tool_result", "tool_use_id": call_id, "content": ""} for call_id in "ab"]
    events = adapted(user("Hi"), row("assistant", blocks, uuid="c"), row("user", results, uuid="r"))
    assert [event.key for event in events[2:]] == ["c", "c~2", "r", "r~2"]


def test_arguments_are_kept_and_long_ones_cut_but_a_plans() -> None:
    long = {"todos": [], "text": "x" * 50_000}
    raw = json.dumps(long, separators=(",", ":"))
    torn = {"__unparsedToolInput": {"raw": '{"todos":[{"cont', "len": 16}}
    names = ("TodoWrite", "TaskCreate", "TaskUpdate", "mcp__planstrip__todo_write", "Write")
    events = adapted(user("Hi"), *(calls(name, name, long) for name in names), calls("t", "TodoWrite", torn))[2:]
    assert [event.data["arguments"] == raw for event in events] == [True, True, True, True, False, False]
    assert str(events[4].data["arguments"]).endswith("bytes]")
    assert events[5].data["arguments"] == '{"todos":[{"cont'


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-30T16:27:25.938Z", 1796056045938),
        ("2026-11-30T17:27:25.938+01:00", 1796056045938),
        ("2026-11-30T16:27:25", 1796056045000),
        ("1969-12-31T23:59:59Z", None),
        ("0001-01-01T00:00:00+23:59", None),
        ("yesterday", None),
        (5, None),
    ],
)
def test_a_time_is_the_rows_own_or_none(text: object, time: int | None) -> None:
    assert [event.time for event in adapted(user("Hi", timestamp=text))] == [time, time]


def test_a_persons_title_stands_above_a_models_and_a_summary_is_known_by_its_leaf() -> None:
    def titled(type_: str, **more: object) -> Row:
        return {"type": type_, "sessionId": "s"} | more

    events = adapted(
        user("Hi", uuid="leaf"),
        SUMMARY,
        titled("summary", summary="Short", leafUuid="leaf"),
        titled("ai-title", aiTitle="Model's"),
        titled("ai-title", aiTitle="Model's"),
        titled("custom-title", customTitle="Mine\nmore"),
        titled("ai-title", aiTitle="Model's again"),
        titled("custom-title", customTitle=5),
    )
    assert [(event.key, event.data.get("title")) for event in events if event.type == "session/title"] == [
        ("title/1", "Short"),
        ("title/2", "Model's"),
        ("title/3", "Mine"),
    ]


@pytest.mark.parametrize(
    ("name", "sent", "kind", "line"),
    [
        ("Read", {"file_path": "/a.py"}, "read", "/a.py"),
        ("Edit", {"file_path": "/a.py"}, "edit", "/a.py"),
        ("Write", {"file_path": "/a.py", "content": ""}, "edit", "/a.py"),
        ("MultiEdit", {"file_path": "/a.py", "edits": []}, "edit", "/a.py"),
        ("NotebookEdit", {"notebook_path": "/a.ipynb"}, "edit", "/a.ipynb"),
        ("Bash", {"command": "make", "description": "Build"}, "run", "make"),
        ("Grep", {"pattern": "x", "path": "/a"}, "search", "x"),
        ("Glob", {"pattern": "*.md"}, "search", "*.md"),
        ("ToolSearch", {"query": "select:TodoWrite"}, "search", "select:TodoWrite"),
        ("WebFetch", {"url": "https://a.b", "prompt": "p"}, "fetch", "https://a.b"),
        ("WebSearch", {"query": "plans"}, "fetch", "plans"),
        ("Task", {"description": "Survey A", "prompt": "p"}, "delegate", "Survey A"),
        ("Agent", {"description": "Survey A", "prompt": "p"}, "delegate", "Survey A"),
        ("TaskCreate", {"subject": "Alpha", "description": "d"}, "other", "Alpha"),
        ("TaskCreate", {"title": "Only a title"}, "other", "Only a title"),
        ("TaskUpdate", {"taskId": "1", "status": "in_progress"}, "other", "#1 in_progress"),
        ("TaskUpdate", {"task_id": 3, "subject": "Run all"}, "other", "#3 Run all"),
        ("TaskUpdate", {"taskId": "3", "addBlockedBy": ["2"]}, "other", "#3"),
        ("TaskUpdate", {"status": "x"}, "other", '{"status": "x"}'),
        ("Skill", {"skill": "review"}, "other", "review"),
    ],
)
def test_a_row_is_recognised(name: str, sent: Row, kind: str, line: str) -> None:
    tool = describe(ToolCall("c", name, json.dumps(sent)))
    assert (tool.kind, tool.summary) == (kind, line)
