"""Every importer, fed what no agent would write: whatever stands in a file is told of or passed over, never raised."""

import json
import logging
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planstrip.eventlog import read
from planstrip.intake.imports import import_file
from planstrip.projection import view
from planstrip.writer import Writer
from planstrip.writing import writing
from tests.conftest import EXAMPLES

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
MAX_LINES, MAX_BYTES = 40, 60_000
HOSTILE: Final[tuple[Any, ...]] = (
    *(None, True, -1, 0, 10**30, -(10**400), 1.5, 1e308, "", " ", "\ud800", "\0", "a/b", "../..", "x" * 300),
    *("completed", "2026-13-45T99:99:99Z", "9" * 5_000, [], {}, [[]], [None], {"": None}, {"content": 7}),
    json.loads("[" * 90 + "]" * 90),
)


def lines_of(agent: str) -> list[list[str]]:
    """Of each file of an agent that has lines the first ones, without those that are long."""
    files = sorted((FIXTURES / agent).rglob("*.jsonl"), key=lambda path: (path.stat().st_size, path.name))
    found = []
    for file in files[:8]:
        lines = [line for line in file.read_text().splitlines()[:MAX_LINES] if len(line) < MAX_BYTES]
        if lines:
            found.append(lines)
    return found


LINED: Final = {path.name: lines_of(path.name) for path in sorted(FIXTURES.iterdir()) if lines_of(path.name)}
AGENTS: Final = [name for name in LINED if name not in ("demo", "hooks")]
FEW: Final = settings(
    max_examples=max(EXAMPLES // 2, 5),
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Writer]:
    with writing(f"sqlite:///{tmp_path_factory.mktemp('hostile')}/log.sqlite3") as writer:
        yield writer


def poisoned(value: Any, chance: random.Random, share: float) -> Any:
    """The value with some of what it holds replaced, left out, doubled, or put under another key."""
    if chance.random() < share:
        return chance.choice(HOSTILE)
    if isinstance(value, dict):
        kept = {key: poisoned(one, chance, share) for key, one in value.items() if chance.random() >= share / 2}
        if kept and chance.random() < share:
            kept[chance.choice(list(kept))] = chance.choice(list(kept.values()))
        return kept
    if isinstance(value, list):
        return [poisoned(one, chance, share) for one in value for _ in range(1 + (chance.random() < share))]
    return value


def broken(data: bytes, chance: random.Random) -> bytes:
    """Some bytes cut out, put in or changed."""
    for _ in range(chance.randint(1, 6)):
        at = chance.randint(0, len(data))
        data = data[:at] + chance.randbytes(chance.randint(0, 4)) + data[at + chance.randint(0, 40) :]
    return data


def taken_in(writer: Writer, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is told or passed over; what is in the log reads, and stands on a page."""
    report = import_file(writer, path)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
    with writer.engine.connect() as connection:
        for session in {report.session, *report.others} - {None}:
            assert session is not None
            list(read(connection, session))
            view(connection, session)


@pytest.mark.parametrize("agent", AGENTS)
def test_poisoned_records_of_every_agent_are_taken_in_or_passed_over(
    agent: str, writer: Writer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "session.jsonl"

    @FEW
    @given(st.integers(0, 2**32), st.sampled_from([0.02, 0.1, 0.3]))
    def poison(seed: int, share: float) -> None:
        chance = random.Random(seed)
        lines = chance.choice(LINED[agent])
        keeps_head = chance.random() < 0.7
        records = [json.loads(line) for line in lines]
        changed = [poisoned(record, chance, share) for record in records]
        told = [records[0], *changed[1:]] if keeps_head else changed
        path.write_text("".join(json.dumps(record) + "\n" for record in told))
        taken_in(writer, path, caplog)

    poison()


@pytest.mark.parametrize("agent", AGENTS)
def test_broken_bytes_of_every_agent_are_taken_in_or_passed_over(
    agent: str, writer: Writer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "session.jsonl"

    @FEW
    @given(st.integers(0, 2**32))
    def corrupt(seed: int) -> None:
        chance = random.Random(seed)
        head, *rest = (line.encode() for line in chance.choice(LINED[agent]))
        path.write_bytes(head + b"\n" + broken(b"\n".join(rest) + b"\n", chance))
        taken_in(writer, path, caplog)

    corrupt()


@FEW
@given(
    data=st.binary(max_size=300), name=st.sampled_from(["session.jsonl", "session.jsonl.zstd", "opencode.db", "x.json"])
)
def test_a_file_of_any_bytes_is_told_to_be_none(
    data: bytes, name: str, writer: Writer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / name
    for begin in (b"", b"SQLite format 3\0", b"\x28\xb5\x2f\xfd", b"{"):
        path.write_bytes(begin + data)
        taken_in(writer, path, caplog)


@pytest.mark.parametrize("kind", ["opencode.db", "export.json"])
def test_what_opencode_keeps_and_exports_is_taken_in_or_told(
    kind: str, writer: Writer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(sqlite3.connect(tmp_path / "whole.db")) as connection:
        connection.executescript((FIXTURES / "opencode" / "opencode-dump.sql").read_text())
    database = (tmp_path / "whole.db").read_bytes()
    path, export = tmp_path / kind, json.loads((FIXTURES / "opencode" / "messages.json").read_text())

    @FEW
    @given(st.integers(0, 2**32), st.sampled_from([0.02, 0.1, 0.3]))
    def poison(seed: int, share: float) -> None:
        chance = random.Random(seed)
        if kind == "export.json":
            path.write_text(json.dumps(poisoned(export, chance, share)))
        else:
            path.write_bytes(database)
            _poison_database(path, chance, share)
        taken_in(writer, path, caplog)

    poison()


def _poison_database(path: Path, chance: random.Random, share: float) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        for table in ("session", "message", "part"):
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})") if row[1] != "id"]
            for row in connection.execute(f"SELECT rowid, {', '.join(columns)} FROM {table}").fetchall():
                changed = [_poisoned_column(value, chance, share) for value in row[1:]]
                setting = ", ".join(f"{column} = ?" for column in columns)
                connection.execute(f"UPDATE OR IGNORE {table} SET {setting} WHERE rowid = ?", (*changed, row[0]))
        connection.commit()


def _poisoned_column(value: object, chance: random.Random, share: float) -> object:
    if isinstance(value, str) and value.startswith("{"):
        return json.dumps(poisoned(json.loads(value), chance, share))
    if chance.random() < share / 2:
        return chance.choice(["", "x", b"\xff\x00", -1, 2**62, 1.5, "\0"])
    return value
