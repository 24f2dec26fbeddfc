"""Transcripts followed live: what is there, what is added, what is cut, replaced, removed, or comes later."""

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from planstrip.intake.check import check_data
from planstrip.intake.imports import FileReport
from planstrip.intake.record import take_in
from planstrip.intake.watching import watch_paths

if TYPE_CHECKING:
    from tests.intake.conftest import Log, Store

SAMPLES = Path(__file__).parents[2] / "fixtures" / "deepseek-harness"
PARALLEL = SAMPLES / "real-parallel-multi-turn.jsonl"
KILLED = SAMPLES / "real-killed-mid-turn.jsonl"
RESUMED = SAMPLES / "real-killed-then-resumed.jsonl"
CRASHED = "sess-crash"


@contextmanager
def watching(log: "Log", *paths: Path) -> Iterator[list[FileReport]]:
    stop, reports = threading.Event(), list[FileReport]()
    thread = threading.Thread(target=watch_paths, args=(log.writer, paths, stop, reports.append))
    thread.start()
    try:
        yield reports
        assert thread.is_alive()
    finally:
        stop.set()
        thread.join(5)
        assert not thread.is_alive()


def soon(holds: Callable[[], Any], within_s: float = 8.0) -> float:
    """Seconds until it held."""
    start = time.monotonic()
    while time.monotonic() - start < within_s:
        if holds():
            return time.monotonic() - start
        time.sleep(0.002)
    pytest.fail("it never came")


def same(log: "Log", store: "Store", *paths: Path) -> Callable[[], bool]:
    other = store.fresh()
    other.take(*paths)
    rows = other.rows()
    return lambda: log.rows() == rows


@pytest.mark.parametrize("is_directory", [True, False])
def test_growth_is_taken_in_line_by_line_as_it_is_written(
    log: "Log", store: "Store", tmp_path: Path, is_directory: bool
) -> None:
    path = tmp_path / "sessions" / "a" / "session.jsonl"
    path.parent.mkdir(parents=True)
    lines = PARALLEL.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:10]))
    with watching(log, tmp_path / "sessions" if is_directory else path):
        soon(lambda: len(log.rows()) == 2)
        with path.open("ab", buffering=0) as file:
            for line in lines[10:]:
                file.write(line[:7])
                file.write(line[7:])
        soon(same(log, store, PARALLEL))


