"""Whose file it is, is told by its first complete line; a directory is walked for session files."""

import os
from pathlib import Path

import pytest
import zstandard

from planstrip.errors import UnreadableTranscript
from planstrip.transcripts.detect import detect, find, first_line
from planstrip.transcripts.lines import Line

HEADER = b'{"type":"session","version":0,"id":"s","createdAt":1}\n'


@pytest.mark.parametrize("name", ["a.jsonl", "notes.txt", "session.jsonl"])
def test_the_name_of_a_plain_file_does_not_matter(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"\n" + HEADER)
    line = first_line(path)
    assert line is not None
    assert line.number == 2
    assert detect(path, line).agent == "deepseek-harness"


def test_a_torn_header_is_no_line_yet(tmp_path: Path) -> None:
    (tmp_path / "session.jsonl").write_bytes(HEADER[:-1])
    (tmp_path / "session.jsonl.zstd").write_bytes(zstandard.compress(HEADER)[:-1])
    assert first_line(tmp_path / "session.jsonl") is None
    assert first_line(tmp_path / "session.jsonl.zstd") is None


def test_a_stranger_is_told_with_little_of_its_content() -> None:
    with pytest.raises(UnreadableTranscript) as caught:
        detect(Path("x.jsonl"), Line(3, b"\x1b[31m" + b"secret" * 1_000))
    assert "x.jsonl: not a transcript planstrip knows: line 3 is '\\x1b[31m" in caught.value.detail
    assert "expected a header of deepseek-harness" in caught.value.detail
    assert len(caught.value.detail) < 220


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
    found = [str(path.relative_to(tmp_path)) for path in find(tmp_path)]
    assert found == ["a/claimed.jsonl", "a/corrupt.jsonl.zstd", "a/session-2.jsonl", "b/session.jsonl"]
    assert list(find(tmp_path / "missing")) == [tmp_path / "missing"]


def test_a_pipe_in_a_folder_is_passed_by(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "session.jsonl")
    os.mkfifo(tmp_path / "other.jsonl")
    assert list(find(tmp_path)) == []
