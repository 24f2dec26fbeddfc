"""What somebody asks to show by a view token, checked: over the REST API and at the command line."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from planstrip.errors import Invalid
from planstrip.intake.check import check_session_id
from planstrip.plan.todos import Problem
from planstrip.view_tokens import Wish
from planstrip.web.schemas import ViewTokenBody


def wish_of(body: Mapping[str, object]) -> Wish:
    """Of a body as OpenAPI describes it. Raises Invalid."""
    try:
        read = ViewTokenBody.model_validate(body, strict=True)
    except ValidationError as error:
        raise Invalid.of([_problem(fault) for fault in error.errors(include_url=False)]) from None
    if (read.session is None) == (read.board is None):
        raise Invalid.of([Problem("session", "expected either a session or a board")])
    if read.session is not None:
        check_session_id(read.session, "session")
    board = read.board.model_dump(exclude_none=True) if read.board else {}
    return Wish(read.session, board, read.label, read.expires_in_s)


def _problem(fault: Any) -> Problem:
    path = ".".join(map(str, fault["loc"]))
    return Problem(path, f"{path} is {fault['input']!r:.60}: {fault['msg']}")
