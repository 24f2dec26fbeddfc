"""Figures are counted where things happen, once, and only in a server."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

from planstrip import projection
from planstrip.errors import Unavailable
from planstrip.eventlog import Append
from tests.figures import figures, grown, wait_until
from tests.running import Panel, Stream, serving, todos
from tests.stores import event, write
from tests.test_transcribing import SAMPLE

START = {"type": "session/start", "data": {"agent": "codex"}}


def test_appends_are_counted_by_how_they_ended(panel: Panel) -> None:
    before = figures(panel)
    keyed = {**START, "key": "k"}
    assert panel.append("a", keyed).status_code == 201
    assert panel.append("a", keyed).status_code == 201
    assert panel.append("a", {**keyed, "data": {"agent": "kimi"}}).status_code == 409
    assert panel.append("a", START, expected_position=7).status_code == 409
    assert panel.append("a", {"type": "session/rewind", "data": {"to_position": 9}}).status_code == 422
    assert panel.append("a", {"type": "todo/write", "data": {}}).status_code == 422  # never handed to the writer
    panel.parts.engine.dispose()
    with panel.parts.engine.begin() as connection:
        connection.execute(text("ALTER TABLE events RENAME TO elsewhere"))
    assert panel.append("a", START).status_code == 503
    now = figures(panel)
    ended = {
        outcome: grown(before, now, f'appends_total{{outcome="{outcome}"}}')
        for outcome in ("added", "known", "conflict", "refused", "unavailable", "failed")
    }
    assert ended == {"added": 1, "known": 1, "conflict": 2, "refused": 1, "unavailable": 1, "failed": 0}
    assert grown(before, now, "append_seconds_count") == 6
    assert grown(before, now, "append_seconds_sum") > 0


def test_appends_that_share_a_commit_are_counted_together(panel: Panel) -> None:
    before, writer = figures(panel), panel.parts.writer
    commits, appends = writer.commits, writer.appends
    begun = [writer.begin_append(Append(f"s{number}", [event("turn/start", turn=1)])) for number in range(40)]
    assert all(one.result().added for one in begun)
    now = figures(panel)
    assert grown(before, now, "commit_appends_sum") == writer.appends - appends == 40
    assert grown(before, now, "commit_appends_count") == writer.commits - commits < 40


def test_the_way_of_a_commit_to_each_viewer_is_measured(panel: Panel) -> None:
    panel.append("a", START)
    with panel.stream("/sessions/a/stream") as one, panel.stream("/api/sessions/a/stream") as other:
        one.next(), other.next()
        before = figures(panel)
        panel.write("a", todos("x=i"))
        one.next(), other.next()
        now = figures(panel)
    assert grown(before, now, "frame_lag_seconds_count") == 2
    assert 0 < grown(before, now, "frame_lag_seconds_sum") < 20


def test_commits_that_one_frame_shows_are_counted(panel: Panel) -> None:
    panel.append("a", START)
    with panel.stream("/api/sessions/a/stream") as stream:
        stream.next()
        before = figures(panel)
        for number in range(30):
            panel.write("a", todos(f"t{number}=i"))
        frames = 1
        while json.loads(stream.next().data)["todos"] != todos("t29=i"):
            frames += 1
        now = figures(panel)
    assert 0 < grown(before, now, 'frames_coalesced_total{reason="burst"}') <= 30 - frames
    assert frames == grown(before, now, "frame_lag_seconds_count") < 30


def test_a_stream_is_counted_while_it_is_open(panel: Panel) -> None:
    before = figures(panel)["planstrip_streams"]
    for path in ("/stream", "/sessions/a/stream", "/embed/a/stream", "/embed/sessions/streams?session=a&session=b"):
        with Stream(panel.url, path, {}) as stream:
            stream.next()
            assert figures(panel)["planstrip_streams"] == before + 1
        wait_until(lambda: figures(panel)["planstrip_streams"] == before)


def test_checkpoints_are_counted_by_what_was_found(panel: Panel) -> None:
    panel.parts.writer.append_blocking(Append("a", [write("x=i")] * 300))

    def read(*statements: str) -> dict[str, float]:
        with panel.parts.engine.begin() as connection:
            for statement in statements:
                connection.execute(text(statement))
        before = figures(panel)
        with panel.parts.engine.connect() as connection:
            assert projection.current(connection, "a").position == 300
        now = figures(panel)
        names = ("hit", "absent", "outdated", "corrupt")
        counts = {name: grown(before, now, f'checkpoint_reads_total{{outcome="{name}"}}') for name in names}
        return {name: count for name, count in counts.items() if count}

    assert read() == {"hit": 1}
    assert read("UPDATE checkpoints SET value = '{'") == {"corrupt": 1}
    assert read("UPDATE checkpoints SET version = version + 1") == {"outdated": 1}
    assert read("DELETE FROM checkpoints") == {"absent": 1}
    before = figures(panel)
    panel.parts.writer.run_blocking(lambda connection: projection.rebuild_all(connection, ["a", "b"]))
    assert grown(before, figures(panel), "refolds_total") == 2


def test_a_writer_that_has_ended_is_not_counted(panel: Panel) -> None:
    before = figures(panel)
    panel.parts.writer.stop()
    with pytest.raises(Unavailable):
        panel.parts.writer.append_blocking(Append("a", [event("turn/start", turn=1)]))
    assert grown(before, figures(panel), "append_seconds_count") == 0


def test_what_no_reader_could_take_in_is_counted_once(database: Path, tmp_path: Path) -> None:
    places = tmp_path / ".dsh/sessions/--project--/one"
    places.mkdir(parents=True)
    shutil.copy(SAMPLE, places / "session.jsonl")
    env = {"HOME": str(tmp_path), "DSH_HOME": str(tmp_path / ".dsh")}
    with serving(database, "--watch", env=env) as program:
        import httpx

        def errors() -> list[str]:
            text = httpx.get(f"{program.url}/metrics", trust_env=False).text
            return [line for line in text.splitlines() if line.startswith("planstrip_import_errors_total")]

        assert errors() == []
        with (places / "session.jsonl").open("a") as file:
            file.write("poison\n")
        wait_until(lambda: bool(errors()))
        with (places / "session.jsonl").open("a") as file:
            file.write("poison again\n")
        (places.parent / "two").mkdir()
        (places.parent / "two/session.jsonl").write_text("nothing known\n")
        wait_until(lambda: len(errors()) == 2)
        assert 'planstrip_import_errors_total{reader="unknown"} 1.0' in errors()


def test_without_a_server_nothing_is_counted_and_the_library_is_not_loaded(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from planstrip.cli import app;"
        "app(sys.argv[1:], standalone_mode=False); assert 'prometheus_client' not in sys.modules"
    )
    command = [sys.executable, "-c", code, "import", str(SAMPLE), "--database-url", f"sqlite:///{tmp_path / 'log'}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
