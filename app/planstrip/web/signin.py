"""The sign-in page: it takes the token once and keeps a signed cookie (spec.md §10)."""

import hmac
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from planstrip.intake.payload import content_type, read_body, text_of
from planstrip.parts import parts_of
from planstrip.web.contexts import ErrorPage, SignInPage
from planstrip.web.guard import COOKIE, COOKIE_MAX_AGE_S, FRAMED, STATUS, Guard
from planstrip.web.languages import translations
from planstrip.web.pages import frame, html, language

MAX_FORM_BYTES = 16 * 1024


async def sign_in_page(request: Request) -> Response:
    return _page(request, request.query_params.get("next", ""), request.scope.get(STATUS, 200), is_wrong=False)


async def embed_refused(request: Request) -> Response:
    """What a frame without its token shows: signing in there would lead nowhere, since a frame takes no cookie."""
    parts, lang = parts_of(request), language(request)
    tr = translations(lang)
    detail = tr.gettext("This frame needs the panel's token in its address: /embed/…?token=…")
    page = ErrorPage(frame(request, lang), 401, tr.gettext("Token needed"), detail, is_framed=True)
    return html(parts, "error.html", lang, page, 401)


async def view_refused(request: Request) -> Response:
    """What a person with a view token that opens nothing here is shown: the same, whatever is wrong with it."""
    parts, lang = parts_of(request), language(request)
    tr = translations(lang)
    detail = tr.gettext("This link has ended, or it is for something else. Ask whoever sent it for a new one.")
    around, is_framed = replace(frame(request, lang), home_url=None), request.scope.get(FRAMED, False)
    page = ErrorPage(around, 401, tr.gettext("Nothing is open here"), detail, is_framed)
    return html(parts, "error.html", lang, page, 401)


async def sign_in(request: Request) -> Response:
    parts = parts_of(request)
    content_type(request, "application/x-www-form-urlencoded")
    form = parse_qs(text_of(await read_body(request, MAX_FORM_BYTES)))
    back, given = form.get("next", [""])[0], form.get("token", [""])[0].strip()
    secret = parts.settings.secret
    if secret is None or not hmac.compare_digest(given.encode(), secret.encode()):
        return _page(request, back, 401, is_wrong=True)
    response = RedirectResponse(_local(back, parts.settings.root_path), 303)
    guard: Guard = request.app.state.guard
    response.set_cookie(
        COOKIE,
        guard.cookie_value(),
        max_age=COOKIE_MAX_AGE_S,
        path=parts.settings.root_path or "/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )
    return response


def _page(request: Request, back: str, status: int, *, is_wrong: bool) -> Response:
    parts, lang = parts_of(request), language(request)
    page = SignInPage(frame(request, lang), _local(back, parts.settings.root_path), is_wrong)
    response = html(parts, "sign_in.html", lang, page, status)
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def _local(back: str, root: str) -> str:
    """A path of this panel and nothing else: `//elsewhere`, `////elsewhere` and `/\\elsewhere` lead away."""
    try:
        parts = urlsplit(back.replace("\\", "/"))
    except ValueError:
        return f"{root}/"
    is_path = not parts.scheme and not parts.netloc and parts.path.isprintable() and not parts.path.startswith("//")
    is_here = is_path and parts.path.startswith(f"{root}/")
    return (parts.path + (f"?{parts.query}" if parts.query else "")) if is_here else f"{root}/"
