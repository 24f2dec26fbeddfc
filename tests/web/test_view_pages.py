"""What a guest with a view token sees: one session, or one view of the board, and nothing that leads elsewhere."""

import re
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from sqlalchemy.exc import SQLAlchemyError

from planstrip.web import view_watch
from planstrip.web.view_door import asked
from tests.running import Panel, Stream, new_session, running, todos
from tests.views import expired, forged, revoke, revoked, view, view_of

TOKEN: Final = "s3cret"
OWN: Final = {"Authorization": f"Bearer {TOKEN}"}
HTML: Final = {"Accept": "text/html"}
FORM: Final = 'action="/sessions/{0}" hx-get="/sessions/{0}"'  # a form, which has the token among its fields
LINK: Final = re.compile(r'(?:href|action|hx-get|hx-post|hx-sse:connect|data-copy|src)="([^"#][^"]*)"')


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, empty_log: bytes) -> Iterator[Panel]:
    path = tmp_path_factory.mktemp("views") / "log.sqlite3"
    path.write_bytes(empty_log)
    with running(path, token=TOKEN) as panel:
        yield panel


def call(call_id: str, name: str = "bash") -> Mapping[str, object]:
    return {"type": "tool/call", "data": {"call_id": call_id, "name": name, "arguments": '{"description": "Survey"}'}}


def append(panel: Panel, session: str, *events: Mapping[str, object]) -> None:
    assert panel.client.post(f"/api/sessions/{session}/events", json={"events": events}, headers=OWN).is_success


def write(panel: Panel, session: str, notation: str) -> None:
    body = {"todos": todos(notation)}
    assert panel.client.post(f"/api/sessions/{session}/todo_write", json=body, headers=OWN).is_success


def start(panel: Panel, session: str, **more: str) -> None:
    append(panel, session, {"type": "session/start", "data": {"agent": "codex", "title": f"Title {session}", **more}})


def story(panel: Panel) -> str:
    """A session with all that a page can link to: past plans, older rows, a dropped to-do, a child and a parent."""
    session = new_session()
    start(panel, session, parent=f"{session}-parent")
    start(panel, f"{session}-parent")
    append(panel, session, {"type": "turn/start", "data": {"turn": 1}}, call("t", "Task"))
    start(panel, f"{session}-child", parent=session, parent_call="t")
    write(panel, f"{session}-child", "childish=i")
    write(panel, session, "first=i second=p")
    write(panel, session, "first=c")
    append(panel, session, {"type": "turn/start", "data": {"turn": 2}}, *(call(f"c{n}") for n in range(120)))
    write(panel, session, "third=i fourth=p")
    write(panel, session, "third=i")
    return session


def links(text: str) -> list[str]:
    return [unescape(link) for link in LINK.findall(text)]


def get(panel: Panel, path: str, token: str = "", **headers: str) -> httpx.Response:
    query = urlencode({"token": token}) if token else ""
    return panel.client.get(f"{path}{'&' if '?' in path else '?'}{query}", headers=headers)


# The page


def test_a_guest_reads_the_session_and_is_offered_nothing_that_is_not_theirs(guarded: Panel) -> None:
    session = story(guarded)
    mine, guests = (
        guarded.client.get(f"/sessions/{session}", headers=OWN).text,
        get(guarded, f"/sessions/{session}", view(guarded, session)).text,
    )
    for text in ("third", "no longer listed", "Timeline", "Step through", "Download JSON", "Show older rows", "Plan 1"):
        assert text in guests, text
    for text in ("Retire", "Dismiss", "<form", "childish", f"{session}-child", f"{session}-parent"):
        assert text in mine, text
        assert text not in guests, text


