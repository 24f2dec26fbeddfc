"""Records of transcripts, of files of events and of folders of both."""

import json
import shutil
from pathlib import Path

import pytest

from planstrip.errors import UnreadableTranscript, UnusableSettings
from planstrip.snapshot.taking import Look, take
from tests.transcripts.opencode_store import FORK, SESSION, loaded

FIXTURES = Path(__file__).parents[2] / "fixtures"
PINNED = Path(__file__).parents[1] / "snapshots" / "parallel-plan.txt"


def record(path: Path, *, has_steps: bool = False) -> str:
    [text] = take(str(path), Look(has_steps=has_steps)).records.values()
    return text


def test_the_pinned_record_byte_for_byte() -> None:
    assert record(FIXTURES / "demo/parallel-plan-zh.jsonl").encode() == PINNED.read_bytes()


def test_a_folder_gives_a_record_for_each_session_below_its_files_place() -> None:
    taken = take(str(FIXTURES / "claude-code/todowrite-subagents"), Look())
    assert list(taken.records) == [
        "main",
        "subagents/agent-a20dc255acbeb7b7d",
        "subagents/agent-a8db20b80310b47fc",
    ]
    assert taken.owned == ""


def test_a_files_record_is_the_same_alone_and_in_a_folder(tmp_path: Path) -> None:
    """Also beside another that tells the same session, or contradicts it."""
    source = FIXTURES / "deepseek-harness/real-killed-mid-turn.jsonl"
    shutil.copy(source, tmp_path / "a.jsonl")
    first, _, rest = source.read_text(encoding="utf-8").partition("\n")
    other = json.dumps(json.loads(first) | {"createdAt": 1})
    (tmp_path / "b.jsonl").write_text(f"{other}\n{rest}", encoding="utf-8")
    shutil.copy(FIXTURES / "demo/parallel-plan.jsonl", tmp_path / "c.jsonl")
    taken = take(str(tmp_path), Look())
    assert list(taken.records) == ["a", "b", "c"]
    assert taken.records["a"] == taken.records["b"] == record(source)
    assert taken.records["c"] == record(FIXTURES / "demo/parallel-plan.jsonl")


def test_a_store_of_many_sessions_gives_each_below_its_own_name(tmp_path: Path) -> None:
    taken = take(str(loaded(tmp_path / "opencode.db")), Look())
    assert {f"opencode/{SESSION}", f"opencode/{FORK}"} <= set(taken.records)
    assert taken.owned == "opencode"
    named = take(str(tmp_path), Look(), name="mine")
    assert list(named.records.values()) == list(taken.records.values())
    assert {f"mine/{name}" for name in taken.records} == set(named.records)
    assert named.owned == "mine/"


def test_a_file_that_fails_takes_no_other_with_it_and_its_old_record_stays(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "demo/parallel-plan.jsonl", tmp_path / "good.jsonl")
    (tmp_path / "session-bad.jsonl").write_text("nothing of ours\n", encoding="utf-8")
    taken = take(str(tmp_path), Look())
    assert list(taken.records) == ["good"]
    assert len(taken.failures) == 1
    assert "session-bad.jsonl" in taken.failures[0]
    assert taken.owned is None


@pytest.mark.parametrize("content", ["", "no json\n", '{"type": "turn/start"}\n'])
def test_a_file_of_nobodys_is_refused_with_its_name(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UnreadableTranscript, match=r"x\.jsonl"):
        take(str(path), Look())


def test_a_folder_without_a_transcript_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x", encoding="utf-8")
    with pytest.raises(UnreadableTranscript, match="no transcript in this directory"):
        take(str(tmp_path), Look())


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(UnusableSettings, match="expected one of en, zh, ja, "):
        Look("tlh")


# Files of events


def events(path: Path, *written: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(event) + "\n" for event in written), encoding="utf-8")
    return path


def write(**plan: str) -> dict[str, object]:
    todos = [{"content": content, "status": status} for content, status in plan.items()]
    return {"type": "todo/write", "data": {"todos": todos}}


def test_a_plan_that_is_brought_back_is_computed_as_the_door_does(tmp_path: Path) -> None:
    path = events(
        tmp_path / "log.jsonl",
        {**write(a="pending"), "position": 1},
        {**write(b="pending"), "position": 2},
        {"type": "session/rewind", "data": {"to_position": 1, "todos": []}, "position": 3},
        {"type": "viewer/retire", "data": {}, "position": 4},
        {"type": "viewer/restore", "data": {}, "position": 5},
    )
    contents = [line.rpartition("=")[2] for line in record(path, has_steps=True).splitlines() if "item" in line]
    assert contents == ["pending a", "pending b", "pending a", "pending a", "pending a"]


def test_an_event_that_the_door_refuses_is_named_by_its_line(tmp_path: Path) -> None:
    path = events(tmp_path / "log.jsonl", write(a="pending"), write(b="later"))
    with pytest.raises(UnreadableTranscript, match=r"log\.jsonl: .*line 2"):
        take(str(path), Look())


def test_an_event_of_a_later_vocabulary_shows_nothing(tmp_path: Path) -> None:
    path = events(tmp_path / "log.jsonl", write(a="pending"), {"type": "later/type", "data": {"x": 1}})
    assert record(path) == "panel=1 pending\nitem=pending a\n"


def test_a_mark_of_utf_8_at_the_start_and_blank_lines_are_no_events(tmp_path: Path) -> None:
    path = events(tmp_path / "log.jsonl", write(a="pending"))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes() + b"\r\n\n")
    assert record(path) == "panel=1 pending\nitem=pending a\n"