def test_a_line_is_in_the_log_well_within_150_ms(log: "Log", tmp_path: Path) -> None:
    """The median, since the machine may be busy with other things."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(KILLED.read_bytes())
    with watching(log, tmp_path):
        soon(lambda: len(log.rows()) == 6)
        times = []
        for number in range(15):
            line = f'{{"type":"session/title","seq":{900 + number},"data":{{"title":"title {number}"}}}}\n'
            with path.open("ab", buffering=0) as file:
                file.write(line.encode())
            times.append(soon(lambda number=number: len(log.rows()) == 7 + number))  # type: ignore[misc]
            time.sleep(0.05)
    assert sorted(times)[7] < 0.15, times


def test_a_packed_file_is_followed_frame_by_frame(log: "Log", store: "Store", tmp_path: Path) -> None:
    source, path = SAMPLES / f"{PARALLEL.name}.zstd", tmp_path / "session.jsonl.zstd"
    data = source.read_bytes()
    with watching(log, tmp_path):
        with path.open("ab", buffering=0) as file:
            for start in range(0, len(data), 500):
                file.write(data[start : start + 500])
                time.sleep(0.02)
        soon(same(log, store, source))


def test_a_path_that_does_not_exist_yet_is_waited_for(log: "Log", store: "Store", tmp_path: Path) -> None:
    root = tmp_path / "later" / "sessions"
    with watching(log, root, tmp_path / "file.jsonl"):
        time.sleep(0.3)
        (root / "x" / "y").mkdir(parents=True)
        shutil.copyfile(RESUMED, root / "x" / "y" / "session.jsonl")
        soon(same(log, store, RESUMED))
        shutil.copyfile(PARALLEL, tmp_path / "file.jsonl")
        soon(same(log, store, RESUMED, PARALLEL))


def test_a_resume_that_cuts_the_file_goes_on_in_the_same_session(log: "Log", store: "Store", tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    shutil.copyfile(KILLED, path)
    with watching(log, path):
        soon(lambda: len(log.rows()) == 6)
        os.truncate(path, 7_000)
        time.sleep(0.1)
        path.write_bytes(RESUMED.read_bytes())
        soon(same(log, store, KILLED, RESUMED))


def test_a_file_may_be_replaced_removed_and_made_again(log: "Log", store: "Store", tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    shutil.copyfile(KILLED, path)
    with watching(log, path):
        soon(same(log, store, KILLED))
        shutil.copyfile(RESUMED, tmp_path / "new")
        (tmp_path / "new").replace(path)
        soon(same(log, store, KILLED, RESUMED))
        path.unlink()
        time.sleep(0.1)
        shutil.copyfile(PARALLEL, path)
        soon(same(log, store, KILLED, RESUMED, PARALLEL))


def test_a_directory_may_be_removed_and_made_again(log: "Log", store: "Store", tmp_path: Path) -> None:
    root = tmp_path / "sessions"
    root.mkdir()
    with watching(log, root):
        time.sleep(0.3)
        shutil.rmtree(root)
        time.sleep(0.1)
        root.mkdir()
        shutil.copyfile(KILLED, root / "session.jsonl")
        soon(same(log, store, KILLED))


def test_what_fails_is_told_once_and_stops_nothing(log: "Log", store: "Store", tmp_path: Path) -> None:
    bad = tmp_path / "session.bad.jsonl"
    bad.write_text("no transcript\n")
    with watching(log, tmp_path) as reports:
        soon(lambda: any(report.failure for report in reports))
        with bad.open("a") as file:
            file.write("more of it\n")
        shutil.copyfile(KILLED, tmp_path / "session.jsonl")
        soon(same(log, store, KILLED))
        assert [report.path.name for report in reports if report.failure] == ["session.bad.jsonl"]
        bad.write_bytes(PARALLEL.read_bytes())
        soon(same(log, store, KILLED, PARALLEL))


def test_another_sessions_file_under_a_known_id_is_never_merged(log: "Log", tmp_path: Path) -> None:
    take_in(log.writer, CRASHED, [check_data("session/start", {"agent": "codex"})])
    path = tmp_path / "session.jsonl"
    shutil.copyfile(KILLED, path)
    with watching(log, path) as reports:
        soon(lambda: any(report.failure for report in reports))
        path.write_bytes(RESUMED.read_bytes())
        time.sleep(0.2)
    assert len(log.rows()) == 1


def test_what_the_store_did_not_take_is_read_again(log: "Log", store: "Store", tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    with watching(log, tmp_path) as reports:
        time.sleep(0.3)
        with log.writer.engine.connect() as connection:
            connection.exec_driver_sql("ALTER TABLE events RENAME TO away")
            connection.commit()
            shutil.copyfile(RESUMED, path)
            soon(lambda: any(report.failure for report in reports))
            connection.exec_driver_sql("ALTER TABLE away RENAME TO events")
            connection.commit()
        soon(same(log, store, RESUMED))


def test_a_file_among_many_others_in_its_directory_is_followed_alone(
    log: "Log", store: "Store", tmp_path: Path
) -> None:
    path = tmp_path / "one.jsonl"
    shutil.copyfile(KILLED, path)
    with watching(log, path):
        soon(same(log, store, KILLED))
        shutil.copyfile(PARALLEL, tmp_path / "session.jsonl")
        (tmp_path / "deep").mkdir()
        shutil.copyfile(PARALLEL, tmp_path / "deep" / "session.jsonl")
        time.sleep(0.3)
        assert same(log, store, KILLED)()


def test_a_session_that_a_full_panel_does_not_take_holds_up_no_other_and_comes_when_there_is_room(
    log: "Log", store: "Store", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planstrip.intake.watching.RESCAN_S", 0.1)
    log.writer.room.max_sessions = 1
    folder = tmp_path / "sessions"
    folder.mkdir()
    with watching(log, folder) as reports:
        lines = PARALLEL.read_bytes().splitlines(keepends=True)
        with open(folder / "stands.jsonl", "wb", buffering=0) as file:
            file.writelines(lines[:9])
            soon(log.rows)
            shutil.copyfile(KILLED, folder / "new.jsonl")
            soon(lambda: any(report.failure and "takes no new session" in report.failure for report in reports))
            file.writelines(lines[9:])
        soon(same(log, store, PARALLEL))
        log.writer.room.max_sessions = 2
        soon(same(log, store, PARALLEL, KILLED))
    assert sum(report.failure is not None for report in reports) == 1