def test_every_link_of_a_guests_page_is_open_to_them_and_no_other_has_the_token(guarded: Panel) -> None:
    session = story(guarded)
    token = view(guarded, session)
    seen = set()
    for path in (f"/sessions/{session}?lang=en", f"/sessions/{session}?at=20", f"/embed/{session}?open=1"):
        page = guarded.client.get(f"{path}&token={token}", headers=HTML)
        assert page.status_code == 200
        for link in links(page.text.replace(FORM.format(session), "")):
            target = urlsplit(str(page.url.join(link)))
            is_static = target.path.startswith("/static/")
            assert (parse_qs(target.query).get("token") == [token]) is not is_static, link
            assert is_static or asked("GET", target.path), link
            if not target.path.endswith("/stream"):
                assert guarded.client.get(str(page.url.join(link))).status_code == 200, link
            seen.add(target.path)
    own = f"/sessions/{session}"
    plan = f"/api/sessions/{session}/plan"
    assert {own, f"{own}/rows", f"{own}/stream", plan, f"{plan}.md", f"/embed/{session}/stream"} <= seen


def test_the_past_is_stepped_through_with_the_token(guarded: Panel) -> None:
    session = story(guarded)
    token = view(guarded, session)
    page = get(guarded, f"/sessions/{session}?at=6", token).text
    past = page.split('id="past"')[1].split("</form>")[0]
    assert f'name="token" value="{token}"' in past  # the slider's own form
    stop = guarded.client.get(
        f"/sessions/{session}", params={"stop": 1, "token": token}, headers={"HX-Request": "true"}
    )
    assert parse_qs(urlsplit(stop.headers["hx-push-url"]).query)["token"] == [token]
    older = guarded.client.get(f"/sessions/{session}/rows", params={"before": 60, "token": token})
    assert older.status_code == 200
    assert "childish" not in older.text


def test_a_guests_stream_brings_what_their_page_shows(guarded: Panel) -> None:
    session = story(guarded)
    token = view(guarded, session)
    with (
        guarded.stream(f"/sessions/{session}/stream?token={token}") as guests,
        guarded.stream(f"/sessions/{session}/stream", **OWN) as mine,
        guarded.stream(f"/api/sessions/{session}/stream?token={token}") as plans,
    ):
        first = guests.next().data
        assert "Retire" in mine.next().data
        plans.next("plan")
        assert "third" in first
        assert token in unescape(first)
        write(guarded, f"{session}-child", "childish=c")  # which is nothing to a guest
        assert f"{session}-child" in mine.next().data
        write(guarded, session, "fifth=i")
        frame = guests.next().data
        assert "fifth" in frame
        assert "fifth" in plans.next("plan").data
        assert "fifth" in mine.next().data
        for text in ("Retire", "Dismiss", "<form", "childish", f"{session}-child", f"{session}-parent"):
            assert text not in first + frame, text


def test_a_retired_plan_is_told_to_a_guest_who_cannot_undo_it(guarded: Panel) -> None:
    session = new_session()
    write(guarded, session, "x=i")
    guarded.client.post(f"/api/sessions/{session}/retire", json={}, headers=OWN)
    guests = get(guarded, f"/sessions/{session}", view(guarded, session)).text
    assert "was retired" in guests
    assert "Undo" not in guests
    assert "Undo" in guarded.client.get(f"/sessions/{session}", headers=OWN).text


def test_whoever_is_signed_in_sees_by_a_view_token_what_a_guest_sees(guarded: Panel) -> None:
    session = new_session()
    write(guarded, session, "x=i")
    signed_in = httpx.post(f"{guarded.url}/sign-in", data={"token": TOKEN, "next": "/"}, trust_env=False)
    cookie = f"planstrip={signed_in.cookies['planstrip']}"
    assert "Retire" in get(guarded, f"/sessions/{session}", Cookie=cookie).text
    assert "Retire" not in get(guarded, f"/sessions/{session}", view(guarded, session), Cookie=cookie).text


def test_a_token_in_a_header_is_not_put_into_the_page(guarded: Panel) -> None:
    session = story(guarded)
    token = view(guarded, session)
    page = get(guarded, f"/sessions/{session}", Authorization=f"Bearer {token}")
    assert page.status_code == 200
    assert "Retire" not in page.text
    assert "view_" not in page.text


