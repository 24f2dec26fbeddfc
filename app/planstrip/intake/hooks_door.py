"""Where a hook's payload goes: to its transcript's reader where that lies here, else into the log (spec.md §2)."""

import logging
import threading
from dataclasses import dataclass, field
from typing import Any, Final

from planstrip.errors import PlanstripError
from planstrip.hooks.payload import NOTE
from planstrip.intake import tool
from planstrip.intake.hooks_facts import Called, Told
from planstrip.intake.hooks_log import HookLog
from planstrip.intake.hooks_open import read_dsh, read_opencode
from planstrip.intake.hooks_read import read
from planstrip.intake.hooks_wake import Readers, Where
from planstrip.intake.mcp_owners import Owners
from planstrip.logs import concerning
from planstrip.parts import Parts
from planstrip.transcripts.records import text_at

MAX_HELD: Final = 1_000  # sessions whose transcript may come
BEGINNINGS: Final = ("SessionStart", "SubagentStart", "session.created", "session.updated")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Taken:
    """`recorded` events were new; `is_woken`: the transcript is read instead."""

    session: str
    recorded: int
    is_woken: bool


@dataclass(frozen=True, slots=True)
class Door:
    hooks: HookLog
    readers: Readers
    owners: Owners
    held: dict[str, list[Told]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, parts: Parts, owners: Owners) -> "Door":
        return cls(HookLog(parts.engine, parts.writer), Readers(parts.writer), owners)

    def take(self, agent: str, payload: dict[str, Any], mark: str, time: int | None) -> Taken:
        """Raises Invalid for a payload that does not say whose it is, Unavailable."""
        told = _read(agent, payload, mark, time)
        self._announce(told)
        concerning(told.session)
        if text_at(payload, NOTE, "cut_after") is not None:
            log.warning("a hook of %s broke off; what came of it was taken", agent)
        kind = text_at(payload, "hook_event_name") or text_at(payload, "type")
        is_news = bool(told.facts) or kind in BEGINNINGS
        where = self.readers.take(told, payload)
        held = self._held_before(told, where)
        if where == "coming" and is_news:
            self._hold(told)
        if where != "elsewhere":
            return Taken(told.session, 0, is_woken=True)
        try:
            recorded = sum(self.hooks.record(one) for one in [*held, *([told] if is_news else [])])
        except PlanstripError:  # this payload comes again; those before it were acknowledged
            self._hold(*held)
            raise
        return Taken(told.session, recorded, is_woken=False)

    def _announce(self, told: Told) -> None:
        """A subagent is about to call our own tool, whose door hears of the session that it works for."""
        for fact in told.facts:
            if isinstance(fact, Called) and told.parent is not None and fact.name.endswith(tool.NAME):
                self.owners.note(fact.call_id, told.parent, told.session)

    def _hold(self, *told: Told) -> None:
        """Until it shows whether the transcript comes."""
        with self.lock:
            for one in told:
                self.held.setdefault(one.parent or one.session, []).append(one)
            while len(self.held) > MAX_HELD:
                del self.held[next(iter(self.held))]

    def _held_before(self, told: Told, where: Where) -> list[Told]:
        """What was held for the session; it is in the transcript where that has come."""
        if where == "coming":
            return []
        with self.lock:
            return self.held.pop(told.parent or told.session, [])


def _read(agent: str, payload: dict[str, Any], mark: str, time: int | None) -> Told:
    if agent == "opencode" and "hook_event_name" not in payload:
        return read_opencode(payload, mark, time)
    if agent == "deepseek-harness" and "event" in payload:
        return read_dsh(payload, mark, time)
    return read(agent, payload, mark, time)
