"""`planstrip token`: links made, listed and revoked at the command line, beside a server or without one."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pytest

from planstrip.cli import main
from tests.databases import url_of
from tests.running import run, serving, todos

Command: TypeAlias = Callable[..., tuple[int, str, str]]


@pytest.fixture
def token(database: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """`planstrip token …` in this process: its exit code, and what it said. Starting one anew takes a second."""

    def command(*arguments: str) -> tuple[int, str, str]:
        given = ["planstrip", "token", *arguments, "--database-url", url_of(database)]
        monkeypatch.setattr(sys, "argv", given)
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        assert isinstance(ended.value.code, int | None)
        return ended.value.code or 0, said.out, said.err

    return command


def listed(token: Command) -> list[dict[str, Any]]:
    code, out, err = token("list", "--json")
    assert (code, err) == (0, "")
    found: list[dict[str, Any]] = json.loads(out)
    return found


def test_a_link_made_at_the_command_line_opens_the_session_until_it_is_revoked_there(database: Path) -> None:
    """The real program, beside a running server."""
    place = ("--database-url", url_of(database))
    with serving(database, "--token", "s3cret") as program:
        get, own = httpx.get, {"Authorization": "Bearer s3cret"}
        body = {"todos": todos("x=i")}
        httpx.post(f"{program.url}/api/sessions/a/todo_write", json=body, headers=own, trust_env=False)
        code, out, err = run("token", "create", "a", "--label", "for Ann", "--server", program.url, *place)
        assert code == 0
        assert out.startswith(f"{program.url}/sessions/a?token=view_")
        assert out.count("\n") == 1
        assert "until" in err
        link = out.strip()
        assert get(link, trust_env=False).status_code == 200
        assert get(link.replace("/sessions/a", "/sessions/b"), trust_env=False).status_code == 401
        (made,) = json.loads(run("token", "list", "--json", *place)[1])
        assert made["id"] in link
        assert (made["session"], made["label"], made["revoked_at"]) == ("a", "for Ann", None)
        assert run("token", "revoke", made["id"], *place)[:2] == (0, "revoked\n")
        assert get(link, trust_env=False).status_code == 401


def test_it_works_on_a_database_that_no_server_has_opened_yet(tmp_path: Path) -> None:
    path = tmp_path / "new.sqlite3"
    place, env = ("--database-url", f"sqlite:///{path}"), {"PLANSTRIP_URL": "https://plans.example/plans/"}
    code, out, err = run("token", "create", "later", *place, env=env)
    assert code == 0
    assert out.startswith("https://plans.example/plans/sessions/later?token=view_")
    assert "nothing has been heard of it yet" in err
    with serving(f"sqlite:///{path}") as program:
        opened = httpx.get(f"{program.url}/sessions/later{out.strip().partition('later')[2]}", trust_env=False)
        assert opened.status_code == 200


def test_a_board_is_named_by_its_filter(token: Command) -> None:
    assert token("create", "--board")[1].startswith("http://127.0.0.1:8765/?token=view_")
    assert token("create", "--cwd", "/a", "--state", "waiting", "--expires", "30m")[0] == 0
    boards = {json.dumps(row["board"], sort_keys=True): row["expires_at"] - row["created_at"] for row in listed(token)}
    assert boards == {"{}": 7 * 24 * 3_600_000, '{"cwd": "/a", "state": "waiting"}': 1_800_000}


def test_the_list_tells_what_each_opens_and_of_what_agents_named_only_what_a_terminal_may_be_sent(
    token: Command,
) -> None:
    assert token("create", "--q", "[bold]x\u202ey")[0] == 0
    token("create", "a" * 200, "--label", "long")
    token("revoke", next(row["id"] for row in listed(token) if row["session"]))
    code, out, _ = token("list")
    assert code == 0
    assert "the board where q=[bold]x\\u202ey" in out
    assert "\u202e" not in out
    assert "a" * 200 in out
    assert [row["id"] in out for row in listed(token)] == [True, True]
    lines = out.splitlines()
    assert lines[0].split() == ["id", "state", "opens", "label", "created", "expires"]
    assert {line.split()[1] for line in lines[1:]} == {"live", "revoked"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("create",),
        ("create", "a", "--board"),
        ("create", "a", "--q", "x"),
        ("create", "a/b"),
        ("create", "a", "--expires", "soon"),
        ("create", "a", "--expires", "0m"),
        ("create", "a", "--expires", "900d"),
        ("create", "--state", "sleeping"),
        ("create", "a", "--server", "plans.example"),
        ("create", "a", "--label", "x" * 201),
        ("revoke", "0123456789abcdef"),
        ("revoke",),
        ("nonsense",),
    ],
)
def test_what_cannot_be_ends_with_2_and_changes_nothing(token: Command, arguments: tuple[str, ...]) -> None:
    code, out, err = token(*arguments)
    assert (code, out) == (2, ""), err
    assert "Traceback" not in err
    assert listed(token) == []


def test_revoking_several_is_all_or_none(token: Command) -> None:
    token("create", "a")
    token("create", "b")
    ids = [row["id"] for row in listed(token)]
    assert token("revoke", *ids, "unknown")[0] == 2
    assert [row["revoked_at"] for row in listed(token)] == [None, None]
    assert token("revoke", *ids)[:2] == (0, "2 revoked\n")
    assert None not in [row["revoked_at"] for row in listed(token)]
