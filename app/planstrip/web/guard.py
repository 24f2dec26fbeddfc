"""The shut door: which Host, Origin and token may pass, and the headers on every answer (spec.md §10)."""

import hmac
import json
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from planstrip.errors import BadRequest, Forbidden, PlanstripError, Unauthorized
from planstrip.settings import Settings, bare_host
from planstrip.web.readers import READER, Reader
from planstrip.web.request_log import RequestLog, Served
from planstrip.web.view_door import Given, ViewDoor, asked, given
from planstrip.web.view_watch import ViewWatch

if TYPE_CHECKING:
    from itsdangerous import URLSafeTimedSerializer

COOKIE: Final = "planstrip"
COOKIE_MAX_AGE_S: Final = 30 * 24 * 3600
SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
STATUS: Final = "planstrip.status"  # the status of a sign-in page that stands in for another
FRAMED: Final = "planstrip.framed"  # whether a page that stands in for another does so in a frame
DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors "
)
# For what knows no `frame-ancestors`. It can name no other site, so where one may frame it says nothing.
_FRAME_OPTIONS: Final = {"'none'": b"DENY", "'self'": b"SAMEORIGIN"}


@dataclass(slots=True)
class Guard:
    """Raw ASGI around the app: what it refuses never reaches a route, and no answer leaves without its headers."""

    app: ASGIApp
    settings: Settings
    views: ViewDoor
    requests: RequestLog
    _signer: "URLSafeTimedSerializer | None" = field(default=None)
    _hosts: frozenset[str] = field(init=False)
    _watch: ViewWatch = field(init=False)

    def __post_init__(self) -> None:
        self._hosts = self.settings.hosts
        self._watch = ViewWatch(self.views)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope = self._mounted(scope)
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        path = self._path(scope)
        served = self.requests.begin(scope, path, headers.get(b"x-request-id"))
        try:
            await self._serve(scope, path, headers, receive, self._guarding(send, path, served))
        finally:
            self.requests.end(served)

    def _guarding(self, send: Send, path: str, served: Served) -> Send:
        """`send` with the headers that every answer has."""
        ancestors = self.settings.frame_ancestors if _is_under(path, "/embed") else "'none'"
        extra = [
            (b"content-security-policy", (_POLICY + ancestors).encode()),
            (b"referrer-policy", b"no-referrer"),
            (b"x-content-type-options", b"nosniff"),
            *([(b"x-frame-options", _FRAME_OPTIONS[ancestors])] if ancestors in _FRAME_OPTIONS else []),
            (b"x-request-id", served.id),
        ]

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                served.status = message["status"]
                message["headers"] = [*message.get("headers", ()), *extra]
            await send(message)

        return send_guarded

    async def _serve(self, scope: Scope, path: str, headers: dict[bytes, str], receive: Receive, send: Send) -> None:
        reader = None
        try:
            self._check_host(headers.get(b"host"))
            if scope["method"] not in SAFE_METHODS:
                _check_origin(headers)
            reader = await self._reader(scope, path, headers)
        except PlanstripError as error:
            if not isinstance(error, Unauthorized) or not _wants_html(headers, path):
                await _refuse(error, send)
                return
            scope = self._refused_page(scope, path, headers)
        await self._pass_on(scope, path, receive, send, reader)

    async def _reader(self, scope: Scope, path: str, headers: dict[bytes, str]) -> Reader | None:
        """Who holds a view token, which is asked before all else; None for whom the panel belongs to, or anybody."""
        if _is_for_all(path):
            return None
        view = self._view(scope, headers)
        if view is not None:
            return await self.views.admit(asked(scope["method"], path, scope["query_string"]), view)
        if self.settings.secret is not None:
            self._check_token(self.settings.secret, scope, path, headers)
        return None

    def _view(self, scope: Scope, headers: dict[bytes, str]) -> Given | None:
        view, secret = given(scope["query_string"], headers.get(b"authorization", "")), self.settings.secret
        return None if view is None or (secret and _same(view.token.encode(), secret)) else view

    async def _pass_on(self, scope: Scope, path: str, receive: Receive, send: Send, reader: Reader | None) -> None:
        if reader is None or reader.view is None:
            await self.app(scope, receive, send)
            return
        scope = {**scope, READER: reader}
        wanted = asked(scope["method"], path, scope["query_string"])
        if wanted is not None and wanted.is_stream:
            await self._watch.stream(self.app, scope, receive, send, reader.view, wanted)
        else:
            await self.app(scope, receive, send)

    def _mounted(self, scope: Scope) -> Scope:
        """The scope below the prefix, as ASGI has it, whether a proxy has taken the prefix off the path or not."""
        root, path = self.settings.root_path, scope["path"]
        if not root:
            return scope
        path = path if _is_under(path, root) else root + path
        return {**scope, "root_path": root, "path": f"{root}/" if path == root else path}

    def _path(self, scope: Scope) -> str:
        path: str = scope["path"]
        return path[len(self.settings.root_path) :]

    def _check_host(self, host: str | None) -> None:
        if host is None or bare_host(host) not in self._hosts:
            raise BadRequest(
                f"Host is {(host or '')[:80]!r}, which is not one of this panel's: set allowed_hosts to add it"
            )

    def _check_token(self, secret: str, scope: Scope, path: str, headers: dict[bytes, str]) -> None:
        if shows(headers.get(b"authorization", ""), secret):
            return
        if _is_under(path, "/embed"):  # framed by others, where a cookie would be another site's to spend
            query = parse_qs(scope["query_string"].decode("latin-1"))
            if any(_same(value.encode(), secret) for value in query.get("token", ())):
                return
        elif self._is_signed_in(headers.get(b"cookie", "")):
            return
        raise Unauthorized("this panel needs its token: send it as `Authorization: Bearer …`, or sign in on a page")

    def _refused_page(self, scope: Scope, path: str, headers: dict[bytes, str]) -> Scope:
        """The same request, led to the sign-in page, which leads back; a frame keeps no cookie, and is told so.

        No token goes along: whoever signs in needs none in the address.
        """
        is_framed = _is_under(path, "/embed")
        pairs = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        kept = urlencode([pair for pair in pairs if pair[0] != "token"])
        query = {name: value for name, value in pairs if name in ("lang", "theme")}
        if self._view(scope, headers) is not None:
            page = "/view-refused"
        elif is_framed:
            page = "/embed-refused"
        else:
            page, query = "/sign-in", {"next": scope["path"] + (f"?{kept}" if kept else ""), **query}
        path = self.settings.root_path + page
        encoded = urlencode(query).encode()
        told = {STATUS: 401, FRAMED: is_framed}
        return {**scope, "method": "GET", "path": path, "raw_path": path.encode(), "query_string": encoded, **told}

    def cookie_value(self) -> str:
        value: str = self._serializer().dumps("signed in")
        return value

    def _is_signed_in(self, cookie: str) -> bool:
        from itsdangerous import BadData

        try:
            morsel = SimpleCookie(cookie).get(COOKIE)
            return morsel is not None and bool(self._serializer().loads(morsel.value, max_age=COOKIE_MAX_AGE_S))
        except (BadData, CookieError):
            return False

    def _serializer(self) -> "URLSafeTimedSerializer":
        """Keyed by the token itself: a new token signs everybody out."""
        from itsdangerous import URLSafeTimedSerializer  # only where a token is set

        if self._signer is None:
            self._signer = URLSafeTimedSerializer(self.settings.secret or "", salt="planstrip-sign-in")
        return self._signer