def test_a_session_that_is_not_there_yet_can_be_shown_already(guarded: Panel) -> None:
    session = new_session()
    token = view(guarded, session)
    assert "Waiting for this session" in get(guarded, f"/sessions/{session}", token).text
    assert get(guarded, f"/api/sessions/{session}/plan", token).status_code == 404
    with guarded.stream(f"/embed/{session}/stream?token={token}") as stream:
        stream.next()
        write(guarded, session, "x=i")
        assert "x" in stream.next().data


def test_no_answer_to_a_guest_sets_a_cookie_or_tells_where_it_came_from(guarded: Panel) -> None:
    session = new_session()
    token = view(guarded, session)
    for path in (f"/embed/{session}", f"/sessions/{session}", "/"):
        answer = get(guarded, path, token)
        assert "set-cookie" not in answer.headers
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "content-encoding" not in answer.headers


# The board


def test_a_guests_board_shows_what_it_is_held_to_and_counts_nothing_else(guarded: Panel) -> None:
    place, elsewhere = f"/{new_session()}", f"/{new_session()}"
    inside, kid, outside = new_session(), new_session(), new_session()
    start(guarded, inside, cwd=place)
    start(guarded, kid, cwd=elsewhere, parent=inside)
    start(guarded, outside, cwd=elsewhere)
    token = view(guarded, {"cwd": place})
    for query in ("", "&cwd=", "&q=", f"&cwd={elsewhere}", f"&q=Title+{outside}", "&state=none&agent=codex"):
        page = guarded.client.get(f"/?token={token}{query}").text
        assert f"Title {inside}" in page
        for text in (f"Title {kid}", f"Title {outside}", "<form", 'data-state="none"></span>none <', 'type="search"'):
            assert text not in page, (query, text)
        targets = [urlsplit(link) for link in links(page) if "/static/" not in link]
        assert {target.path for target in targets} == {"/", f"/sessions/{inside}", "/stream", ""}
        assert all(parse_qs(target.query)["token"] == [token] for target in targets)
    with guarded.stream(f"/stream?token={token}&cwd={elsewhere}") as stream:
        first = stream.next().data
        assert f"Title {inside}" in first
        start(guarded, new_session(), cwd=elsewhere)
        late = new_session()
        start(guarded, late, cwd=place)
        later = stream.next().data
        assert f"Title {late}" in later
        assert elsewhere not in first + later
        assert f"Title {outside}" not in first + later


def test_a_boards_token_opens_the_sessions_that_its_filter_finds_now(guarded: Panel) -> None:
    place, session = f"/{new_session()}", new_session()
    start(guarded, session, cwd=place)
    token = view(guarded, {"cwd": place, "q": "Title", "agent": "codex", "state": "open"})
    paths = [f"/sessions/{session}", f"/embed/{session}", f"/api/sessions/{session}/plan"]
    assert {get(guarded, path, token).status_code for path in paths} == {401}
    write(guarded, session, "x=i")
    assert {get(guarded, path, token).status_code for path in paths} == {200}
    page = get(guarded, f"/sessions/{session}", token).text
    assert f'class="brand" href="/?token={token}"' in page
    write(guarded, session, "x=c")
    assert {get(guarded, path, token).status_code for path in paths} == {401}


def test_the_whole_board_can_be_shown_and_folds_what_it_always_folds(guarded: Panel) -> None:
    session = story(guarded)
    token = view(guarded, {})
    page = get(guarded, "/", token).text
    assert "childish" in page
    for name in (session, f"{session}-child"):
        assert get(guarded, f"/sessions/{name}", token).status_code == 200
    assert get(guarded, "/sessions/nobody-knows-it", token).status_code == 401
    assert "No session matches" in get(guarded, "/", view(guarded, {"q": "nothing like it"})).text


# Refusals


