"""The command line: what it says and how it ends (spec.md §10)."""

import os
import socket
from pathlib import Path

import httpx
import pytest
from rich.text import Text
from typer.main import get_command

from planstrip import __version__
from planstrip.cli import app
from tests.databases import url_of
from tests.running import run, serving, todos
from tests.stores import opened, write

POLICY = "--allow-parallel-in-progress"


def refused(*arguments: str, env: dict[str, str] | None = None) -> str:
    code, out, err = run(*arguments, env=env)
    assert (code, out) == (2, ""), err
    assert err.count("\n") == 1, err
    assert err.startswith("planstrip: ")
    return err


def test_serving_without_the_policy_ends_with_one_line_that_says_what_is_missing(database: Path) -> None:
    said = refused("serve", "--port", "0", "--database-url", url_of(database))
    assert "allow_parallel_in_progress" in said
    assert "--no-allow-parallel-in-progress" in said


@pytest.mark.parametrize("flags", [("--host", "0.0.0.0"), ("--allowed-hosts", "plans.example")])
def test_serving_to_others_without_a_token_ends_with_one_line(database: Path, flags: tuple[str, ...]) -> None:
    said = refused("serve", POLICY, "--port", "0", "--database-url", url_of(database), *flags)
    assert "PLANSTRIP_TOKEN" in said


def test_a_port_that_is_taken_is_named(database: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert port in refused("serve", POLICY, "--port", port, "--database-url", url_of(database))


def test_a_host_that_is_none_is_named(database: Path) -> None:
    said = refused("serve", POLICY, "--host", "no such host", "--token", "x", "--database-url", url_of(database))
    assert "no such host" in said


def test_a_database_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes(b"not a database at all, only some words\n" * 100)
    for command in (("serve", POLICY, "--port", "0"), ("import", str(tmp_path)), ("forget", "a", "--yes")):
        said = refused(*command, "--database-url", f"sqlite:///{tmp_path / 'notes.txt'}")
        assert "not a database" in said


@pytest.mark.parametrize("arguments", [("serve", "--port", "x"), ("nonsense",), ("serve", "--colour"), ("import",)])
def test_arguments_that_do_not_read_end_with_2(arguments: tuple[str, ...]) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert "Traceback" not in err


def test_the_environment_serves_as_well_as_flags(database: Path) -> None:
    env = {
        "PLANSTRIP_ALLOW_PARALLEL_IN_PROGRESS": "false",
        "PLANSTRIP_DATABASE_URL": url_of(database),
        "PLANSTRIP_TOKEN": "t",
        "PLANSTRIP_ROOT_PATH": "/plans",
    }
    with serving(database, "--no-allow-parallel-in-progress", env=env) as program:
        assert program.url.endswith("/plans")
        assert httpx.get(f"{program.url}/healthz", trust_env=False).json()["allow_parallel_in_progress"] is False
        assert httpx.get(f"{program.url}/api/sessions", trust_env=False).status_code == 401


def test_serving_makes_its_database_and_keeps_it_over_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "new" / "plans.sqlite3"
    for number in (1, 2):
        with serving(path) as program:
            body = {"todos": todos(f"t{number}=i")}
            answer = httpx.post(f"{program.url}/api/sessions/a/todo_write", json=body, trust_env=False)
            assert answer.json()["position"] == 3 * number - 1
            assert program.stop() == 0
            assert len(program.said) == 1, program.said


def test_a_token_at_the_command_line_is_not_said(database: Path) -> None:
    with serving(database, "--token", "hunter2") as program:
        httpx.get(f"{program.url}/api/sessions", trust_env=False)
        program.stop()
        assert "hunter2" not in "".join(program.said)


def test_the_default_database_lies_in_the_users_data_folder(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    assert run("migrate", env=env)[0] == 0
    assert list(tmp_path.rglob("planstrip.sqlite3"))


def test_it_runs_inside_a_folder_with_an_app_package_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").write_text("raise RuntimeError")
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        assert run("--version")[:2] == (0, f"{__version__}\n")
    finally:
        os.chdir(before)


def test_a_session_can_be_forgotten_for_good(database: Path) -> None:
    with opened(database) as store:
        store.append("a", write("secret-word=i"))
        store.append("b", write("kept=i"))
    url = url_of(database)
    assert refused("forget", "nobody", "--yes", "--database-url", url)
    code, out, _ = run("forget", "a", "--yes", "--database-url", url)
    assert (code, out) == (0, "1 events deleted\n")
    with opened(database) as store:
        assert store.entries("a") == []
        assert store.plan("b") == ["kept"]
    files = [path.read_bytes() for path in database.parent.glob("log.sqlite3*")]
    assert not any(b"secret-word" in content for content in files)


def test_what_an_option_is_for_is_shown_as_it_was_written() -> None:
    """`[…]` in it is markup to what prints it, and vanishes."""
    pending, told = [get_command(app)], list[str]()
    while pending:
        command = pending.pop()
        told += [command.help or "", *(getattr(param, "help", None) or "" for param in command.params)]
        pending += getattr(command, "commands", {}).values()
    assert len(told) > 50
    assert [text for text in told if Text.from_markup(text).plain != text] == []
