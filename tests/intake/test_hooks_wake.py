"""A hook whose transcript is readable here wakes its reader and records nothing itself (spec.md §2, across doors)."""

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planstrip.intake.imports import import_paths
from tests.intake.test_hooks import FIXTURES, payloads, post
from tests.running import Panel, running

CLAUDE = FIXTURES / "claude-code" / "todowrite-subagents"
MAIN = "d915ee73-bcf9-4523-9ef8-1cc4cb6a4caf"
CHILD = "a20dc255acbeb7b7d"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Claude Code's own layout: a session's file, and a folder of its subagents' beside it."""
    folder = tmp_path / "project"
    (folder / MAIN).mkdir(parents=True)
    shutil.copy(CLAUDE / "main.jsonl", folder / f"{MAIN}.jsonl")
    shutil.copytree(CLAUDE / "subagents", folder / MAIN / "subagents")
    return folder


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def imported(empty_log: bytes, tmp_path: Path, *files: Path) -> dict[str, list[dict[str, Any]]]:
    """What an import of the files alone gives."""
    database = tmp_path / "imported.sqlite3"
    database.write_bytes(empty_log)
    with running(database) as panel:
        reports = import_paths(panel.parts.writer, files).files
        return {str(report.session): panel.events(str(report.session)) for report in reports}


def said(path: Path, **more: object) -> dict[str, object]:
    told = {"session_id": MAIN, "transcript_path": str(path), "hook_event_name": "Stop", "cwd": "/home/user/project"}
    return told | more


def test_a_run_of_hooks_gives_what_its_transcripts_give(
    panel: Panel, project: Path, tmp_path: Path, empty_log: bytes
) -> None:
    path = project / f"{MAIN}.jsonl"
    for payload in payloads("claude-code-subagents"):
        if "agent_transcript_path" in payload:
            payload["agent_transcript_path"] = payload["agent_transcript_path"].replace(
                "/home/user/.claude/projects/-home-user-project", str(project)
            )
        answer = post(panel, "claude-code", payload | {"transcript_path": str(path)})
        assert (answer["recorded"], answer["woken"]) == (0, True)
    files = [path, *sorted((project / MAIN / "subagents").iterdir())]
    wanted = imported(empty_log, tmp_path, *files)
    assert set(wanted) == {MAIN, CHILD, "a8db20b80310b47fc"}
    until(lambda: {session: panel.events(session) for session in wanted} == wanted)


def test_a_subagents_hook_brings_its_task_calls_into_the_list_of_the_session_it_works_for(
    panel: Panel, tmp_path: Path
) -> None:
    root, session = FIXTURES / "claude-code" / "tasks-by-subagents", "7f3b9d52-1c84-4e0a-9b6f-2d5a8e7c4013"
    name = f"{session}/subagents/agent-a9c40b6e1f7d25083.jsonl"
    (tmp_path / name).parent.mkdir(parents=True)
    shutil.copy(root / f"{session}.jsonl", tmp_path)
    path = tmp_path / f"{session}.jsonl"
    more = {"session_id": session, "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "t"}
    post(panel, "claude-code", said(path) | more)
    until(lambda: panel.events(session) != [])
    alone = panel.plan(session)["todos"]
    shutil.copy(root / name, tmp_path / name)
    answer = post(panel, "claude-code", said(path) | more | {"agent_id": "a9c40b6e1f7d25083"})
    assert answer["woken"]
    until(lambda: panel.plan(session)["todos"] != alone)
    done = [todo["content"] for todo in panel.plan(session)["todos"] if todo["status"] == "completed"]
    assert "Port the parser" in done


def test_what_is_written_after_a_hook_is_read_after_the_next(panel: Panel, tmp_path: Path, empty_log: bytes) -> None:
    lines = (CLAUDE / "main.jsonl").read_bytes().splitlines(keepends=True)
    path = tmp_path / f"{MAIN}.jsonl"
    path.write_bytes(b"".join(lines[:40]))
    post(panel, "claude-code", said(path))
    until(lambda: panel.events(MAIN) != [])
    with path.open("ab") as target:
        target.write(b"".join(lines[40:]))
    post(panel, "claude-code", said(path))
    wanted = imported(empty_log, tmp_path, path)[MAIN]
    until(lambda: panel.events(MAIN) == wanted)


def test_a_line_that_comes_to_the_disk_after_its_hook_is_read(panel: Panel, tmp_path: Path) -> None:
    path = tmp_path / f"{MAIN}.jsonl"
    answer = post(panel, "claude-code", said(path, hook_event_name="UserPromptSubmit", prompt="Hi"))
    assert answer["woken"]  # it does not exist yet
    shutil.copy(CLAUDE / "main.jsonl", path)
    until(lambda: panel.events(MAIN) != [])


def test_a_prompt_whose_transcript_does_not_come_is_recorded_after_all(panel: Panel, tmp_path: Path) -> None:
    path = tmp_path / f"{MAIN}.jsonl"
    for more in ({"hook_event_name": "SessionStart"}, {"hook_event_name": "UserPromptSubmit", "prompt": "Hi"}):
        assert post(panel, "claude-code", said(path, **more))["woken"]
    assert post(panel, "claude-code", said(path))["recorded"] == 3
    assert [event["type"] for event in panel.events(MAIN)] == ["session/start", "turn/start", "turn/end"]


@pytest.mark.parametrize("what", ["missing", "other session", "other agent", "no transcript", "a folder", "relative"])
def test_a_path_that_is_not_this_sessions_transcript_is_not_read(panel: Panel, tmp_path: Path, what: str) -> None:
    path = tmp_path / "there" / f"{MAIN}.jsonl"
    if what != "missing":
        path.parent.mkdir()
    if what == "other session":
        path.write_bytes((CLAUDE / "main.jsonl").read_bytes().replace(MAIN.encode(), b"another-session"))
    elif what == "other agent":
        shutil.copy(FIXTURES / "codex" / "parallel-and-errors.rollout.jsonl", path)
    elif what == "no transcript":
        path.write_text("root:x:0:0\n")
    elif what == "a folder":
        path.mkdir()
    place = Path(path.name) if what == "relative" else path
    tool = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "ls"}}
    answer = post(panel, "claude-code", said(place, **tool))
    assert answer == {"session": MAIN, "recorded": 3, "woken": False}
    assert [event["type"] for event in panel.events(MAIN)] == ["session/start", "tool/call", "tool/result"]


