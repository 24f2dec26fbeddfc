"""`planstrip doctor` without an address: the settings, the store, the agents and the server of this machine."""

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from planstrip.doctor import store as store_checks
from planstrip.doctor import wakeups
from planstrip.doctor.findings import Finding
from planstrip.doctor.machine import agents, machine
from planstrip.doctor.store import store
from planstrip.hooks.spool import spool_of
from tests.databases import SUFFIX, release, url_of
from tests.running import running
from tests.stores import event, opened


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unused_port: int) -> Path:
    """A machine of its own, on whose port nobody listens."""
    for name in [name for name in os.environ if name.startswith("PLANSTRIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PLANSTRIP_PORT", str(unused_port))
    return tmp_path


def levels(findings: Iterator[Finding]) -> dict[str, str]:
    return {found.name: found.level for found in findings}


def test_a_new_machine_is_told_how_to_begin(home: Path) -> None:
    found = {one.name: one for one in machine(None)}
    assert {name: one.level for name, one in found.items()} == {
        "settings": "note",
        "store": "note",
        "room": "ok",
        "agents": "note",
        "server": "wrong",
    }
    assert all(one.change for one in found.values() if one.level != "ok")
    assert not (home / "data").exists()  # nothing was made


@pytest.mark.sqlite
def test_where_all_is_well_it_says_so(home: Path, database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / ".codex/sessions/2026").mkdir(parents=True)
    (home / ".codex/sessions/2026/rollout.jsonl").write_text("{}\n")
    monkeypatch.setenv("PLANSTRIP_ALLOW_PARALLEL_IN_PROGRESS", "true")
    with running(database) as panel:
        monkeypatch.setenv("PLANSTRIP_PORT", panel.url.rpartition(":")[2])
        found = {one.name: one for one in machine(f"sqlite:///{database}")}
    assert {one.level for one in found.values()} == {"ok"}
    assert list(found) == [
        "settings",
        "store",
        "integrity",
        "wal",
        "room",
        "wake-ups",
        "codex",
        "server",
        "stream",
    ]
    assert found["codex"].said.startswith("1 file at ")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PLANSTRIP_PORT", "x", "port:"),
        ("PLANSTRIP_HOST", "192.0.2.1", "token is not set"),
        ("PLANSTRIP_ROOT_PATH", "plans", "root_path:"),
        ("PLANSTRIP_ALLOW_PARALLEL_IN_PROGRESS", "perhaps", "allow_parallel_in_progress"),
    ],
)
def test_settings_that_do_not_serve_are_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    monkeypatch.setenv(name, value)
    found = next(machine(None))
    assert (found.level, found.name) == ("wrong", "settings")
    assert said in found.said


def test_hooks_that_go_elsewhere_and_what_waits_for_them_are_told(
    monkeypatch: pytest.MonkeyPatch, unused_port: int
) -> None:
    url = f"http://127.0.0.1:{unused_port}/plans"
    monkeypatch.setenv("PLANSTRIP_URL", url)
    spool_of(url).put("codex", b"{}")
    found = {one.name: one for one in machine(None)}
    assert (found["hooks"].level, found["spool"].said) == ("wrong", "payloads of hooks that wait for the panel: 1")
    monkeypatch.setenv("PLANSTRIP_URL", "nowhere")
    assert "PLANSTRIP_URL is 'nowhere'" in next(one for one in machine(None) if one.name == "hooks").said


def test_agents_are_found_where_they_were_told_to_keep_their_files(tmp_path: Path) -> None:
    (tmp_path / "moved/projects").mkdir(parents=True)
    found = list(agents(tmp_path / "home", {"CLAUDE_CONFIG_DIR": str(tmp_path / "moved")}))
    assert [(one.name, one.level) for one in found] == [("claude-code", "ok")]
    assert found[0].said == f"no file yet at {tmp_path / 'moved/projects'}"


# The store


@pytest.mark.sqlite
def test_a_store_is_read_and_never_written(database: Path) -> None:
    before = database.read_bytes()
    names = ("store", "integrity", "wal", "room", "wake-ups")
    assert levels(store(f"sqlite:///{database}")) == dict.fromkeys(names, "ok")
    assert database.read_bytes() == before
    assert [path for path in database.parent.iterdir() if "doctor" in path.name] == []
    database.unlink()
    assert levels(store(f"sqlite:///{database}"))["store"] == "note"
    assert not database.exists()


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("statement", "level", "said"),
    [
        ("UPDATE alembic_version SET version_num = '20261130_first'", "note", "planstrip migrate"),
        ("UPDATE alembic_version SET version_num = '20991231_later'", "wrong", "upgrade planstrip"),
        ("DROP TABLE events", "wrong", "name another"),
    ],
)
def test_a_store_of_another_schema_is_told(database: Path, statement: str, level: str, said: str) -> None:
    connection = sqlite3.connect(database)
    connection.execute(statement)
    connection.commit()
    connection.close()
    found = next(store(f"sqlite:///{database}"))
    assert (found.name, found.level) == ("store", level)
    assert said in (found.change or "")


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "empty.sqlite3").touch()
    assert levels(store(f"sqlite:///{tmp_path}/empty.sqlite3"))["store"] == "note"