def wrong_ones(panel: Panel, session: str) -> dict[str, str]:
    return {
        "expired": expired(panel, session),
        "revoked": revoked(panel, session),
        "forged": forged(panel, session),
        "another session's": view(panel, new_session()),
        "a board's": view(panel, {"q": "nothing like it"}),
        "nothing": "view_",
        "not one": "view_é\x00.😀",
        "long": "view_" + "x" * 5_000,
    }


@pytest.mark.parametrize("path", ["/sessions/{}", "/embed/{}", "/api/sessions/{}/plan", "/sessions/{}/stream", "/docs"])
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
def test_one_answer_to_every_token_that_opens_nothing(guarded: Panel, path: str, accept: str) -> None:
    session = new_session()
    write(guarded, session, "x=i")
    told = set()
    for token in wrong_ones(guarded, session).values():
        answer = get(guarded, path.format(session), token, Accept=accept)
        headers = {name: value for name, value in answer.headers.items() if name not in ("date", "x-request-id")}
        told.add((answer.status_code, answer.content, tuple(headers.items())))
        assert token not in answer.text
        assert "view_" not in answer.text
        assert "<form" not in answer.text
    assert len(told) == 1
    assert told.pop()[0] == 401


@pytest.mark.parametrize("path", ["/embed/{}", "/embed?session={}", "/embed?session={}&session=x", "/embed"])
def test_in_a_frame_the_refusal_is_framed_too(guarded: Panel, path: str) -> None:
    """R135: in the frame's theme and language, see-through, and with the script that posts its height."""
    session = new_session()
    write(guarded, session, "x=i")
    address = f"{path}{'&' if '?' in path else '?'}theme=dark&lang=de".format(session)
    for token in wrong_ones(guarded, session).values():
        answer = get(guarded, address, token, **HTML)
        assert answer.status_code == 401
        for part in ('lang="de" data-theme="dark" data-embed="regular"', '<body class="embed">', "<script src="):
            assert part in answer.text, part
    assert "data-embed" not in get(guarded, f"/sessions/{session}", "view_", **HTML).text


def test_no_error_repeats_the_token(guarded: Panel) -> None:
    session = story(guarded)
    for token in (view(guarded, session), view(guarded, {})):
        for query in ("at=999999", "at=x", "stop=x"):
            for accept in ("text/html", "application/json"):
                answer = guarded.client.get(f"/sessions/{session}?{query}&token={token}", headers={"Accept": accept})
                assert answer.status_code in (404, 422)
                assert token not in answer.text


def test_the_way_back_from_the_sign_in_page_has_no_token(guarded: Panel) -> None:
    page = guarded.client.get("/sessions/a?token=guess&lang=en&at=3", headers=HTML)
    assert page.status_code == 401
    assert 'value="/sessions/a?lang=en&amp;at=3"' in page.text
    assert "guess" not in page.text


