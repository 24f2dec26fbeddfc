"""The commands that name a database: which make one, and that no other does."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from planstrip.cli import app
from planstrip.copying import copy_log
from planstrip.errors import StoreUnusable, UnusableSettings
from tests.stores import opened, write

# What is written into a database that is not there yet makes it.
MAKES = {"serve", "import", "watch", "mcp", "acp", "migrate", "restore", "token create"}
# What asks one, and has nothing to do without it: with what to call it, but for the database.
ASKS = {
    "copy": ["--to", "sqlite:///new.sqlite3"],
    "backup": ["plans.backup"],
    "archive": ["--keep-days", "1", "--to", "archives"],
    "forget": ["mine", "--yes"],
    "token revoke": ["one"],
    "token list": [],
}
# These tell of a database that is not there, and end well.
TELLS = {"status", "doctor"}


def commands(command: Any, *names: str) -> Iterator[tuple[str, Any]]:
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, *names, name)
    if not getattr(command, "commands", {}):
        yield " ".join(names), command


NAMING = {
    name: command
    for name, command in commands(typer.main.get_command(app))
    if {"database_url", "source"} & {parameter.name for parameter in command.params} and name != "snapshot"
}


def test_of_every_command_it_is_said_whether_it_makes_a_database() -> None:
    assert {*MAKES, *ASKS, *TELLS} == set(NAMING)


@pytest.mark.parametrize("is_empty", [False, True], ids=["missing", "empty"])
@pytest.mark.parametrize("name", ASKS)
def test_who_asks_a_database_that_is_not_there_is_told_and_makes_none(
    name: str, is_empty: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    missing = tmp_path / "folder" / "typo.sqlite3"
    if is_empty:
        missing.parent.mkdir()
        missing.touch()
    flag = "--from" if name == "copy" else "--database-url"
    done = CliRunner().invoke(app, [*name.split(), *ASKS[name], flag, f"sqlite:///{missing}"])
    assert isinstance(done.exception, StoreUnusable), done.output
    assert str(missing) in done.exception.detail
    assert ("holds no log" if is_empty else "no such file") in done.exception.detail
    if is_empty:
        assert [path for path in tmp_path.rglob("*") if path.is_file()] == [missing]
    else:
        assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", sorted(TELLS))
def test_who_tells_of_a_database_that_is_not_there_makes_none(name: str, tmp_path: Path) -> None:
    CliRunner().invoke(app, [name, "--database-url", f"sqlite:///{tmp_path}/folder/typo.sqlite3"])
    assert os.listdir(tmp_path) == []


def test_no_log_is_copied_onto_itself(tmp_path: Path, empty_log: bytes) -> None:
    path, link = tmp_path / "log.sqlite3", tmp_path / "link"
    path.write_bytes(empty_log)
    link.symlink_to(path)
    with opened(path) as store:
        store.append("mine", write("precious=i"))
    for other in (path, link):
        with pytest.raises(UnusableSettings, match="the same database"):
            copy_log(f"sqlite:///{path}", f"sqlite:///{other}")
    with opened(path) as store:
        assert store.plan("mine") == ["precious"]
