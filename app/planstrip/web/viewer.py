"""What a person does on a session's page, as its forms send it (spec.md §9)."""

from contextlib import suppress
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from planstrip import projection
from planstrip.errors import Conflict
from planstrip.intake.check import check_data, check_session_id
from planstrip.intake.payload import content_type, read_body, text_of
from planstrip.intake.record import dismiss, record
from planstrip.parts import Parts, parts_of
from planstrip.web.api import require_session
from planstrip.web.ledger_labels import BY_PAGE, key_of
from planstrip.web.links import session_url

MAX_FORM_BYTES = 16 * 1024


async def dismiss_form(request: Request) -> Response:
    """Dismiss the dropped to-do that `item` names; one that is gone by now is dismissed already."""
    session, parts = check_session_id(request.path_params["session"]), parts_of(request)
    form = await _form(request)
    content = await run_in_threadpool(_unlisted, parts, session, form.get("item", [""])[0])
    if content is not None:
        with suppress(Conflict):  # another window was faster
            await dismiss(parts.writer, session, check_data("viewer/dismiss", {"content": content, "by": BY_PAGE}))
    return _done(request, session)


async def retire_form(request: Request) -> Response:
    return await _act(request, "viewer/retire")


async def restore_form(request: Request) -> Response:
    return await _act(request, "viewer/restore")


async def _act(request: Request, type_: str) -> Response:
    session, parts = check_session_id(request.path_params["session"]), parts_of(request)
    await _form(request)
    await run_in_threadpool(_require, parts, session)
    with suppress(Conflict):  # it has been done by now, or the agent has written since: the page shows which
        await record(parts.writer, session, [check_data(type_, {"by": BY_PAGE})])
    return _done(request, session)


async def _form(request: Request) -> dict[str, list[str]]:
    content_type(request, "application/x-www-form-urlencoded")
    return parse_qs(text_of(await read_body(request, MAX_FORM_BYTES)))


def _done(request: Request, session: str) -> Response:
    if "hx-request" in request.headers:
        return Response(status_code=204)  # the stream brings what changed
    kept = {name: value for name, value in request.query_params.items() if name in ("lang", "theme")}
    return RedirectResponse(session_url(parts_of(request).settings.root_path, session, kept), 303)


def _require(parts: Parts, session: str) -> None:
    with parts.engine.connect() as connection:
        require_session(connection, session)


def _unlisted(parts: Parts, session: str, key: str) -> str | None:
    with parts.engine.connect() as connection:
        unlisted = projection.current(connection, session).unlisted
    return next((item.content for item in unlisted if key_of(parts.masks.text(item.content)) == key), None)
