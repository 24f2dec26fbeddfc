"""The writer: concurrent appends share a commit, and a bad neighbour takes nobody down (spec.md §2)."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Connection

from planstrip.db import for_writing, hold, open_engine
from planstrip.errors import Conflict, Unavailable
from planstrip.eventlog import Append, Appended, Draft
from planstrip.events import Unknown
from planstrip.projection import StandingProjector
from planstrip.writer import Writer
from tests.databases import url_of
from tests.running import Panel, todos
from tests.stores import Store, event, opened, write

COUNT = 200


@pytest.fixture
def store(database: Path) -> Iterator[Store]:
    with opened(database) as store:
        yield store


def together(writer: Writer, *appends: Append) -> list[Appended | BaseException]:
    """All handed in while the writer is busy with something else."""
    is_busy, may_go_on = threading.Event(), threading.Event()

    def keep_busy(_connection: Connection) -> None:
        is_busy.set()
        may_go_on.wait()

    async def hand_in() -> list[Appended | BaseException]:
        waiting = [asyncio.ensure_future(writer.append(append)) for append in appends]
        await asyncio.sleep(0)
        may_go_on.set()
        return await asyncio.gather(*waiting, return_exceptions=True)

    with ThreadPoolExecutor(1) as pool:
        job = pool.submit(writer.run_blocking, keep_busy)
        is_busy.wait()
        outcomes = asyncio.run(hand_in())
        job.result()
    return outcomes


def test_concurrent_appends_share_a_commit_and_leave_no_gap(store: Store) -> None:
    before = store.writer.commits
    outcomes = together(store.writer, *[Append("a", [write("x=i")]) for _ in range(COUNT)])
    positions = [outcome.positions[0] for outcome in outcomes if isinstance(outcome, Appended)]
    assert positions == list(range(1, COUNT + 1))
    assert store.writer.commits - before == 2  # the job that kept it busy, and all of them


def test_appends_from_many_threads_leave_no_gap(store: Store) -> None:
    with ThreadPoolExecutor(16) as pool:
        appended = list(pool.map(lambda number: store.append(f"s{number % 3}", write("x=i")), range(COUNT)))
    for session in range(3):
        positions = sorted(one.positions[0] for one in appended[session::3])
        assert positions == list(range(1, len(positions) + 1))


def test_a_conflicting_neighbour_takes_nobody_down(store: Store) -> None:
    store.append("a", write("x=i", key="k"))
    outcomes = together(
        store.writer,
        Append("a", [write("y=i")]),
        Append("a", [write("z=i"), write("z=i", key="k")]),
        Append("a", [write("q=i")], expected_position=7),
        Append("a", [write("w=i")], expected_position=2),
        Append("b", [write("v=i")]),
    )
    assert [isinstance(outcome, Conflict) for outcome in outcomes] == [False, True, True, False, False]
    assert [outcome.positions for outcome in outcomes if isinstance(outcome, Appended)] == [(2,), (3,), (1,)]
    assert store.plan("a") == ["w"]


def test_a_neighbour_that_the_store_refuses_takes_nobody_down(store: Store) -> None:
    bad = Draft("x", Unknown("x"), "{}", time=2**70)  # the driver has no such integer
    outcomes = together(
        store.writer, *(Append("a", [draft]) for draft in (write("x=i"), bad, write("y=i"))), Append("b", [bad])
    )
    assert [isinstance(outcome, Appended) for outcome in outcomes] == [True, False, True, False]
    assert store.plan("a") == ["y"]
    assert [entry.position for entry in store.entries("a")] == [1, 2]
    assert store.append("a", write("z=i")).positions == (3,)


def test_a_neighbour_whose_derivation_fails_takes_nobody_down(store: Store) -> None:
    def refuse(_connection: Connection, _session: str, _draft: Draft, _head: int) -> Draft:
        raise Conflict("no")

    outcomes = together(
        store.writer,
        Append("a", [write("x=i")]),
        Append("a", [write("y=i"), write("z=i")], derive=refuse),
        Append("a", [write("w=i")]),
    )
    assert [isinstance(outcome, Appended) for outcome in outcomes] == [True, False, True]
    assert [entry.position for entry in store.entries("a")] == [1, 2]
    assert store.plan("a") == ["w"]


def test_a_key_is_seen_by_the_neighbours_of_the_same_commit(store: Store) -> None:
    outcomes = together(store.writer, *[Append("a", [write("x=i", key="k")]) for _ in range(3)])
    assert [outcome.positions for outcome in outcomes if isinstance(outcome, Appended)] == [(1,), (1,), (1,)]
    assert store.writer.commits == 2  # the job that kept it busy, and all of them


def test_who_has_gone_is_not_waited_for(store: Store) -> None:
    async def leave() -> None:
        waiting = asyncio.ensure_future(store.writer.append(Append("a", [write("x=i")])))
        await asyncio.sleep(0)
        waiting.cancel()
        await store.writer.append(Append("a", [write("y=i")]))

    asyncio.run(leave())
    assert store.plan("a") == ["y"]
    assert len(store.entries("a")) == 2


def test_what_was_handed_in_is_written_before_the_writer_ends(database: Path) -> None:
    with opened(database) as store:
        threads = [threading.Thread(target=store.append, args=("a", write("x=i"))) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    with opened(database) as store:
        assert len(store.entries("a")) == 20


def test_a_locked_store_is_unavailable_and_then_taken_again(
    store: Store, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planstrip.sqlite.BUSY_TIMEOUT_MS", 50)
    monkeypatch.setattr("planstrip.postgresql.LOCK_TIMEOUT_MS", 50)
    engine = open_engine(url_of(database))
    writer = Writer(engine, StandingProjector(), lambda: 1)
    writer.start()
    try:
        with for_writing(store.engine).begin() as connection:
            hold(connection, ["a"])
            with pytest.raises(Unavailable, match="try again"):
                writer.append_blocking(Append("a", [write("x=i")]))
        assert writer.append_blocking(Append("a", [write("x=i")])).positions == (1,)
    finally:
        writer.stop()
        engine.dispose()


def test_a_commit_is_told_with_its_heads_after_it_is_durable(store: Store) -> None:
    told: list[tuple[Mapping[str, int], int]] = []

    def on_commit(heads: Mapping[str, int]) -> None:
        told.append((heads, len(store.entries("a"))))

    store.writer.on_commit = on_commit
    store.append("a", write("x=i"), write("y=i"))
    store.append("a", write("z=i", key="k"))
    store.append("a", write("z=i", key="k"))  # adds nothing
    assert told == [({"a": 2}, 2), ({"a": 3}, 3)]


def test_another_writer_of_the_same_file_is_noticed(database: Path) -> None:
    with opened(database) as one, opened(database) as other:
        for round_ in range(3):
            assert one.append("a", write(f"one{round_}=i")).positions == (2 * round_ + 1,)
            assert other.append("a", write(f"other{round_}=i", key=f"k{round_}")).positions == (2 * round_ + 2,)
            assert one.append("a", write(f"other{round_}=i", key=f"k{round_}")).positions == (2 * round_ + 2,)
        one.append("a", event("turn/start", turn=1))
        assert one.plan("a") == other.plan("a") == ["other2"]


def test_two_processes_that_write_at_once_leave_no_gap(database: Path) -> None:
    """A process each, appending as fast as it can. R143, R145."""
    code = (
        "import sys\n"
        "from tests.stores import opened, write\n"
        "with opened(sys.argv[1]) as store:\n"
        "    positions = [store.append('a', write('x=i')).positions[0] for _ in range(50)]\n"
        "    assert positions == sorted(set(positions))\n"
        "    print(*positions)\n"
    )
    root = Path(__file__).parents[1]
    command = [sys.executable, "-c", code, url_of(database)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) for _ in range(2)]
    answers = [process.communicate(timeout=100)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    positions = [int(position) for answer in answers for position in answer.split()]
    assert sorted(positions) == list(range(1, 101))
    with opened(database) as store:
        assert [entry.position for entry in store.entries("a")] == list(range(1, 101))


def test_one_bad_call_among_many_over_http_harms_no_other(panel: Panel) -> None:
    def post(number: int) -> int:
        match number % 5:
            case 0:
                return panel.write("a", todos("x=i x=i")).status_code
            case 1:
                return panel.append("a", {"type": "x", "data": {"n": number}, "key": "k"}).status_code
            case 2:
                return panel.append("a", {"type": "x", "data": {"text": "x" * 270_000}}).status_code
            case _:
                return panel.write("a", todos("x=i")).status_code

    with ThreadPoolExecutor(16) as pool:
        codes = list(pool.map(post, range(100)))
    assert set(codes[0::5]) == {422}
    assert sorted(set(codes[1::5])) == [201, 409]
    assert set(codes[2::5]) == {413}
    assert set(codes[3::5] + codes[4::5]) == {200}
    stored = panel.events("a")
    assert [event["position"] for event in stored] == list(range(1, len(stored) + 1))
    assert len(stored) == 40 * 3 + 20 * 2 + 1
