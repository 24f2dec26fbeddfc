"""Who may reach which route: every route of the app, with every kind of token, right and wrong (spec.md §10)."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

import httpx
import pytest
from starlette.routing import BaseRoute, Route

from planstrip.main import create_app
from planstrip.settings import load
from planstrip.web.shortcut import PATH as SHORTCUT
from planstrip.web.view_door import OPENS, asked
from tests.running import Panel, Stream, running, todos
from tests.views import expired, forged, revoked, view

TOKEN: Final = "s3cret"
Access: TypeAlias = Literal["all", "owner", "session", "sessions", "board"]

# Who may: everybody, the holder of the panel's token, and a session's or a board's view token beside that one.
# A route that stands here with too much is a decision; one that does not stand here fails the tests.
ACCESS: Final[dict[tuple[str, str], Access]] = {
    ("GET", "/"): "board",
    ("GET", "/stream"): "board",
    ("GET", "/sessions/{session}"): "session",
    ("GET", "/sessions/{session}/rows"): "session",
    ("GET", "/sessions/{session}/stream"): "session",
    ("POST", "/sessions/{session}/dismiss"): "owner",
    ("POST", "/sessions/{session}/retire"): "owner",
    ("POST", "/sessions/{session}/restore"): "owner",
    ("GET", "/embed"): "sessions",
    ("GET", "/embed/sessions/streams"): "sessions",
    ("GET", "/embed/{session}"): "session",
    ("GET", "/embed/{session}/stream"): "session",
    ("GET", "/embed-refused"): "owner",
    ("GET", "/view-refused"): "owner",
    ("GET", "/sign-in"): "all",
    ("POST", "/sign-in"): "all",
    ("GET", "/docs"): "owner",
    ("GET", "/openapi.json"): "owner",
    ("GET", "/static/{name}"): "all",
    ("GET", "/favicon.ico"): "owner",
    ("*", "/mcp"): "owner",
    ("POST", "/api/sessions"): "owner",
    ("GET", "/api/sessions"): "owner",
    ("POST", "/api/sessions/{session}/events"): "owner",
    ("GET", "/api/sessions/{session}/events"): "owner",
    ("POST", "/api/sessions/{session}/todo_write"): "owner",
    ("GET", "/api/sessions/{session}/plan"): "session",
    ("GET", "/api/sessions/{session}/plan.md"): "session",
    ("GET", "/api/sessions/{session}/plan.svg"): "session",
    ("GET", "/api/sessions/{session}/stream"): "session",
    ("POST", "/api/sessions/{session}/retire"): "owner",
    ("POST", "/api/sessions/{session}/restore"): "owner",
    ("POST", "/api/sessions/{session}/dismiss"): "owner",
    ("POST", "/api/tokens"): "owner",
    ("GET", "/api/tokens"): "owner",
    ("DELETE", "/api/tokens/{token_id}"): "owner",
    ("POST", "/api/hooks/{agent}"): "owner",
    ("GET", "/healthz"): "all",
    ("GET", "/metrics"): "owner",
    ("GET", "/probe/stream"): "owner",
}
VIEWS: Final = [way for way, access in ACCESS.items() if access in ("session", "sessions", "board")]
VALUES: Final = {"session": "mine", "name": "nothing", "token_id": "0123456789abcdef", "agent": "codex"}


def ways_of(routes: list[BaseRoute]) -> set[tuple[str, str]]:
    """Every method and path. What is neither of the kinds of route that the app has is a door that nobody guards."""
    found = set()
    for route in routes:
        assert isinstance(route, Route), f"{route!r}: how is it guarded?"
        found |= {(method, route.path) for method in route.methods or ("*",) if method != "HEAD"}
    return found


@dataclass(frozen=True, slots=True)
class Guarded:
    """A panel with a token, and view tokens: two that open the session `mine`, and those that do not."""

    panel: Panel
    session: str
    board: str
    bad: dict[str, str]
    cookie: str


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, empty_log: bytes) -> Iterator[Guarded]:
    path = tmp_path_factory.mktemp("access") / "log.sqlite3"
    path.write_bytes(empty_log)
    with running(path, token=TOKEN) as panel:
        panel.client.headers["Authorization"] = f"Bearer {TOKEN}"
        for session in ("mine", "other"):
            start = {"type": "session/start", "data": {"agent": "codex", "cwd": f"/{session}"}}
            assert panel.append(session, start).status_code == 201
            assert panel.write(session, todos("x=i")).status_code == 200
        del panel.client.headers["Authorization"]
        signed_in = httpx.post(f"{panel.url}/sign-in", data={"token": TOKEN, "next": "/"}, trust_env=False)
        bad = {
            "another session's": view(panel, "other"),
            "a board's without it": view(panel, {"cwd": "/other"}),
            "expired": expired(panel, "mine"),
            "an expired board's": expired(panel, {}),
            "revoked": revoked(panel, "mine"),
            "forged": forged(panel, "mine"),
            "cut": view(panel, "mine")[:-1],
            "without a signature": view(panel, "mine").partition(".")[0],
            "empty": "view_",
        }
        yield Guarded(panel, view(panel, "mine"), view(panel, {"cwd": "/mine"}), bad, signed_in.cookies["planstrip"])


def ask(panel: Panel, method: str, path: str, token: str = "", **headers: str) -> int:
    """The status of a request; a stream is left once its head has come."""
    for name, value in VALUES.items():
        path = path.replace(f"{{{name}}}", value)
    path += {"/rows": "?before=1", "/embed": "?session=mine", "/streams": "?session=mine"}.get(
        path[path.rfind("/") :], ""
    )
    path += f"{'&' if '?' in path else '?'}token={token}" if token else ""
    if path.partition("?")[0].endswith(("/stream", "/streams")) and method == "GET":
        with Stream(panel.url, path, headers) as stream:
            return stream.status
    body: dict[str, object] | None = None if method in ("GET", "HEAD", "DELETE") else {}
    answer = panel.client.request(method.replace("*", "POST"), path, headers=headers, json=body)
    assert not panel.client.cookies
    return answer.status_code


def test_every_route_of_the_app_stands_in_the_table(tmp_path: Path) -> None:
    guard = create_app(load(allow_parallel_in_progress=True, database_url=f"sqlite:///{tmp_path / 'log.sqlite3'}"))
    app = guard.app.panel  # type: ignore[attr-defined]
    app.state.parts.engine.dispose()
    assert ways_of(app.routes) == set(ACCESS)
    assert SHORTCUT.pattern == "/api/sessions/([^/]+)/todo_write"  # what is taken past the router stands there too


def test_a_view_token_opens_what_the_table_says_and_no_more() -> None:
    assert dict(OPENS) == {path: ACCESS["GET", path] for _, path in VIEWS}
    for method, path in ACCESS:
        concrete = path.replace("{session}", "mine")
        assert (asked(method, concrete, b"session=mine") is not None) == ((method, path) in VIEWS)
        for other in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "get", ""):
            assert asked(other, concrete, b"session=mine") is None


def test_of_several_sessions_each_must_be_opened(guarded: Guarded) -> None:
    for path in ("/embed", "/embed/sessions/streams"):
        assert asked("GET", path) is None
        statuses = [
            ask(guarded.panel, "GET", f"{path}?{query}", guarded.session)
            for query in (
                "session=mine",
                "session=mine&session=mine",
                "session=mine&session=other",
                "session=other",
                "a=b",
            )
        ]
        assert statuses == [200, 200, 401, 401, 401]


@pytest.mark.parametrize("path", ["", "//", "/sessions", "/sessions/", "/sessions/mine/", "/sessions/mine/rows/", "/x"])
def test_what_only_looks_like_a_route_is_no_view(path: str) -> None:
    assert asked("GET", path) is None


@pytest.mark.parametrize("way", ACCESS, ids="{0[0]} {0[1]}".format)
def test_each_route_without_and_with_the_wrong_token_is_shut(guarded: Guarded, way: tuple[str, str]) -> None:
    wrong = {"Authorization": "Bearer wrong"}
    statuses = {ask(guarded.panel, *way), ask(guarded.panel, *way, **wrong), ask(guarded.panel, *way, token="wrong")}
    if way == ("POST", "/sign-in"):
        assert statuses == {415}
    elif ACCESS[way] == "all":
        assert statuses <= {200, 404}
    else:
        assert statuses == {401}


@pytest.mark.parametrize("way", ACCESS, ids="{0[0]} {0[1]}".format)
def test_each_route_with_the_panels_own_token_is_open(guarded: Guarded, way: tuple[str, str]) -> None:
    assert is_open(way, ask(guarded.panel, *way, Authorization=f"Bearer {TOKEN}"))
    status = ask(guarded.panel, *way, Cookie=f"planstrip={guarded.cookie}")
    assert status == 401 if f"{way[1]}/".startswith("/embed/") else is_open(way, status)  # a frame takes no cookie


def is_open(way: tuple[str, str], status: int) -> bool:
    """Past the door: whatever the route says to an empty body; two pages are themselves a 401."""
    says_401 = (("GET", "/embed-refused"), ("GET", "/view-refused"), ("POST", "/sign-in"))
    return status < 500 and status != 403 and (status != 401 or way in says_401)


@pytest.mark.parametrize("way", ACCESS, ids="{0[0]} {0[1]}".format)
def test_each_route_with_a_view_token_shows_its_session_and_nothing_else(
    guarded: Guarded, way: tuple[str, str]
) -> None:
    """R141: scoped to one session, read-only, expiring and revocable; what is not named is denied."""
    panel, access = guarded.panel, ACCESS[way]
    opened = {"session": access in ("session", "sessions"), "board": access in ("session", "sessions", "board")}
    for kind, token in (("session", guarded.session), ("board", guarded.board)):
        for status in (ask(panel, *way, token=token), ask(panel, *way, Authorization=f"Bearer {token}")):
            if access == "all":
                assert status in (200, 404, 415)
            else:
                assert status == (200 if opened[kind] else 401)


@pytest.mark.parametrize("way", ACCESS, ids="{0[0]} {0[1]}".format)
def test_each_route_with_a_view_token_for_something_else_is_shut(guarded: Guarded, way: tuple[str, str]) -> None:
    if ACCESS[way] == "all":
        return
    for kind, token in guarded.bad.items():
        if way[1] in ("/", "/stream") and kind == "a board's without it":
            continue
        assert ask(guarded.panel, *way, token=token) == 401, kind
        assert ask(guarded.panel, *way, Authorization=f"Bearer {token}") == 401, kind
        cookie = f"planstrip={guarded.cookie}"
        assert ask(guarded.panel, *way, token=token, Cookie=cookie) == 401, kind  # no cookie makes up for it


def test_a_view_token_writes_nothing(guarded: Guarded) -> None:
    before = guarded.panel.client.get("/api/sessions/mine/events", headers={"Authorization": f"Bearer {TOKEN}"}).json()
    for method, path in ACCESS:
        if method != "GET":
            ask(guarded.panel, method, path, token=guarded.session)
            ask(guarded.panel, method, path, token=guarded.board, Cookie=f"planstrip={guarded.cookie}")
    after = guarded.panel.client.get("/api/sessions/mine/events", headers={"Authorization": f"Bearer {TOKEN}"}).json()
    assert before == after


def test_a_head_is_answered_as_a_get_is(guarded: Guarded) -> None:
    for method, path in VIEWS:
        head, get = (ask(guarded.panel, asked, path, token=guarded.bad["expired"]) for asked in ("HEAD", method))
        assert head == get == 401
    assert ask(guarded.panel, "HEAD", "/sessions/{session}", token=guarded.session) == 200
