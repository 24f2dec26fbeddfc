"""`planstrip hook AGENT`: in time, in silence, nothing lost and nothing twice, with the standard library alone."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from planstrip.hooks.post import Panel as Sender
from planstrip.hooks.send import deliver
from tests.hooks.running import SESSION, Home, prompt, ran
from tests.running import Panel, running, serving

IN_TIME_S = 1.5  # generous: the budget is 300 ms, on a machine that does nothing else

IMPORTS = """
import sys
before = set(sys.modules)
from planstrip.__main__ import main
sys.argv = ["planstrip", "hook", "claude"]
try:
    main()
except SystemExit as end:
    assert end.code == 0
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
"""


@pytest.fixture
def home(tmp_path: Path, panel: Panel) -> Home:
    return Home(tmp_path / "data", panel.url, is_there=True)


@pytest.fixture
def away(tmp_path: Path, unused_port: int) -> Home:
    """Hooks of a panel that is not there."""
    return Home(tmp_path / "data", f"http://127.0.0.1:{unused_port}")


@contextmanager
def listening(answer: bytes | None) -> Iterator[str]:
    """A server that takes a request and says `answer`, or nothing at all. Its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.1)
        is_over = threading.Event()
        taken: list[socket.socket] = []

        def serve() -> None:
            while not is_over.is_set():
                try:
                    wire, _ = listener.accept()
                except TimeoutError:
                    continue
                taken.append(wire)
                if answer is not None:
                    wire.recv(1 << 20)
                    wire.sendall(answer)
                    wire.close()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            is_over.set()
            thread.join()
            for wire in taken:
                wire.close()


def types(panel: Panel) -> list[str]:
    return [event["type"] for event in panel.events(SESSION)]


def prompts(panel: Panel) -> list[str]:
    return [event["data"]["prompt"] for event in panel.events(SESSION) if event["type"] == "turn/start"]


def test_the_panel_is_also_known_by_its_older_name(tmp_path: Path, panel: Panel) -> None:
    Home(tmp_path, panel.url, is_there=True, url_name="PLANSTRIP_SERVER").hook(prompt("Hi"))
    assert panel.events(SESSION)


def test_a_payload_reaches_the_panel_by_itself_and_leaves_nothing_behind(tmp_path: Path, panel: Panel) -> None:
    home, number = Home(tmp_path, panel.url), 0
    while number == 0 or (home.spool.names() and number < 10):  # a server's first hook, and a slow machine, take longer
        number += 1
        home.hook(prompt("Fix the parser", number))
    assert home.spool.names() == []
    assert types(panel) == ["session/start"] + ["turn/start"] * number


def test_what_a_panel_missed_comes_later_in_order_and_once(away: Home, database: Path) -> None:
    for number in range(1, 4):
        assert away.hook(prompt(f"Prompt {number}", number)) < IN_TIME_S
    files = [away.spool.folder / f"{name}.json" for name in away.spool.names()]
    assert [file.stat().st_mode & 0o777 for file in files] == [0o600] * 3
    with running(database) as panel:
        there = Home(away.folder, panel.url, is_there=True)
        away.spool.folder.rename(there.spool.folder)  # the panel of this test cannot choose its port
        there.hook(prompt("Prompt 4", 4))
        assert there.spool.names() == []
        assert prompts(panel) == [f"Prompt {number}" for number in range(1, 5)]
        times = [event["time"] for event in panel.events(SESSION) if event["type"] == "turn/start"]
        assert times == sorted(times)
        assert times[0] < times[3] - 10  # when its hook ran, not when it came


def test_the_server_delivers_what_waits_when_it_starts(away: Home, database: Path) -> None:
    away.hook(prompt("While nobody listened"))
    port = away.url.rpartition(":")[2]
    with serving(database, "--port", port, env={"XDG_DATA_HOME": str(away.folder)}):
        end = time.monotonic() + 20
        while away.spool.names() and time.monotonic() < end:
            time.sleep(0.05)
    assert away.spool.names() == []
    with running(database) as panel:
        assert prompts(panel) == ["While nobody listened"]


