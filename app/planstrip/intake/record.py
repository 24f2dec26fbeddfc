"""The one door in: what was checked is completed from the log, appended, and its viewers woken (spec.md §2)."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import islice
from typing import Final

from sqlalchemy import Connection

from planstrip import projection
from planstrip.errors import Conflict, Invalid
from planstrip.eventlog import DERIVED, Append, Appended, Draft
from planstrip.events import SessionRewind, SessionStart, ViewerDismiss, ViewerRestore, ViewerRetire, decode, encode
from planstrip.intake.across import without_told
from planstrip.intake.check import check_session_id
from planstrip.intake.mcp_calls import without_ours
from planstrip.intake.mcp_owners import give_back
from planstrip.plan.fold import Plan
from planstrip.plan.todos import Problem
from planstrip.writer import Writer

# An append of what agents wrote. Each commit touches most pages of the keys' index, so that few large ones are cheap.
TAKEN_EVENTS: Final = 4_000
TAKEN_BYTES: Final = 16 * 1024 * 1024


async def record(
    writer: Writer, session: str, drafts: Sequence[Draft], *, expected_position: int | None = None
) -> Appended:
    """Append all of `drafts` or none; durable when it returns.

    Raises Conflict (a key with other content, a stale `expected_position`, nothing to retire or restore), Invalid,
    Unavailable.
    """
    return await writer.append(_append(session, drafts, expected_position=expected_position))


def take_in(writer: Writer, session: str, drafts: Sequence[Draft]) -> int:
    """Append what an agent wrote, in batches; returns how many events were new. Never raises Conflict for a key."""
    added = sum(writer.append_blocking(append).added for append in _taking_in(writer, session, drafts))
    give_back(writer, session, drafts)
    return added


def begin_take_in(writer: Writer, session: str, drafts: Sequence[Draft]) -> Callable[[], int]:
    """The same, begun and not waited for; it is done when the function that is returned has been called."""
    appends = _taking_in(writer, session, drafts)
    begun = [writer.begin_append(first) for first in islice(appends, 1)]

    def finish() -> int:
        added = sum(append.result().added for append in begun)
        added += sum(writer.append_blocking(append).added for append in appends)  # most often none
        give_back(writer, session, drafts)
        return added

    return finish


def _taking_in(writer: Writer, session: str, drafts: Sequence[Draft]) -> Iterator[Append]:
    untold = without_told(writer.engine, session, without_ours(writer.engine, session, drafts))
    for batch in _batches(untold):
        yield _append(session, batch, takes_in=True)


async def start_session(writer: Writer, session: str, draft: Draft) -> tuple[bool, int]:
    """Append a `session/start`, unless the session has one: (whether it was appended, the head)."""
    try:
        appended = await writer.append(Append(session, [draft], derive=_refuse_second_start))
    except _AlreadyStartedError as already:
        return False, already.head
    return True, appended.head


async def dismiss(writer: Writer, session: str, draft: Draft) -> Appended:
    """Append a `viewer/dismiss`. Raises Conflict where its to-do is not listed; as a plain event it changes nothing."""
    return await writer.append(Append(session, [draft], derive=_refuse_unlisted))


class _AlreadyStartedError(Conflict):
    def __init__(self, head: int) -> None:
        super().__init__("the session has started")
        self.head = head


def _append(
    session: str, drafts: Sequence[Draft], *, expected_position: int | None = None, takes_in: bool = False
) -> Append:
    check_session_id(session)
    needs_log = any(draft.type in DERIVED or draft.type == "viewer/retire" for draft in drafts)
    return Append(session, drafts, expected_position, takes_in, complete if needs_log else None)


def complete(connection: Connection, session: str, draft: Draft, head: int) -> Draft:
    """The draft with what only the log can tell. `head`: where the session stood before this append."""
    match draft.event:
        case SessionRewind(to_position=to):
            if not 0 <= to <= head:
                message = f"to_position is {to}; expected 0 to {head}, where session {session!r} stood"
                raise Invalid(message, [Problem("to_position", message)])
            return _with_plan(draft, projection.plan_at(connection, session, to))
        case ViewerRestore():
            retired = projection.retirement(connection, session)
            plan = None if retired is None else projection.plan_at(connection, session, retired - 1)
            if plan is None:
                raise Conflict(
                    f"session {session!r} has no retired plan to restore: none was, or the agent wrote since"
                )
            return _with_plan(draft, plan)
        case ViewerRetire():
            if projection.current(connection, session).plan is None:
                raise Conflict(f"session {session!r} has no standing plan to retire")
            return draft
        case _:
            return draft


def _with_plan(draft: Draft, plan: Plan | None) -> Draft:
    """The event carries its plan whole, so that the fold never looks back."""
    data: dict[str, object] = json.loads(draft.data)
    data["todos"] = [asdict(todo) for todo in plan.todos] if plan else []
    if plan and plan.omitted:
        data["omitted"] = [asdict(item) for item in plan.omitted]
    text = encode(data)
    return replace(draft, data=text, event=decode(draft.type, text))


def _refuse_second_start(connection: Connection, session: str, draft: Draft, head: int) -> Draft:
    assert isinstance(draft.event, SessionStart)
    if head and projection.current(connection, session).outline.agent is not None:
        raise _AlreadyStartedError(head)
    return draft


def _refuse_unlisted(connection: Connection, session: str, draft: Draft, head: int) -> Draft:
    assert isinstance(draft.event, ViewerDismiss)
    content, unlisted = draft.event.content, projection.current(connection, session).unlisted
    if all(item.content != content for item in unlisted):
        raise Conflict(f"session {session!r} lists {len(unlisted)} dropped to-dos; none of them is {content!r:.100}")
    return draft


def _batches(drafts: Sequence[Draft]) -> Iterator[list[Draft]]:
    """Runs that an append takes, in bounded time and memory."""
    following = iter(drafts)
    while batch := list(islice(following, TAKEN_EVENTS)):
        size, run = 0, list[Draft]()
        for draft in batch:
            size += len(draft.data) * 4
            if run and size > TAKEN_BYTES:
                yield run
                size, run = len(draft.data) * 4, []
            run.append(draft)
        yield run
