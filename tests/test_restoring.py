"""`planstrip restore`: all of a backup or nothing, into either store, and never below a program that runs."""

import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from planstrip import db, view_tokens
from planstrip.backups import back_up, check
from planstrip.db import for_writing, open_engine
from planstrip.errors import StoreUnusable, UnusableSettings
from planstrip.operation import run_restore
from planstrip.restoring import restore
from planstrip.view_tokens import Wish
from tests.databases import SUFFIX, release, url_of
from tests.running import run, running, start
from tests.stores import opened, write

RUNS = int(os.environ.get("PLANSTRIP_KILLS", "1"))  # more of them for a long run


@pytest.fixture
def backup(database: Path, tmp_path: Path) -> Path:
    """Two sessions, and a view token that was given out for one."""
    with opened(database) as store:
        store.append("a", write("x=c y=i", key="k1"), write("x=c y=c z=i"))
        store.append("b", write("other=p"))
        with for_writing(store.engine).begin() as connection:
            view_tokens.store(connection, view_tokens.make(Wish("a"), now=0))
    back_up(url_of(database), tmp_path / "plans.backup")
    return tmp_path / "plans.backup"


@pytest.fixture(params=["sqlite", "postgresql"])
def target(request: pytest.FixtureRequest, tmp_path: Path, empty_log: bytes) -> Iterator[Path]:
    """An empty database on either store."""
    path = tmp_path / ("new.sqlite3" if request.param == "sqlite" else f"new{SUFFIX}")
    if request.param == "sqlite":
        path.write_bytes(empty_log)
    url_of(path)
    yield path
    release(path)


def key_and_tokens(url: str) -> tuple[object, list[str]]:
    engine = open_engine(url)
    with engine.connect() as connection:
        found = view_tokens.signer(connection).secret_key, [each.id for each in view_tokens.all_tokens(connection)]
    engine.dispose()
    return found


def test_a_restored_log_goes_on_where_it_stood(backup: Path, target: Path, database: Path) -> None:
    restored = restore(backup, url_of(target))
    assert (restored.copied.sessions, restored.copied.events, restored.copied.unequal) == (2, 3, [])
    assert restored.kept is None
    with opened(target) as store:
        assert store.plan("a") == ["x", "y", "z"]
        assert store.append("a", write("x=c y=i", key="k1")).added == 0
        assert store.append("a", write("w=i")).head == 3
    assert key_and_tokens(url_of(target)) == key_and_tokens(url_of(database))  # links that were given out open it


def test_a_database_with_events_is_replaced_only_when_told_and_kept(backup: Path, target: Path, tmp_path: Path) -> None:
    with opened(target) as store:
        store.append("mine", write("precious=i"))
    with pytest.raises(UnusableSettings, match="--force"):
        restore(backup, url_of(target))
    with opened(target) as store:
        assert store.plan("mine") == ["precious"]
    kept = restore(backup, url_of(target), is_forced=True).kept
    assert kept is not None
    assert list(check(kept)) == ["mine"]
    with opened(target) as store:
        assert (store.plan("mine"), store.plan("b")) == (None, ["other"])
    assert not list(tmp_path.glob(".*part*"))


def test_a_running_panel_is_never_fooled(backup: Path, target: Path) -> None:
    with running(target) as panel:
        panel.append("mine", {"type": "newer", "data": {}})
        for is_forced in (False, True):
            with pytest.raises(UnusableSettings, match=r"is in use.*stop every server"):
                restore(backup, url_of(target), is_forced=is_forced)
        assert len(panel.events("mine")) == 1
        assert panel.append("mine", {"type": "newer", "data": {}}).status_code == 201
    assert restore(backup, url_of(target), is_forced=True).kept is not None


def test_a_panel_that_nobody_has_asked_yet_holds_its_database_too(backup: Path, target: Path) -> None:
    with running(target), pytest.raises(UnusableSettings, match="is in use"):
        restore(backup, url_of(target))