def test_a_server_that_never_answers_is_not_waited_for(tmp_path: Path) -> None:
    with listening(None) as url:
        home = Home(tmp_path, url)
        assert home.hook(prompt("one")) < IN_TIME_S
        assert home.hook(prompt("two", 2)) < IN_TIME_S
        assert len(home.spool.names()) == 2


def test_a_hook_that_is_killed_while_it_sends_has_lost_nothing(tmp_path: Path) -> None:
    with listening(None) as url:
        home = Home(tmp_path, url)
        command = [sys.executable, "-m", "planstrip", "hook", "claude"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, env=home.env) as process:
            assert process.stdin is not None
            process.stdin.write(json.dumps(prompt("one")).encode())
            process.stdin.close()
            end = time.monotonic() + 10
            while not home.spool.names() and time.monotonic() < end:
                time.sleep(0.001)
            process.kill()
        assert len(home.spool.names()) == 1


def test_a_payload_that_was_taken_but_not_struck_off_is_recorded_once(home: Home, panel: Panel) -> None:
    stop = {"session_id": SESSION, "hook_event_name": "SessionEnd", "reason": "other"}  # nothing in it names it
    for payload in (prompt("one"), stop, stop):
        home.spool.put("claude-code", json.dumps(payload).encode())
    sender = Sender(panel.url)
    for name in home.spool.names():
        parcel = home.spool._parcel(name)
        assert parcel is not None
        assert sender.send(parcel, 10.0) == "taken"
    deliver(home.spool, sender, time.monotonic() + 10)
    assert home.spool.names() == []
    assert types(panel) == ["session/start", "turn/start", "turn/end", "session/end", "session/end"]


def test_hooks_that_run_at_once_each_arrive_once(home: Home, panel: Panel) -> None:
    home.hook(prompt("Go"))
    threads = [threading.Thread(target=home.hook, args=(ran(f"make {n}", "ok", n),)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert home.spool.names() == []
    calls = [event["data"]["call_id"] for event in panel.events(SESSION) if event["type"] == "tool/call"]
    assert sorted(calls) == sorted(f"toolu_{number}" for number in range(12))
    assert types(panel).count("tool/result") == 12
    assert types(panel).count("turn/start") == 1


def test_a_panel_that_wants_a_token_gets_the_payload_once_it_is_set(tmp_path: Path, database: Path) -> None:
    with running(database, token="secret") as panel:
        Home(tmp_path, panel.url).hook(prompt("one"))
        assert len(Home(tmp_path, panel.url).spool.names()) == 1
        Home(tmp_path, panel.url, "secret", is_there=True).hook(prompt("two", 2))
        panel.client.headers["authorization"] = "Bearer secret"
        assert prompts(panel) == ["one", "two"]


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<p>Hello from another server",
        b"HTTP/1.1 404 Not Found\r\n\r\n",
        b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\n\r\n{}",
        b"not HTTP at all",
        b"",
    ],
)
def test_an_answer_that_no_panel_gives_leaves_the_payload_where_it_is(tmp_path: Path, answer: bytes) -> None:
    with listening(answer) as url:
        home = Home(tmp_path, url)
        home.hook(prompt("one"))
        assert len(home.spool.names()) == 1


def test_what_a_panel_has_no_time_for_waits_and_comes_later_in_order_and_once(tmp_path: Path, database: Path) -> None:
    """Over the limit on writes a hook hears 429; nothing of it is recorded, and nothing is lost."""
    with running(database, writes_per_minute=1) as panel:
        home = Home(tmp_path / "data", panel.url, is_there=True)
        for number in range(3):
            home.hook(prompt(f"number {number}", number))
        assert prompts(panel) == ["number 0"]
        assert len(home.spool.names()) == 2
    with running(database) as panel:
        deliver(home.spool, Sender(panel.url), time.monotonic() + 10)
        assert prompts(panel) == ["number 0", "number 1", "number 2"]
        assert home.spool.names() == []


