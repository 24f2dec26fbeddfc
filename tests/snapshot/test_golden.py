"""Kept records: what differs is said as a diff, what is missing or too many as well; nobody else's file is touched."""

from pathlib import Path

import pytest

from planstrip.errors import UnusableSettings
from planstrip.snapshot.golden import Shelf

PANEL = "panel=1 pending\nitem=pending a\n"


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "kept", ".txt", "")


def test_what_was_written_is_as_kept(shelf: Shelf) -> None:
    records = {"a": PANEL, "folder/b": "", "c": "row=x\n"}
    assert sorted(shelf.update(records)) == [shelf.path("a"), shelf.path("c"), shelf.path("folder/b")]
    assert list(shelf.compare(records)) == []
    assert shelf.update(records) == []


def test_a_change_is_a_unified_diff(shelf: Shelf) -> None:
    shelf.update({"a": PANEL})
    assert list(shelf.compare({"a": PANEL.replace("item=pending a", "item=pending b")})) == [
        f"--- {shelf.path('a')}\n+++ a\n@@ -1,2 +1,2 @@\n panel=1 pending\n-item=pending a\n+item=pending b\n"
    ]


def test_a_missing_record_differs_also_an_empty_one(shelf: Shelf) -> None:
    diffs = list(shelf.compare({"a": "row=x\n", "b": ""}))
    assert diffs == ["--- /dev/null\n+++ a\n@@ -0,0 +1 @@\n+row=x\n", "--- /dev/null\n+++ b\n"]


def test_a_record_of_no_session_is_told_and_goes_with_an_update(shelf: Shelf) -> None:
    shelf.update({"a": PANEL, "old/b": PANEL})
    [diff] = shelf.compare({"a": PANEL})
    assert diff.startswith(f"--- {shelf.path('old/b')}\n+++ /dev/null\n")
    assert shelf.update({"a": PANEL}) == [shelf.path("old/b")]
    assert not shelf.path("old/b").exists()


def test_a_file_that_is_no_record_is_left_alone(shelf: Shelf) -> None:
    shelf.update({"a": PANEL})
    (shelf.folder / "README.txt").write_text("Records of the panel.\n", encoding="utf-8")
    (shelf.folder / "other.json").write_text("{}", encoding="utf-8")
    assert list(shelf.compare({"a": PANEL})) == []
    assert shelf.update({"a": PANEL}) == []


def test_one_session_owns_its_own_file_alone(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, ".txt")
    shelf.update({"a": PANEL, "b": PANEL})
    assert list(shelf.compare({"a": PANEL})) == []


def test_a_checkout_that_ends_lines_as_windows_does_is_no_difference(shelf: Shelf) -> None:
    shelf.update({"a": PANEL})
    shelf.path("a").write_bytes(PANEL.replace("\n", "\r\n").encode())
    assert list(shelf.compare({"a": PANEL})) == []


def test_a_kept_file_that_is_no_text_differs(shelf: Shelf) -> None:
    shelf.update({"a": PANEL})
    shelf.path("a").write_bytes(b"\xff\xfe\n")
    assert len(list(shelf.compare({"a": PANEL}))) == 1


def test_where_nothing_can_be_written_it_says_which_file(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file", encoding="utf-8")
    with pytest.raises(UnusableSettings, match=r"kept.a\.txt"):
        Shelf(tmp_path / "kept", ".txt").update({"a": PANEL})


def test_of_json_files_only_a_record_can_be_one_too_many(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path, ".json", "")
    shelf.update({"a": '{"panel": "1 pending", "items": []}\n', "old": '{"turns": []}\n'})
    for name, text in (("package", '{"title": "x", "version": 1}'), ("list", "[]"), ("torn", "{")):
        shelf.path(name).write_text(text, encoding="utf-8")
    assert shelf.stale({"a": ""}) == [shelf.path("old")]
