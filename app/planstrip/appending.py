"""Appends on their way through the writer: who waits for each, and how it is answered and counted."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlalchemy import Connection

from planstrip import metrics
from planstrip.errors import Conflict, PlanstripError, Unavailable
from planstrip.eventlog import Append, Appended

Outcome: TypeAlias = Appended | BaseException
Job: TypeAlias = Callable[[Connection], None]


@dataclass(slots=True)
class Request:
    """`loop` is None for a caller that waits in a thread of its own."""

    work: Append | Job
    future: "Future[Appended] | asyncio.Future[Appended]"
    loop: asyncio.AbstractEventLoop | None
    began: float = field(default_factory=time.perf_counter)

    @property
    def is_alone(self) -> bool:
        return not isinstance(self.work, Append) or self.work.derive is not None


def groups(requests: Sequence[Request]) -> list[list[Request]]:
    """Runs that may share a commit, in order; what must be alone stands alone."""
    found: list[list[Request]] = []
    for request in requests:
        if found and not request.is_alone and not found[-1][0].is_alone:
            found[-1].append(request)
        else:
            found.append([request])
    return found


def answer(requests: Sequence[Request], outcomes: Sequence[Outcome]) -> None:
    """Wake each waiting loop once, not once a request."""
    metrics.appended(_counted(requests, outcomes))
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Request, Outcome]]] = {}
    for request, outcome in zip(requests, outcomes, strict=True):
        if request.loop is None:
            _settle(request, outcome)
        else:
            by_loop.setdefault(request.loop, []).append((request, outcome))
    for loop, pairs in by_loop.items():
        with contextlib.suppress(RuntimeError):  # a loop that has closed waits for nothing
            loop.call_soon_threadsafe(_settle_all, pairs)


def _counted(requests: Sequence[Request], outcomes: Sequence[Outcome]) -> Iterator[tuple[metrics.AppendOutcome, float]]:
    now = time.perf_counter()
    for request, outcome in zip(requests, outcomes, strict=True):
        if isinstance(request.work, Append):
            yield _named(outcome), now - request.began


def _named(outcome: Outcome) -> metrics.AppendOutcome:
    match outcome:
        case Appended(added=added):
            return "added" if added else "known"
        case Conflict():
            return "conflict"
        case Unavailable():
            return "unavailable"
        case PlanstripError():
            return "refused"
        case _:
            return "failed"


def _settle_all(pairs: Sequence[tuple[Request, Outcome]]) -> None:
    for request, outcome in pairs:
        _settle(request, outcome)


def _settle(request: Request, outcome: Outcome) -> None:
    if request.future.done():  # the caller has gone; the append stands all the same
        return
    if isinstance(outcome, BaseException):
        request.future.set_exception(outcome)
    else:
        request.future.set_result(outcome)
