"""What the command line says of an import and of a watch, and how it ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from planstrip.errors import StoreUnusable
from planstrip.progress import run_import

SAMPLES = Path(__file__).parents[1] / "fixtures" / "deepseek-harness"
KILLED = SAMPLES / "real-killed-mid-turn.jsonl"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'log.sqlite3'}"


def test_an_import_sums_up_what_it_did(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_import(url, [KILLED]) == 0
    assert run_import(url, [KILLED]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "1 file, 1 session: 6 events added, 0 known already, 0 files failed"
    assert second == "1 file, 1 session: 0 events added, 6 known already, 0 files failed"


def test_a_file_that_fails_is_told_apart_and_makes_the_exit_code(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = tmp_path / "bad\x1b[31m\n.jsonl"
    bad.write_text("nothing\n")
    assert run_import(url, [bad, KILLED]) == 1
    said = capsys.readouterr()
    assert said.out == "2 files, 1 session: 6 events added, 0 known already, 1 file failed\n"
    assert said.err.startswith("failed: ")
    assert "\x1b" not in said.err
    assert said.err.count("\n") == 1


def test_files_of_a_folder_that_are_no_transcripts_are_counted(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("notes.md", "other.jsonl"):
        (folder / name).write_text("{}\n")
    (folder / "session.jsonl").write_bytes(KILLED.read_bytes())
    assert run_import(url, [folder]) == 0
    assert capsys.readouterr().out.endswith("0 files failed, 2 files skipped\n")


def test_a_file_without_a_message_yet_is_told_and_is_no_failure(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"type":"summary","summary":"Fix the parser","leafUuid":"1"}\n')
    assert run_import(url, [path]) == 0
    said = capsys.readouterr()
    assert (
        said.err == f"{path}: a file of claude-code that holds no message yet, and does not say whose session it is\n"
    )
    assert said.out == "1 file, 0 sessions: 0 events added, 0 known already, 0 files failed\n"


def test_an_unusable_store_is_said_before_anything_is_read(tmp_path: Path) -> None:
    (tmp_path / "log.sqlite3").write_text("this is no database, whatever its name says")
    with pytest.raises(StoreUnusable, match="not a database"):
        run_import(f"sqlite:///{tmp_path / 'log.sqlite3'}", [KILLED])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_watch_ends_cleanly_on_a_signal(url: str, tmp_path: Path, number: signal.Signals) -> None:
    code = "import sys; from pathlib import Path; from planstrip.progress import run_watch;"
    code += "sys.exit(run_watch(sys.argv[1], [Path(sys.argv[2])]))"
    process = subprocess.Popen(
        [sys.executable, "-c", code, url, str(KILLED)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == f"watching {KILLED}\n"
    assert process.stdout.readline() == f"{KILLED}: session sess-crash: 6 events added\n"
    start = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (0, "", "")
    assert time.monotonic() - start < 2


def test_on_a_terminal_a_bar_is_drawn_and_elsewhere_none(url: str) -> None:
    import pty

    code = "import sys; from pathlib import Path; from planstrip.progress import run_import;"
    code += "sys.exit(run_import(sys.argv[1], [Path(sys.argv[2])]))"
    screen, terminal = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", code, url, str(SAMPLES / "real-unicode-long.jsonl")],
        stdout=subprocess.PIPE,
        stderr=terminal,
        env=os.environ | {"TERM": "xterm"},
        check=True,
    )
    os.close(terminal)
    drawn = os.read(screen, 65_536)
    os.close(screen)
    assert b"\x1b[" in drawn
    assert done.stdout.startswith(b"1 file,")