def test_no_log_has_a_token(guarded: Panel, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    session = new_session()
    token, board = view(guarded, session), view(guarded, {})

    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("planstrip.projection.view", fail)
    monkeypatch.setattr("planstrip.web.pages.read_board", fail)
    for path, given in ((f"/sessions/{session}", token), ("/", board)):
        answer = httpx.get(f"{guarded.url}{path}", params={"token": given}, trust_env=False)  # it closes after a bug
        assert answer.status_code == 500
        assert given not in answer.text
    assert "ZeroDivisionError" in caplog.text
    assert token not in caplog.text
    assert board not in caplog.text


def test_no_log_has_the_token_of_a_stream_whose_store_fails(
    guarded: Panel, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = view(guarded, {})

    def fail(*_: object) -> None:
        raise SQLAlchemyError

    with guarded.stream(f"/stream?token={token}&theme=dark") as stream:
        stream.next()
        monkeypatch.setattr("planstrip.web.board_live.read_board", fail)
        write(guarded, new_session(), "x=i")
        while "reading for a stream failed" not in caplog.text:
            assert stream.wait(0.05) is None
        monkeypatch.undo()
    assert "theme=dark" not in caplog.text  # nor any other part of a query
    assert token not in caplog.text


# Streams


@pytest.mark.parametrize("path", ["/sessions/{}/stream", "/embed/{}/stream", "/api/sessions/{}/stream", "/stream"])
@pytest.mark.parametrize("shown", ["session", "board"])
def test_an_open_stream_ends_when_its_token_is_revoked(
    guarded: Panel, path: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view_watch, "LOOK_S", 0.05)
    if path == "/stream" and shown == "session":
        return
    session = new_session()
    write(guarded, session, "x=i")
    token, text = view_of(guarded, session if shown == "session" else {})
    kept = view(guarded, {})
    with (
        guarded.stream(f"{path.format(session)}?token={text}") as ending,
        guarded.stream(f"{path.format(session)}?token={kept}") as staying,
    ):
        ending.frame()
        staying.frame()
        revoke(guarded, token)
        assert ending.frame() is None  # in order, as a stream that the server ends
        write(guarded, session, "x=c")
        assert staying.frame() is not None
    assert get(guarded, path.format(session), text).status_code == 401


def test_nothing_is_looked_for_once_the_last_guest_has_gone(guarded: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    real = view_watch.ViewWatch._over

    def counted(self: view_watch.ViewWatch, keys: list[view_watch.Key]) -> list[view_watch.Key]:
        looks.append(len(keys))
        return real(self, keys)

    monkeypatch.setattr(view_watch, "LOOK_S", 0.02)
    monkeypatch.setattr(view_watch.ViewWatch, "_over", counted)
    session = new_session()
    token = view(guarded, session)
    streams = [guarded.stream(f"/sessions/{session}/stream?token={token}") for _ in range(5)]
    for stream in streams:
        stream.frame()
    while not looks:
        assert streams[0].wait(0.05) is None
    assert set(looks) == {1}  # for all viewers of one token together
    for stream in streams:
        stream.socket.close()
    while guarded.parts.hub.viewers:
        get(guarded, "/healthz")
    looks.clear()
    other = new_session()
    with guarded.stream(f"/sessions/{other}/stream", **OWN) as stream:
        stream.frame()
        assert stream.wait(0.2) is None
    assert looks == []


# Where it lies


def test_an_open_panel_judges_by_the_view_token_all_the_same(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("x=i"))
    token = view(shared_panel, session)
    assert "Retire" in get(shared_panel, f"/sessions/{session}").text
    guests = get(shared_panel, f"/sessions/{session}", token)
    assert guests.status_code == 200
    assert "Retire" not in guests.text
    assert get(shared_panel, "/", token).status_code == 401
    assert get(shared_panel, f"/sessions/{session}", expired(shared_panel, session)).status_code == 401
    retire = shared_panel.client.post(f"/api/sessions/{session}/retire?token={token}", json={})
    assert retire.status_code == 401
    assert get(shared_panel, f"/embed/{session}", "anything else").status_code == 200  # no view token: as without


def test_a_token_outlives_a_restart_and_a_new_token_of_the_panel(database: Path) -> None:
    with running(database, token="old") as panel:
        token = view(panel, "a")
    with running(database, token="new", root_path="/plans") as panel:
        page = get(panel, "/sessions/a", token)
        assert page.status_code == 200
        (stream_url,) = [link for link in links(page.text) if "/stream" in link]
        assert stream_url.startswith("/plans/sessions/a/stream?")
        with Stream(f"http://{panel.client.base_url.netloc.decode()}", stream_url, {}) as stream:
            assert stream.status == 200
        assert get(panel, "/sessions/b", token).status_code == 401


def test_a_token_of_another_database_is_forged(tmp_path: Path, guarded: Panel) -> None:
    with running(tmp_path / "other.sqlite3", token=TOKEN) as other:
        token = view(other, "a")
    assert get(guarded, "/sessions/a", token).status_code == 401