def test_a_new_database_is_made(backup: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    new = tmp_path / "folder" / "new.sqlite3"
    assert run_restore(f"sqlite:///{new}", backup, is_forced=False) == 0
    assert capsys.readouterr().out == f"2 sessions, 3 events restored; equal to {backup}\n"
    code, out, err = run("restore", str(backup), "--database-url", f"sqlite:///{new}")
    assert (code, out) == (2, "")
    assert "holds events already" in err
    assert run_restore(f"sqlite:///{new}", backup, is_forced=True) == 0
    assert f"{new}.replaced-" in capsys.readouterr().out.splitlines()[0]


def test_a_backup_is_looked_at_first(backup: Path, target: Path) -> None:
    content = backup.read_bytes()
    backup.write_bytes(content[: len(content) // 2])
    with opened(target) as store:
        store.append("mine", write("precious=i"))
    with pytest.raises(UnusableSettings):
        restore(backup, url_of(target), is_forced=True)
    with opened(target) as store:
        assert store.plan("mine") == ["precious"]


def test_a_backup_of_an_older_program_is_brought_here(backup: Path, target: Path) -> None:
    from alembic import command

    engine = open_engine(f"sqlite:///{backup}")
    config = db._migrations()
    with for_writing(engine).begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "-1")
    engine.dispose()
    before = backup.read_bytes()
    assert restore(backup, url_of(target)).copied.events == 3
    assert backup.read_bytes() == before
    with opened(target) as store:
        assert store.append("a", write("w=i")).head == 3


def test_what_is_damaged_is_put_aside(backup: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.sqlite3"
    damaged.write_bytes(b"no database at all, but some text" * 100)
    with pytest.raises(UnusableSettings, match="does not read"):
        restore(backup, f"sqlite:///{damaged}")
    kept = restore(backup, f"sqlite:///{damaged}", is_forced=True).kept
    assert kept is not None
    assert kept.read_bytes().startswith(b"no database")
    assert len(check(damaged)) == 2


def test_somebody_elses_database_is_left_alone(backup: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.sqlite3"
    connection = sqlite3.connect(theirs, isolation_level=None)
    connection.execute("CREATE TABLE photographs (x)")
    connection.close()
    with pytest.raises(StoreUnusable, match=f"{theirs} is not planstrip's"):
        restore(backup, f"sqlite:///{theirs}", is_forced=True)
    with pytest.raises(UnusableSettings, match=f"{theirs} is a database, and not planstrip's"):
        restore(theirs, f"sqlite:///{tmp_path}/new.sqlite3")
    with pytest.raises(StoreUnusable, match=f"{theirs} is not planstrip's"):
        back_up(f"sqlite:///{theirs}", tmp_path / "theirs.backup")
    assert not (tmp_path / "new.sqlite3").exists()


@pytest.mark.sqlite
def test_a_restore_that_is_killed_leaves_the_one_or_the_other(database: Path, tmp_path: Path) -> None:
    with opened(database) as store:
        for number in range(20):
            store.append(f"s{number}", *(write(f"t{each}=i") for each in range(20)))
    back_up(url_of(database), tmp_path / "plans.backup")
    target = tmp_path / "new.sqlite3"
    target.write_bytes(database.read_bytes())
    restore(tmp_path / "plans.backup", f"sqlite:///{target}", is_forced=True)
    for number in range(RUNS):
        with opened(target) as store:
            store.append("mine", write("precious=i"))
        with start("restore", "--force", str(tmp_path / "plans.backup"), "--database-url", f"sqlite:///{target}") as it:
            while not list(tmp_path.glob("*new.sqlite3.replaced-*")) and it.poll() is None:
                time.sleep(0.001)
            time.sleep(0.004 * number)
            it.send_signal(signal.SIGKILL)
            it.wait()
        assert len(check(target)) in (20, 21)
        for kept in tmp_path.glob("*new.sqlite3.replaced-*"):
            kept.unlink()
