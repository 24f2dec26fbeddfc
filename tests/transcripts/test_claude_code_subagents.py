"""A session's list that its subagents change from files of their own: in any order, again, and as it is written."""

import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from planstrip.events import Entry, TodoWrite, ToolCall
from planstrip.transcripts import claude_code_subagents as subagents
from planstrip.transcripts.adapter import Adapted
from planstrip.transcripts.follow import Transcript
from tests.intake.conftest import Log, Store
from tests.intake.test_watching import soon, watching
from tests.transcripts.walking import FIXTURES, FUZZ, goes_in_valid, mutated

ROOT: Final = FIXTURES / "claude-code" / "tasks-by-subagents"
SESSION: Final = "7f3b9d52-1c84-4e0a-9b6f-2d5a8e7c4013"
MAIN: Final = f"{SESSION}.jsonl"
LEXER, PARSER = "a3f19c07d5e2b8461", "a9c40b6e1f7d25083"
FILES: Final = (MAIN, *(f"{SESSION}/subagents/agent-{name}.jsonl" for name in (LEXER, PARSER)))
BESIDE: Final = {name: Path(name).name for name in FILES}  # the layout of 2.0.x
INNER: Final = {MAIN: "main.jsonl"} | {name: f"subagents/{Path(name).name}" for name in FILES[1:]}


@dataclass(frozen=True, slots=True)
class Step:
    """The list that stands after a row of a file."""

    file: str
    row: str
    list: list[str]


STEPS: Final = [Step(**step) for step in json.loads((ROOT / "lists.json").read_text())]
LISTS: Final = [step.list for step in STEPS]


def lines_of(name: str) -> list[bytes]:
    return (ROOT / name).read_bytes().splitlines(keepends=True)


def in_time() -> list[tuple[str, bytes]]:
    """Every line of every file in the order in which they were written."""
    lines = [(name, line, json.loads(line)["timestamp"]) for name in FILES for line in lines_of(name)]
    return [(name, line) for name, line, _ in sorted(lines, key=lambda found: found[2])]


def copied(root: Path, *names: str) -> list[Path]:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, root / name)
    return [root / name for name in names]


def said(entry: Entry) -> list[str]:
    assert isinstance(entry.event, TodoWrite)
    return [f"{todo.status}: {todo.content}" for todo in entry.event.todos]


def writes(log: Log, session: str = SESSION) -> list[list[str]]:
    return [said(entry) for entry in log.entries(session) if isinstance(entry.event, TodoWrite)]


def lists(events: Sequence[Adapted]) -> list[list[str]]:
    found: list[list[str]] = []
    for event in events:
        if event.type == "todo/write":
            todos = event.data["todos"]
            assert isinstance(todos, list)
            found.append([f"{todo['status']}: {todo['content']}" for todo in todos])
    return found


@pytest.mark.parametrize("order", list(itertools.permutations(FILES)))
def test_files_may_be_read_in_any_order(log: Log, order: Sequence[str]) -> None:
    report = log.take(*(ROOT / name for name in order))
    assert report.failed == 0
    assert writes(log) == LISTS
    assert writes(log, LEXER) == writes(log, PARSER) == []
    rows = log.rows()
    again = log.take(*(ROOT / name for name in reversed(order)))
    assert (again.added, again.known) == (0, len(rows))
    assert log.rows() == rows


@pytest.mark.parametrize("layout", [BESIDE, INNER])
def test_files_may_lie_elsewhere_beside_each_other(log: Log, tmp_path: Path, layout: dict[str, str]) -> None:
    for name, place in layout.items():
        (tmp_path / place).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / place)
    assert log.take(tmp_path).failed == 0
    assert writes(log) == LISTS


def test_another_sessions_subagents_change_nothing(log: Log, tmp_path: Path) -> None:
    for name in FILES:
        text = (ROOT / name).read_text()
        (tmp_path / BESIDE[name]).write_text(text.replace(SESSION, "other") if name != MAIN else text)
    log.take(tmp_path)
    assert writes(log) == lists(list(Transcript(copied(tmp_path / "alone", MAIN)[0]).events()))
    assert len(writes(log)) == sum(step.file == MAIN for step in STEPS)


