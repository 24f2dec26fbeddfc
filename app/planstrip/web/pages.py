"""The pages: the board, a session, an embedded strip (spec.md §10)."""

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from planstrip import projection
from planstrip.errors import Invalid
from planstrip.intake.check import check_session_id
from planstrip.parts import Parts, parts_of
from planstrip.plan.todos import Problem
from planstrip.web import board_labels, labels
from planstrip.web.board import query_of, read_board
from planstrip.web.board_contexts import BoardPage
from planstrip.web.contexts import EmbedPage, Frame, Partial, SessionPage
from planstrip.web.languages import negotiate, translations
from planstrip.web.links import board_stream_url, dismiss_url, older_url, stream_url


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
    session, parts, lang = check_session_id(request.path_params["session"]), parts_of(request), language(request)
    with parts.engine.connect() as connection:
        view = projection.view(connection, session)
    tr, root = translations(lang), parts.settings.root_path
    dismiss = dismiss_url(root, session, lang)
    page = SessionPage(
        frame=frame(request, lang),
        session=session,
        exists=view.changed > 0,
        head=labels.head(session, view.standing, tr, parts.clock()),
        strip=labels.strip(view.standing, tr, dismiss_url=dismiss),
        unlisted=labels.unlisted_alone(view.standing, dismiss, tr),
        revisions=parts.renderer.cached_revisions(session, view.window, lang),
        turns=[parts.renderer.turn_context(session, turn, lang) for turn in view.window.turns],
        older_url=older_url(root, session, lang, view.window),
        stream_url=stream_url(root, "sessions", session, view.changed, lang),
        position=view.changed,
    )
    return html(parts, "session/show.html", lang, page)


def older_rows(request: Request) -> Response:
    """The rows before `?before=`, put above those shown, into their turn where it is there already."""
    session, parts, lang = check_session_id(request.path_params["session"]), parts_of(request), language(request)
    before = _before(request)
    with parts.engine.connect() as connection:
        window = projection.window_before(connection, session, before)
        shown = projection.turn_at(connection, session, before)
    renderer = parts.renderer
    partials = [Partial("#older", "outerHTML", renderer.older(lang, older_url(renderer.root, session, lang, window)))]
    for turn in reversed(window.turns):
        if turn.position == shown:
            rows = "".join(renderer.cached_row(session, row, lang) for row in turn.rows)
            partials.append(Partial(f"#turn-{shown}-rows", "afterbegin", rows))
        else:
            html_of_turn = renderer.turn(lang, renderer.turn_context(session, turn, lang))
            partials.append(Partial("#turns", "afterbegin", html_of_turn))
    return HTMLResponse(renderer.frame(partials), headers={"Cache-Control": "no-store"})


def embed(request: Request) -> Response:
    session, parts, lang = check_session_id(request.path_params["session"]), parts_of(request), language(request)
    with parts.engine.connect() as connection:
        standing = projection.current(connection, session)
    position = standing.embed_changed
    is_open = request.query_params.get("open", "").lower() in ("1", "true", "yes", "open")
    tr = translations(lang)
    page = EmbedPage(
        frame=frame(request, lang),
        session=session,
        exists=position > 0,
        head=labels.head(session, standing, tr, parts.clock()),
        strip=labels.strip(standing, tr, is_open=is_open),
        stream_url=stream_url(
            parts.settings.root_path, "embed", session, position, lang, request.query_params.get("token")
        ),
        position=position,
        is_open=is_open,
    )
    return html(parts, "embed/show.html", lang, page)


def _before(request: Request) -> int:
    given = request.query_params.get("before", "")
    if given.isascii() and given.isdecimal() and len(given) <= 18:
        return int(given)
    message = f"before is {given[:40]!r}; expected a position"
    raise Invalid(message, [Problem("before", message)])


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
