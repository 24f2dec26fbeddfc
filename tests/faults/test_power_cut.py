"""What a power cut leaves of a SQLite file: the log opens, is whole, and holds what was acknowledged (spec.md §2)."""

import os
import random
import shutil
import signal
import sqlite3
import struct
from pathlib import Path
from typing import Final

import pytest

from planstrip import projection
from planstrip.db import open_engine, prepare
from tests.faults.load import RUNS, SESSIONS, Load, Write, check_log, loaded, some
from tests.faults.volume import attached, mounted
from tests.running import Program, serving
from tests.stores import events_of, opened

CUTS: Final = 4 * RUNS
WAL_HEADER: Final = 32
FRAME_HEADER: Final = 24

pytestmark = pytest.mark.sqlite


def test_a_disk_that_loses_its_power_holds_what_was_acknowledged(empty_log: bytes, tmp_path: Path) -> None:
    """The disk is a file, which has what the program has flushed, and of the rest what the system wrote by then. Copied
    at random moments and mounted anew, it has a log as `examine` wants it."""
    with mounted(24, has_journal=True) as volume:
        (volume / "plans.sqlite3").write_bytes(empty_log)
        os.sync()
        cuts: list[tuple[Path, list[Write]]] = []
        with serving(volume / "plans.sqlite3") as program, loaded(program.url, 0.005) as load:
            for number in range(CUTS):
                load.wait(some(1, 60))
                acknowledged = load.acknowledged
                cuts.append((stopped_copy(program, volume.parent / "image", tmp_path / f"cut{number}"), acknowledged))
            writes = load.stop()
    for image, acknowledged in cuts:
        with attached(image) as found:
            examine(found / "plans.sqlite3", acknowledged, writes)


def stopped_copy(program: Program, image: Path, copy: Path) -> Path:
    """The power goes: no one byte is written after another that was."""
    program.process.send_signal(signal.SIGSTOP)
    shutil.copyfile(image, copy)
    program.process.send_signal(signal.SIGCONT)
    return copy


def test_files_as_a_power_cut_could_leave_them_hold_what_was_acknowledged(database: Path, tmp_path: Path) -> None:
    """The same by a model, which tears more: the write-ahead log ends at, or is garbled from, any byte after its last
    commit; the database file is as old as the log allows; the shared memory is gone."""
    cuts: list[tuple[Path, list[Write]]] = []
    with serving(database) as program, loaded(program.url, 0.005) as load:
        for number in range(CUTS):
            load.wait(some(1, 60))
            cuts.append(torn(database, tmp_path / f"cut{number}", load))
        writes = load.stop()
    for path, acknowledged in cuts:
        examine(path, acknowledged, writes)


def torn(database: Path, folder: Path, load: Load) -> tuple[Path, list[Write]]:
    """A copy, and what had been acknowledged before it began. What a checkpoint brought into the database file had been
    flushed in the log before: so the file is copied first, and the log is whole up to where it was committed then."""
    wal = database.with_name(database.name + "-wal")
    folder.mkdir(exist_ok=True)
    acknowledged, began = load.acknowledged, wal.read_bytes()[:WAL_HEADER]
    shutil.copyfile(database, folder / database.name)
    committed = end_of_commits(wal.read_bytes())
    load.wait(some(0, 5))
    log = wal.read_bytes()
    if log[:WAL_HEADER] != began:  # it began anew meanwhile: this copy is of no one moment
        return torn(database, folder, load)
    kept = log[committed : random.randint(committed, len(log))]
    if random.random() < 0.5:
        at = random.randint(0, len(kept))
        kept = kept[:at] + os.urandom(len(kept) - at)
    (folder / wal.name).write_bytes(log[:committed] + kept)
    return folder / database.name, acknowledged


def end_of_commits(log: bytes) -> int:
    """Where the last commit of a write-ahead log ends (https://sqlite.org/fileformat2.html, section 4)."""
    page_size, salts = struct.unpack(">I", log[8:12])[0], log[16:24]
    end = at = WAL_HEADER
    while log[at + 8 : at + 16] == salts:
        at += FRAME_HEADER + page_size
        if struct.unpack(">I", log[at - page_size - 20 : at - page_size - 16])[0]:  # the database's size: a commit
            end = at
    return end


def examine(path: Path, acknowledged: list[Write], writes: list[Write]) -> None:
    """It opens and passes SQLite's own check; positions have no gap; every acknowledged write is there once, none is
    there in part; and the sessions' rows stand where their logs do."""
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
    engine = open_engine(f"sqlite:///{path}")
    prepare(engine)
    engine.dispose()
    with opened(f"sqlite:///{path}") as store:
        for session in SESSIONS:
            told = [write for write in acknowledged if write.session == session]
            untold = [Write(session, write.content, 0) for write in writes if write.session == session]
            check_log(events_of(store, session), [*told, *untold])
        rows = store.execute("SELECT id, position FROM sessions")
        with store.reading() as reading:
            assert [projection.current(reading, row.id).position for row in rows] == [row.position for row in rows]