def test_calls_stay_with_the_subagent_that_made_them(log: Log) -> None:
    log.take(ROOT)
    for name, calls in ((LEXER, 6), (PARSER, 3)):
        entries = log.entries(name)
        made = [entry.event for entry in entries if isinstance(entry.event, ToolCall)]
        assert sum(call.name in subagents.CHANGING for call in made) == calls
    own = {entry.event.call_id for entry in log.entries(SESSION) if isinstance(entry.event, ToolCall)}
    assert all(e.event.call_id in own | {None} for e in log.entries(SESSION) if isinstance(e.event, TodoWrite))


def test_a_subagents_file_alone_tells_of_no_list(log: Log, tmp_path: Path) -> None:
    log.take(*copied(tmp_path, *FILES[1:]))
    assert writes(log) == writes(log, LEXER) == writes(log, PARSER) == []


def test_what_was_written_so_far_gives_a_prefix(tmp_path: Path) -> None:
    path = tmp_path / MAIN
    (tmp_path / FILES[1]).parent.mkdir(parents=True)
    path.touch()
    for count, (name, line) in enumerate(in_time(), 1):
        with (tmp_path / name).open("ab") as file:
            file.write(line)
        found = lists(list(Transcript(path).events())) if path.stat().st_size else []
        assert found == LISTS[: len(found)], count
    assert found == LISTS


def test_a_reader_that_goes_on_tells_each_list_as_its_call_is_answered(tmp_path: Path) -> None:
    (tmp_path / FILES[1]).parent.mkdir(parents=True)
    live = Transcript(tmp_path / MAIN)
    live.path.touch()
    found: list[list[str]] = []
    steps = iter(STEPS)
    for name, line in in_time():
        with (tmp_path / name).open("ab") as file:
            file.write(line[:50])
            file.flush()
            assert lists(list(live.events())) == []
            file.write(line[50:])
        new = lists(list(live.events()))
        if new:
            step = next(steps)
            assert (step.file, step.row, [step.list]) == (name, json.loads(line)["uuid"], new)
        found += new
    assert found == LISTS


def test_watched_files_change_the_list_with_each_call(log: Log, store: Store, tmp_path: Path) -> None:
    (tmp_path / FILES[1]).parent.mkdir(parents=True)
    expected = {step.row: number for number, step in enumerate(STEPS, 1)}
    with watching(log, tmp_path):
        for name, line in in_time():
            with (tmp_path / name).open("ab", buffering=0) as file:
                file.write(line)
            if (count := expected.get(json.loads(line).get("uuid", ""))) is not None:
                soon(lambda count=count: writes(log) == LISTS[:count])  # type: ignore[misc]
        whole = store.fresh()
        whole.take(tmp_path)
        soon(lambda: len(log.rows()) == len(whole.rows()))
    assert writes(log, LEXER) == writes(log, PARSER) == []
    rows = log.rows()
    assert log.take(tmp_path).added == 0
    assert log.rows() == rows


def test_a_list_of_what_came_late_is_the_one_that_stands(store: Store, tmp_path: Path) -> None:
    """Whichever of the files was not there at first."""
    for name in FILES[1:]:
        log = store.fresh()
        root = tmp_path / Path(name).stem
        copied(root, *(other for other in FILES if other != name))
        log.take(root)
        before = writes(log)
        copied(root, name)
        log.take(root)
        late = writes(log)[len(before) :]
        assert len(late) >= sum(step.file == name for step in STEPS)
        assert late[-1] == LISTS[-1]
        assert all(told in LISTS[-2:] for told in late)
        assert log.take(root).added == 0


def test_a_late_change_does_not_undo_a_newer_one(tmp_path: Path) -> None:
    (path,) = copied(tmp_path, MAIN)
    line = next(line for line in lines_of(FILES[1]) if b'"taskId":"2","status":"in_progress"' in line)
    answer = next(line for line in lines_of(FILES[1]) if b"Updated task #2 status" in line)
    live = Transcript(path)
    before = lists(list(live.events()))[-1]
    name = tmp_path / FILES[1]
    name.parent.mkdir(parents=True)
    late = [part.replace(b'"taskId":"2"', b'"taskId":"1"').replace(b"task #2", b"task #1") for part in (line, answer)]
    name.write_bytes(b"".join(late).replace(b"T09:00", b"T08:59"))
    assert lists(list(live.events())) == [before]


