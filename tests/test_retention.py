"""Old sessions go into archives and come back the same; nothing is lost on the way, wherever it is cut off."""

import os
import signal
import time
from pathlib import Path

import httpx
import msgspec
import pytest
import zstandard

from planstrip import archives, retention
from planstrip.archives import verify
from planstrip.copying import sums_of
from planstrip.errors import UnreadableTranscript, UnusableSettings
from planstrip.intake.imports import import_paths
from planstrip.retention import DAY_MS, Moved
from planstrip.settings import load
from tests.databases import SUFFIX, release, url_of
from tests.running import TIMEOUT_S, run, running, serving, start
from tests.stores import Store, event, opened, write

NOW = 100 * DAY_MS
RUNS = int(os.environ.get("PLANSTRIP_KILLS", "1"))  # more of them for a long run


def archive(database: Path, folder: Path, keep_days: int = 30) -> dict[str, Moved]:
    moved = retention.archive(url_of(database), folder, keep_days=keep_days, now_ms=NOW)
    return {one.session: one for one in moved}


def sums(store: Store) -> object:
    with store.reading() as connection:
        return sums_of(connection)


def take_in(database: Path, *paths: Path) -> tuple[int, int, list[str]]:
    """How many events were added and known, and every problem."""
    with opened(database) as store:
        report = import_paths(store.writer, paths)
    said = [text for file in report.files for text in (*file.problems, *filter(None, [file.failure]))]
    return report.added, report.known, said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "archives"


@pytest.fixture
def old(database: Path) -> Path:
    """A log with one session of day 10, whose events are of every awkward kind, and one of day 90."""
    with opened(database) as store:
        store.append(
            "old", event("session/start", "k0", agent="x", title="a\0b\x1a𝔘\u2028"), write("a=c b=i", key="k1")
        )
        store.append("old", event("a newer type", "k2", odd=[1.5, 1e300, {"": None}], deep="\\n\n"), write("a=c b=p"))
        store.append("young", write("x=i", time=90 * DAY_MS))
        store.execute("UPDATE events SET time = :day + position WHERE session = 'old'", day=10 * DAY_MS)
        store.execute("UPDATE sessions SET updated_at = :day WHERE id = 'old'", day=10 * DAY_MS)
    return database


def test_a_session_goes_and_comes_back_with_its_positions_times_and_keys(old: Path, folder: Path) -> None:
    with opened(old) as store:
        before = sums(store)
    moved = archive(old, folder)
    assert {name: (one.outcome, one.events) for name, one in moved.items()} == {"old": ("archived", 4)}
    with opened(old) as store:
        assert (store.plan("old"), store.plan("young")) == (None, ["x"])
    assert take_in(old, folder) == (4, 0, [])
    with opened(old) as store:
        assert sums(store) == before
        assert store.plan("old") == ["a", "b"]
        assert store.execute("SELECT count(*) FROM search_texts WHERE session = 'old'")[0][0] == 1
        assert store.append("old", write("a=c b=i", key="k1")).added == 0


def test_it_goes_from_one_store_and_comes_back_into_the_other(old: Path, folder: Path, tmp_path: Path) -> None:
    """From PostgreSQL it goes as well."""
    served = tmp_path / f"plans{SUFFIX}"
    with opened(old) as store:
        before = sums(store)
    archive(old, folder)
    assert take_in(served, folder) == (4, 0, [])
    assert archive(served, folder)["old"].path == folder / "old.ndjson.zst"
    with opened(served) as store:
        assert sums(store) == {}
    release(served)
    assert take_in(old, folder) == (4, 0, [])
    with opened(old) as store:
        assert sums(store) == before


def test_twice_is_once(old: Path, folder: Path) -> None:
    archive(old, folder)
    assert take_in(old, folder)[:2] == (4, 0)
    added, known, said = take_in(old, folder)
    assert (added, known) == (0, 4)
    assert "stands already: nothing was changed" in said[0]


def test_what_was_archived_and_came_back_goes_into_the_same_file(old: Path, folder: Path) -> None:
    archive(old, folder)
    take_in(old, folder)
    assert archive(old, folder)["old"].outcome == "archived"
    assert len(list(folder.iterdir())) == 1


def test_an_archive_is_never_replaced(old: Path, folder: Path) -> None:
    archive(old, folder)
    take_in(old, folder)
    with opened(old) as store:
        store.append("old", event("later"))
    moved = archive(old, folder)["old"]
    assert (moved.outcome, moved.path) == ("archived", folder / "old.2.ndjson.zst")
    assert verify(folder / "old.ndjson.zst").events == 4
    assert take_in(old, folder)[0] == 5


