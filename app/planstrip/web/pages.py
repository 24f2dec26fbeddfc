"""The pages: the board, a session, an embedded strip (spec.md §10)."""

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from planstrip import past, projection
from planstrip.errors import Invalid, NotFound
from planstrip.families import with_family
from planstrip.intake.check import check_session_id
from planstrip.parts import Parts, parts_of
from planstrip.plan.children import Family
from planstrip.plan.todos import Problem
from planstrip.plan.view import View
from planstrip.web import board_labels, drawing, hints, kinship, labels, strip_labels
from planstrip.web.api import require_session
from planstrip.web.board import query_of, read_board
from planstrip.web.board_contexts import BoardPage
from planstrip.web.contexts import Frame, Partial
from planstrip.web.languages import negotiate, translations
from planstrip.web.links import board_stream_url, older_url, past_url, stream_url
from planstrip.web.past_labels import past_bar, plan_list
from planstrip.web.session_contexts import EmbedPage, SessionPage


def board(request: Request) -> Response:
    parts, lang, query = parts_of(request), language(request), dict(request.query_params)
    shown = board_labels.board_list(read_board(parts, query_of(query)), root_of(request), query, translations(lang))
    kept = {name: value for name, value in query.items() if name not in ("q", "after")}
    page = BoardPage(
        frame=frame(request, lang),
        shown=shown,
        query=query.get("q", ""),
        kept=kept,
        stream_url=board_stream_url(root_of(request), query, lang),
    )
    return html(parts, "board.html", lang, page)


def session_page(request: Request) -> Response:
    """The session as it stands; with `?at=` as it stood, where nothing moves and nothing can be done."""
    session, parts, lang = check_session_id(request.path_params["session"]), parts_of(request), language(request)
    at = moment_of(request, session)
    with parts.engine.connect() as connection:
        if at is None:
            view, stops = projection.view(connection, session), None
            view = with_family(connection, session, view, parts.clock())
        else:  # what its children were then is not known here
            view, stops = past.view_at(connection, session, at), past.stops(connection, session, at)
    tr, root, standing = translations(lang), parts.settings.root_path, view.standing
    acts = strip_labels.acts(root, session, standing, lang) if at is None else None
    now = parts.clock() if at is None else standing.updated_at
    page = SessionPage(
        frame=frame(request, lang),
        session=session,
        exists=at is not None or view.changed > 0,
        head=labels.head(session, standing, tr, now, kinship.parent(view.family, root, lang), view.family),
        strip=strip_labels.strip(
            view, tr, now=now, is_open=at is not None, acts=acts, worked=drawing.worked(view.timeline, tr)
        ),
        unlisted=strip_labels.unlisted_alone(standing, acts, tr),
        retired=strip_labels.retired(root, session, standing, lang, tr) if at is None else None,
        timeline=drawing.draw(view.timeline, tr),
        revisions=parts.renderer.cached_revisions(session, view.window, lang),
        plans=plan_list(root, session, standing, lang, tr),
        hint=hints.hint(view, tr) if at is None else None,
        children=kinship.children(view.family, root, lang, tr),
        turns=[parts.renderer.turn_context(session, turn, lang, view.family) for turn in view.window.turns],
        older_url=older_url(root, session, lang, view.window, at),
        stream_url=stream_url(root, "sessions", session, view.changed, lang) if at is None else None,
        position=view.changed if at is None else at,
        past=past_bar(root, session, standing, stops, dict(request.query_params), tr) if stops else None,
    )
    answer = html(parts, "session/show.html", lang, page)
    if at is not None and "hx-request" in request.headers and "hx-history-restore-request" not in request.headers:
        how = "HX-Replace-Url" if "play" in request.query_params else "HX-Push-Url"  # a replay is one step back
        answer.headers[how] = past_url(root, session, at, lang)  # the slider asks for a stop by its number
    return answer


def older_rows(request: Request) -> Response:
    """The rows before `?before=`, put above those shown, into their turn where it is there already."""
    session, parts, lang = check_session_id(request.path_params["session"]), parts_of(request), language(request)
    before, at = required_position(request, "before"), position_of(request, "at")
    with parts.engine.connect() as connection:
        window = projection.window_before(connection, session, before, until=at)
        shown = projection.turn_at(connection, session, before)
        view = View(window=window)  # what its children were then is not known to a page of the past
        family = with_family(connection, session, view, parts.clock()).family if at is None else view.family
    renderer = parts.renderer
    partials = [
        Partial("#older", "outerHTML", renderer.older(lang, older_url(renderer.root, session, lang, window, at)))
    ]
    for turn in reversed(window.turns):
        if turn.position == shown:
            rows = "".join(renderer.whole_row(session, row, lang, family) for row in turn.rows)
            partials.append(Partial(f"#turn-{shown}-rows", "afterbegin", rows))
        else:
            html_of_turn = renderer.turn(lang, renderer.turn_context(session, turn, lang, family))
            partials.append(Partial("#turns", "afterbegin", html_of_turn))
    return HTMLResponse(renderer.frame(partials), headers={"Cache-Control": "no-store"})


def embed(request: Request) -> Response:
    session, parts, lang = check_session_id(request.path_params["session"]), parts_of(request), language(request)
    at = moment_of(request, session)
    with parts.engine.connect() as connection:
        standing = projection.current(connection, session) if at is None else past.standing_at(connection, session, at)
        now = parts.clock() if at is None else standing.updated_at
        family = with_family(connection, session, View(standing), now).family if at is None else Family()
    position = standing.embed_changed if at is None else at
    is_open = request.query_params.get("open", "").lower() in ("1", "true", "yes", "open")
    tr, root, token = translations(lang), parts.settings.root_path, request.query_params.get("token")
    page = EmbedPage(
        frame=frame(request, lang),
        session=session,
        exists=position > 0 or at is not None,
        head=labels.head(session, standing, tr, now, family=Family(heard_at=family.heard_at)),
        strip=strip_labels.strip(View(standing), tr, now=now, is_open=is_open),
        stream_url=stream_url(root, "embed", session, position, lang, token) if at is None else None,
        position=position,
        is_open=is_open,
    )
    return html(parts, "embed/show.html", lang, page)


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
        raise NotFound(f"at is {at}, but session {session!r:.100} stands at {head}")
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
    message = f"{name} is {given[:40]!r}; expected a position, 0 or more"
    return Invalid(message, [Problem(name, message)])


def root_of(request: Request) -> str:
    return parts_of(request).settings.root_path


def language(request: Request) -> str:
    return negotiate(request.query_params.get("lang"), request.headers.get("accept-language"))


def frame(request: Request, lang: str) -> Frame:
    theme = request.query_params.get("theme", "auto")
    query = f"?{request.url.query}" if request.url.query else ""
    root = parts_of(request).settings.root_path
    return parts_of(request).renderer.frame_context(lang, theme, root, request.url.path + query)


def html(parts: Parts, name: str, lang: str, page: object, status: int = 200) -> HTMLResponse:
    headers = {"Cache-Control": "no-store", "Content-Language": lang, "Vary": "Accept-Language, Cookie"}
    return HTMLResponse(parts.renderer.page(name, lang, page), status, headers)
