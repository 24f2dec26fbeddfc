"""`planstrip snapshot`: what it prints, what it compares, how it ends, and that no machine changes a byte of it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from planstrip.cli import main

ROOT = Path(__file__).parents[2]
ZH = ROOT / "fixtures/demo/parallel-plan-zh.jsonl"
PINNED = ROOT / "tests/snapshots/parallel-plan.txt"
Snapshot: TypeAlias = Callable[..., tuple[object, str, str]]
RUNS = int(os.environ.get("PLANSTRIP_SNAPSHOT_RUNS", "3"))
MACHINES = [
    {"TZ": "Asia/Shanghai", "LANG": "zh_CN.UTF-8", "LC_ALL": "zh_CN.UTF-8", "LANGUAGE": "zh"},
    {"TZ": "America/St_Johns", "LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"TZ": "UTC", "LANG": "ar_EG.UTF-8", "PYTHONIOENCODING": "latin-1", "COLUMNS": "20", "NO_COLOR": "1"},
]


@pytest.fixture
def snapshot(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Snapshot:
    """Exit code, output and errors of `planstrip snapshot …`, in this process."""

    def run(*arguments: str | Path) -> tuple[object, str, str]:
        monkeypatch.setattr("sys.argv", ["planstrip", "snapshot", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsysbinary.readouterr()
        return ended.value.code, out.decode(), err.decode()

    return run


def test_one_session_is_its_record_alone_and_kept_it_compares(snapshot: Snapshot) -> None:
    assert snapshot(ZH) == (0, PINNED.read_bytes().decode(), "")
    assert snapshot(ZH, "--name", "parallel-plan", "--check", PINNED.parent) == (0, "", "1 record as kept\n")


def test_a_folder_is_checked_updated_and_checked_again(tmp_path: Path, snapshot: Snapshot) -> None:
    source, kept = ROOT / "fixtures/demo", tmp_path / "kept"
    code, out, err = snapshot(source, "--check", kept)
    assert (code, err) == (1, f"2 records: 2 not as in {kept}; --update rewrites them\n")
    assert out.startswith("--- /dev/null\n+++ parallel-plan-zh\n@@ -0,0 +1,9 @@\n+row=todo_write\n")
    code, out, err = snapshot(source, "--check", kept, "--update")
    assert (code, out, err.count("wrote")) == (0, "", 2)
    assert (kept / "parallel-plan-zh.txt").read_bytes() == PINNED.read_bytes()
    (kept / "gone.txt").write_bytes(PINNED.read_bytes())
    assert snapshot(source, "--check", kept)[0] == 1
    assert snapshot(source, "--check", kept, "--update")[2] == f"deleted {kept / 'gone.txt'}\n"
    assert snapshot(source, "--check", kept)[0] == 0


def test_several_sessions_stand_below_their_names(snapshot: Snapshot) -> None:
    code, out, _ = snapshot(ROOT / "fixtures/demo")
    assert code == 0
    assert out.startswith(f"session=parallel-plan-zh\n{PINNED.read_bytes().decode()}\nsession=parallel-plan\n")


def test_json_is_one_object_by_name(snapshot: Snapshot) -> None:
    code, out, _ = snapshot(ZH, "--json", "--lang", "zh")
    assert (code, json.loads(out)) == (
        0,
        {
            "parallel-plan-zh": {
                "row": "todo_write",
                "title": "更新任务清单",
                "summary": "1/4 已完成 · 实现 fixture 样本",
                "suffix": "+1",
                "panel": "1 已完成\u2002·\u20022 进行中\u2002·\u20021 待处理",
                "items": [
                    {"status": "completed", "content": "梳理需求"},
                    {"status": "in_progress", "content": "实现 fixture 样本"},
                    {"status": "in_progress", "content": "跑后台构建"},
                    {"status": "pending", "content": "浏览器验收"},
                ],
            }
        },
    )


def test_a_bad_file_among_good_ones_ends_with_1(tmp_path: Path, snapshot: Snapshot) -> None:
    (tmp_path / "session.jsonl").write_text("nothing of ours\n", encoding="utf-8")
    (tmp_path / "good.jsonl").write_bytes(ZH.read_bytes())
    code, out, err = snapshot(tmp_path)
    assert (code, out.splitlines()[0]) == (1, "session=good")
    assert err.startswith(f"failed: {tmp_path / 'session.jsonl'}: not a transcript")


@pytest.mark.parametrize(
    "arguments", [("none.jsonl",), (ZH, "--lang", "tlh"), (ZH, "--update"), ("http://127.0.0.1:1/sessions/a",), ()]
)
def test_what_can_not_be_used_ends_with_2(snapshot: Snapshot, arguments: tuple[str | Path, ...]) -> None:
    code, out, err = snapshot(*arguments)
    assert (code, out) == (2, "")
    assert "Traceback" not in err


def test_runs_on_other_machines_give_the_same_bytes() -> None:
    """R162: whatever the zone, the language, the encoding and the order of hashes."""
    source = ROOT / "fixtures/claude-code/todowrite-parallel-and-errors.jsonl"
    command = [sys.executable, "-m", "planstrip", "snapshot", str(source), "--all", "--steps"]
    given = set()
    for number in range(RUNS):
        env = os.environ | MACHINES[number % len(MACHINES)] | {"PYTHONHASHSEED": str(number)}
        given.add(subprocess.run(command, env=env, capture_output=True, check=True, timeout=120).stdout)
    [told] = given
    assert told.decode().startswith("step=todo/write\nturn=Turn 1\n")
