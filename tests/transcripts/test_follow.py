"""A transcript read on: what was added, and all of it again when the file shrank or is another."""

from pathlib import Path

import pytest

from planstrip.errors import UnreadableTranscript
from planstrip.transcripts.follow import Transcript

SAMPLES = Path(__file__).parents[2] / "fixtures" / "deepseek-harness"
KILLED = (SAMPLES / "real-killed-mid-turn.jsonl").read_bytes()
RESUMED = (SAMPLES / "real-killed-then-resumed.jsonl").read_bytes()


def types(transcript: Transcript) -> list[str]:
    return [event.type for event in transcript.events()]


def test_only_what_was_added_is_given(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(KILLED[:4_000])
    transcript = Transcript(path)
    first = types(transcript)
    assert types(transcript) == []
    path.write_bytes(KILLED)
    second = types(transcript)
    assert first + second == types(Transcript(path))
    assert second


def test_a_file_cut_and_written_on_is_read_from_its_start(tmp_path: Path) -> None:
    """It is longer than it was before anybody looks again."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(KILLED)
    transcript = Transcript(path)
    types(transcript)
    with path.open("r+b") as file:
        file.truncate(6_000)
        file.seek(0)
        file.write(RESUMED)
    assert types(transcript) == types(Transcript(path))


def test_a_torn_tail_that_is_cut_off_is_no_new_beginning(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(KILLED + b'{"type":"tool/re')
    transcript = Transcript(path)
    types(transcript)
    path.write_bytes(KILLED + b'{"type":"turn/end","seq":99,"data":{"reason":{"kind":"interrupted"}}}\n')
    assert types(transcript) == ["turn/end"]


def test_a_file_put_in_its_place_is_read_from_its_start(tmp_path: Path) -> None:
    path, other = tmp_path / "session.jsonl", tmp_path / "other.jsonl"
    path.write_bytes(KILLED)
    transcript = Transcript(path)
    types(transcript)
    other.write_bytes((SAMPLES / "real-rejected-writes.jsonl").read_bytes())
    other.replace(path)
    assert types(transcript)[0] == "session/start"
    assert transcript.header is not None
    assert transcript.header.session == "sess-rejected_writes"


def test_a_file_that_vanished_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(UnreadableTranscript, match="No such file"):
        types(Transcript(tmp_path / "session.jsonl"))


def test_lines_that_do_not_parse_are_counted_and_little_of_them_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(KILLED + b"\x1b[31m" + b"secret" * 100 + b"\n[1]\n\n")
    transcript = Transcript(path)
    types(transcript)
    assert transcript.passed_over == 2
    assert transcript.first_passed_over is not None
    assert "\x1b" not in transcript.first_passed_over
    assert len(transcript.first_passed_over.split("parse: ")[1]) <= 80
    with path.open("ab") as file:
        file.write(b"\n\nanother\n")
    types(transcript)
    assert transcript.passed_over == 1
    assert "another" in transcript.first_passed_over  # each reading tells its own