def test_a_codex_childs_file_is_found_beside_its_parents(panel: Panel, tmp_path: Path, empty_log: bytes) -> None:
    parent, child = "01a22d4c-754a-7960-bdb2-599a75d50122", "01a22d4c-780b-7760-b8f7-573aed8e7cf7"
    files = [tmp_path / f"rollout-2026-11-30T16-31-54-{id_}.jsonl" for id_ in (parent, child)]
    for file, name in zip(files, ("parent", "child"), strict=True):
        shutil.copy(FIXTURES / "codex" / "subagent" / f"{name}.rollout.jsonl", file)
    payload = said(files[0], session_id=parent, agent_id=child, turn_id="t", hook_event_name="SubagentStart")
    assert post(panel, "codex", payload)["woken"]
    wanted = imported(empty_log, tmp_path, *files)
    until(lambda: {session: panel.events(session) for session in wanted} == wanted)


def test_opencodes_database_is_read_where_it_has_the_session(panel: Panel, tmp_path: Path) -> None:
    import sqlite3

    path = tmp_path / "opencode.db"
    with sqlite3.connect(path) as database:
        database.executescript((FIXTURES / "opencode" / "opencode-dump.sql").read_text())
    database.close()
    session = "ses_dd2a79a36ffeSXR6XUzj4M96Dz"
    idle = {"type": "session.idle", "properties": {"sessionID": session}, "transcript_path": str(path)}
    assert post(panel, "opencode", idle)["woken"]
    until(lambda: (panel.plan(session)["todos"] if panel.events(session) else None) is not None)
    stranger = {"type": "session.created", "properties": {"sessionID": "ses_x", "info": {"id": "ses_x"}}}
    assert post(panel, "opencode", stranger | {"transcript_path": str(path)})["recorded"] == 1


def test_dshs_file_is_found_below_its_folder_of_sessions(panel: Panel, tmp_path: Path) -> None:
    sample = FIXTURES / "deepseek-harness" / "real-parallel-multi-turn.jsonl.zstd"
    plain = sample.with_suffix("")
    session = json.loads(plain.read_text().splitlines()[0])["id"]
    folder = tmp_path / "sessions" / "--home-user-project--" / session
    folder.mkdir(parents=True)
    header = json.loads((sample.parent / "real-parallel-multi-turn.jsonl").read_text().splitlines()[0])
    shutil.copy(plain, folder / "session.jsonl")
    payload = {"session_id": header["id"], "sessions_dir": str(tmp_path / "sessions"), "event": {"type": "turn/end"}}
    assert post(panel, "dsh", payload)["woken"]
    until(lambda: panel.events(session) != [])


def test_what_was_held_for_a_transcript_is_not_lost_where_there_is_no_room(database: Path, project: Path) -> None:
    """It was acknowledged: when the payload that was refused comes again, all of it is recorded, once."""
    session = "5f0c8e51-0000-4000-8000-00000000000a"
    told = {"session_id": session, "transcript_path": str(project / "none.jsonl"), "cwd": "/home/user/project"}
    prompt = told | {"hook_event_name": "UserPromptSubmit", "prompt": "Do it"}
    call = told | {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "make"}}
    call |= {"tool_response": {"stdout": "done"}, "tool_use_id": "toolu_1"}
    with running(database, max_sessions=1) as panel:
        panel.write("other", [])
        assert post(panel, "claude-code", prompt)["woken"] is True
        refused = panel.client.post("/api/hooks/claude-code", json=call)
        assert (refused.status_code, panel.events(session)) == (503, [])
        panel.parts.writer.room.max_sessions = None
        assert post(panel, "claude-code", call)["woken"] is False
        kinds = [event["type"] for event in panel.events(session)]
        assert (kinds.count("turn/start"), kinds.count("tool/call"), kinds.count("tool/result")) == (1, 1, 1)
