"""An agent's samples walked: each gives what expected.json says of it, twice, in pieces, cut and mutated."""

import json
import os
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest

from planstrip.errors import Invalid, TooLarge, UnreadableTranscript
from planstrip.events import TodoWrite, ToolCall
from planstrip.intake.check import check_data
from planstrip.intake.imports import take_new
from planstrip.plan.todos import invariant_problems
from planstrip.transcripts.adapter import Adapted, Format
from planstrip.transcripts.follow import Transcript
from planstrip.transcripts.records import Record, parse
from tests.intake.conftest import Store

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
SHARED: Final = Path(os.environ.get("PLANSTRIP_SAMPLES", Path(__file__).parents[3] / "shared" / "samples"))
FUZZ: Final = int(os.environ.get("PLANSTRIP_FUZZ", "300"))
POISON: list[object] = [None, True, -1, 2**70, 1e400, "", "x" * 300, "\ud800", [], [[]], {}, {"kind": 5}, [{"type": 3}]]


def expected_of(agent: str) -> dict[str, Any]:
    """What is expected of each of the agent's samples in this checkout."""
    expected: dict[str, Any] = json.loads((FIXTURES / agent / "expected.json").read_text())
    return expected


def cases(agent: str) -> list[Any]:
    """Every file of this checkout's samples, and of the shared ones where they are at hand."""
    found = [pytest.param(FIXTURES / agent / name, expected, id=name) for name, expected in expected_of(agent).items()]
    if (SHARED / "expected.json").exists():
        for name, expected in json.loads((SHARED / "expected.json").read_text()).items():
            if name.startswith(f"{agent}/"):
                found.append(pytest.param(SHARED / name, expected, id=f"shared:{name}"))
    return found


def read(path: Path) -> list[Adapted]:
    return list(Transcript(path).events())


def goes_in_valid(event: Adapted) -> None:
    """The door takes it, and a plan keeps what holds of every plan."""
    checked = check_data(event.type, event.data, time=event.time, key=event.key).event
    assert not isinstance(checked, TodoWrite) or not list(invariant_problems(checked.todos))


def poisoned(value: Any, chance: random.Random, rate: float = 0.04) -> Any:
    """The value with its parts replaced at that rate, and left out at half of it."""
    if chance.random() < rate:
        return chance.choice(POISON)
    if isinstance(value, dict):
        return {key: poisoned(item, chance, rate) for key, item in value.items() if chance.random() > rate / 2}
    return [poisoned(item, chance, rate) for item in value] if isinstance(value, list) else value


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Parts of records replaced, lines lost, doubled and moved, bytes changed."""
    lines = data.splitlines()
    for _ in range(chance.randrange(1, 12)):
        at = chance.randrange(len(lines))
        match chance.randrange(5):
            case 0:
                lines[at] = json.dumps(poisoned(parse(lines[at]), chance)).encode()
            case 1:
                lines.insert(chance.randrange(len(lines)), lines[at])
            case 2 if len(lines) > 1:
                del lines[at]
            case 3:
                cut = chance.randrange(len(lines[at]) + 1)
                lines[at] = lines[at][:cut] + bytes([chance.randrange(256)]) + lines[at][cut + 1 :]
            case _:
                lines[at:] = reversed(lines[at:])
    return b"".join(line + b"\n" for line in lines)


@dataclass(frozen=True, slots=True)
class Told:
    """A file that is nowhere: its header and its place, and the records that a test gives."""

    format: Format
    header: Record
    place: Path

    def adapted(self, *records: Record) -> list[Adapted]:
        adapter = self.format.adapter(self.header, self.place)
        return [event for record in records for event in adapter.take(record)]

    def types(self, *records: Record) -> list[str]:
        return [event.type for event in self.adapted(*records)]


class Walk:
    """What holds of any agent's samples; a test file inherits it and says whose they are."""

    agent: ClassVar[str]
    plan_tool: ClassVar[str]

    def is_plan(self, call: ToolCall) -> bool:
        return call.name == self.plan_tool

    @property
    def samples(self) -> Path:
        return FIXTURES / self.agent

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "expected" in metafunc.fixturenames:
            metafunc.parametrize(("path", "expected"), cases(self.agent))
        elif "name" in metafunc.fixturenames:
            metafunc.parametrize("name", expected_of(self.agent))

    def test_each_sample_gives_what_is_expected_of_it(self, store: Store, path: Path, expected: dict[str, Any]) -> None:
        """Read from the stored log."""
        log = store.fresh()
        (file,) = log.take(path).files
        assert (file.failure, file.problems) == (None, ())
        session = file.session or ""
        assert log.summary(session, self.is_plan) == expected | {"session": expected["session"] or session}

    def test_the_walk_leaves_out_no_file(self) -> None:
        files = {str(path.relative_to(self.samples)) for path in self.samples.rglob("*.jsonl")}
        assert files == set(expected_of(self.agent))

    def test_twice_is_once(self, store: Store, name: str) -> None:
        log = store.fresh()
        first = log.take(self.samples / name)
        rows = log.rows()
        second = log.take(self.samples / name)
        assert (first.added, second.added, second.known) == (len(rows), 0, len(rows))
        assert log.rows() == rows

    def test_a_file_that_grows_in_pieces_is_the_whole_file(self, store: Store, tmp_path: Path, name: str) -> None:
        data, path = (self.samples / name).read_bytes(), tmp_path / "growing.jsonl"
        path.write_bytes(data)
        whole, pieces, live = store.fresh(), store.fresh(), Transcript(path)
        whole.take(path)
        for end in (*range(3_000, len(data), 3_000), len(data)):
            path.write_bytes(data[:end])
            take_new(pieces.writer, live)
        without_time = [[(*row[:3], *row[4:]) for row in log.rows()] for log in (whole, pieces)]  # untold, it is ours
        assert without_time[0] == without_time[1]

    def fuzzed(self, seed: int) -> Iterator[tuple[random.Random, str, bytes]]:
        samples = {name: (self.samples / name).read_bytes() for name in expected_of(self.agent)}
        for number in range(FUZZ):
            chance = random.Random(seed + number)
            name = chance.choice(list(samples))
            yield chance, name, samples[name]

    def test_a_file_cut_anywhere_gives_a_prefix(self, tmp_path: Path) -> None:
        path = tmp_path / "cut.jsonl"
        whole: dict[str, list[Adapted]] = {}
        for chance, name, data in self.fuzzed(0):
            path.write_bytes(data)
            events = whole.setdefault(name, read(path))
            path.write_bytes(data[: chance.randrange(len(data) + 1)])
            found = read(path)
            assert found == events[: len(found)]

    def test_no_mutation_crashes_it_and_every_plan_is_valid(self, tmp_path: Path) -> None:
        path = tmp_path / "mutated.jsonl"
        for chance, _, data in self.fuzzed(1_000_000):
            path.write_bytes(mutated(data, chance))
            transcript = Transcript(path)
            try:
                for event in transcript.events():
                    with suppress(Invalid, TooLarge):  # the door leaves such an event out
                        goes_in_valid(event)
            except UnreadableTranscript:
                assert transcript.header is None
