"""The program's own log: a line a record, and nothing in it that agents wrote or that opens something."""

import json
import logging
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from planstrip.errors import UnusableSettings
from planstrip.logs import CONCERN, FIELDS, Concern, JsonLines, TextLines, concerning, set_up
from planstrip.settings import load
from tests.running import serving, todos

MARK = "s3cr3t-M4RK"


def record(name: str, message: str, *args: object, error: BaseException | None = None) -> logging.LogRecord:
    told = None if error is None else (type(error), error, error.__traceback__)
    return logging.LogRecord(name, logging.ERROR, "/lib/session.py", 12, message, args, told)


def json_of(made: logging.LogRecord) -> dict[str, Any]:
    line = JsonLines().format(made)
    assert "\n" not in line
    told: dict[str, Any] = json.loads(line)
    return told


def raised(raising: Callable[[], object]) -> BaseException:
    try:
        raising()
    except BaseException as error:  # noqa: BLE001 - whatever it is
        return error
    raise AssertionError


def chained() -> None:
    try:
        dict[str, int]()[MARK]
    except KeyError as error:
        raise ExceptionGroup(MARK, [ValueError(MARK)]) from error


def test_a_record_is_one_object_with_what_it_is_about() -> None:
    token = CONCERN.set(Concern("r-1"))
    try:
        concerning("mine")
        told = json_of(record("planstrip.web", "%d of %s", 3, "a\nb"))
    finally:
        CONCERN.reset(token)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", told.pop("time"))
    assert told.pop("pid")
    assert told == {
        "level": "error",
        "logger": "planstrip.web",
        "message": "3 of a\nb",
        "request_id": "r-1",
        "session": "mine",
    }


def test_a_line_of_text_is_one_line_whatever_stands_in_it() -> None:
    made = record("planstrip.web", "at %s", "a\n\x1b[31mplanstrip: INFO forged")
    setattr(made, FIELDS, {"session": "x\r\ny", "status": 200})
    line = TextLines().format(made)
    assert line.isprintable()
    assert line.startswith("planstrip: ERROR at a\\n")
    assert line.endswith("session=x\\r\\ny")  # what a request's message says already is not said again


@pytest.mark.parametrize("formatter", [JsonLines(), TextLines()], ids=["json", "text"])
def test_an_error_is_told_by_its_type_and_place_and_not_by_its_words(formatter: logging.Formatter) -> None:
    line = formatter.format(record("planstrip.web", "a bug", error=raised(chained)))
    assert MARK not in line
    for told in ("builtins.KeyError", "builtins.ValueError", "ExceptionGroup", "test_logs.py", "in chained"):
        assert told in line


def test_of_what_a_library_says_only_the_place_is_told() -> None:
    told = json_of(record("mcp.server.session", f"Failed to validate {MARK}: %s", MARK))
    assert "mcp.server.session at session.py:12" in told["message"]
    assert MARK not in json.dumps(told)
    assert json_of(record("uvicorn.error", "Invalid HTTP request received."))["message"].startswith("Invalid HTTP")


def test_a_thread_that_fails_is_told_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    seen: list[logging.LogRecord] = []
    ours = logging.getLogger("planstrip")
    before, handler = ours.level, logging.Handler()
    monkeypatch.setattr(handler, "emit", seen.append)
    ours.addHandler(handler)
    try:
        set_up()
        thread = threading.Thread(target=chained, name="reader")
        thread.start()
        thread.join()
    finally:
        logging.captureWarnings(capture=False)
        ours.removeHandler(handler)
        ours.setLevel(before)
    assert "reader ended" in TextLines().format(seen[0])
    assert MARK not in TextLines().format(seen[0])


def test_the_program_logs_objects_and_nothing_else(database: Path, tmp_path: Path) -> None:
    """The real program, at its lowest level, with a transcript that does not read beside it."""
    places = tmp_path / ".dsh/sessions/--project--/one"
    places.mkdir(parents=True)
    (places / "session.jsonl").write_text(f'{{"{MARK}": "{MARK}"}}\n{MARK}\n')
    flags = ("--log-format", "json", "--log-level", "debug", "--access-log", "--watch", "--token", MARK)
    env = {"HOME": str(tmp_path), "DSH_HOME": str(tmp_path / ".dsh")}
    with serving(database, *flags, env=env) as program:
        headers = {"Authorization": f"Bearer {MARK}", "X-Request-ID": "mine-7"}
        with httpx.Client(base_url=program.url, headers=headers, trust_env=False) as client:
            path = "/api/sessions/a/todo_write"
            assert client.post(path, json={"todos": todos(f"{MARK}=i")}).headers["x-request-id"] == "mine-7"
            client.post(path, content=f'{{"{MARK}"', headers={"Content-Type": "application/json"})
            client.get(f"/sessions/{MARK}/none?q={MARK}")
        assert program.stop() == 0
    lines = [json.loads(line) for line in program.said]
    assert MARK not in "".join(program.said)
    assert all({"time", "level", "logger", "message", "pid"} <= line.keys() for line in lines)
    served = [line for line in lines if line["logger"] == "planstrip.access"]
    assert [(line["method"], line["route"], line["status"]) for line in served] == [
        ("POST", "/api/sessions/{session}/todo_write", 200),
        ("POST", "/api/sessions/{session}/todo_write", 400),
        ("GET", "-", 404),
    ]
    assert {line["request_id"] for line in served} == {"mine-7"}
    assert served[0]["session"] == "a"
    assert served[0]["duration_ms"] > 0
    assert any("session.jsonl could not be taken in" in line["message"] for line in lines)


def test_the_program_logs_no_request_unasked(database: Path) -> None:
    with serving(database) as program:
        httpx.get(f"{program.url}/?token={MARK}", trust_env=False)
        program.stop()
        assert len(program.said) == 1, program.said


def test_a_format_that_is_not_known_is_refused() -> None:
    with pytest.raises(UnusableSettings, match="log_format"):
        load(allow_parallel_in_progress=True, log_format="xml")
