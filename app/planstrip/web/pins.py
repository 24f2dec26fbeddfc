"""Which sessions a reader has pinned or muted, as their browser tells in the cookies that `marks.js` keeps."""

import json
from dataclasses import replace
from typing import Final
from urllib.parse import unquote

from starlette.requests import Request

from planstrip.errors import PlanstripError
from planstrip.intake.check import check_session_id
from planstrip.web.board import Query

MAX_MARKED: Final = 100  # more than a cookie holds of the ids that agents give


def marking(query: Query, request: Request) -> Query:
    """The board's query, with what this reader has pinned, in that order, and muted."""
    return replace(query, pinned=_marked(request, "planstrip-pinned"), muted=_marked(request, "planstrip-muted"))


def _marked(request: Request, name: str) -> tuple[str, ...]:
    """Whatever else a cookie holds is nothing of ours."""
    try:
        found = json.loads(unquote(request.cookies.get(name, "")))
    except (ValueError, RecursionError):
        return ()
    return tuple(dict.fromkeys(filter(_is_id, found[:MAX_MARKED]))) if isinstance(found, list) else ()


def _is_id(value: object) -> bool:
    try:
        return isinstance(value, str) and check_session_id(value) == value
    except PlanstripError:
        return False
