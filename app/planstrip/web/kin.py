"""What a live page hears of other sessions: whose child one is that has grown, asked once, while somebody watches."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextvars import Context
from dataclasses import dataclass, field, replace
from typing import Final

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from planstrip import projection
from planstrip.families import parents_of, relinked, with_family
from planstrip.plan.view import View
from planstrip.timelines import Since, read_since

MAX_KNOWN: Final = 10_000
MAX_ASKED: Final = 1_000
PAUSE_S: Final = 0.1
NEEDY: Final = ("waiting", "interrupted", "quiet")  # until their parent goes on

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Kin:
    """`on_growth` is called with the parent of a session that has grown; `due` holds those whose children moved.

    `concerns` and `know` may be called from any thread; the rest belongs to the loop. A session that names its parent
    late counts as nobody's child until its parent's heartbeat finds it.
    """

    engine: Engine
    on_growth: Callable[[str], None]
    due: set[str] = field(default_factory=set)
    _parents: dict[str, str | None] = field(default_factory=dict)
    _strangers: set[str] = field(default_factory=set)
    _asking: "asyncio.Task[None] | None" = None

    def concerns(self, session: str) -> bool:
        """False for what is known to have no parent. From any thread."""
        return self._parents.get(session, "") is not None

    def know(self, parent: str, children: Iterable[str]) -> None:
        """Corrects what was learned too early. What was never asked is not kept: it would outlive the last viewer."""
        for child in children:
            if child in self._parents:
                self._parents[child] = parent

    def grew(self, sessions: Iterable[str]) -> None:
        for session in sessions:
            if session not in self._parents:
                self._strangers.add(session)
            elif parent := self._parents[session]:
                self.on_growth(parent)
        if self._strangers and self._asking is None:
            self._asking = asyncio.create_task(self._ask(), context=Context())

    def forget(self) -> None:
        for kept in (self._parents, self._strangers, self.due):
            kept.clear()
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None

    async def _ask(self) -> None:
        try:
            while self._strangers:
                asked = [self._strangers.pop() for _ in range(min(len(self._strangers), MAX_ASKED))]
                self._learn(await asyncio.to_thread(self._look_up, asked))
                await asyncio.sleep(PAUSE_S)  # many new sessions are asked for together
        except SQLAlchemyError:
            log.exception("asking for the parents of new sessions failed; their next events ask again")
        self._asking = None

    def _look_up(self, sessions: list[str]) -> dict[str, str | None]:
        with self.engine.connect() as connection:
            return parents_of(connection, sessions)

    def _learn(self, parents: dict[str, str | None]) -> None:
        if len(self._parents) + len(parents) > MAX_KNOWN:
            self._parents.clear()
        self._parents.update(parents)
        for parent in {parent for parent in parents.values() if parent}:
            self.on_growth(parent)


@dataclass(slots=True)
class SessionReader:
    """Reads a session's view, with its family where that is due. `impatient`: as `db` says, for reads at once."""

    engine: Engine
    clock: Callable[[], int]
    kin: Kin
    session: str
    impatient: Engine | None = None

    def __call__(self, view: View | None, *, is_family_due: bool = False) -> View:
        is_family_due = is_family_due or view is None or self.session in self.kin.due
        self.kin.due.discard(self.session)
        try:
            with self.engine.connect() as connection:
                fresh = self._read(connection, view, is_family_due=is_family_due)
        except SQLAlchemyError:
            if is_family_due and view is not None:
                self.kin.due.add(self.session)
            raise
        if is_family_due:
            self.kin.know(self.session, (child.id for child in fresh.family.children))
        return fresh

    def at_once(self, view: View) -> View | None:
        """The view where it takes about a millisecond to read, which a loop may wait for; else None."""
        is_alone = self.session not in self.kin.due and all(child.state not in NEEDY for child in view.family.present)
        if self.impatient is None or not view.standing.position or not is_alone:
            return None
        try:
            with self.impatient.connect() as connection:
                since = read_since(connection, self.session, view.standing)
                return None if since is None else self._read(connection, view, since, is_family_due=False)
        except SQLAlchemyError:  # who waits for it tells what it is
            self.impatient.dispose()
            return None

    def _read(
        self, connection: Connection, view: View | None, since: Since | None = None, *, is_family_due: bool
    ) -> View:
        if view is not None and view.standing.position:
            fresh = projection.catch_up(connection, self.session, view, since)
        else:
            fresh = projection.view(connection, self.session)
            fresh = replace(fresh, family=view.family) if view is not None else fresh
        is_moved = fresh is not view and any(child.state in NEEDY for child in fresh.family.present)
        if is_family_due or is_moved or fresh.standing.outline.parent != fresh.family.parent:
            return with_family(connection, self.session, fresh, self.clock())
        return fresh if fresh is view else relinked(fresh)
