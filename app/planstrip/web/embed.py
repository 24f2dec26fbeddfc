"""What other people's pages frame: a session's strip with its last rows, and the strips of several (spec.md §10)."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from planstrip import past, projection
from planstrip.errors import Invalid, Said
from planstrip.errors import msgid as _
from planstrip.families import with_family
from planstrip.intake.check import check_session_id
from planstrip.parts import parts_of
from planstrip.plan.todos import Problem
from planstrip.plan.view import View
from planstrip.web.embed_contexts import EmbedPage, SeveralPage, Size
from planstrip.web.framed import Framing
from planstrip.web.languages import translations
from planstrip.web.links import several_stream_url, stream_url
from planstrip.web.pages import frame, html, language, moment_of, root_of

MAX_SESSIONS: Final = 50
MAX_ROWS: Final = 50


def embed(request: Request) -> Response:
    """One session's strip as it stands, or with `?at=` as it stood; `?rows=N` adds its last N tool rows."""
    session, parts, lang = check_session_id(request.path_params["session"]), parts_of(request), language(request)
    rows, at = rows_of(request), moment_of(request, session)
    with parts.engine.connect() as connection:
        if at is not None:
            view = past.view_at(connection, session, at)
        else:
            view = projection.view(connection, session) if rows else View(projection.current(connection, session))
            view = with_family(connection, session, view, parts.clock())
    view = parts.masks.of(view)
    framing, standing = Framing(parts, lang), view.standing
    then = None if at is None else standing.updated_at
    position = framing.place(view, rows) if at is None else at
    more = passed_on(request) | ({"rows": str(rows)} if rows else {})
    page = EmbedPage(
        frame=frame(request, lang),
        session=session,
        exists=position > 0 or at is not None,
        head=framing.head(session, view, then),
        strip=framing.strip(standing, then, is_open=is_open(request)),
        stream_url=stream_url(root_of(request), "embed", session, position, lang, **more) if at is None else None,
        position=position,
        size=size(request),
        rows=framing.rows(session, view, rows) if rows else None,
    )
    return html(parts, "embed/show.html", lang, page)


def embed_several(request: Request) -> Response:
    """The strips of the sessions that `?session=a&session=b` names, in that order, on one stream."""
    sessions, parts, lang = sessions_of(request), parts_of(request), language(request)
    for name in ("at", "rows"):
        if name in request.query_params:
            raise unusable(name, Said(_("%(name)s is for one session alone: /embed/{session}?%(name)s=…"), name=name))
    with parts.engine.connect() as connection:
        standing = {session: View(projection.current(connection, session)) for session in sessions}
        views = {
            session: parts.masks.of(with_family(connection, session, view, parts.clock()))
            for session, view in standing.items()
        }
    framing = Framing(parts, lang)
    number = translations(lang).ngettext("%(num)d session", "%(num)d sessions", len(sessions)) % {"num": len(sessions)}
    page = SeveralPage(
        frame=frame(request, lang),
        tab=f"{number} \u00b7 planstrip",
        sessions=[framing.one(one, views[one], is_open=is_open(request)) for one in sessions],
        stream_url=several_stream_url(root_of(request), sessions, lang, passed_on(request)),
        size=size(request),
    )
    return html(parts, "embed/several.html", lang, page)


def sessions_of(request: Request) -> list[str]:
    """Each `?session=` once, in the order given. Raises Invalid for none, and for more than one frame can hold."""
    sessions = list(dict.fromkeys(map(check_session_id, request.query_params.getlist("session"))))
    if not sessions:
        raise unusable(
            "session", Said(_("session is missing; expected /embed?session=…&session=…, or /embed/{session}"))
        )
    if len(sessions) > MAX_SESSIONS:
        told = Said(
            _("session is given %(count)d times; expected at most %(most)d"), count=len(sessions), most=MAX_SESSIONS
        )
        raise unusable("session", told)
    return sessions


def rows_of(request: Request) -> int:
    """How many of its last tool rows `?rows=` adds. Raises Invalid for what is no number from 0 to 50."""
    given = request.query_params.get("rows", "0")
    if given.isascii() and given.isdecimal() and len(given) <= 3 and int(given) <= MAX_ROWS:
        return int(given)
    told = Said(_("rows is %(given)s; expected a number from 0 to %(most)d"), given=repr(given[:40]), most=MAX_ROWS)
    raise unusable("rows", told)


def is_open(request: Request) -> bool:
    return request.query_params.get("open", "").lower() in ("1", "true", "yes", "open")


def size(request: Request) -> Size:
    return "compact" if request.query_params.get("size") == "compact" else "regular"


def passed_on(request: Request) -> dict[str, str]:
    """What the frame's own stream must be asked with: a frame has no cookie to show."""
    token = request.query_params.get("token")
    return {"token": token} if token else {}


def unusable(name: str, message: Said) -> Invalid:
    return Invalid(message, [Problem(name, message)])
