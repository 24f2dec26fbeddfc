"""The streams of one process, beside what other processes write and show (spec.md §8)."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from planstrip.plan.view import View
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
