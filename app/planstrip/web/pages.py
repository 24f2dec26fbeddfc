"""The pages: the board, and a session as it stands or stood (spec.md §10)."""

from gettext import NullTranslations

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from planstrip import past, projection
from planstrip.errors import Invalid, NotFound, Said
from planstrip.errors import msgid as _
from planstrip.families import with_family
from planstrip.intake.check import check_session_id
from planstrip.parts import Parts, parts_of
from planstrip.plan.returned import mark
from planstrip.plan.todos import Problem
from planstrip.plan.view import View
from planstrip.web import board_labels, drawing, hints, kinship, labels, pins, strip_labels, timeline_labels
from planstrip.web.api import beyond_head, require_session
from planstrip.web.board import query_of, read_board
from planstrip.web.board_contexts import BoardPage
from planstrip.web.contexts import Frame, Partial
from planstrip.web.languages import negotiate, translations
from planstrip.web.links import board_stream_url, board_url, older_revisions_url, older_url, past_url, stream_url
from planstrip.web.past_labels import past_bar, plan_list
from planstrip.web.readers import reader_of
from planstrip.web.session_contexts import SessionPage
from planstrip.web.strip_contexts import Acts, Strip


def board(request: Request) -> Response:
    parts, lang, reader, root = parts_of(request), language(request), reader_of(request), root_of(request)
    query = board_labels.own_query(request.query_params, reader)
    shown = board_labels.board_list(
        read_board(parts, pins.marking(query_of(query, reader), request)), root, query, translations(lang), reader
    )
    kept = {name: value for name, value in query.items() if name not in ("q", "after")}
    page = BoardPage(
        frame=frame(request, lang),
        shown=shown,
        query=None if reader.is_guest else query.get("q", ""),
        kept=kept,
        stream_url=board_stream_url(root, query, lang),
    )
    return html(parts, "board.html", lang, page)


def session_page(request: Request) -> Response:
    """The session as it stands; with `?at=` as it stood, where nothing moves and nothing can be done."""
    session, parts, lang = check_session_id(request.path_params["session"]), parts_of(request), language(request)
    at, reader = moment_of(request, session), reader_of(request)
    with parts.engine.connect() as connection:
        if at is None:
            view, stops = projection.view(connection, session), None
            view = view if reader.is_guest else with_family(connection, session, view, parts.clock())
        else:  # what its children were then is not known here
            view, stops = past.view_at(connection, session, at), past.stops(connection, session, at)
    view = parts.masks.of(view)
    tr, root, standing = translations(lang), parts.settings.root_path, view.standing
    acts = strip_labels.acts(root, session, standing, lang, reader) if at is None else None
    now = parts.clock() if at is None else standing.updated_at
    page = SessionPage(
        frame=frame(request, lang),
        session=session,
        exists=at is not None or view.changed > 0,
        head=labels.head(session, standing, tr, now, kinship.parent(view.family, root, lang), view.family),
        strip=_strip(view, acts, tr, now, is_past=at is not None),
        unlisted=strip_labels.unlisted_alone(standing, acts, tr),
        retired=strip_labels.retired(root, session, standing, lang, tr, reader) if at is None else None,
        timeline=drawing.draw(view.timeline, tr),
        revisions=parts.renderer.cached_revisions(session, view.window, lang),
        older_revisions_url=older_revisions_url(root, session, lang, view.revisions_begin, reader.kept),
        plans=plan_list(root, session, standing, lang, tr, reader),
        hint=hints.hint(view, tr) if at is None else None,
        children=kinship.children(view.family, root, lang, tr),
        turns=[parts.renderer.turn_context(session, turn, lang, view.family) for turn in view.window.turns],
        older_url=older_url(root, session, lang, view.window, at, reader.kept),
        stream_url=stream_url(root, "sessions", session, view.changed, lang, **reader.kept) if at is None else None,
        position=view.changed if at is None else at,
        past=past_bar(root, session, standing, stops, request.query_params, tr, reader) if stops else None,
    )
    answer = html(parts, "session/show.html", lang, page)
    if at is not None and "hx-request" in request.headers and "hx-history-restore-request" not in request.headers:
        how = "HX-Replace-Url" if "play" in request.query_params else "HX-Push-Url"  # a replay is one step back
        answer.headers[how] = past_url(root, session, at, lang, reader.kept)  # the slider asks for a stop by its number
    return answer


