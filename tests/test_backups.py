"""`planstrip backup`: online, read back before it counts, and never a file that only looks like one."""

import os
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from planstrip import backups, copying
from planstrip.backups import back_up, check
from planstrip.db import open_engine
from planstrip.errors import StoreUnusable, UnusableSettings
from planstrip.restoring import restore
from tests.databases import SUFFIX, release, url_of
from tests.running import run, running, start, todos
from tests.stores import event, opened, write

RUNS = int(os.environ.get("PLANSTRIP_KILLS", "1"))  # more of them for a long run


@pytest.fixture(params=["sqlite", "postgresql"])
def filled(request: pytest.FixtureRequest, tmp_path: Path, database: Path) -> Iterator[Path]:
    """A log on either store."""
    path = database if request.param == "sqlite" else tmp_path / f"plans{SUFFIX}"
    with opened(path) as store:
        for number in range(40):
            store.append(f"s{number % 3}", write(f"t{number}=i", key=f"k{number}"), event("newer", odd="a\0b\x1a𝔘"))
    yield path
    release(path)


def test_a_backup_holds_every_event_and_is_one_file(filled: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    copied = back_up(url_of(filled), folder / "plans.backup")
    assert (copied.sessions, copied.events, copied.unequal) == (3, 80, [])
    assert [path.name for path in folder.iterdir()] == ["plans.backup"]
    assert (folder / "plans.backup").stat().st_mode & 0o077 == 0  # links are signed with what stands in it
    engine = open_engine(url_of(filled))
    with engine.connect() as connection:
        assert check(folder / "plans.backup") == copying.sums_of(connection)
    engine.dispose()
    assert [path.name for path in folder.iterdir()] == ["plans.backup"]  # looking left nothing beside it


def test_the_panel_writes_on_while_it_is_backed_up(database: Path, tmp_path: Path) -> None:
    """What was acknowledged before it began is in it; what is in it is a beginning of the log."""
    with running(database) as panel:
        done = threading.Event()
        acknowledged: list[int] = []

        def write_on() -> None:
            while not done.is_set():
                acknowledged.append(panel.write("busy", todos(f"t{len(acknowledged)}=i")).json()["position"])

        writing = threading.Thread(target=write_on)
        writing.start()
        try:
            while len(acknowledged) < 5:
                time.sleep(0.01)
            for number in range(3):
                before = acknowledged[-1]
                back_up(url_of(database), tmp_path / f"{number}.backup")
                assert check(tmp_path / f"{number}.backup")["busy"].count >= before
        finally:
            done.set()
            writing.join()
        assert panel.plan("busy")["todos"]


def test_a_file_that_is_there_is_not_replaced_unasked(database: Path, tmp_path: Path) -> None:
    file = tmp_path / "plans.backup"
    file.write_text("somebody's")
    with pytest.raises(UnusableSettings, match="--force"):
        back_up(url_of(database), file)
    assert file.read_text() == "somebody's"
    code, out, _ = run("backup", str(file), "--force", "--database-url", url_of(database))
    assert (code, out) == (0, f"{file}: 0 sessions, 0 events; opened, folded, and equal to the database\n")
    assert check(file) == {}


def test_a_backup_that_is_not_equal_is_not_kept(
    filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Found by reading the file itself: here a disk that stores something else."""
    from planstrip.operation import run_backup

    connect = backups.connected

    class Spoiling(sqlite3.Connection):
        def close(self) -> None:
            self.execute("UPDATE events SET data = '{}' WHERE session = 's2' AND position = 2")
            super().close()

    def spoiled(path: Path) -> sqlite3.Connection:
        return sqlite3.connect(path, isolation_level=None, factory=Spoiling) if ".part" in path.name else connect(path)

    monkeypatch.setattr(backups, "connected", spoiled)
    folder = tmp_path / "kept"
    folder.mkdir()
    assert run_backup(url_of(filled), folder / "plans.backup", is_forced=False) == 1
    assert "'s2'" in capsys.readouterr().err
    assert list(folder.iterdir()) == []


def test_a_backup_that_is_killed_never_looks_like_one(database: Path, tmp_path: Path) -> None:
    with opened(database) as store:
        for number in range(20):
            store.append(f"s{number}", *(write(f"t{each}=i") for each in range(20)))
    file = tmp_path / "plans.backup"
    for _ in range(RUNS):
        with start("backup", str(file), "--database-url", url_of(database)) as process:
            while not list(tmp_path.glob(".plans.backup.*.part")) and process.poll() is None:
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert not file.exists() or len(check(file)) == 20
        file.unlink(missing_ok=True)
    assert len(list(tmp_path.glob(".plans.backup.*.part"))) >= 1


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DELETE FROM events WHERE position = 2", "has a gap"),
        ("UPDATE alembic_version SET version_num = '20991231_later'", "newer than this program's"),
        ("DROP TABLE events", "not planstrip's"),
    ],
)
def test_a_file_that_is_no_backup_is_told(database: Path, tmp_path: Path, statement: str, said: str) -> None:
    with opened(database) as store:
        store.append("a", write("x=i"), write("x=c"), write("y=i"))
    back_up(url_of(database), tmp_path / "plans.backup")
    connection = sqlite3.connect(tmp_path / "plans.backup", isolation_level=None)
    connection.execute(statement)
    connection.close()
    with pytest.raises(UnusableSettings, match=said):
        check(tmp_path / "plans.backup")


def test_a_torn_or_missing_file_is_told(database: Path, tmp_path: Path) -> None:
    file = tmp_path / "plans.backup"
    with opened(database) as store:
        store.append("a", *(event("newer", text="x" * 5_000) for _ in range(50)))
    back_up(url_of(database), file)
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(UnusableSettings, match=r"malformed|damaged"):
        check(file)
    file.write_bytes(b"no database at all")
    with pytest.raises(UnusableSettings, match="not a database"):
        check(file)
    with pytest.raises(UnusableSettings, match="no such file"):
        check(tmp_path / "nowhere")


def test_there_must_be_a_database(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="no such file"):
        back_up(f"sqlite:///{tmp_path}/none.sqlite3", tmp_path / "plans.backup")
    assert list(tmp_path.iterdir()) == []


# What would destroy the log


def own_names(database: Path, folder: Path) -> Iterator[Path]:
    """Every way to name a file of the database's own."""
    yield from (Path(f"{database}{suffix}") for suffix in ("", "-wal", "-shm", "-journal"))
    yield database.parent / ".." / database.parent.name / database.name
    yield Path(os.path.relpath(database))
    (folder / "soft").symlink_to(database)
    (folder / "hard").hardlink_to(database)
    (folder / "folder").symlink_to(database.parent)
    yield from (folder / "soft", folder / "hard", folder / "folder" / database.name)
    yield folder / "folder" / f"{database.name}-wal"


@pytest.fixture
def log(tmp_path: Path, empty_log: bytes) -> Path:
    path = tmp_path / "data" / "log.sqlite3"
    path.parent.mkdir()
    path.write_bytes(empty_log)
    with opened(path) as store:
        store.append("mine", write("precious=i"))
    return path


@pytest.mark.sqlite
def test_no_backup_replaces_a_file_of_the_database_itself(log: Path, tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    names = list(own_names(log, tmp_path / "links"))
    before = sorted(os.listdir(log.parent))
    (tmp_path / "through").symlink_to(log)
    for url in (url_of(log), f"{url_of(log)}?timeout=3", url_of(tmp_path / "through")):
        for name in names:
            with pytest.raises(UnusableSettings, match="the database itself"):
                back_up(url, name, is_forced=True)
            with pytest.raises(UnusableSettings, match="the database itself"):
                restore(name, url, is_forced=True)
    assert sorted(os.listdir(log.parent)) == before
    code, out, err = run("backup", str(log), "--force", "--database-url", url_of(log))
    assert (code, out) == (2, "")
    assert f"{log} is the database itself" in err
    with opened(log) as store:
        assert store.plan("mine") == ["precious"]


@pytest.mark.sqlite
def test_no_backup_replaces_another_database_that_is_in_use(log: Path, tmp_path: Path, empty_log: bytes) -> None:
    """SQLite would play the other's WAL into the backup."""
    other = tmp_path / "other.sqlite3"
    other.write_bytes(empty_log)
    with opened(other) as store:
        store.append("theirs", write("x=i"))
        with pytest.raises(UnusableSettings, match="is a database that is in use"):
            back_up(url_of(log), other, is_forced=True)
    back_up(url_of(log), other, is_forced=True)
    assert list(check(other)) == ["mine"]


@pytest.mark.sqlite
def test_nothing_takes_the_place_of_a_device(log: Path, tmp_path: Path) -> None:
    """As root `backup --force /dev/null` would."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnusableSettings, match="is a device"):
        back_up(url_of(log), tmp_path / "pipe", is_forced=True)
    back_up(url_of(log), tmp_path / "backup")
    with pytest.raises(UnusableSettings, match="is a device"):
        restore(tmp_path / "backup", f"sqlite:///{tmp_path / 'pipe'}", is_forced=True)
    assert (tmp_path / "pipe").is_fifo()


def test_a_folder_is_no_name_for_a_backup(log: Path, tmp_path: Path) -> None:
    with pytest.raises(UnusableSettings, match="is a folder"):
        back_up(url_of(log), tmp_path, is_forced=True)
