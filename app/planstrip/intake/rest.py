"""The writes of the REST API (spec.md §10)."""

import uuid
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from planstrip.errors import Invalid, TooLarge
from planstrip.eventlog import Draft
from planstrip.intake import payload
from planstrip.intake.check import (
    MAX_BATCH_BYTES,
    MAX_BATCH_EVENTS,
    MAX_PROBLEMS,
    check_data,
    check_event,
    check_session_id,
    shown,
)
from planstrip.intake.record import dismiss, record, start_session
from planstrip.intake.tool import todo_write
from planstrip.logs import concerning
from planstrip.parts import parts_of
from planstrip.plan.todos import Problem

START_KEYS: Final = ("id", "agent", "title", "cwd", "parent", "parent_call")
MAX_DIGITS: Final = 19
BATCH_KEYS: Final = ("events", "expected_position")


async def post_session(request: Request) -> Response:
    """Open a session; the same id again changes nothing."""
    payload.content_type(request, payload.JSON)
    body = payload.parse_object(payload.text_of(await payload.read_body(request)))
    _refuse_unknown(body, START_KEYS)
    session = body.pop("id", None)
    if session is None:
        session = uuid.uuid4().hex
    if not isinstance(session, str):
        raise Invalid.of([Problem("id", f"id must be a string, got {shown(session)}")])
    concerning(check_session_id(session))
    draft = _body_draft("session/start", {key: value for key, value in body.items() if value is not None})
    is_new, position = await start_session(parts_of(request).writer, session, draft)
    return JSONResponse({"id": session, "position": position}, status_code=201 if is_new else 200)


async def post_events(request: Request, session: str) -> Response:
    """Append events, all of them or none; as JSON, or as NDJSON, an event a line, with `?expected_position=`."""
    check_session_id(session)
    media_type = payload.content_type(request, payload.JSON, payload.NDJSON)
    text = payload.text_of(await payload.read_body(request))
    expected: object = request.query_params.get("expected_position")
    if isinstance(expected, str) and expected.isdecimal() and len(expected) < MAX_DIGITS:
        expected = int(expected)
    values: object
    if media_type == payload.NDJSON:
        values = _lines(text)
    else:
        body = payload.parse_object(text)
        _refuse_unknown(body, BATCH_KEYS)
        if expected is not None:
            message = "expected_position belongs into the body; in the address it is for NDJSON alone"
            raise Invalid(message, [Problem("expected_position", message)])
        values, expected = body.get("events"), body.get("expected_position")
    if expected is not None and (not isinstance(expected, int) or isinstance(expected, bool) or expected < 0):
        message = f"expected_position must be an integer from 0, got {shown(expected)}"
        raise Invalid(message, [Problem("expected_position", message)])
    drafts = _drafts(values)
    appended = await record(parts_of(request).writer, session, drafts, expected_position=expected)
    answer = {"first_position": min(appended.positions), "last_position": max(appended.positions)}
    return JSONResponse(answer, status_code=201)


async def post_todo_write(request: Request) -> Response:
    """The busiest route: nothing stands between the socket and the writer, so `web/docs.py` describes it by hand."""
    session = check_session_id(request.path_params["session"])
    payload.content_type(request, payload.JSON)
    raw = payload.text_of(await payload.read_body(request))
    arguments = payload.parse_object(raw)
    parts = parts_of(request)
    answer = await todo_write(
        parts.writer,
        session,
        arguments,
        raw,
        allow_parallel_in_progress=parts.settings.allow_parallel_in_progress,
    )
    return Response(answer.as_json(), media_type=payload.JSON)


async def viewer_act(request: Request, session: str, type_: str) -> None:
    """Record a `viewer/…` event with the body's optional `by`."""
    draft = await _viewer_draft(request, session, type_, ("by",))
    await record(parts_of(request).writer, session, [draft])


async def viewer_dismiss(request: Request, session: str) -> None:
    """Record a `viewer/dismiss` of the body's `content`."""
    draft = await _viewer_draft(request, session, "viewer/dismiss", ("content", "by"))
    await dismiss(parts_of(request).writer, session, draft)


async def _viewer_draft(request: Request, session: str, type_: str, keys: tuple[str, ...]) -> Draft:
    check_session_id(session)
    body: dict[str, Any] = {}
    text = payload.text_of(await payload.read_body(request))
    if text.strip():
        payload.content_type(request, payload.JSON)
        body = payload.parse_object(text)
    _refuse_unknown(body, keys)
    return _body_draft(type_, body)


def _body_draft(type_: str, body: dict[str, Any]) -> Draft:
    """The draft of an event whose data is the body itself: faults are named by their path in it."""
    try:
        return check_data(type_, body, path="body")
    except Invalid as error:
        prefix = "body.data."
        faults = [
            Problem(fault.path.removeprefix(prefix), fault.message.replace(prefix, "")) for fault in error.problems
        ]
        raise Invalid.of(faults) from None


def _drafts(values: object) -> list[Draft]:
    if not isinstance(values, list) or not values:
        message = f"events must be a list of 1 to {MAX_BATCH_EVENTS} events, got {shown(values)}"
        raise Invalid(message, [Problem("events", message)])
    if len(values) > MAX_BATCH_EVENTS:
        raise TooLarge(f"the batch has {len(values)} events; at most {MAX_BATCH_EVENTS} are taken")
    drafts = [check_event(value, f"events[{index}]") for index, value in enumerate(values)]
    size = sum(len(draft.data.encode()) + len(draft.type) for draft in drafts)
    if size > MAX_BATCH_BYTES:
        raise TooLarge(f"the batch has {size} bytes; at most {MAX_BATCH_BYTES} are taken")
    return drafts


def _lines(text: str) -> list[Any]:
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) > MAX_BATCH_EVENTS:
        raise TooLarge(f"the batch has {len(lines)} events; at most {MAX_BATCH_EVENTS} are taken")
    return [payload.parse(line, f"line {number}") for number, line in enumerate(lines, 1)]


def _refuse_unknown(body: dict[str, Any], known: tuple[str, ...]) -> None:
    problems = [
        Problem(key[:80], f"{key[:80]} is not a known key; expected {', '.join(known)}")
        for key in body
        if key not in known
    ]
    if problems:
        raise Invalid.of(problems[:MAX_PROBLEMS])
