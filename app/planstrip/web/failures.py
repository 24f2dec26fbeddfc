"""The one handler of errors: problem+json for programs, a page for people."""

import logging
from dataclasses import replace
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from planstrip.db import is_stores, logged, said_by
from planstrip.errors import Full, Invalid, NotFound, PlanstripError, Said, Unavailable
from planstrip.errors import msgid as _
from planstrip.hooks.post import FULL_HEADER
from planstrip.logs import request_id
from planstrip.parts import parts_of
from planstrip.plan.todos import Problem
from planstrip.web.readers import reader_of

OUR_FAULT: Final = Said(_("something went wrong here; it is in the server's log"))
BY_STARLETTE: Final = (_("Method Not Allowed"),)  # its own titles, for the catalogue

log = logging.getLogger(__name__)


def answer(request: Request, error: PlanstripError, headers: dict[str, str] | None = None) -> Response:
    path = request.url.path[len(request.scope.get("root_path", "")) :] or "/"
    if "text/html" in request.headers.get("accept", "") and not path.startswith("/api/"):
        page = _page(request, error, is_framed=path == "/embed" or path.startswith("/embed/"))
        page.headers.update(headers or {})
        return page
    body: dict[str, Any] = {"title": error.title, "status": error.status, "detail": error.detail}
    if error.problems:
        body["errors"] = [{"path": problem.path, "message": problem.message} for problem in error.problems]
    if error.detail == OUR_FAULT and (known := request_id()) is not None:
        body["request_id"] = known
    return JSONResponse(body, error.status, headers, media_type="application/problem+json")


def _page(request: Request, error: PlanstripError, *, is_framed: bool) -> Response:
    from planstrip.web.contexts import ErrorPage
    from planstrip.web.languages import translations
    from planstrip.web.pages import frame, html, language  # pages import what raises these errors

    lang, around = language(request), frame(request, language(request))
    if reader_of(request).is_guest:
        around = replace(around, home_url=None)  # no token stands in an error, in a link neither
    tr, detail = translations(lang), error.detail
    told = detail.to(tr) if isinstance(detail, Said) else detail and tr.gettext(detail)
    page = ErrorPage(around, error.status, tr.gettext(error.title), told, is_framed)
    return html(parts_of(request), "error.html", lang, page, error.status)


def response_to(request: Request, error: Exception) -> Response:
    """The answer to whatever a handler raised; what is nobody's to mend is logged with its traceback."""
    if isinstance(error, PoolTimeout):
        error = Unavailable(Said(_("the store is busy: no connection to it came free; try again")))
    if isinstance(error, DBAPIError) and is_stores(error):
        log.error("the store failed: %s", logged(error), exc_info=error)
        told = (
            type(error.orig).__name__ if reader_of(request).is_guest else said_by(error)
        )  # it may name hosts and paths
        error = Unavailable(Said(_("the store did not answer: %(error)s"), error=told))
    if not isinstance(error, PlanstripError):
        log.error("a bug", exc_info=error)
        error = PlanstripError(OUR_FAULT)
    headers = {"Retry-After": str(error.retry_after_s)} if error.retry_after_s else {}
    return answer(request, error, headers | ({FULL_HEADER: "sessions"} if isinstance(error, Full) else {}))


async def _known(request: Request, error: Exception) -> Response:
    return response_to(request, error)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404:
        return answer(request, NotFound(Said(_("there is nothing at %(path)s"), path=request.url.path[:200])))
    known = PlanstripError(str(error.detail))
    known.status, known.title = error.status_code, str(error.detail)  # type: ignore[misc]
    return answer(request, known, dict(error.headers or {}))


async def _validation(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return answer(request, Invalid.of([_problem(fault) for fault in error.errors()]))


def _problem(fault: Any) -> Problem:
    """The parameter, the value seen and what was expected."""
    name = str(fault["loc"][-1])
    return Problem(name, f"{name} is {str(fault.get('input'))[:60]!r}: {fault['msg']}")


async def _bug(request: Request, _error: Exception) -> Response:
    return answer(request, PlanstripError(OUR_FAULT))


HANDLERS: Final[dict[Any, Any]] = {
    PlanstripError: _known,
    HTTPException: _http,
    RequestValidationError: _validation,
    DBAPIError: _known,
    PoolTimeout: _known,
    Exception: _bug,
}
