"""`planstrip copy` takes a whole log from one store to another, and proves it (spec.md §2)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from planstrip import copying
from planstrip.copying import copy_log
from planstrip.db import open_engine
from tests.databases import SUFFIX, release, url_of
from tests.running import run, running
from tests.stores import event, opened, write


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A log in SQLite, and an empty PostgreSQL."""
    source, target = f"sqlite:///{tmp_path / 'plans.sqlite3'}", tmp_path / f"plans{SUFFIX}"
    assert run("migrate", "--database-url", source)[0] == 0
    with opened(source) as store:
        for number in range(40):
            drafts = [write(f"t{number}=i", key=f"k{number}"), event("a newer type", odd="a\0b\x1a𝔘")]
            store.append(f"s{number % 3}", *drafts)
        store.append("s0", event("session/start", agent="x", title="a\0b\x1a"), write("x=c y=i"))
    yield source, url_of(target)
    release(target)


def rows(url: str) -> list[tuple[object, ...]]:
    """Everything that a database holds but for its own numbers."""
    engine = open_engine(url)
    with engine.connect() as connection:
        found = [
            tuple(row)
            for query in (
                "SELECT session, position, type, time, key, data FROM events ORDER BY id",
                "SELECT * FROM checkpoints ORDER BY session",
            )
            for row in connection.execute(text(query))
        ]
        found += [tuple(row) for table in copying.KEPT for row in connection.execute(table.select())]
    engine.dispose()
    return sorted(found, key=repr)


def test_a_log_goes_to_postgresql_and_back(
    stores: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "ROWS", 7)
    source, target = stores
    back = f"sqlite:///{tmp_path / 'back.sqlite3'}"
    progress: list[tuple[int, int]] = []
    for one, other in ((source, target), (target, back)):
        copied = copy_log(one, other, lambda *told: progress.append(told))
        assert (copied.sessions, copied.events, copied.unequal) == (3, 82, [])
    assert rows(source) == rows(back) == rows(target)
    assert progress[-1] == (82, 82)
    with opened(target) as store:
        assert store.append("s0", write("t0=i", key="k0")).added == 0
        assert store.append("s1", write("more=i")).head == 27
        assert store.plan("s0") == ["x", "y"]


def test_the_command_says_what_came_of_it(stores: tuple[str, str]) -> None:
    source, target = stores
    assert run("copy", "--from", source, "--to", target) == (0, "3 sessions, 82 events copied; both are equal\n", "")
    code, out, err = run("copy", "--from", source, "--to", target)
    assert (code, out) == (2, "")
    assert "holds events already" in err


def test_a_copy_that_is_not_equal_is_not_kept(
    stores: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Found by reading the copy itself."""
    from planstrip.progress import run_copy

    source, target = stores
    copy = copying.copy_rows

    def spoil(reading, writing, on_progress) -> None:  # type: ignore[no-untyped-def]
        copy(reading, writing, on_progress)
        writing.execute(text("UPDATE events SET data = '{}' WHERE session = 's2' AND position = 2"))

    monkeypatch.setattr(copying, "copy_rows", spoil)
    assert run_copy(source, target) == 1
    assert "'s2'" in capsys.readouterr().err
    assert rows(target) == []


@pytest.mark.sqlite
def test_a_log_is_copied_while_it_is_written(stores: tuple[str, str], tmp_path: Path) -> None:
    """As it stood when the copy began."""
    source, target = stores
    with running(tmp_path / "plans.sqlite3") as panel:

        def write_on(_copied: int, _total: int) -> None:
            assert panel.append("s0", {"type": "later", "data": {}}).status_code == 201

        assert copy_log(source, target, write_on).events == 82
        assert len(panel.events("s0")) > 28
