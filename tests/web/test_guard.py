"""The shut door: Host, Origin, token, and the headers on every answer (spec.md §10)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.running import JSON, TIMEOUT_S, Panel, running, todos

TOKEN = "s3cret token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors {}"
)
EVERYWHERE = [
    "/",
    "/sessions/a",
    "/sessions/later",
    "/embed/a",
    "/embed",
    "/embed?session=a&session=later",
    "/embed/a?rows=x",
    "/embedded",
    "/docs",
    "/openapi.json",
    "/healthz",
    "/metrics",
    "/favicon.ico",
    "/sign-in",
    "/api/sessions",
    "/api/sessions/a/plan",
    "/api/sessions/a/plan.md",
    "/api/sessions/a/plan.svg",
    "/api/sessions/nobody/plan",
    "/api/sessions/a/plan?at=x",
    "/nothing",
    "/static/nothing",
    "/sessions/a/",
]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, empty_log: bytes) -> Iterator[Panel]:
    """A panel with a token, a further host and another site that may frame it."""
    path = tmp_path_factory.mktemp("guarded") / "log.sqlite3"
    path.write_bytes(empty_log)
    settings: dict[str, Any] = {
        "token": TOKEN,
        "allowed_hosts": "plans.example",
        "frame_ancestors": "'self' https://dash.example",
    }
    with running(path, **settings) as panel:
        panel.client.post("/api/sessions/a/todo_write", json={"todos": todos("x=i")}, headers=bearer(TOKEN))
        yield panel


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


# Headers


def is_embed(path: str) -> bool:
    return path.partition("?")[0] == "/embed" or path.startswith("/embed/")


def check_headers(answer: httpx.Response, ancestors: str | None = None) -> None:
    """`ancestors`: who may frame it. By default nobody, but what is made for frames this very panel."""
    if ancestors is None:
        ancestors = "'self'" if is_embed(answer.url.path) else "'none'"
    options = {"'self'": ["SAMEORIGIN"], "'none'": ["DENY"]}.get(ancestors, [])
    assert answer.headers.get_list("x-frame-options") == options, answer.url
    for name, value in (
        ("content-security-policy", POLICY.format(ancestors)),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
    ):
        assert answer.headers.get_list(name) == [value], answer.url


@pytest.mark.parametrize("path", EVERYWHERE)
def test_every_answer_carries_its_headers(shared_panel: Panel, path: str) -> None:
    shared_panel.write("a", todos("x=i"))
    check_headers(shared_panel.client.get(path))
    check_headers(shared_panel.client.post(path, json={}))
    check_headers(shared_panel.client.request("OPTIONS", path))
    check_headers(shared_panel.client.head(path))


def test_a_refusal_at_the_door_carries_them_too(shared_panel: Panel, guarded: Panel) -> None:
    for answer, status in (
        (shared_panel.client.get("/", headers={"Host": "evil.example"}), 400),
        (shared_panel.client.post("/api/sessions", json={}, headers={"Origin": "https://evil.example"}), 403),
        (guarded.client.get("/api/sessions"), 401),
        (guarded.client.get("/", headers={"Accept": "text/html"}), 401),
    ):
        assert answer.status_code == status
        check_headers(answer)


def test_a_bug_carries_them_too(shared_panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("planstrip.web.api.plan_of", fail)
    answer = httpx.get(f"{shared_panel.url}/api/sessions/a/plan", trust_env=False)  # the server closes after a bug
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert "ZeroDivision" not in answer.text
    check_headers(answer)


@pytest.mark.parametrize("path", ["/sessions/a/stream", "/embed/a/stream", "/api/sessions/a/stream"])
def test_a_stream_carries_them_too(shared_panel: Panel, path: str) -> None:
    shared_panel.write("a", todos("x=i"))
    with shared_panel.stream(path) as stream:
        ancestors = "'self'" if is_embed(path) else "'none'"
        assert stream.headers["content-security-policy"] == POLICY.format(ancestors)
        assert stream.headers["x-content-type-options"] == "nosniff"
        assert stream.headers["referrer-policy"] == "no-referrer"


def test_static_files_carry_them_too(shared_panel: Panel) -> None:
    page = shared_panel.client.get("/").text
    paths = [part.split('"')[0] for part in page.split('"/static/')[1:]]
    assert paths
    for path in paths:
        answer = shared_panel.client.get(f"/static/{path}")
        assert answer.status_code == 200
        check_headers(answer)


@pytest.mark.parametrize("path", EVERYWHERE)
def test_only_embeds_may_be_framed(guarded: Panel, path: str) -> None:
    """R132, R133: the older header can name no other site, so it is not sent where one may frame."""
    ancestors = "'self' https://dash.example" if is_embed(path) else "'none'"
    for headers in (bearer(TOKEN), {}, {"accept": "text/html"}):
        check_headers(guarded.client.get(path, headers=headers), ancestors)


def test_who_may_frame_nothing_is_told_so_twice(database: Path) -> None:
    with running(database, frame_ancestors="'none'") as panel:
        check_headers(panel.client.get("/embed/a"), "'none'")


# Host


@pytest.mark.parametrize(
    "host",
    ["localhost", "localhost:1", "LOCALHOST:8765", "127.0.0.1", "127.0.0.1:9", "[::1]", "[::1]:8765", "localhost."],
)
def test_a_loopback_host_is_answered_whatever_its_port(shared_panel: Panel, host: str) -> None:
    assert shared_panel.client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "evil.example:8765",
        "",
        "127.0.0.1.evil.example",
        "[::2]",
        "::1.evil",
        "localhost@evil.example",
        "0.0.0.0",
        "plans.example",
    ],
)
@pytest.mark.parametrize("path", ["/", "/healthz", "/api/sessions", "/static/x", "/sessions/a/stream"])
def test_any_other_host_is_refused(shared_panel: Panel, host: str, path: str) -> None:
    answer = shared_panel.client.get(path, headers={"Host": host})
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"


def test_a_host_that_was_allowed_is_answered(guarded: Panel) -> None:
    for host in ("plans.example", "plans.example:443", "PLANS.example", "localhost"):
        assert guarded.client.get("/healthz", headers={"Host": host}).status_code == 200


def test_the_ipv6_loopback_may_be_listened_on(database: Path) -> None:
    with running(database, host="::1") as panel:
        assert panel.parts.settings.base_url.startswith("http://[::1]:")
        assert panel.client.get("/healthz", headers={"Host": "[::1]:8765"}).status_code == 200


# Origin


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8765", "http://localhost:8765"),
        ("127.0.0.1:8765", "http://127.0.0.1:8765"),
        ("[::1]:8765", "http://[::1]:8765"),
        ("localhost", "http://localhost"),
        ("localhost:80", "http://localhost"),
        ("localhost", "http://localhost:80"),
        ("localhost", "https://localhost"),
        ("localhost:443", "https://localhost"),
        ("LOCALHOST:8765", "http://localhost:8765"),
    ],
)
def test_a_write_from_the_panels_own_page_is_taken(shared_panel: Panel, host: str, origin: str) -> None:
    headers = {"Host": host, "Origin": origin}
    body = {"todos": todos("x=i")}
    assert shared_panel.client.post("/api/sessions/o/todo_write", json=body, headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8765", "https://evil.example"),
        ("localhost:8765", "http://localhost:9999"),
        ("localhost:8765", "http://localhost"),
        ("localhost:8765", "http://127.0.0.1:8765"),
        ("localhost:8765", "http://sub.localhost:8765"),
        ("localhost:8765", "null"),
        ("localhost:8765", ""),
        ("localhost:8765", "http://localhost:8765.evil.example"),
        ("localhost:8765", "http://localhost:8765@evil.example"),
        ("localhost:8765", "http://localhost:port"),
        ("localhost", "http://localhost:443"),
        ("localhost", "chrome-extension://localhostx"),
        ("localhost", "file://"),
    ],
)
def test_a_write_from_elsewhere_is_refused_and_changes_nothing(shared_panel: Panel, host: str, origin: str) -> None:
    headers = {"Host": host, "Origin": origin}
    for path in ("/api/sessions/never/todo_write", "/api/sessions/never/events", "/api/sessions", "/sign-in"):
        answer = shared_panel.client.post(path, json={"todos": []}, headers=headers)
        assert answer.status_code == 403, path
        assert answer.headers["content-type"] == "application/problem+json"
    assert shared_panel.client.get("/api/sessions/never/plan").status_code == 404


def test_reading_is_not_writing(shared_panel: Panel) -> None:
    answer = shared_panel.client.get("/api/sessions", headers={"Origin": "https://evil.example"})
    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers


def test_a_browsers_word_for_another_site_is_enough(shared_panel: Panel) -> None:
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
        answer = shared_panel.client.post(
            "/api/sessions/o/todo_write", json={"todos": []}, headers={"Sec-Fetch-Site": site}
        )
        assert answer.status_code == status


def test_a_form_of_the_panels_own_page_has_no_origin_that_a_browser_would_tell(shared_panel: Panel) -> None:
    """Under `Referrer-Policy: no-referrer` a form is sent with `Origin: null`; the browser vouches for it otherwise."""
    post = shared_panel.client.post
    for site, status in (("same-origin", 200), ("cross-site", 403), ("same-site", 403), ("none", 403)):
        headers = {"Origin": "null", "Sec-Fetch-Site": site}
        answer = post("/api/sessions/o/todo_write", json={"todos": []}, headers=headers)
        assert answer.status_code == status, site


# Token


OPEN = ["/healthz", "/sign-in", "/static/x"]
SHUT = [path for path in EVERYWHERE if path not in ("/healthz", "/sign-in", "/static/nothing")]


@pytest.mark.parametrize(
    "path",
    [
        *SHUT,
        "/sessions/a/stream",
        "/embed/a/stream",
        "/api/sessions/a/stream",
        "/healthz/",
        "/sign-in/x",
        "/staticx",
        "/static/../metrics",
        "//healthz",
    ],
)
def test_every_route_needs_the_token(guarded: Panel, path: str) -> None:
    url = guarded.url + path
    with httpx.Client(timeout=TIMEOUT_S, trust_env=False) as client:
        for headers in (
            {},
            bearer("wrong"),
            {"Authorization": "Bearer"},
            {"Authorization": TOKEN},
            {"Authorization": f"Basic {TOKEN}"},
            {"Cookie": f"planstrip={TOKEN}"},
            {"Cookie": "planstrip="},
            {"Cookie": "planstrip=Inggi; ;;="},
        ):
            answer = client.request("GET", url, headers=headers)
            assert answer.status_code == 401, (path, headers)
            assert answer.headers["www-authenticate"] == "Bearer"
    assert TOKEN not in answer.text


@pytest.mark.parametrize("path", OPEN)
def test_some_routes_need_none(guarded: Panel, path: str) -> None:
    assert guarded.client.get(path).status_code in (200, 404)


def test_a_write_needs_the_token(guarded: Panel) -> None:
    for path in ("/api/sessions", "/api/sessions/a/events", "/api/sessions/a/todo_write", "/api/sessions/a/retire"):
        assert guarded.client.post(path, json={"todos": []}).status_code == 401
    assert (
        guarded.client.post("/api/sessions/b/todo_write", json={"todos": []}, headers=bearer(TOKEN)).status_code == 200
    )
    assert guarded.client.get("/api/sessions/a/plan?token=" + TOKEN).status_code == 401


@pytest.mark.parametrize("path", SHUT)
def test_with_the_token_everything_is_answered(guarded: Panel, path: str) -> None:
    assert guarded.client.get(path, headers=bearer(TOKEN)).status_code not in (401, 403, 500)
    assert guarded.client.get(path, headers={"Authorization": f"bearer  {TOKEN}"}).status_code != 401


def test_a_person_is_led_to_the_sign_in_page(guarded: Panel) -> None:
    answer = guarded.client.get("/sessions/a?lang=zh", headers={"Accept": "text/html"})
    assert answer.status_code == 401
    assert 'type="password"' in answer.text
    assert "/sessions/a?lang=zh" in answer.text
    assert "x" not in answer.text.split("<main")[1].split("todo")[0].split('data-field="content"')[1:]


def test_an_embed_takes_its_token_from_the_address_and_from_no_cookie(guarded: Panel) -> None:
    signed_in = {"Cookie": f"planstrip={sign_in(guarded)}"}
    get = guarded.client.get
    assert get("/sessions/a", headers=signed_in).status_code == 200
    assert get("/embed/a", headers=signed_in).status_code == 401
    assert get("/embed/a", params={"token": TOKEN}).status_code == 200
    assert get("/embed/a", params={"token": "wrong"}).status_code == 401
    assert get("/embed/a", params={"token": ""}).status_code == 401
    assert "set-cookie" not in get("/embed/a", params={"token": TOKEN}).headers
    page = get("/embed/a", params={"token": TOKEN}).text
    (stream_url,) = [part.split('"')[0].replace("&amp;", "&") for part in page.split('hx-sse:connect="')[1:]]
    with guarded.stream(stream_url) as stream:
        assert stream.status == 200
        assert "strip" in stream.next().data
    assert "token" not in get("/sessions/a", headers=bearer(TOKEN)).text.split('hx-sse:connect="')[1].split('"')[0]


def sign_in(panel: Panel) -> str:
    answer = httpx.post(f"{panel.url}/sign-in", data={"token": TOKEN, "next": "/"}, trust_env=False)
    return answer.cookies["planstrip"]


def test_a_token_that_is_not_ascii_is_a_token(database: Path) -> None:
    with running(database, token="pässwörd") as panel:
        headers = {"Authorization": "Bearer pässwörd".encode()}
        assert panel.client.get("/api/sessions", headers=headers).status_code == 200  # type: ignore[arg-type]
        assert panel.client.get("/embed/a?token=p%C3%A4ssw%C3%B6rd").status_code == 200
        assert panel.client.get("/api/sessions", headers=bearer("wrong")).status_code == 401


def test_json_is_not_taken_as_anything_else_from_elsewhere(shared_panel: Panel) -> None:
    """What a page of another site can send without a preflight is refused by its type."""
    for given in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = shared_panel.client.post("/api/sessions", content=b"{}", headers={"content-type": given})
        assert answer.status_code == 415
    assert shared_panel.client.post("/api/sessions", content=b"{}", headers=JSON).status_code == 422
