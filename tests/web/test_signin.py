"""The sign-in page (spec.md §10)."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.running import TIMEOUT_S, Panel, running

TOKEN = "s3cret"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, empty_log: bytes) -> Iterator[Panel]:
    path = tmp_path_factory.mktemp("guarded") / "log.sqlite3"
    path.write_bytes(empty_log)
    with running(path, token=TOKEN) as panel:
        yield panel


def sign_in(panel: Panel, **form: str) -> httpx.Response:
    with httpx.Client(base_url=panel.client.base_url, timeout=TIMEOUT_S, trust_env=False) as client:
        return client.post("sign-in", data=form)


def test_the_token_is_kept_in_a_cookie_that_no_script_and_no_other_site_gets(guarded: Panel) -> None:
    answer = sign_in(guarded, token=TOKEN, next="/sessions/a?lang=zh")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sessions/a?lang=zh")
    (cookie,) = answer.headers.get_list("set-cookie")
    parts = {part.strip().lower() for part in cookie.split(";")}
    assert {"httponly", "samesite=strict", "path=/"} <= parts
    assert TOKEN not in cookie
    headers = {"Cookie": cookie.split(";")[0]}
    assert guarded.client.get("/", headers=headers).status_code == 200
    assert guarded.client.post("/api/sessions", json={"agent": "x"}, headers=headers).status_code == 201


def test_a_wrong_token_is_said_to_be_one(guarded: Panel) -> None:
    for token in ("wrong", "", "x" * 1_000, "é"):
        answer = sign_in(guarded, token=token, next="/docs")
        assert answer.status_code == 401
        assert "set-cookie" not in answer.headers
        assert "That is not the token" in answer.text
        assert 'value="/docs"' in answer.text


@pytest.mark.parametrize(
    "away",
    [
        "https://evil.example/",
        "//evil.example/",
        "///evil.example/",
        "////evil.example/",
        "/\\evil.example/",
        "\\\\evil.example/",
        "/\t/evil.example/",
        "/\n/evil.example",
        "/%09/evil.example",
        "javascript:alert(1)",
        "http:evil.example",
        "/\x00/evil.example",
        "/a\r\nSet-Cookie: x=y",
        "evil.example",
        "/\u2028/evil.example",
        "http://[",
    ],
)
def test_no_way_leads_away(guarded: Panel, away: str) -> None:
    answer = sign_in(guarded, token=TOKEN, next=away)
    assert answer.status_code == 303, answer.text
    joined = httpx.URL("http://panel.example/sign-in").join(answer.headers["location"])
    assert joined.host == "panel.example"
    assert joined.scheme == "http"
    assert not answer.headers["location"].startswith("//")
    assert "x" not in answer.cookies
    page = guarded.client.get("/sign-in", params={"next": away})
    assert page.status_code == 200
    assert 'value="//' not in page.text


def test_a_new_token_signs_everybody_out(tmp_path: Path, empty_log: bytes) -> None:
    path = tmp_path / "log.sqlite3"
    path.write_bytes(empty_log)
    with running(path, token="old") as panel:
        cookie = sign_in(panel, token="old").headers["set-cookie"].split(";")[0]
        assert panel.client.get("/", headers={"Cookie": cookie}).status_code == 200
    with running(path, token="new") as panel:
        assert panel.client.get("/", headers={"Cookie": cookie}).status_code == 401


def test_a_panel_without_a_token_signs_nobody_in(shared_panel: Panel) -> None:
    answer = sign_in(shared_panel, token="")
    assert "set-cookie" not in answer.headers
    assert answer.status_code in (303, 401, 404)


def test_only_a_form_of_a_size_that_fits_is_read(guarded: Panel) -> None:
    post = guarded.client.post
    assert post("/sign-in", json={"token": TOKEN}).status_code == 415
    assert post("/sign-in", data={"token": "x" * 20_000}).status_code == 413
    assert post("/sign-in", data={"other": "x"}).status_code == 401
    assert post(
        "/sign-in", content=b"\xff", headers={"content-type": "application/x-www-form-urlencoded"}
    ).status_code in (400, 401)


def test_below_a_prefix_the_cookie_and_the_way_back_stay_there(database: Path) -> None:
    with running(database, token=TOKEN, root_path="/plans") as panel:
        answer = sign_in(panel, token=TOKEN, next="/plans/docs")
        assert answer.headers["location"] == "/plans/docs"
        assert "path=/plans" in answer.headers["set-cookie"].lower()
        assert sign_in(panel, token=TOKEN, next="/elsewhere").headers["location"] == "/plans/"
        page = panel.client.get("/docs", headers={"Accept": "text/html"})
        assert page.status_code == 401
        assert 'action="/plans/sign-in?lang=en"' in page.text
        assert 'value="/plans/docs"' in page.text


def test_a_page_in_a_language_asks_for_the_token_in_it_and_goes_on_in_it(guarded: Panel) -> None:
    asked = guarded.client.get("/sessions/a?lang=zh", headers={"accept": "text/html"})
    assert asked.status_code == 401
    assert '<html lang="zh-Hans"' in asked.text
    assert 'action="/sign-in?lang=zh-Hans"' in asked.text
    wrong = guarded.client.post("/sign-in?lang=zh-Hans", data={"token": "no", "next": "/sessions/a?lang=zh"})
    assert '<html lang="zh-Hans"' in wrong.text


def test_a_frame_without_a_token_is_told_so_and_offered_no_form(guarded: Panel) -> None:
    frame = guarded.client.get("/embed/a", headers={"accept": "text/html"})
    assert frame.status_code == 401
    assert "?token=" in frame.text
    assert "<form" not in frame.text
