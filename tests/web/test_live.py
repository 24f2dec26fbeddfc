"""The streams of one process, beside what other processes write and show (spec.md §8)."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from planstrip.plan.view import View
from planstrip.timelines import FEW
from planstrip.web.channels import Base, Kind
from planstrip.web.live import Hub
from tests.stores import Store, opened, write


@pytest.fixture
def store(database: Path) -> Iterator[Store]:
    with opened(database) as store:
        yield store


def shown(view: View, _base: Base, _is_first: bool) -> bytes:
    return f"{view.standing.position}".encode()


KIND = Kind("position", shown, lambda view: view.standing.position)


def test_what_is_read_at_once_is_what_a_thread_reads(store: Store) -> None:
    store.append("s", write("a=i"))
    topic = hub_of(store).session("s")
    before = topic.read(None)
    assert topic.at_once(before) in (before, None)  # None on a server, which is read in a thread
    store.append("s", write("a=c b=i"), write("a=c b=c"))
    assert topic.at_once(before) in (topic.read(before), None)


def test_nothing_is_read_at_once_that_may_take_long(store: Store) -> None:
    """Of many events, and where somebody holds the database: the loop serves everybody else as well."""
    store.append("s", write("a=i"))
    hub = hub_of(store)
    topic = hub.session("s")
    before = topic.read(None)
    store.append("s", *[write("a=c")] * (FEW + 1))
    assert topic.at_once(before) is None
    before = topic.read(before)
    store.writer.stop()
    store.engine.dispose()
    hub.dispose()
    if store.engine.dialect.name == "sqlite":
        with closing(sqlite3.connect(str(store.engine.url.database), check_same_thread=False)) as holder:
            holder.execute("PRAGMA locking_mode = EXCLUSIVE")
            holder.execute("BEGIN EXCLUSIVE")
            leaving = threading.Timer(3, holder.close)
            leaving.start()
            assert topic.at_once(before) is None
            leaving.cancel()
    assert topic.at_once(before) in (before, None)


def hub_of(store: Store) -> Hub:
    return Hub(store.engine, lambda: 0)


def test_where_a_view_stands_is_told_once_for_all_who_have_it(store: Store) -> None:
    """It looks through a hundred rows: of a thousand viewers that was a fifth of the time that a frame took."""
    asked = list[int]()

    def place(view: View) -> int:
        asked.append(view.standing.position)
        return view.standing.position

    async def watch() -> None:
        hub, kind = hub_of(store), Kind("position", shown, place)
        hub.bind(asyncio.get_running_loop())
        watching = [hub.frames(hub.session("s"), kind, 0) for _ in range(5)]
        assert [await anext(one) for one in watching] == [b"1"] * 5
        store.append("s", write("a=c"))
        hub.wake({"s": 2})
        assert [await anext(one) for one in watching] == [b"2"] * 5
        for one in watching:
            await one.aclose()
        hub.dispose()

    store.append("s", write("a=i"))
    asyncio.run(watch())
    assert asked.count(2) == 1


@pytest.mark.parametrize("seen", [2, 99])
def test_who_was_shown_more_by_another_worker_is_shown_nothing_older(store: Store, seen: int) -> None:
    """Until the notice of a write comes, a worker's view stands before it; 99 is of another log, and begins anew."""

    async def meet() -> None:
        hub = Hub(store.engine, lambda: 0)
        hub.bind(asyncio.get_running_loop())
        here = hub.frames(hub.session("s"), KIND, 0)
        assert await anext(here) == b"1"
        store.append("s", write("a=c"))  # of which nobody tells this hub
        coming = hub.frames(hub.session("s"), KIND, seen)
        assert await anext(coming) == b"2"
        await coming.aclose()
        await here.aclose()

    store.append("s", write("a=i"))
    asyncio.run(meet())
