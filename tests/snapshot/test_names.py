"""A record's name is a file's on every system, and no two records have the same."""

from pathlib import Path

import pytest

from planstrip.snapshot.names import MAX_BYTES, Names, of, of_file, safe


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/b.jsonl", "b"),
        ("b.rollout.jsonl.zstd", "b.rollout"),
        ("messages.json", "messages"),
        ("opencode.db", "opencode"),
        ("notes", "notes"),
        ("会话 1.jsonl", "会话_1"),
        (".jsonl", "jsonl"),
    ],
)
def test_a_file_gives_its_name_without_what_its_format_adds(path: str, name: str) -> None:
    assert of_file(Path(path)) == name


def test_below_a_folder_its_folders_count() -> None:
    assert of_file(Path("root/x y/..b/c.jsonl"), Path("root")) == "x_y/b/c"


@pytest.mark.parametrize("name", ["..", ".", "", "a:b?c*", "x" * 300, "漢" * 100, "\x00\n", "a\\b"])
def test_a_part_is_never_empty_hidden_or_too_long(name: str) -> None:
    part = safe(name)
    assert part
    assert not part.startswith(".")
    assert len(part.encode()) <= MAX_BYTES
    assert not set(part) & set('/\\:*?"<>|\n\x00')


def test_a_given_name_stays_below_its_folder() -> None:
    assert of("../../etc/x") == "_/_/etc/x"


def test_the_same_name_again_gets_a_number() -> None:
    names = Names()
    assert [names.give(name) for name in ("a", "A", "a", "a-2")] == ["a", "A-2", "a-3", "a-2-2"]