def _strip(view: View, acts: Acts | None, tr: NullTranslations, now: int, *, is_past: bool) -> Strip | None:
    worked = timeline_labels.worked(view.timeline, tr)
    return strip_labels.strip(view, tr, now=now, is_open=is_past, is_past=is_past, acts=acts, worked=worked)


def older_rows(request: Request) -> Response:
    """The rows before `?before=`, put above those shown, into their turn where it is there already."""
    session, parts, lang = check_session_id(request.path_params["session"]), parts_of(request), language(request)
    before, at, reader = required_position(request, "before"), position_of(request, "at"), reader_of(request)
    with parts.engine.connect() as connection:
        window = mark(
            projection.window_before(connection, session, before, until=at),
            projection.current(connection, session).returned,
        )
        shown = projection.turn_at(connection, session, before)
        view = View(window=window)  # what its children were then is not known to a page of the past
        is_alone = at is not None or reader.is_guest
        view = view if is_alone else with_family(connection, session, view, parts.clock())
    view = parts.masks.of(view)
    renderer, window, family = parts.renderer, view.window, view.family
    further = older_url(renderer.root, session, lang, window, at, reader.kept)
    partials = [Partial("#older", "outerHTML", renderer.older(lang, further))]
    for turn in reversed(window.turns):
        if turn.position == shown:
            rows = "".join(renderer.whole_row(session, row, lang, family) for row in turn.rows)
            partials.append(Partial(f"#turn-{shown}-rows", "afterbegin", rows))
        else:
            html_of_turn = renderer.turn(lang, renderer.turn_context(session, turn, lang, family))
            partials.append(Partial("#turns", "afterbegin", html_of_turn))
    return HTMLResponse(renderer.frame(partials), headers={"Cache-Control": "no-store"})


def moment_of(request: Request, session: str) -> int | None:
    """The position that `?at=` names, or the write of `?stop=`, as the slider asks. Raises NotFound beyond the head."""
    at, stop = position_of(request, "at"), position_of(request, "stop")
    if at is None and stop is None:
        return None
    with parts_of(request).engine.connect() as connection:
        head = require_session(connection, session)
        if stop is not None:
            at = past.stop_at(connection, session, stop) or head
    assert at is not None
    if at > head:
        raise NotFound(beyond_head(at, session, head))
    return at


def required_position(request: Request, name: str) -> int:
    found = position_of(request, name)
    if found is None:
        raise bad_position(name, "")
    return found


def position_of(request: Request, name: str) -> int | None:
    given = request.query_params.get(name)
    if given is None or (given.isascii() and given.isdecimal() and len(given) <= 18):
        return None if given is None else int(given)
    raise bad_position(name, given)


def bad_position(name: str, given: str) -> Invalid:
    message = Said(_("%(name)s is %(given)s; expected a position, 0 or more"), name=name, given=repr(given[:40]))
    return Invalid(message, [Problem(name, message)])


def root_of(request: Request) -> str:
    return parts_of(request).settings.root_path


def language(request: Request) -> str:
    return negotiate(request.query_params.get("lang"), request.headers.get("accept-language"))


def frame(request: Request, lang: str) -> Frame:
    theme = request.query_params.get("theme", "auto")
    query = f"?{request.url.query}" if request.url.query else ""
    root, reader = root_of(request), reader_of(request)
    is_home_open = reader.view is None or reader.view.session is None
    home_url = board_url(root, reader.kept) if is_home_open else None
    return parts_of(request).renderer.frame_context(lang, theme, root, request.url.path + query, home_url)


def html(parts: Parts, name: str, lang: str, page: object, status: int = 200) -> HTMLResponse:
    headers = {"Cache-Control": "no-store", "Content-Language": lang, "Vary": "Accept-Language, Cookie"}
    return HTMLResponse(parts.renderer.page(name, lang, page), status, headers)
