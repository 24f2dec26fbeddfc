"""The status bar's line: whose it is, what it says, and that nothing but a line ever comes of it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from planstrip.settings import default_database_url
from planstrip.status import default_path
from tests.databases import url_of
from tests.running import Panel, new_session, running, todos

PLAN = todos("Plan=c Implement=i Build=i Review=p")

pytestmark = pytest.mark.sqlite  # it reads the file itself, without a library


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("status") / "plans.sqlite3"


@pytest.fixture(scope="module")
def panel(database: Path) -> Iterator[Panel]:
    with running(database) as panel:
        yield panel


def status(
    *arguments: str, env: Mapping[str, str] | None = None, stdin: str | None = None, cwd: Path | None = None
) -> tuple[int, str, str]:
    """Exit code, output and errors. Without `stdin` it is an open pipe that nobody writes to."""
    own = ("SESSION", "PLANSTRIP", "PYTHONDONTWRITEBYTECODE")  # without its bytecode a program starts twice as slowly
    kept = {name: value for name, value in os.environ.items() if not any(part in name for part in own)}
    command = [sys.executable, "-m", "planstrip", "status", *arguments]
    with subprocess.Popen(
        command,
        env=kept | dict(env or {}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
    ) as process:
        if stdin is not None:
            out, err = process.communicate(stdin, timeout=20)
        else:
            process.wait(20)
            assert process.stdout is not None
            assert process.stderr is not None
            out, err = process.stdout.read(), process.stderr.read()
        return process.returncode, out, err


@pytest.fixture
def session(panel: Panel) -> str:
    session = new_session()
    panel.write(session, PLAN)
    return session


def at(database: Path) -> tuple[str, str]:
    return "--database-url", url_of(database)


def test_the_session_named(database: Path, session: str) -> None:
    assert status("--session", session, *at(database)) == (0, "1/4 · Implement +1\n", "")


@pytest.mark.parametrize("name", ["CLAUDE_CODE_SESSION_ID", "QWEN_CODE_SESSION_ID", "CODEX_THREAD_ID"])
def test_the_environments_session(database: Path, session: str, name: str) -> None:
    assert status(*at(database), env={name: session}) == (0, "1/4 · Implement +1\n", "")


def test_claude_codes_status_line(database: Path, session: str) -> None:
    given = json.dumps({"session_id": session, "cwd": "/nowhere", "model": {"id": "x"}})
    assert status(*at(database), stdin=given) == (0, "1/4 · Implement +1\n", "")


def test_the_folders_newest_of_no_parent(panel: Panel, database: Path, tmp_path: Path) -> None:
    old, new, child = new_session(), new_session(), new_session()
    for number, (id_, parent) in enumerate(((old, None), (new, None), (child, new))):
        more = {"parent": parent} if parent else {}
        panel.client.post("/api/sessions", json={"id": id_, "agent": "a", "cwd": str(tmp_path), **more})
        panel.write(id_, todos(f"n{number}=i"))
        time.sleep(0.002)
    (tmp_path / "below").mkdir()
    for folder in (tmp_path, tmp_path / "below"):
        assert status(*at(database), cwd=folder) == (0, "0/1 · n1\n", "")
        assert status("--server", panel.url, "--cwd", str(folder)) == (0, "0/1 · n1\n", "")


def test_json_holds_the_fields_apart(database: Path, session: str) -> None:
    code, out, _ = status("--session", session, "--json", *at(database))
    said: dict[str, Any] = json.loads(out)
    assert (code, said["session"], said["done"], said["total"]) == (0, session, 1, 4)
    assert (said["active_content"], said["active_extra"], said["text"]) == ("Implement", 1, "1/4 · Implement +1")


def test_a_long_name_is_cut_and_the_suffix_is_not(panel: Panel, database: Path) -> None:
    session = new_session()
    panel.write(session, [{"content": text, "status": "in_progress"} for text in ("x\x1b[31m\n" * 90, "b")])
    _, out, _ = status("--session", session, "--width", "20", *at(database))
    assert (len(out.rstrip("\n")), out[-4:], "\x1b" in out) == (20, " +1\n"[-4:], False)


def test_a_plan_with_nothing_in_progress_shows_its_counts(panel: Panel, database: Path) -> None:
    session = new_session()
    panel.write(session, todos("a=c b=p"))
    assert status("--session", session, *at(database)) == (0, "1/2\n", "")


def test_without_a_plan_the_line_is_empty(panel: Panel, database: Path) -> None:
    session = new_session()
    panel.write(session, [])
    assert status("--session", session, *at(database)) == (0, "\n", "")
    assert status("--session", "unknown", *at(database)) == (0, "\n", "")
    assert status("--session", "unknown", "--server", panel.url) == (0, "\n", "")


@pytest.mark.parametrize("content", [None, b"no database", b"SQLite format 3\0"])
def test_nothing_that_is_wrong_shows(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "plans.sqlite3"
    if content is not None:
        path.write_bytes(content)
    assert status("--session", "x", *at(path)) == (0, "\n", "")
    assert status("--session", "x", "--server", "http://127.0.0.1:1", *at(path)) == (0, "\n", "")
    assert status("--session", "x", "--database-url", "postgresql://127.0.0.1:1/x") == (0, "\n", "")
    assert json.loads(status("--session", "x", "--json", *at(path))[1])["total"] == 0


@pytest.mark.parametrize("stdin", ["", "{", "[1]", '{"session_id": 5}', "\x00" * 5000])
def test_whatever_stands_on_standard_input(tmp_path: Path, stdin: str) -> None:
    assert status(*at(tmp_path / "none"), stdin=stdin) == (0, "\n", "")


def test_its_path_has_the_standard_library_alone(database: Path, session: str) -> None:
    probe = (
        "import sys; sys.argv = ['planstrip', 'status', '--session', 'x', *sys.argv[1:]]\n"
        "from planstrip.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", probe, *at(database)], capture_output=True, text=True, check=True
    )
    foreign = eval(done.stdout.splitlines()[-1])
    assert [name for name in foreign if not name.startswith("_")] == ["planstrip"]


def test_it_takes_less_than_150_ms(database: Path, session: str) -> None:
    """The best of several, since the machine may be busy with other things."""
    times = []
    for _ in range(10):
        start = time.monotonic()
        status("--session", session, *at(database), stdin="")
        times.append(time.monotonic() - start)
    assert min(times) < 0.15


def test_the_default_database_is_the_servers() -> None:
    assert f"sqlite:///{default_path()}" == default_database_url()