def test_a_payload_that_no_panel_takes_holds_up_no_other(home: Home, panel: Panel) -> None:
    home.hook({"hook_event_name": "Stop"})  # whose?
    home.hook(prompt("one"))
    assert prompts(panel) == ["one"]
    note = home.spool.take_note()
    assert note is not None
    assert note["count"] == 1


def test_only_the_standard_library_is_imported(home: Home) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS],
        input=json.dumps(prompt("one")).encode(),
        env=home.env,
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert set(done.stdout.decode().split()) <= {*sys.stdlib_module_names, "planstrip"}


def test_a_standard_input_that_stays_open_is_not_waited_for(home: Home, panel: Panel) -> None:
    source, sink = os.pipe()
    try:
        os.write(sink, json.dumps(prompt("one")).encode())
        started = time.monotonic()
        command = [sys.executable, "-m", "planstrip", "hook", "claude"]
        done = subprocess.run(command, stdin=source, env=home.env, capture_output=True, timeout=60, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert time.monotonic() - started < IN_TIME_S
    finally:
        os.close(source)
        os.close(sink)
    home.hook(prompt("two", 2))
    assert prompts(panel) == ["one", "two"]


@pytest.mark.parametrize("agent", ["claude", "nobody", "../x"])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b'{"session_id": ',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"session_id":' + b"[" * 100_000,
        b'{"session_id": "a/b", "hook_event_name": "Stop"}',
        b'{"session_id": 7, "hook_event_name": ["Stop"], "tool_input": NaN}',
        b'{"session_id": "a", "hook_event_name": "PostToolUse", "tool_name": "\\ud800"}',
        b'{"session_id": "a", "n": 1' + b"0" * 6_000 + b"}",
    ],
)
def test_nothing_that_is_sent_disturbs_the_agent(home: Home, panel: Panel, agent: str, data: bytes) -> None:
    home.hook(data, agent)
    assert home.spool.names() == []
    assert panel.client.get("/healthz").status_code == 200


def test_of_a_payload_that_breaks_off_the_good_part_is_taken(home: Home, panel: Panel) -> None:
    whole = json.dumps(ran("make", "x" * 1000))
    home.hook(prompt("one"))
    home.hook(whole[: whole.index("xxx")].encode())  # its id would have come after the output
    assert types(panel) == ["session/start", "turn/start"]
    whole = whole.replace('"tool_response"', '"tool_use_id": "t1", "tool_response"')
    home.hook(whole[: whole.index("xxx")].encode())
    assert types(panel) == ["session/start", "turn/start", "tool/call"]
    assert panel.events(SESSION)[2]["data"] == {"call_id": "t1", "name": "Bash", "arguments": '{"command":"make"}'}


def test_ten_megabytes_of_output_are_taken_in_time(home: Home, panel: Panel) -> None:
    home.hook(prompt("one"))
    took = home.hook(ran("make", "a line of output\n" * 600_000))
    assert took < IN_TIME_S
    end = time.monotonic() + 20
    while len(panel.events(SESSION)) < 4:  # a busy machine reads on when the agent has been let go
        assert time.monotonic() < end
        time.sleep(0.05)
    result = panel.events(SESSION)[3]["data"]
    assert result["text"].startswith("a line of output\n")
    assert "trimmed" in result["text"]
    assert len(result["text"]) < 20_000


@pytest.mark.parametrize("late_s", [0.0, 0.5])
def test_a_payload_that_comes_late_holds_nobody_and_is_not_lost(home: Home, panel: Panel, late_s: float) -> None:
    first, rest = json.dumps(prompt("one")).encode().split(b",", 1)
    command = [sys.executable, "-m", "planstrip", "hook", "claude-code"]
    started = time.monotonic()
    with subprocess.Popen(command, env=home.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(first)
        process.stdin.flush()
        assert process.wait(30) == 0
        assert time.monotonic() - started < IN_TIME_S
        time.sleep(late_s)
        process.stdin.write(b"," + rest)
    end = time.monotonic() + 20
    while types(panel) != ["session/start", "turn/start"]:
        assert time.monotonic() < end
        time.sleep(0.02)
