"""Lists made of changes, where a file is read again from its start: old states are not told anew (spec.md §2).

Such a reading goes through states that the log has long passed. Those under a known key are dropped at the door. A
change that is new there but older than the newest list, as of a subagent whose file came late, is told when all has
been read, with the list that stands then.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from sqlalchemy import Engine, bindparam, func, select, text

from planstrip.eventlog import Draft
from planstrip.events import TodoWrite
from planstrip.intake.across import HOOKS, MCP, WIRES, elsewhere
from planstrip.intake.check import check_data
from planstrip.plan.todos import count
from planstrip.tables import MARKED, events


@dataclass(slots=True)
class Restated:
    """`newest`: the time of the newest list that a transcript has told of the session; None where it told none.

    `told`: the calls whose lists other doors have told.
    """

    newest: int | None
    told: frozenset[str] = frozenset()
    _keys: list[str] = field(default_factory=list)  # of what is known or late
    _last: Draft | None = None
    _is_cleared: bool = False

    @classmethod
    def of(cls, engine: Engine, session: str) -> "Restated":
        with engine.connect() as connection:
            newest = connection.execute(_NEWEST, {"session": session}).scalar()
            rows = elsewhere(connection, session) if newest is not None else []
        calls = (row.call_id for row in rows if isinstance(row.event, TodoWrite))
        return cls(newest, frozenset(call for call in calls if call is not None))

    def holds(self, draft: Draft) -> bool:
        """Whether a list is kept back until the end."""
        self._last, self._is_cleared = draft, False
        is_old = self.newest is not None and draft.time is not None and draft.time < self.newest
        if is_old and draft.key is not None and not self._is_told(draft):
            self._keys.append(draft.key)
        return is_old

    def _is_told(self, draft: Draft) -> bool:
        """A list of a call that another door has told is none that came late."""
        return isinstance(draft.event, TodoWrite) and draft.event.call_id in self.told

    def turn_starts(self) -> None:
        last = self._last and self._last.event
        self._is_cleared = isinstance(last, TodoWrite) and count(last.todos).is_complete

    def held(self) -> Iterator[Draft]:
        """What was kept back, each with the list that stands by now."""
        last, keys = self._last, self._keys
        if last is None:
            return
        if self._is_cleared:
            last = replace(check_data("todo/write", {"todos": []}, time=last.time), is_state=True)
        self._keys = []
        for key in keys:
            yield replace(last, key=key)


# What other doors have told is matched in `across`, list by list.
_ELSEWHERE: Final = [~events.c.key.startswith(door, autoescape=True) for door in (HOOKS, MCP, *WIRES)]
_NEWEST: Final = select(func.max(events.c.time)).where(
    events.c.session == bindparam("session"), text(MARKED), events.c.type == "todo/write", *_ELSEWHERE
)
