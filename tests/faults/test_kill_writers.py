"""`kill -9` of a writer beside the server, and of the watcher, at random moments (spec.md §2)."""

import contextlib
import itertools
import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from planstrip.events import TodoWrite, ToolCall, ToolResult
from planstrip.intake.imports import import_paths
from planstrip.intake.watching import watch_paths
from tests.databases import url_of
from tests.faults.load import RUNS, some
from tests.faults.waiting import wait_until
from tests.running import TIMEOUT_S, start, todos
from tests.stores import Store, opened

SAMPLE = Path(__file__).parents[2] / "fixtures" / "deepseek-harness" / "real-parallel-multi-turn.jsonl"
COPIES = 60
_numbers = itertools.count()


def test_no_accepted_call_is_lost_when_the_mcp_server_is_killed(database: Path) -> None:
    """Without a panel `planstrip mcp` writes into the database itself. Each call that the model was told of is there
    once, in order; positions have no gap; of the call that nobody answered all is there or nothing."""
    accepted: list[str] = []
    for _ in range(RUNS):
        with mcp_server(database) as process:
            killer = threading.Timer(random.uniform(0.0, 0.3), process.kill)
            accepted += _calls(process, killer)
            killer.join()
        with opened(database) as store:
            entries = store.entries("mcp")
        assert [entry.position for entry in entries] == list(range(1, len(entries) + 1))
        calls = [entry.event for entry in entries if isinstance(entry.event, ToolCall | TodoWrite | ToolResult)]
        assert [type(event) for event in calls] == [ToolCall, TodoWrite, ToolResult] * (len(calls) // 3)
        written = [event.todos[0].content for event in calls if isinstance(event, TodoWrite)]
        assert [content for content in written if content in set(accepted)] == accepted
        assert len(written) <= len(accepted) + RUNS
    assert accepted


@contextlib.contextmanager
def mcp_server(database: Path) -> "Iterator[subprocess.Popen[bytes]]":
    flags = ("--server", "http://127.0.0.1:9", "--database-url", url_of(database), "--session", "mcp")
    command = [sys.executable, "-m", "planstrip", "mcp", "--allow-parallel-in-progress", *flags]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.kill()


def _calls(process: "subprocess.Popen[bytes]", killer: threading.Timer) -> Iterator[str]:
    """What it has accepted, call by call until it is gone; it is killed a while after its first answer."""
    with contextlib.suppress(BrokenPipeError):
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "probe", "version": "1"}}
        _ask(process, {"method": "initialize", "id": 0, "params": hello})
        _send(process, {"method": "notifications/initialized"})
        while True:
            content = f"m{next(_numbers)}"
            params = {"name": "todo_write", "arguments": {"todos": todos(f"{content}=i")}}
            answer = _ask(process, {"method": "tools/call", "id": 1, "params": params})
            if answer is None:
                return
            assert not answer["result"].get("isError"), answer
            yield content
            if killer.ident is None:
                killer.start()


def _ask(process: "subprocess.Popen[bytes]", message: Mapping[str, object]) -> Any:
    """None where the process ends first."""
    _send(process, message)
    assert process.stdout is not None
    line = process.stdout.readline()
    return json.loads(line) if line.endswith(b"\n") else None


def _send(process: "subprocess.Popen[bytes]", message: Mapping[str, object]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()


# What reads transcripts


def test_an_import_that_is_killed_is_finished_by_the_next(database: Path, tmp_path: Path, once: "Once") -> None:
    """The log is the same as after one import that nobody disturbed: nothing is lost, doubled or in another order."""
    folder = tmp_path / "sessions"
    for number in range(COPIES):
        _copy(folder / f"{number}.jsonl", f"s{number}")
    for _ in range(RUNS):
        with start("import", str(folder), "--database-url", url_of(database)) as process, opened(database) as store:
            _wait_for_events(store, some(1, COPIES * 10), process)
            process.kill()
            process.wait(TIMEOUT_S)
    with opened(database) as store:
        import_paths(store.writer, [folder])
        assert _rows(store) == once(folder)


def test_a_watcher_that_is_killed_is_followed_by_one_that_goes_on(database: Path, tmp_path: Path, once: "Once") -> None:
    """While the transcripts grow: without loss and without doubles."""
    folder, whole = tmp_path / "sessions", tmp_path / "whole"
    for number in range(8):
        _copy(whole / f"{number}.jsonl", f"s{number}")
    growing = threading.Thread(target=_grow, args=(whole, folder))
    for run in range(RUNS):
        with start("watch", str(folder), "--database-url", url_of(database)) as process, opened(database) as store:
            if not run:
                _copy(folder / "first.jsonl", "first")
                _wait_for_events(store, 1, process)
                growing.start()
            _wait_for_events(store, some(1, 60), process, growing)
            process.kill()
            process.wait(TIMEOUT_S)
    stop = threading.Event()
    with opened(database) as store:
        watcher = threading.Thread(target=watch_paths, args=(store.writer, [folder], stop))
        watcher.start()
        growing.join()
        _copy(whole / "first.jsonl", "first")
        try:
            wait_until(lambda: len(_rows(store)) >= len(once(whole)), TIMEOUT_S)
        finally:
            stop.set()
            watcher.join()
        assert _rows(store) == once(whole)


Once = Callable[[Path], list[tuple[object, ...]]]


@pytest.fixture
def once(tmp_path: Path, empty_log: bytes) -> Once:
    """The events of a folder that was imported at one go."""

    @cache
    def rows(folder: Path) -> list[tuple[object, ...]]:
        path = tmp_path / f"once-{folder.name}.sqlite3"
        path.write_bytes(empty_log)
        with opened(f"sqlite:///{path}") as store:
            import_paths(store.writer, [folder])
            return _rows(store)

    return rows


def _copy(path: Path, session: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(SAMPLE.read_bytes().replace(b"sess-parallel_multi_turn", session.encode()))


def _grow(whole: Path, folder: Path) -> None:
    """Write each file of `whole` again, in pieces that end anywhere."""
    left = {path.name: path.read_bytes() for path in whole.iterdir()}
    while left:
        name = random.choice(list(left))
        size = random.randint(1, 4000)
        with (folder / name).open("ab", buffering=0) as file:
            file.write(left[name][:size])
        left[name] = left[name][size:]
        if not left[name]:
            del left[name]
        time.sleep(0.02)


def _rows(store: Store) -> list[tuple[object, ...]]:
    """Every event but for its time, which is the server's clock where the agent's file has none."""
    return [tuple(row) for row in store.execute("SELECT session, position, type, key, data FROM events ORDER BY 1, 2")]


def _wait_for_events(
    store: Store, count: int, process: "subprocess.Popen[str]", source: threading.Thread | None = None
) -> None:
    """Until so many more are stored, the process has ended by itself, or no more come from its source."""

    def is_dry() -> bool:
        return source is not None and not source.is_alive()

    query = "SELECT count(*) FROM events"
    before = store.execute(query)[0][0]
    wait_until(
        lambda: store.execute(query)[0][0] >= before + count or process.poll() is not None or is_dry(), TIMEOUT_S
    )