def _check_origin(headers: dict[bytes, str]) -> None:
    origin = headers.get(b"origin")
    if origin is None:
        if headers.get(b"sec-fetch-site", "none") not in ("none", "same-origin"):
            raise Forbidden("a page of another site may not write here (Sec-Fetch-Site)")
        return
    if origin == "null" and headers.get(b"sec-fetch-site") == "same-origin":
        return  # our own form: under `Referrer-Policy: no-referrer` a browser tells no origin, but it vouches
    if _authority(origin, origin) != _authority("//" + headers.get(b"host", ""), origin):
        raise Forbidden(f"Origin is {origin[:80]!r}, but this panel is {headers.get(b'host', '')[:80]!r}")


def _authority(url: str, origin: str) -> tuple[str | None, int | None]:
    try:
        parts = urlsplit(url)
        return parts.hostname, parts.port or DEFAULT_PORTS.get(urlsplit(origin).scheme)
    except ValueError:
        return None, -1 if url == origin else -2


def _wants_html(headers: dict[bytes, str], path: str) -> bool:
    is_page = path == "/" or _is_under(path, "/sessions") or _is_under(path, "/embed") or path == "/docs"
    return is_page and not path.endswith("/stream") and "text/html" in headers.get(b"accept", "")


def _is_for_all(path: str) -> bool:
    return path in ("/healthz", "/sign-in") or _is_under(path, "/static")


def _is_under(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(prefix + "/")


def shows(authorization: str, secret: str) -> bool:
    """Whether the header, as latin-1 reads it, is the bearer's of the panel's own token."""
    kind, _, given = authorization.partition(" ")
    return kind.lower() == "bearer" and _same(given.strip().encode("latin-1"), secret)


def _same(given: bytes, secret: str) -> bool:
    return hmac.compare_digest(given, secret.encode())


async def _refuse(error: PlanstripError, send: Send) -> None:
    body = json.dumps({"title": error.title, "status": error.status, "detail": error.detail}).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode())]
    if error.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
