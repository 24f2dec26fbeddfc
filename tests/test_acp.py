"""Between an editor and its agent: every byte as it came, both ways, and the plan on the panel."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.databases import url_of
from tests.running import TIMEOUT_S, Panel, running

AGENT = Path(__file__).with_name("fake_acp_agent.py")
NEW = {"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/w"}}
PROMPT = {"jsonrpc": "2.0", "id": 2, "method": "session/prompt"}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("acp") / "plans.sqlite3"


@pytest.fixture(scope="module")
def panel(database: Path) -> Iterator[Panel]:
    with running(database) as panel:
        yield panel


@contextlib.contextmanager
def proxy(*command: str, server: str = "http://127.0.0.1:1", database: Path) -> "Iterator[subprocess.Popen[bytes]]":
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PLANSTRIP_")}
    flags = ("--server", server, "--database-url", url_of(database))
    with subprocess.Popen(
        [sys.executable, "-m", "planstrip", "acp", *flags, "--", *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=kept,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def agent(name: str) -> tuple[str, ...]:
    return (sys.executable, str(AGENT), name)


def ask(process: "subprocess.Popen[bytes]", message: dict[str, Any]) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def answer(process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    assert process.stdout is not None
    found: dict[str, Any] = json.loads(process.stdout.readline())
    return found


def worked(process: "subprocess.Popen[bytes]", session: str) -> None:
    ask(process, NEW)
    assert answer(process)["result"] == {"sessionId": session}
    ask(process, PROMPT | {"params": {"sessionId": session, "prompt": [{"type": "text", "text": "Go"}]}})
    while "result" not in answer(process):
        pass


def recorded(panel: Panel, session: str) -> list[str]:
    return [event["type"] for event in panel.events(session)]


EXPECTED = ["session/start", "turn/start", "tool/call", "todo/write", "tool/result"]
EXPECTED += ["tool/call", "tool/result", "turn/end"]


def test_the_plan_is_on_the_panel_while_the_agent_works(panel: Panel, tmp_path: Path) -> None:
    with proxy(*agent("live"), server=panel.url, database=tmp_path / "unused.sqlite3") as process:
        worked(process, "fake-live")
        deadline = time.monotonic() + TIMEOUT_S
        while recorded(panel, "fake-live") != EXPECTED and time.monotonic() < deadline:
            time.sleep(0.01)
        assert recorded(panel, "fake-live") == EXPECTED
        assert [todo["content"] for todo in panel.plan("fake-live")["todos"]] == ["读代码", "b"]
    assert not (tmp_path / "unused.sqlite3").exists()


def test_without_a_server_it_is_in_the_database(panel: Panel, database: Path) -> None:
    with proxy(*agent("stored"), database=database) as process:
        worked(process, "fake-stored")
        process.communicate(timeout=TIMEOUT_S)
    assert recorded(panel, "fake-stored") == EXPECTED


def test_a_session_that_is_loaded_by_another_process_goes_on(panel: Panel, database: Path) -> None:
    for _ in range(2):
        with proxy(*agent("twice"), server=panel.url, database=database) as process:
            worked(process, "fake-twice")
            process.communicate(timeout=TIMEOUT_S)
    assert recorded(panel, "fake-twice") == EXPECTED * 2
    starts = [event["data"]["turn"] for event in panel.events("fake-twice") if event["type"] == "turn/start"]
    assert starts == [1, 2]


def test_every_byte_passes_as_it_came(database: Path) -> None:
    """Lines that are no JSON are echoed: bytes of every value, long ones, and one that does not end."""
    sent = b"".join(bytes([value]) * 7 + b"!" for value in range(256) if value != 10) + b"\r\n"
    sent += b"x" * 3_000_000 + b"\n" + b"".join(b"y%d\n" % number for number in range(20_000))
    with proxy(*agent("bytes"), database=database) as process:
        out, err = process.communicate(sent, timeout=TIMEOUT_S)
    assert out == sent + b"no newline at the end"
    assert err == b"ready\xff\n"
    assert process.returncode == 7


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_reaches_the_agent_and_its_end_is_ours(database: Path, number: signal.Signals) -> None:
    with proxy(*agent("signal"), database=database) as process:
        ask(process, {"id": 1, "method": "who"})
        answer(process)
        process.send_signal(number)
        process.wait(TIMEOUT_S)
    assert process.returncode in ({signal.SIGUSR1: (9,)}.get(number) or (-number, 1))


def test_an_agent_that_is_killed_ends_us_in_the_same_way(database: Path) -> None:
    with proxy(*agent("killed"), database=database) as process:
        ask(process, {"id": 1, "method": "die"})
        assert process.wait(TIMEOUT_S) == -signal.SIGKILL


def test_an_editor_that_is_gone_ends_the_agent(database: Path) -> None:
    with proxy(*agent("gone"), database=database) as process:
        ask(process, {"id": 1, "method": "who"})
        pid = answer(process)["result"]["pid"]
        process.kill()
        deadline = time.monotonic() + TIMEOUT_S
        while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not Path(f"/proc/{pid}").exists()


def test_a_store_that_cannot_be_used_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "plans.sqlite3").write_bytes(b"no database, and nobody is to hear of it")
    with proxy(*agent("broken"), database=tmp_path / "plans.sqlite3") as process:
        worked(process, "fake-broken")
        out, err = process.communicate(timeout=TIMEOUT_S)
    assert (out, err, process.returncode) == (b"no newline at the end", b"ready\xff\n", 7)


def test_a_server_that_never_answers_delays_nothing(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as deaf:
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        with proxy(*agent("deaf"), server=url, database=tmp_path / "plans.sqlite3") as process:
            worked(process, "fake-deaf")
            times = []
            for number in range(3, 30):
                start = time.monotonic()
                ask(process, {"id": number, "method": "who"})
                answer(process)
                times.append(time.monotonic() - start)
            assert sorted(times)[len(times) // 2] < 0.1
            threading.Timer(0.1, process.stdin.close if process.stdin else int).start()
            assert process.wait(TIMEOUT_S) == 7


def test_a_command_that_is_not_there(database: Path) -> None:
    with proxy("no-such-agent", database=database) as process:
        _, err = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, err.count(b"\n"), b"no-such-agent" in err) == (127, 1, True)
