"""What other people's pages frame: one session's strip with its last rows, and the strips of several (spec.md §10)."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from planstrip.web.embed import MAX_ROWS, MAX_SESSIONS
from tests.running import Panel, new_session, running, todos
from tests.web.test_pages import HOSTILE, Parsed, field, get

TURN = {"type": "turn/start", "data": {"turn": 1}}


def call(name: str) -> dict[str, Any]:
    return {"type": "tool/call", "data": {"call_id": name, "name": "bash", "arguments": json.dumps({"command": name})}}


def result(name: str) -> dict[str, Any]:
    return {"type": "tool/result", "data": {"call_id": name, "is_error": False, "text": "built"}}


def titled(panel: Panel, title: str, written: str = "") -> str:
    session = new_session()
    panel.append(session, {"type": "session/title", "data": {"title": title}})
    if written:
        panel.write(session, todos(written))
    return session


def rows(html: str) -> list[str]:
    return re.findall(r'data-field="summary">([^<]*)<', html[html.index('id="rows"') :])


def targets(frame: str) -> list[str]:
    return re.findall(r'<hx-partial hx-target="([^"]+)"', frame)


# The last rows


def test_the_last_rows_are_added_when_asked_for(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, TURN, *[call(f"make-{n}") for n in range(5)])
    assert 'id="rows"' not in get(shared_panel, f"/embed/{session}")
    assert 'id="rows"' not in get(shared_panel, f"/embed/{session}?rows=0")
    assert rows(get(shared_panel, f"/embed/{session}?rows=3")) == ["make-2", "make-3", "make-4"]
    assert len(rows(get(shared_panel, f"/embed/{session}?rows={MAX_ROWS}"))) == 5
    assert rows(get(shared_panel, f"/embed/{session}?rows=3&at=3")) == ["make-0", "make-1"]


@pytest.mark.parametrize("given", ["x", "-1", "", "1.5", "51", "9" * 30, "٣", "1 ", "<b>"])
def test_a_number_of_rows_that_is_none_is_refused_with_words(shared_panel: Panel, given: str) -> None:
    for path in ("/embed/a", "/embed/a/stream"):
        answer = shared_panel.client.get(path, params={"rows": given})
        assert answer.status_code == 422
        (error,) = answer.json()["errors"]
        assert (error["path"], "from 0 to 50" in error["message"]) == ("rows", True)
    page = shared_panel.client.get("/embed/a", params={"rows": given}, headers={"accept": "text/html"})
    assert page.status_code == 422
    assert "from 0 to 50" in page.text
    assert "<b>" not in page.text
    assert "href" not in page.text[page.text.index("<body") :]  # nothing of the panel opens within a frame


def test_new_rows_come_below_and_as_many_go_above(shared_panel: Panel) -> None:
    session = new_session()
    head = shared_panel.append(session, TURN, call("a"), call("b"), call("c")).json()["last_position"]
    with shared_panel.stream(f"/embed/{session}/stream?after={head}&rows=3") as stream:
        assert targets(stream.next().data) == ["#strip", "#head"]
        shared_panel.append(session, result("b"))
        assert targets(stream.next().data)[2:] == [f"#row-{head - 1}"]
        shared_panel.append(session, call("d"))
        frame = stream.next()
        assert targets(frame.data)[2:] == ["#rows &gt; :nth-last-child(n + 3)", "#rows"]
        assert (rows_of_frame(frame.data), frame.id) == (["d"], str(head + 2))
        shared_panel.append(session, *[call(f"e{n}") for n in range(9)])
        frame = stream.next()
        assert targets(frame.data)[2:] == ["#rows"]
        assert rows_of_frame(frame.data) == ["e6", "e7", "e8"]


def rows_of_frame(frame: str) -> list[str]:
    return re.findall(r'data-tool="bash".*?data-field="summary">([^<]*)<', frame, re.DOTALL)


def test_a_frame_without_rows_is_not_told_of_them(shared_panel: Panel) -> None:
    session = new_session()
    head = shared_panel.append(session, TURN, call("a")).json()["last_position"]
    with shared_panel.stream(f"/embed/{session}/stream?after={head}") as stream:
        assert "#rows" not in stream.next().data
        shared_panel.append(session, call("b"))
        assert stream.wait(0.3) is None


# Several sessions


def test_several_strips_stand_in_the_order_given_each_with_its_caption(shared_panel: Panel) -> None:
    """R072: equal plans, and one can tell whose each is."""
    first, second = titled(shared_panel, "One", "a=i b=p"), titled(shared_panel, "Two", "a=i b=p")
    later = new_session()
    text = get(shared_panel, f"/embed?session={second}&session={later}&session={first}&session={second}")
    assert re.findall(r'data-session="([^"]+)"', text) == [second, later, first]
    assert re.findall(r'data-field="session">([^<]*)<', text) == ["Two", later, "One"]
    assert text.count('data-testid="plan-strip"') == 2
    assert re.findall(r'data-said="([^"]*)"', text) == [f"{name}: 0 of 2 completed; now: a" for name in ("Two", "One")]
    assert "Waiting for this session" in text
    ids = [named["id"] for _, named in Parsed(text).tags if "id" in named]
    assert len(ids) == len(set(ids))
    assert shared_panel.client.get(f"/api/sessions/{later}/plan").status_code == 404  # it was not made by looking


def test_one_stream_tells_of_all_and_of_nobody_else(shared_panel: Panel) -> None:
    first, later, other = titled(shared_panel, "One", "a=i"), new_session(), new_session()
    page = get(shared_panel, f"/embed?session={first}&session={later}")
    (address,) = [address for address in Parsed(page).addresses if "/streams?" in address]
    with shared_panel.stream(address) as stream:
        opened = [stream.next(), stream.next()]
        assert {frame.id for frame in opened} == {None}
        assert sorted(found for frame in opened for found in targets(frame.data)) == sorted(
            f"#framed-{key}" for key in re.findall(r'data-key="(\w+)"', page)
        )
        shared_panel.write(other, todos("elsewhere=i"))
        shared_panel.write(later, todos("here=i"))
        frame = stream.next().data
        assert "here" in frame
        assert "elsewhere" not in frame
        shared_panel.write(first, todos("a=c"))
        assert "1 completed" in stream.next().data
        assert stream.wait(0.3) is None
        assert shared_panel.parts.hub.viewers >= 2


def test_what_a_page_of_several_shows_is_what_its_stream_sends(shared_panel: Panel) -> None:
    session = titled(shared_panel, "One", "a=c b=i")
    page = get(shared_panel, f"/embed?session={session}")
    with shared_panel.stream(f"/embed/sessions/streams?session={session}") as stream:
        pushed = re.sub(r"^<hx-partial[^>]*>|</hx-partial>\s*$", "", stream.next().data)
    assert " ".join(pushed.split()) in " ".join(page.split())


def test_when_a_reader_of_several_leaves_nobody_is_left(panel: Panel) -> None:
    with panel.stream("/embed/sessions/streams?session=a&session=b&session=c") as stream:
        stream.next()
        assert panel.parts.hub.viewers == 3
    for _ in range(100):
        if panel.parts.hub.viewers == 0:
            break
        panel.client.get("/healthz")
    assert panel.parts.hub.viewers == 0


@pytest.mark.parametrize(
    ("query", "path", "words"),
    [
        ("", "session", "session is missing"),
        ("session=", "id", "0 characters"),
        ("session=a&session=b%2Fc", "id", "has a `/`"),
        ("&".join(f"session={n}" for n in range(MAX_SESSIONS + 1)), "session", "at most 50"),
        ("session=a&rows=3", "rows", "for one session alone"),
        ("session=a&at=1", "at", "for one session alone"),
    ],
)
def test_what_no_frame_of_several_can_show_is_refused(shared_panel: Panel, query: str, path: str, words: str) -> None:
    answer = shared_panel.client.get(f"/embed?{query}")
    assert answer.status_code == 422
    assert words in answer.json()["detail"]
    assert path in [error["path"] for error in answer.json()["errors"]]


def test_as_many_as_a_frame_holds_are_shown(panel: Panel) -> None:
    query = "&".join(f"session=s{n}" for n in range(MAX_SESSIONS))
    assert get(panel, f"/embed?{query}").count("data-session=") == MAX_SESSIONS


def test_a_session_that_is_called_as_a_part_of_an_address_is_framed_as_any_other(panel: Panel) -> None:
    for session in ("sessions", "stream", "streams", "embed"):
        panel.write(session, todos("a=i"))
        assert f'data-session="{session}"' in get(panel, f"/embed/{session}")
        with panel.stream(f"/embed/{session}/stream") as stream:
            assert stream.next().id == "2"


# Both


def kinds(session: str) -> tuple[str, str]:
    return f"/embed/{session}?", f"/embed?session={session}&"


@pytest.mark.parametrize("theme", ["light", "dark", "auto", "no'ne\"<"])
def test_theme_language_and_size_stand_in_the_first_bytes(shared_panel: Panel, theme: str) -> None:
    session = titled(shared_panel, "One", "a=i")
    shown = theme if theme in ("light", "dark") else "auto"
    for path in kinds(session):
        for asked, size in (("compact", "compact"), ("regular", "regular"), ("huge", "regular")):
            text = get(shared_panel, f"{path}theme={theme}&lang=zh&size={asked}")
            tag, attributes = Parsed(text).tags[0]
            assert tag == "html"
            assert attributes | {"lang": "zh-Hans", "data-theme": shown, "data-embed": size} == attributes


def test_a_frame_is_read_only(shared_panel: Panel) -> None:
    """R133: also once a to-do was dropped."""
    session = titled(shared_panel, "One", "a=i b=i")
    shared_panel.write(session, todos("a=i"))
    for path in kinds(session):
        tags = {tag for tag, _ in Parsed(get(shared_panel, f"{path}open=1")).tags}
        assert not tags & {"form", "button", "input"}


def test_a_caption_leads_to_the_page_where_no_token_is_asked_and_nowhere_else(database: Path) -> None:
    with running(database) as panel:
        session = titled(panel, '"><script>alert(1)</script>', "a=i")
        for path in kinds(session):
            links = [named for tag, named in Parsed(get(panel, path)).tags if tag == "a"]
            assert [(link["href"], link["target"], link["rel"]) for link in links] == [
                (f"/sessions/{session}?lang=en", "_blank", "noopener")
            ]
    with running(database, token="secret") as panel:
        for path in kinds(session):
            page = get(panel, f"{path}token=secret")
            assert [tag for tag, _ in Parsed(page).tags if tag == "a"] == []
            (address,) = [address for address in Parsed(page).addresses if "token=secret" in address]
            assert "/stream" in address
            with panel.stream(address) as stream:
                assert stream.status == 200
                assert "<a " not in stream.next().data


@pytest.mark.parametrize("path", ["/embed", "/embed/a", "/embed/a/stream", "/embed/sessions/streams"])
def test_neither_asks_for_a_cookie_nor_sets_one(database: Path, path: str) -> None:
    """R134."""
    with running(database, token="secret") as panel:
        signed_in = panel.client.post("/sign-in", data={"token": "secret"}).headers["set-cookie"].split(";")[0]
        refused = panel.client.get(path, params={"session": "a"}, headers={"cookie": signed_in})
        assert refused.status_code == 401
        assert "set-cookie" not in refused.headers
        query = "session=a&token=secret"
        if "stream" in path:
            with panel.stream(f"{path}?{query}") as stream:
                assert (stream.status, "set-cookie" in stream.headers) == (200, False)
        else:
            answer = panel.client.get(f"{path}?{query}")
            assert (answer.status_code, "set-cookie" in answer.headers) == (200, False)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text_in_every_frame(panel: Panel, text: str) -> None:
    panel.append("a", {"type": "session/start", "data": {"agent": text, "title": text, "cwd": text}}, TURN, call(text))
    panel.write("a", [{"content": f"[{text}]", "status": "in_progress"}])
    shown = [get(panel, "/embed/a?rows=9&open=1"), get(panel, "/embed?session=a&open=1")]
    for path in ("/embed/a/stream?rows=9", "/embed/sessions/streams?session=a"):
        with panel.stream(path) as stream:
            shown.append(stream.next().data)
    for html in shown:
        assert "<script>alert" not in html
        assert not any(named.get("onerror") or named.get("src") == "x" for _, named in Parsed(html).tags)
        assert "\x00" not in html


def test_below_a_prefix_frames_and_their_streams_have_it(database: Path) -> None:
    """R137."""
    with running(database, root_path="/plans") as panel:
        panel.write("a", todos("x=i"))
        for path in kinds("a"):
            parsed = Parsed(get(panel, path))
            assert all(address.startswith(("/plans/", "#")) for address in parsed.addresses)
            (address,) = [address for address in parsed.addresses if "/stream" in address]
            with panel.stream(address.removeprefix("/plans")) as stream:
                assert "/plans/sessions/a" in stream.next().data


def test_an_embed_says_which_session_it_waits_for(shared_panel: Panel) -> None:
    """R035, R072."""
    session = new_session()
    assert field(get(shared_panel, f"/embed/{session}"), "session") == session