def test_a_session_that_went_on_is_left_whole(old: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the archive and the deletion."""
    check = archives.verify

    def go_on(path: Path) -> archives.Header:
        with opened(old) as store:
            store.append("old", write("c=i"))
        return check(path)

    monkeypatch.setattr(archives, "verify", go_on)
    assert archive(old, folder)["old"].outcome == "grew"
    with opened(old) as store:
        assert store.plan("old") == ["c"]
    assert take_in(old, folder)[:2] == (0, 4)


def test_an_archive_that_does_not_read_back_deletes_nothing(
    old: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that keeps something else than was written."""
    sync = archives.sync

    def spoil(where: Path) -> None:
        sync(where)
        file = where / "old.ndjson.zst"
        file.write_bytes(file.read_bytes()[:-9])

    monkeypatch.setattr(archives, "sync", spoil)
    assert archive(old, folder)["old"].outcome == "failed"
    monkeypatch.setattr(archives, "sync", sync)
    with opened(old) as store:
        assert store.plan("old") == ["a", "b"]
    assert archive(old, folder)["old"].path == folder / "old.2.ndjson.zst"


def test_a_folder_that_cannot_be_written_deletes_nothing(old: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnusableSettings, match="--to"):
        archive(old, tmp_path / "file")
    with opened(old) as store:
        assert store.plan("old") == ["a", "b"]


# Families


def test_nobody_goes_while_another_of_the_family_is_young(database: Path, folder: Path) -> None:
    with opened(database) as store:
        for session, parent, day in (("p", None, 10), ("c", "p", 20), ("g", "c", 90), ("alone", "gone", 10)):
            given = {"parent": parent} if parent else {}
            store.append(session, event("session/start", agent="x", **given))
            store.execute("UPDATE sessions SET updated_at = :at WHERE id = :id", at=day * DAY_MS, id=session)
            store.execute("UPDATE events SET time = :at WHERE session = :id", at=day * DAY_MS, id=session)
    assert set(archive(database, folder)) == {"alone"}
    assert set(archive(database, folder, keep_days=5)) == {"p", "c", "g"}
    assert take_in(database, folder)[0] == 4
    with opened(database) as store:
        assert store.execute("SELECT parent FROM sessions WHERE id = 'g'")[0][0] == "c"


def test_parents_in_a_circle_are_a_family(database: Path, folder: Path) -> None:
    with opened(database) as store:
        for session, parent in (("a", "b"), ("b", "a"), ("c", "c")):
            store.append(session, event("session/start", agent="x", parent=parent))
    assert set(archive(database, folder)) == {"a", "b", "c"}


# Cut off


def test_what_is_killed_loses_nothing(database: Path, folder: Path) -> None:
    with opened(database) as store:
        for number in range(30):
            store.append(f"s{number}", *(write(f"t{each}=i") for each in range(5)))
        before = sums(store)
    command = ("archive", "--keep-days", "1", "--to", str(folder), "--database-url", url_of(database))
    for number in range(RUNS):
        with start(*command) as process:
            while len(list(folder.glob("*"))) < 2 + 5 * number and process.poll() is None:
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)
            process.wait()
        with opened(database) as store, store.reading() as connection:
            stand = set(sums_of(connection))
        whole = {verify(path).session for path in folder.glob("*.zst")}
        assert stand | whole == {f"s{number}" for number in range(30)}
    archive(database, folder)
    assert take_in(database, folder)[0] == 150
    with opened(database) as store:
        assert sums(store) == before


# A running panel


def test_a_running_panel_goes_on_and_takes_it_back(database: Path, folder: Path) -> None:
    with running(database) as panel:
        panel.append("s", {"type": "later", "data": {}, "time": DAY_MS})
        panel.append("other", {"type": "later", "data": {}})
        address = ("--database-url", url_of(database))
        code, out, err = run("archive", "--keep-days", "9", "--to", str(folder), *address)
        assert out.splitlines() == [
            f"s: 1 event, the last of 1970-01-02, moved to {folder}/s.ndjson.zst",
            "1 session, 1 event archived, 0 failed",
        ]
        assert (code, err) == (0, "")
        assert panel.client.get("/api/sessions/s/events").status_code == 404
        assert panel.append("other", {"type": "later", "data": {}}).json()["last_position"] == 2
        assert take_in(database, folder) == (1, 0, [])
        assert panel.append("s", {"type": "later", "data": {}}).json()["last_position"] == 2