def test_a_finished_list_that_a_turn_cleared_stays_so_when_a_change_comes_late(log: Log, tmp_path: Path) -> None:
    cut = next(n for n, line in enumerate(lines_of(MAIN)) if b"Now the release notes" in line) + 1
    (tmp_path / FILES[1]).parent.mkdir(parents=True)
    (tmp_path / MAIN).write_bytes(b"".join(lines_of(MAIN)[:cut]))
    copied(tmp_path, FILES[1])
    lexer = [line for line in lines_of(FILES[1]) if b"#6" not in line and b'"6"' not in line]
    (tmp_path / FILES[1]).write_bytes(b"".join(lexer))
    log.take(tmp_path)
    copied(tmp_path, FILES[2])
    log.take(tmp_path)
    assert log.summary(SESSION)["final"] is None


def test_a_file_that_is_cut_or_replaced_is_read_again_and_told_once(tmp_path: Path) -> None:
    path, _, other = copied(tmp_path, *FILES)
    live = Transcript(path)
    whole = lists(list(live.events()))
    data = other.read_bytes()
    other.write_bytes(data[: len(data) // 2])
    assert lists(list(live.events())) == []
    other.unlink()
    other.write_bytes(data)
    assert lists(list(live.events())) == []
    assert whole == LISTS


def test_more_than_is_held_at_once_is_told_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subagents, "MAX_HELD", 2)
    path, *_ = copied(tmp_path, *FILES)
    found = lists(list(Transcript(path).events()))
    assert sorted(found[-1]) == sorted(LISTS[-1])
    assert len(found) == len(LISTS)


def test_nothing_that_stands_in_a_subagents_file_stops_the_sessions_own(tmp_path: Path) -> None:
    path, *others = copied(tmp_path, *FILES)
    os.mkfifo(others[0].with_name("agent-pipe.jsonl"))
    others[0].with_name("agent-empty.jsonl").touch()
    others[0].with_name("agent-folder.jsonl").mkdir()
    own = [event for event in Transcript(copied(tmp_path / "alone", MAIN)[0]).events() if event.type != "todo/write"]
    for seed in range(FUZZ):
        chance = random.Random(seed)
        for name, other in zip(FILES[1:], others, strict=True):
            other.write_bytes(mutated((ROOT / name).read_bytes(), chance))
        events = list(Transcript(path).events())
        for event in events:
            goes_in_valid(event)
        assert [event for event in events if event.type != "todo/write"] == own


def killed(root: Path, log: Log, *, early: bool) -> None:
    """A watch in a process of its own, killed at its start, or once it has taken in what is new."""
    url = log.writer.engine.url.render_as_string(hide_password=False)
    before = len(log.rows())
    process = subprocess.Popen(
        [sys.executable, "-m", "planstrip", "watch", str(root)],
        env=os.environ | {"PLANSTRIP_DATABASE_URL": url},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        if early:
            time.sleep(0.4)
        else:
            soon(lambda: len(log.rows()) > before, 60)
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def test_a_watch_that_is_killed_between_lines_tells_nothing_twice(log: Log, tmp_path: Path) -> None:
    root = tmp_path / "project"
    (root / FILES[1]).parent.mkdir(parents=True)
    lines = in_time()
    for number, (name, line) in enumerate(lines):
        with (root / name).open("ab") as file:
            file.write(line)
        if number in (30, 40):
            killed(root, log, early=number == 40)
            assert writes(log) == LISTS[: len(writes(log))]
    log.take(root)
    assert writes(log) == LISTS
    rows = log.rows()
    assert log.take(root).added == 0
    assert log.rows() == rows


def test_readers_that_begin_anew_after_each_line_tell_nothing_twice(log: Log, tmp_path: Path) -> None:
    (tmp_path / FILES[1]).parent.mkdir(parents=True)
    for number, (name, line) in enumerate(in_time()):
        with (tmp_path / name).open("ab") as file:
            file.write(line)
        paths = [tmp_path / other for other in FILES if (tmp_path / other).exists()]
        log.take(*(paths if number % 2 else reversed(paths)))
        assert writes(log) == LISTS[: len(writes(log))]
    assert writes(log) == LISTS
