"""Whose file it is, is told by the first line that is claimed; a directory is walked for session files."""

import os
from pathlib import Path

import pytest
import zstandard

from planstrip.errors import UnreadableTranscript
from planstrip.transcripts.detect import find, head, unknown
from planstrip.transcripts.follow import Transcript
from planstrip.transcripts.lines import Line

HEADER = b'{"type":"session","version":0,"id":"s","createdAt":1}\n'


def owner(path: Path) -> str | None:
    transcript = Transcript(path)
    list(transcript.events())
    return transcript.agent


@pytest.mark.parametrize("name", ["a.jsonl", "notes.txt", "session.jsonl"])
def test_the_name_of_a_plain_file_does_not_matter(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"\n" + HEADER)
    assert [line.number for line in head(path)] == [2]
    assert owner(path) == "deepseek-harness"


def test_a_torn_header_is_no_line_yet(tmp_path: Path) -> None:
    (tmp_path / "session.jsonl").write_bytes(HEADER[:-1])
    (tmp_path / "session.jsonl.zstd").write_bytes(zstandard.compress(HEADER)[:-1])
    assert list(head(tmp_path / "session.jsonl")) == []
    assert list(head(tmp_path / "session.jsonl.zstd")) == []


def test_a_stranger_is_told_with_little_of_its_content() -> None:
    detail = unknown(Path("x.jsonl"), Line(3, b"\x1b[31m" + b"secret" * 1_000)).detail
    assert "x.jsonl: not a transcript planstrip knows: line 3 is '\\x1b[31m" in detail
    assert "expected a header of deepseek-harness" in detail
    assert len(detail) < 220


@pytest.mark.parametrize("bad", [b"\x00\xff poison", b'{"half": ', b"{}", b"7", b"x" * 100_000])
@pytest.mark.parametrize("count", [1, 9])
def test_bad_lines_before_the_header_are_passed_over_and_told(tmp_path: Path, bad: bytes, count: int) -> None:
    path = tmp_path / "any.jsonl"
    path.write_bytes(b"\n" + (bad + b"\n") * count + HEADER)
    assert list(find(tmp_path)) == [path]
    transcript = Transcript(path)
    assert [event.type for event in transcript.events()] == ["session/start"]
    assert transcript.passed_over == count
    assert transcript.first_passed_over is not None
    said = transcript.first_passed_over.removeprefix(f"{path}: ")
    assert said.startswith("line 2 ")
    assert len(said.partition(": ")[2]) <= 80


@pytest.mark.parametrize("before", [b"no\n" * 20, b"x" * (1024 * 1024 + 1) + b"\n"])
def test_only_the_head_of_a_file_is_looked_at(tmp_path: Path, before: bytes) -> None:
    path = tmp_path / "any.jsonl"
    path.write_bytes(before + HEADER)
    assert list(find(tmp_path)) == []
    with pytest.raises(UnreadableTranscript, match="line 1 is"):
        owner(path)


def test_a_file_of_garbage_is_read_once_its_header_has_come(tmp_path: Path) -> None:
    path = tmp_path / "any.jsonl"
    path.write_bytes(b"garbage\n")
    transcript = Transcript(path)
    with pytest.raises(UnreadableTranscript):
        list(transcript.events())
    with path.open("ab") as target:
        target.write(HEADER)
    assert [event.type for event in transcript.events()] == ["session/start"]


def test_a_walk_finds_what_is_named_or_claimed_and_what_is_corrupt(tmp_path: Path) -> None:
    for name, content in {
        "b/session.jsonl": b"not json\n",
        "a/session-2.jsonl": b"",
        "a/claimed.jsonl": HEADER,
        "a/other.jsonl": b"{}\n",
        "a/empty.jsonl": b"",
        "a/corrupt.jsonl.zstd": b"no zstd here",
        "a/claimed.txt": HEADER,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    skipped: list[Path] = []
    found = [str(path.relative_to(tmp_path)) for path in find(tmp_path, skipped.append)]
    assert sorted(path.name for path in skipped) == ["claimed.txt", "empty.jsonl", "other.jsonl"]
    assert found == ["a/claimed.jsonl", "a/corrupt.jsonl.zstd", "a/session-2.jsonl", "b/session.jsonl"]
    assert list(find(tmp_path / "missing")) == [tmp_path / "missing"]


def test_a_pipe_in_a_folder_is_passed_by(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "session.jsonl")
    os.mkfifo(tmp_path / "other.jsonl")
    assert list(find(tmp_path)) == []