def test_a_panel_that_is_told_to_keeps_itself(database: Path, folder: Path) -> None:
    with opened(database) as store:
        store.append("s", event("later"))
        store.append("young", write("x=i", time=time.time_ns() // 1_000_000))
    with serving(database, "--keep-days", "9", "--archive-to", str(folder)) as program:
        end = time.monotonic() + TIMEOUT_S
        while not any("s: 1 event, the last of 1970-01-01, moved to" in line for line in program.said):
            assert time.monotonic() < end, program.said
            time.sleep(0.02)
        assert httpx.get(f"{program.url}/api/sessions/young/events").status_code == 200
        assert program.stop() == 0
    assert [path.name for path in folder.iterdir()] == ["s.ndjson.zst"]


@pytest.mark.parametrize("given", [{"keep_days": 9}, {"archive_to": "x"}, {"keep_days": 0, "archive_to": "x"}])
def test_there_is_no_deleting_without_an_archive(given: dict[str, object]) -> None:
    with pytest.raises(UnusableSettings, match="keep_days"):
        load(allow_parallel_in_progress=True, **given)


def test_a_trial_changes_nothing(old: Path, folder: Path) -> None:
    moved = list(retention.archive(url_of(old), folder, keep_days=30, now_ms=NOW, is_trial=True))
    assert [(one.session, one.outcome) for one in moved] == [("old", "due")]
    assert not folder.exists()
    with opened(old) as store:
        assert store.plan("old") == ["a", "b"]


# What is imported


def test_a_session_of_other_events_is_left_alone(old: Path, folder: Path) -> None:
    archive(old, folder)
    with opened(old) as store:
        store.append("old", write("mine=i"))
    added, _, said = take_in(old, folder)
    assert added == 0
    assert "another event at position 1; it was left alone" in said[0]
    with opened(old) as store:
        assert store.plan("old") == ["mine"]


def test_an_import_that_was_cut_off_goes_on(old: Path, folder: Path) -> None:
    archive(old, folder)
    with archives.reading(folder / "old.ndjson.zst") as (_, lines), opened(old) as store:
        from planstrip.intake.unarchive import _draft

        store.append("old", *(_draft(line, "x") for _, line in list(lines)[:3]))
    assert take_in(old, folder) == (1, 3, [])


@pytest.mark.parametrize(
    ("old_text", "new_text"),
    [
        (b'"content":"a"', b'"content":"b"'),  # a repeated content, and not what was hashed
        (b'"position":2', b'"position":3'),
        (b'"version":1', b'"version":2'),
        (b'"session":"old"', b'"session":"a/b"'),
        (b'"events":4', b'"events":5'),
        (b'"time":', b'"tame":'),
    ],
)
def test_a_changed_archive_changes_nothing(old: Path, folder: Path, old_text: bytes, new_text: bytes) -> None:
    archive(old, folder)
    content = zstandard.ZstdDecompressor().stream_reader((folder / "old.ndjson.zst").read_bytes()).read()
    assert old_text in content
    plain = folder / "changed.ndjson.zst"
    plain.write_bytes(content.replace(old_text, new_text, 1))
    added, known, said = take_in(old, plain)
    assert (added, known, len(said)) == (0, 0, 1)
    plain.write_bytes(content)
    assert take_in(old, plain) == (4, 0, [])


def test_no_list_that_breaks_the_invariant_enters_by_an_archive(old: Path, tmp_path: Path) -> None:
    """Also where its hash is right."""
    import hashlib

    line = b'{"position":1,"type":"todo/write","time":1,"data":{"todos":[{"content":" ","status":"pending"}]}}\n'
    header = archives.Header(session="made", events=1, sha256=hashlib.sha256(line).hexdigest())
    file = tmp_path / "made.ndjson"
    file.write_bytes(msgspec.json.encode(header) + b"\n" + line)
    added, _, said = take_in(old, file)
    assert (added, len(said)) == (0, 1)
    assert "non-empty" in said[0]


def test_a_damaged_archive_is_told(old: Path, folder: Path) -> None:
    archive(old, folder)
    file = folder / "old.ndjson.zst"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(UnreadableTranscript, match="checksum"):
        verify(file)
    assert take_in(old, folder)[0] == 0


def test_names_of_files_are_safe(database: Path, folder: Path) -> None:
    names = ["..x", "a b\u202e", "A B", "é" * 200]
    with opened(database) as store:
        for name in names:
            store.append(name, event("later"))
    moved = archive(database, folder)
    assert set(moved) == set(names)
    assert take_in(database, folder)[0] == 4
