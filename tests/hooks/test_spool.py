"""The spool: in order, bounded, honest about what it could not keep; never another panel's."""

import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import platformdirs
import pytest

from planstrip.hooks import spool as module
from planstrip.hooks.spool import Outcome, Parcel, Spool, data_dir, spool_of


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path / "spool")


def drain(spool: Spool, *outcomes: Outcome) -> list[bytes]:
    """What was offered; `outcomes` in turn, the last for all that follow."""
    offered: list[bytes] = []
    following = iter(outcomes)

    def send(parcel: Parcel) -> Outcome:
        offered.append(parcel.payload)
        return next(following, outcomes[-1])

    spool.drain(send, until=lambda: False)
    return offered


def test_what_was_put_is_sent_in_order_and_gone(spool: Spool) -> None:
    for number in range(20):
        spool.put("codex", b"%d" % number)
    assert drain(spool, "taken") == [b"%d" % number for number in range(20)]
    assert drain(spool, "taken") == []


def test_the_order_survives_a_clock_that_is_set_back(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([3_000_000_000, 2_000_000_000, 1_000_000_000])
    monkeypatch.setattr(time, "time_ns", lambda: next(clock))
    for number in range(3):
        spool.put("codex", b"%d" % number)
    assert drain(spool, "taken") == [b"0", b"1", b"2"]


def test_what_must_wait_holds_up_what_follows(spool: Spool) -> None:
    for payload in (b"1", b"2", b"3"):
        spool.put("codex", payload)
    assert drain(spool, "taken", "later") == [b"1", b"2"]
    assert drain(spool, "refused", "taken") == [b"2", b"3"]
    note = spool.take_note()
    assert note is not None
    assert note["count"] == 1
    assert spool.take_note() is None


def test_its_size_is_bounded_and_what_is_left_out_is_noted(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PAYLOAD_BYTES", 100)
    monkeypatch.setattr(module, "MAX_TOTAL_BYTES", 250)
    assert spool.put("codex", b"x" * 101) is None
    assert [spool.put("codex", b"x" * 100) is not None for _ in range(3)] == [True, True, False]
    note = spool.take_note()
    assert note is not None
    assert note["count"] == 2
    assert len(spool.names()) == 2


def test_files_that_are_not_whole_are_passed_over(spool: Spool) -> None:
    name = spool.put("codex", b"good")
    for number, data in enumerate((b"", b"{}\nx", b"no head", b'{"agent": "codex", "time": 1}\n')):
        (spool.folder / f"{number:020d}-00000001-aaaaaaaa.json").write_bytes(data)
    half = spool.folder / ".half-0"
    half.write_bytes(b"half")
    os.utime(half, (1, 1))
    assert drain(spool, "taken") == [b"good"], name
    spool.put("codex", b"next")
    assert not half.exists()


def hold(folder: Path, seconds: float) -> None:
    with Spool(folder).lock(0.0) as is_ours:
        assert is_ours
        (folder / "held").touch()
        time.sleep(seconds)


@pytest.fixture
def holder(spool: Spool) -> Iterator[multiprocessing.process.BaseProcess]:
    spool.folder.mkdir()
    process = multiprocessing.get_context("spawn").Process(target=hold, args=(spool.folder, 60.0))
    process.start()
    while not (spool.folder / "held").exists():
        time.sleep(0.01)
    yield process
    process.kill()
    process.join()


@pytest.mark.skipif(sys.platform == "win32", reason="flock")
def test_one_process_drains_at_a_time_and_a_dead_one_holds_nothing(
    spool: Spool, holder: multiprocessing.process.BaseProcess
) -> None:
    with spool.lock(0.02) as is_ours:
        assert not is_ours
    holder.kill()
    with spool.lock(5.0) as is_ours:
        assert is_ours


def test_each_panel_has_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    names = {
        "http://127.0.0.1:8765": "loopback-8765",
        "http://localhost:8765/": "loopback-8765",
        "http://[::1]:8765/plans/": "loopback-8765-plans",
        "https://plans.example/a/b": "plans.example-443-a+b",
        "http://plans.example:port": "http%3A%2F%2Fplans.example%3Aport",
        "https://u:p@plans.example/../..": "plans.example-443-..+..",
    }
    assert {url: spool_of(url).folder.name for url in names} == names


def test_the_data_folder_is_the_one_of_the_database() -> None:
    assert data_dir() == platformdirs.user_data_path("planstrip", appauthor=False)
