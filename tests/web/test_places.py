"""Over HTTP/1.1 a browser's pages share six connections: four hold streams, the others ask (reports.md R076)."""

from collections.abc import Callable
from contextlib import ExitStack

import pytest

from planstrip.web.places import ASK_MS, MAX_STREAMS, RETRY_MS
from tests.running import Panel, Stream, new_session, todos

PATHS = ("/", "/sessions/{}/", "/embed/{}/", "/embed/sessions/streams?session={}")


def address(kind: str, session: str) -> str:
    path = kind.format(session)
    return path if "streams?" in path else f"{path}stream"


def asked(panel: Panel, path: str, page: str, **headers: str) -> Stream:
    return panel.stream(path, planstrip_browser=page, **headers)


def retry(stream: Stream) -> int:
    fields = dict(line.partition(": ")[::2] for line in stream.raw().decode().split("\n"))
    return int(fields["retry"])


def wait_until(panel: Panel, is_so: Callable[[], bool]) -> None:
    for _ in range(500):
        if is_so():
            return
        panel.client.get("/healthz")
    raise AssertionError


@pytest.mark.parametrize("kind", PATHS)
def test_four_pages_of_a_browser_hold_a_stream_and_the_fifth_is_answered_at_once(panel: Panel, kind: str) -> None:
    session, places = new_session(), panel.parts.hub.places
    panel.write(session, todos("a=i"))
    path = address(kind, session)
    with ExitStack() as stack:
        held = [stack.enter_context(asked(panel, path, f"page-{n} browser")) for n in range(MAX_STREAMS)]
        assert [retry(stream) for stream in held] == [RETRY_MS] * MAX_STREAMS
        with asked(panel, path, "page-5 browser") as fifth:
            frame = fifth.raw()
            assert frame.startswith(f"retry: {ASK_MS}\n".encode())
            assert b"hx-partial" in frame
            assert fifth.raw() == b""  # its end: the connection is free
        assert places.held("browser") == MAX_STREAMS
        with asked(panel, path, "page-5 another") as other:
            assert retry(other) == RETRY_MS
        held[0].socket.close()
        wait_until(panel, lambda: places.held("browser") < MAX_STREAMS)
        with asked(panel, path, "page-5 browser") as fifth:
            assert retry(fifth) == RETRY_MS
    wait_until(panel, lambda: places.total == 0)
    assert places._held == {}


def test_a_page_that_comes_back_has_its_place_before_its_old_connection_is_known_to_be_gone(panel: Panel) -> None:
    session, places = new_session(), panel.parts.hub.places
    with ExitStack() as stack:
        held = [
            stack.enter_context(asked(panel, f"/embed/{session}/stream", f"page-{n} b")) for n in range(MAX_STREAMS)
        ]
        again = stack.enter_context(asked(panel, f"/embed/{session}/stream", "page-0 b"))
        assert retry(again) == RETRY_MS
        assert places.held("b") == MAX_STREAMS
        held[0].socket.close()
        wait_until(panel, lambda: panel.parts.hub.viewers == MAX_STREAMS)
        assert places.held("b") == MAX_STREAMS  # the old one took no place away with it


def test_a_browser_that_lets_a_frame_keep_no_name_is_known_by_who_asks(panel: Panel) -> None:
    path = f"/embed/{new_session()}/stream"
    with ExitStack() as stack:
        for n in range(MAX_STREAMS):
            assert retry(stack.enter_context(asked(panel, path, f"page-{n} ", user_agent="Fox"))) == RETRY_MS
        assert retry(stack.enter_context(asked(panel, path, "page-9", user_agent="Fox"))) == ASK_MS
        assert retry(stack.enter_context(asked(panel, path, "page-9", user_agent="Bear"))) == RETRY_MS


def test_over_http_2_and_for_programs_there_is_no_limit(panel: Panel) -> None:
    path = f"/embed/{new_session()}/stream"
    with ExitStack() as stack:
        for _ in range(3 * MAX_STREAMS):
            assert b"retry" not in stack.enter_context(panel.stream(path)).raw()


@pytest.mark.parametrize("kind", ["/sessions/{}/", "/embed/{}/"])
def test_who_asks_again_is_told_what_changed_and_else_that_the_agent_lives(panel: Panel, kind: str) -> None:
    session = new_session()
    path = address(kind, session)
    panel.write(session, todos("a=i"))
    with ExitStack() as stack:
        held = [stack.enter_context(asked(panel, path, f"page-{n} b")) for n in range(MAX_STREAMS)]
        (position,) = {frame.id for stream in held if (frame := stream.frame())}
        assert position is not None
        with asked(panel, path, "late b", last_event_id=position) as ask:
            frame = ask.frame()
            assert frame is not None
            assert (frame.event, frame.data.split()[0]) == ("heartbeat", position)
            assert ask.frame() is None
        panel.write(session, todos("a=c"))
        assert "1 completed" in held[0].next().data  # the change is known by now
        with asked(panel, path, "late b", last_event_id=position) as ask:
            assert "1 completed" in ask.next().data
            assert ask.frame() is None
        with asked(panel, path, "late b", last_event_id="999") as ask:  # of another log
            assert "1 completed" in ask.next().data


@pytest.mark.parametrize("told", ["", " ", "x" * 10_000, "a b c", "\u00e9 \u00e9"])
def test_whatever_a_page_calls_itself_it_is_answered(panel: Panel, told: str) -> None:
    session = new_session()
    panel.write(session, todos("a=i"))
    with asked(panel, f"/embed/{session}/stream", told) as stream:
        assert stream.status == 200
        assert "a" in stream.next().data
