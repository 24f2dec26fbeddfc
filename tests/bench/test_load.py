"""The load run passes where all is right, and fails where an update is lost."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from planstrip.db import open_engine, prepare
from tests.bench.load_run import Late, Plan, Receipts, Result, Sample, Stored, Write
from tests.bench.load_verdict import done, faults, growth, lags_ms
from tests.bench.logs import todos

ROOT = Path(__file__).resolve().parents[2]
STORE = os.environ.get("PLANSTRIP_BENCH_LOAD_STORE", "sqlite")
COUNTS = os.environ.get("PLANSTRIP_BENCH_LOAD", "--agents 6 --viewers 24 --sessions 8 --seconds 2 --slow 1 --stalled 1")


def run(*options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tests.bench.load", *COUNTS.split(), *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=200)


def test_a_run_that_loses_nothing_says_what_it_measured() -> None:
    done = run("--store", STORE)
    assert [line.split("  ours")[0].strip() for line in done.stdout.splitlines()] == [
        "load, writes",
        "load, lag p99",
        "load, memory",
        "load, files",
    ], done.stdout + done.stderr


def test_a_run_fails_where_the_store_loses_an_acknowledged_write(tmp_path: Path) -> None:
    """The store takes the event and drops it: the server has acknowledged what is not there."""
    url = f"sqlite:///{tmp_path / 'log.sqlite3'}"
    engine = open_engine(url)
    prepare(engine)
    with engine.begin() as connection:
        connection.execute(
            text(
                "CREATE TRIGGER loses AFTER INSERT ON events WHEN NEW.session = 'load-1' AND NEW.type = 'todo/write'"
                " AND NEW.position > 3 BEGIN DELETE FROM events WHERE id = NEW.id; END"
            )
        )
    engine.dispose()
    done = run("--database-url", url)
    assert done.returncode == 1, done.stderr
    assert "of session 1, acknowledged at 5, is stored 0 times" in done.stdout
    assert "lost: a viewer of session 1" in done.stdout


def right() -> Result:
    """Two sessions, one written twice, each with a viewer that saw all, the second write 30 ms after its answer."""
    writes = [Write(0, 5, 1, 10.0, 10.01), Write(0, 8, 2, 11.0, 11.02)]
    stored = [
        Stored(session, position, tuple(todo["status"] for todo in todos(step)))
        for session, position, step in ((0, 2, 0), (1, 2, 0), (0, 5, 1), (0, 8, 2))
    ]
    viewers = [Receipts(0, [3, 6, 9], [9.0, 10.02, 11.05], done(2), ""), Receipts(1, [3], [9.0], done(0), "")]
    slow = [Late(0, 9, done(2), is_cut=False), Late(0, 3, done(0), is_cut=True)]
    samples = [Sample(100.0, 9)] * 10
    plan = Plan(sessions=2, viewers=4)
    return Result(plan, writes, [], viewers, slow, stored, samples, 5, 5, 1.0, 2.0, (0.0, 0.0))


def test_lag_is_from_the_answer_to_the_first_frame_that_holds_the_write() -> None:
    assert [round(lag) for lag in lags_ms(right())] == [10, 30]
    assert [round(lag) for lag in lags_ms(right(), from_request=True)] == [20, 50]
    assert faults(right()) == []


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"viewers": [Receipts(0, [3, 6], [9.0, 10.0], done(1), "")]}, "lost: a viewer of session 0 ends at 6, 1 done"),
        ({"viewers": [Receipts(0, [3, 9], [9.0, 10.0], done(1), "")]}, "lost: a viewer of session 0 ends at 9, 1 done"),
        ({"viewers": [Receipts(0, [], [], -1, "HTTP/1.1 503")]}, "a viewer of session 0: HTTP/1.1 503"),
        ({"slow": [Late(0, 6, done(1), is_cut=False)]}, "lost: a slow viewer of session 0 ends at 6"),
        ({"stored": right().stored[:3]}, "acknowledged at 8, is stored 0 times"),
        ({"stored": [*right().stored, right().stored[3]]}, "acknowledged at 8, is stored 2 times"),
        ({"stored": [*right().stored, Stored(1, 5, ())]}, "doubled: 4 plans were written, 5 are stored"),
        ({"stored": [*right().stored[:3], Stored(0, 8, ("pending",))]}, "wrong: write 2 of session 0"),
        ({"write_faults": ["HTTP/1.1 500 Internal Server Error"]}, "a write was not acknowledged: HTTP/1.1 500"),
    ],
)
def test_what_is_wrong_is_told(wrong: dict[str, object], told: str) -> None:
    assert any(told in fault for fault in faults(replace(right(), **wrong)))  # type: ignore[arg-type]


def test_growth_is_of_the_last_half() -> None:
    samples = [Sample(float(mib), 0) for mib in [*range(50, 100, 5), *range(100, 110)]]
    assert growth(samples) == (100.5, 108.5)