@pytest.mark.sqlite
def test_a_damaged_store_is_found(database: Path) -> None:
    content = bytearray(database.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    database.write_bytes(content)
    assert "wrong" in levels(store(f"sqlite:///{database}")).values()
    database.write_bytes(b"no database at all, but some text" * 100)
    assert levels(store(f"sqlite:///{database}"))["store"] == "wrong"


@contextmanager
def as_somebody() -> Iterator[None]:
    """A user who may not write everywhere, which root may."""
    if os.geteuid() != 0:
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.mark.skipif(sys.platform == "win32", reason="users and modes")
@pytest.mark.parametrize("is_damaged", [False, True])
def test_what_lies_in_a_folder_that_may_not_be_written_is_not_called_damaged(
    empty_log: bytes, is_damaged: bool
) -> None:
    with TemporaryDirectory() as name:  # pytest's own folders are closed to others
        folder, path = Path(name), Path(name, "log.sqlite3")
        path.write_bytes(b"no database at all, but some text" * 100 if is_damaged else empty_log)
        list(store(f"sqlite:///{path}"))  # so that all is imported
        for suffix in ("-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        path.chmod(0o666)
        folder.chmod(0o555)
        try:
            with as_somebody():
                found = list(store(f"sqlite:///{path}"))
        finally:
            folder.chmod(0o755)
    (told,) = [one for one in found if one.name == "store"]
    room = next(one for one in found if one.name == "room")
    assert (told.level, room.level) == ("wrong", "wrong")
    assert ("restore it" in (told.change or "")) is is_damaged
    assert (f"make {folder} writable" in (told.change or "")) is not is_damaged


def test_a_full_disk_is_told(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_checks, "FULL_MIB", 2**40)
    assert levels(store(f"sqlite:///{database}"))["room"] == "wrong"


@pytest.mark.sqlite
def test_a_log_that_readers_keep_from_shrinking_is_told(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_checks, "LONG_WAL_MIB", 0)
    with opened(database) as held, held.reading() as connection:
        connection.exec_driver_sql("SELECT count(*) FROM events")
        held.append("s", *(event("later", text="x" * 200_000) for _ in range(10)))
        found = next(one for one in store(f"sqlite:///{database}") if one.name == "wal")
    assert (found.level, "MiB wait in" in found.said) == ("note", True)


def test_a_drive_of_another_machine_is_told(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mountinfo"
    root = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
    mounts.write_text(f"{root}30 22 0:5 / {database.parent.resolve()} rw,relatime shared:1 - nfs4 host:/home rw\n")
    monkeypatch.setattr(store_checks, "MOUNTS", mounts)
    found = {one.name: one for one in store(f"sqlite:///{database}")}
    assert (found["room"].level, "nfs4" in found["room"].said) == ("wrong", True)
    mounts.write_text(f"{root}30 22 0:5 / {database.parent.resolve()}-not rw - nfs4 host:/home rw\n")
    assert levels(store(f"sqlite:///{database}"))["room"] == "ok"


# Wake-ups


def test_a_place_where_no_write_is_heard_of_is_told(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a drive would be on which processes share no memory: here nobody writes at all."""
    monkeypatch.setattr(wakeups, "HEARD_S", 0.2)
    monkeypatch.setattr(wakeups, "_WRITE", "import time; time.sleep(9)")
    assert wakeups.file_wake_ups(database.parent).level == "wrong"
    monkeypatch.setattr(wakeups, "HEARD_S", 2.0)
    monkeypatch.setattr(wakeups, "_WRITE", "raise SystemExit('no room')")
    assert "no room" in wakeups.file_wake_ups(database.parent).said


def test_postgresql_is_looked_at_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"plans{SUFFIX}"
    found = {one.name: one for one in store(url_of(path))}
    assert {name: one.level for name, one in found.items()} == {"store": "ok", "room": "wrong", "wake-ups": "ok"}
    assert "fsync" in found["room"].said  # which our own tests do without
    monkeypatch.setattr(wakeups, "PROBE", "/another")
    monkeypatch.setattr(wakeups, "HEARD_S", 0.2)
    monkeypatch.setattr(wakeups, "announce", lambda *_: None)
    assert {one.name: one.level for one in store(url_of(path))}["wake-ups"] == "wrong"
    release(path)


def test_a_panel_that_wants_a_token_is_asked_with_it(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(database, token="secret") as panel:
        monkeypatch.setenv("PLANSTRIP_PORT", panel.url.rpartition(":")[2])
        assert {one.name: one.level for one in machine(f"sqlite:///{database}")}["stream"] == "note"
        monkeypatch.setenv("PLANSTRIP_TOKEN", "secret")
        assert {one.name: one.level for one in machine(f"sqlite:///{database}")}["stream"] == "ok"


def test_an_address_of_no_database_is_told() -> None:
    assert levels(store("mysql://user:secret@localhost/plans")) == {"store": "wrong"}
    assert "secret" not in next(store("mysql://user:secret@localhost/plans")).said
