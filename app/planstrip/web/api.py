"""The reads of the REST API (spec.md §10)."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Final, TypeAlias

from fastapi import Path, Query
from sqlalchemy import Connection, select
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from planstrip import projection
from planstrip.errors import NotFound, Said
from planstrip.errors import msgid as _
from planstrip.eventlog import read_stored
from planstrip.events import encode
from planstrip.intake.check import check_session_id
from planstrip.intake.rest import viewer_act, viewer_dismiss
from planstrip.masks import Masks
from planstrip.parts import Parts, parts_of
from planstrip.plan.fold import Plan
from planstrip.plan.outline import State
from planstrip.plan.todos import Counts
from planstrip.tables import sessions
from planstrip.web.languages import negotiate, translations
from planstrip.web.listing import Filters, Listed, list_sessions

MAX_POSITION: Final = 2**62

SessionId = Annotated[str, Path(description="The session's id: the agent's own.")]
Act: TypeAlias = Callable[[Request, str], Awaitable[None]]
At = Annotated[int | None, Query(ge=0, le=MAX_POSITION, description="The plan as it stood at this position.")]


def get_sessions(
    request: Request,
    after: str | None = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    q: str | None = None,
    agent: str | None = None,
    state: State | None = None,
    cwd: str | None = None,
) -> Response:
    """The sessions, the newest last event first."""
    parts = parts_of(request)
    listed, following = list_sessions(parts, Filters(q, agent, state, cwd), limit, after)
    return JSONResponse({"sessions": [_listed(session) for session in listed], "next": following})


def get_events(
    request: Request,
    session: SessionId,
    after: Annotated[int, Query(ge=0, le=MAX_POSITION)] = 0,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 500,
) -> Response:
    """The log from a position on."""
    masks = parts_of(request).masks
    with parts_of(request).engine.connect() as connection:
        require_session(connection, session)
        stored = read_stored(connection, session, after, limit + 1)
    found = [
        {"position": event.position, "type": event.type, "time": event.time, **_data(event.data, masks)}
        for event in stored[:limit]
    ]
    return JSONResponse({"events": found, "next": stored[limit - 1].position if len(stored) > limit else None})


def get_plan(request: Request, session: SessionId, at: At = None) -> Response:
    """The standing plan."""
    position, plan = plan_of(parts_of(request), session, at)
    return JSONResponse(plan_json(session, position, plan), headers={"Cache-Control": "no-cache"})


def get_plan_markdown(request: Request, session: SessionId, at: At = None) -> Response:
    """The standing plan as a Markdown task list."""
    from planstrip.plan.markdown import task_list  # asked for by few

    _, plan = plan_of(parts_of(request), session, at)
    return Response(task_list(plan), media_type="text/markdown; charset=utf-8", headers={"Cache-Control": "no-cache"})


def get_plan_badge(request: Request, session: SessionId, at: At = None) -> Response:
    """The standing plan's counts as an SVG badge."""
    from planstrip.web.badge import badge

    parts = parts_of(request)
    _, plan = plan_of(parts, session, at)
    lang = negotiate(request.query_params.get("lang"), request.headers.get("accept-language"))
    svg = parts.renderer.page("badge.svg", lang, badge(plan, translations(lang)))
    headers = {"Cache-Control": "no-cache", "Content-Language": lang, "Vary": "Accept-Language"}
    return Response(svg, media_type="image/svg+xml", headers=headers)


async def post_retire(request: Request, session: SessionId) -> Response:
    """Retire the standing plan: a person's act, which the agent's next write supersedes."""
    return await _act(request, session, partial(viewer_act, type_="viewer/retire"))


async def post_restore(request: Request, session: SessionId) -> Response:
    """Undo a retirement that still stands."""
    return await _act(request, session, partial(viewer_act, type_="viewer/restore"))


async def post_dismiss(request: Request, session: SessionId) -> Response:
    """Dismiss a to-do that the agent dropped while it was open: it is listed under the plan no longer."""
    return await _act(request, session, viewer_dismiss)


async def _act(request: Request, session: str, act: Act) -> Response:
    with parts_of(request).engine.connect() as connection:
        require_session(connection, session)
    await act(request, session)
    return JSONResponse(plan_json(session, *plan_of(parts_of(request), session, None)))


def plan_json(session: str, position: int, plan: Plan | None) -> dict[str, object]:
    """`since` is the event that set the list."""
    return {
        "session": session,
        "position": position,
        "todos": [asdict(todo) for todo in plan.todos] if plan else None,
        "omitted": [asdict(item) for item in plan.omitted] if plan else [],
        "counts": asdict(plan.counts if plan else Counts()),
        "since": {"position": plan.position, "time": plan.time} if plan else None,
    }


def plan_of(parts: Parts, session: str, at: int | None) -> tuple[int, Plan | None]:
    """The plan at a position, which is the head's for None, as a reader may see it. Raises NotFound beyond the head."""
    with parts.engine.connect() as connection:
        position, plan = _plan_of(connection, session, at)
    return position, parts.masks.of(plan)


def _plan_of(connection: Connection, session: str, at: int | None) -> tuple[int, Plan | None]:
    head = require_session(connection, session)
    if at is None or at == head:
        return head, projection.current(connection, session).plan
    if at > head:
        raise NotFound(beyond_head(at, session, head))
    return at, projection.plan_at(connection, session, at)


def require_session(connection: Connection, session: str) -> int:
    """The session's head. Raises NotFound."""
    check_session_id(session)
    head = connection.execute(select(sessions.c.position).where(sessions.c.id == session)).scalar()
    if head is None:
        said = _("there is no session %(session)s; sessions are created by their first event")
        raise NotFound(Said(said, session=f"{session!r:.100}"))
    return int(head)


def beyond_head(at: int, session: str, head: int) -> Said:
    said = _("at is %(at)d, but session %(session)s stands at %(head)d")
    return Said(said, at=at, session=f"{session!r:.100}", head=head)


def _listed(session: Listed) -> dict[str, object]:
    shown = asdict(session)
    for name in ("active", "is_outdated", "turn_since", "is_long_silent", "is_past"):
        del shown[name]
    return shown


def _data(text: str, masks: Masks) -> dict[str, Any]:
    """A stored row that does not read must not hide its neighbours."""
    try:
        data = json.loads(text)
        encode(data)
    except (ValueError, RecursionError) as error:
        return {"data": None, "problem": f"does not read: {error!s:.200}"}
    return {"data": masks.data(data)}
