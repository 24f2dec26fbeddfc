"""Server-sent events: first frame at once, coalesced, resumed, shared, ended in time (spec.md §8)."""

import json
import re
import signal
import socket
import time
import tracemalloc
from collections.abc import Callable
from html import unescape
from pathlib import Path

import httpx
import pytest

from tests.running import TIMEOUT_S, Panel, Stream, new_session, running, serving, todos

KINDS = ("/sessions/{}/stream", "/embed/{}/stream", "/api/sessions/{}/stream")


def until(claim: Callable[[], bool]) -> None:
    end = time.monotonic() + TIMEOUT_S
    while not claim():
        assert time.monotonic() < end
        time.sleep(0.01)


# Opening


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_frame_comes_at_once_with_its_position(shared_panel: Panel, kind: str) -> None:
    """R078, R081."""
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    with shared_panel.stream(kind.format(session)) as stream:
        assert stream.status == 200
        assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert stream.headers["cache-control"] == "no-cache, no-transform"
        assert stream.headers["x-accel-buffering"] == "no"
        frame = stream.frame()
        assert frame is not None
        assert frame.id in ("2", "3")


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_frame_comes_also_to_a_reader_who_has_seen_all(shared_panel: Panel, kind: str) -> None:
    """R081, R083."""
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    with shared_panel.stream(kind.format(session) + "?after=3") as stream:
        assert "a" in stream.next().data


def test_the_json_stream_says_what_the_plan_route_says(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=c b=i"))
    with shared_panel.stream(f"/api/sessions/{session}/stream") as stream:
        frame = stream.next()
        assert (frame.event, frame.id) == ("plan", "3")
        assert json.loads(frame.data) == shared_panel.plan(session)
        for act in ("retire", "restore"):
            shared_panel.client.post(f"/api/sessions/{session}/{act}")
            assert json.loads(stream.next("plan").data) == shared_panel.plan(session)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_never_comes_compressed(shared_panel: Panel, kind: str) -> None:
    """R080."""
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    with shared_panel.stream(kind.format(session), Accept_Encoding="gzip, deflate, br, zstd") as stream:
        assert "content-encoding" not in stream.headers
        assert stream.next().data


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_waits_for_its_session_and_fills(shared_panel: Panel, kind: str) -> None:
    """R073."""
    session = new_session()
    with shared_panel.stream(kind.format(session)) as stream:
        assert stream.status == 200
        assert stream.next().id == "0"
        shared_panel.write(session, todos("hello=i"))
        assert "hello" in stream.next().data


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("after", ["-1", "x", "1.5", "9" * 40, "%20", "١"])
def test_a_faulty_position_is_refused(shared_panel: Panel, kind: str, after: str) -> None:
    answer = shared_panel.client.get(kind.format("a") + f"?after={after}")
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("kind", KINDS)
def test_a_head_request_ends(shared_panel: Panel, kind: str) -> None:
    answer = shared_panel.client.head(kind.format("a"))
    assert answer.status_code in (200, 405)
    assert answer.content == b""


# What comes after


def test_a_frame_holds_what_changed_and_its_position(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    with shared_panel.stream(f"/sessions/{session}/stream?after=3") as stream:
        stream.next()
        shared_panel.append(session, {"type": "tool/call", "data": {"call_id": "c", "name": "bash", "arguments": "ls"}})
        frame = stream.next()
        assert frame.id == "4"
        assert "bash" in frame.data
        assert 'data-testid="plan-strip"' not in frame.data
        shared_panel.write(session, todos("b=i"))
        assert 'data-testid="plan-strip"' in stream.next().data


def test_a_region_that_is_as_it_was_sent_is_not_sent_again(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=c"))
    shared_panel.append(session, {"type": "turn/start", "data": {"turn": 1}})
    shared_panel.write(session, todos("b=i"))
    regions = ("strip", "timeline", "plans", "unlisted", "retired", "hint")

    def sent(stream: Stream) -> list[str]:
        data = stream.next().data
        return [name for name in regions if f'id="{name}"' in data]

    with shared_panel.stream(f"/sessions/{session}/stream?after=7") as stream:
        assert sent(stream) == list(regions)
        shared_panel.write(session, todos("b=i c=p"))
        assert sent(stream) == ["strip", "timeline", "plans"]
        shared_panel.write(session, todos("b=i c=p"))
        assert sent(stream) == ["strip", "timeline"]  # what was counted before is counted as before
        shared_panel.client.post(f"/api/sessions/{session}/retire")
        assert sent(stream) == ["strip", "timeline", "plans", "retired"]
        shared_panel.client.post(f"/api/sessions/{session}/restore")
        assert "retired" in sent(stream)
    with shared_panel.stream(f"/sessions/{session}/stream?after=7") as stream:
        assert sent(stream) == list(regions)


def test_an_event_that_changes_nothing_sends_nothing(shared_panel: Panel) -> None:
    """R083."""
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    with (
        shared_panel.stream(f"/sessions/{session}/stream?after=3") as page,
        shared_panel.stream(f"/embed/{session}/stream?after=3") as embed,
        shared_panel.stream(f"/api/sessions/{session}/stream?after=3") as plan,
    ):
        for stream in (page, embed, plan):
            stream.next()
        shared_panel.append(session, {"type": "later/type", "data": {}})
        assert page.wait(0.4) is None
        shared_panel.append(session, {"type": "tool/call", "data": {"call_id": "c", "name": "bash", "arguments": ""}})
        assert "bash" in page.next().data
        assert embed.wait(0.3) is None
        assert plan.wait(0.1) is None
        shared_panel.write(session, todos("z=i"))
        assert all("z" in stream.next().data for stream in (page, embed, plan))


@pytest.mark.parametrize("header", ["Last_Event_ID", "last_event_id"])
def test_what_was_seen_last_wins_over_the_address(shared_panel: Panel, header: str) -> None:
    """R075, R083."""
    session = new_session()
    calls = [{"type": "tool/call", "data": {"call_id": f"{n}", "name": f"tool{n}", "arguments": ""}} for n in range(4)]
    shared_panel.append(session, *calls)
    with shared_panel.stream(f"/sessions/{session}/stream?after=1", **{header: "3"}) as stream:
        frame = stream.next()
        assert "tool3" in frame.data
        assert "tool2" not in frame.data
    with shared_panel.stream(f"/sessions/{session}/stream?after=3") as stream:
        assert stream.next() == frame


def test_a_position_beyond_the_log_begins_anew(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    with shared_panel.stream(f"/sessions/{session}/stream?after=99") as stream:
        assert "a" in stream.next().data
        shared_panel.write(session, todos("b=i"))
        assert "b" in stream.next().data


def test_nothing_falls_between_the_page_and_its_stream(shared_panel: Panel) -> None:
    """R073."""
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    page = shared_panel.client.get(f"/sessions/{session}").text
    url = page.split('hx-sse:connect="')[1].split('"')[0].replace("&amp;", "&")
    shared_panel.write(session, todos("between=i"))
    with shared_panel.stream(url) as stream:
        assert "between" in stream.next().data


def test_a_burst_is_coalesced_and_its_last_state_arrives(shared_panel: Panel) -> None:
    """R090, R091."""
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    with shared_panel.stream(f"/api/sessions/{session}/stream") as stream:
        stream.next()
        began = time.monotonic()
        for number in range(150):
            shared_panel.write(session, todos(f"t{number}=i"))
        frames = [stream.next()]
        while "t149" not in frames[-1].data:
            frames.append(stream.next())
        took = time.monotonic() - began
        assert len(frames) <= took / 0.1 + 2
        assert [int(frame.id or 0) for frame in frames] == sorted({int(frame.id or 0) for frame in frames})
        assert stream.wait(0.3) is None


def test_each_write_of_a_person_reading_along_is_a_frame(shared_panel: Panel) -> None:
    """R012: five completions 200 ms apart; the last frame is the fold of the whole log."""
    session, steps = new_session(), [f"s{number}" for number in range(5)]
    shared_panel.write(session, [{"content": step, "status": "pending"} for step in steps])
    with shared_panel.stream(f"/api/sessions/{session}/stream") as stream:
        stream.next()
        told = []
        for done in range(1, 6):
            states = ["completed"] * done + ["pending"] * (5 - done)
            listed = [{"content": step, "status": state} for step, state in zip(steps, states, strict=True)]
            position = shared_panel.write(session, listed).json()["position"]
            told.append(json.loads(stream.next().data))
            assert told[-1]["since"]["position"] == position
            time.sleep(0.2)
        assert [plan["counts"]["completed"] for plan in told] == [1, 2, 3, 4, 5]
        assert told[-1] == shared_panel.plan(session)


def test_one_event_reaches_every_view_of_its_session(shared_panel: Panel) -> None:
    """R056: the strip and its rows, the frame in another page, the list as JSON, the board."""
    session = new_session()
    head = shared_panel.write(session, todos("only-here=i")).json()["position"] + 1
    with (
        shared_panel.stream(f"/sessions/{session}/stream?after={head}") as page,
        shared_panel.stream(f"/embed/{session}/stream?after={head}") as embed,
        shared_panel.stream(f"/api/sessions/{session}/stream?after={head}") as plan,
        shared_panel.stream("/stream?q=only-here") as board,
    ):
        assert all("only-here" in view.next().data for view in (page, embed, plan, board))
        shared_panel.client.post(f"/api/sessions/{session}/retire")
        for frame in (page.next(), embed.next()):
            assert '<div id="strip" class="strip-region"></div>' in frame.data
        assert json.loads(plan.next().data)["todos"] is None
        assert session not in board.next().data


def test_what_happens_in_another_session_reaches_nobody_here(shared_panel: Panel) -> None:
    """R065: a session that is opened while another has a plan shows none."""
    older, newer = new_session(), new_session()
    shared_panel.write(older, todos("of-the-older=i"))
    with shared_panel.stream(f"/sessions/{newer}/stream") as stream:
        assert "of-the-older" not in stream.next().data
        shared_panel.write(older, todos("of-the-older=c"))
        assert stream.wait(0.4) is None
    assert "plan-strip" not in shared_panel.client.get(f"/sessions/{newer}").text


def test_no_row_is_lost_in_a_burst(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, {"type": "turn/start", "data": {"turn": 1}})
    with shared_panel.stream(f"/sessions/{session}/stream?after=1") as stream:
        stream.next()
        for number in range(60):
            call = {"call_id": f"{number}", "name": f"tool-{number}-", "arguments": ""}
            shared_panel.append(session, {"type": "tool/call", "data": call})
        seen = ""
        while "tool-59-" not in seen:
            seen += stream.next().data
    assert all(f"tool-{number}-" in seen for number in range(60))


def test_two_viewers_get_the_same_bytes_and_another_language_its_own(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    path = f"/sessions/{session}/stream?after=0&lang="
    with (
        shared_panel.stream(path + "en") as one,
        shared_panel.stream(path + "en") as other,
        shared_panel.stream(path + "zh") as chinese,
    ):
        first = one.raw()
        assert first == other.raw()
        assert first != chinese.raw()
        shared_panel.write(session, todos("b=i"))
        assert one.raw() == other.raw() != chinese.raw()


def test_lines_of_every_kind_stay_inside_their_frame(shared_panel: Panel) -> None:
    """R093."""
    session = new_session()
    content = "a\nb\r\nc\rd\u2028e\u0085f\x00g\n\nevent: evil\ndata: x\n\nid: 7"
    shared_panel.write(session, [{"content": content, "status": "pending"}])
    with shared_panel.stream(f"/api/sessions/{session}/stream") as stream:
        frame = stream.next()
        assert frame.event == "plan"
        assert json.loads(frame.data)["todos"][0]["content"] == content
    with shared_panel.stream(f"/sessions/{session}/stream") as stream:
        raw = stream.raw()
        assert b"\r" not in raw
        assert all(line.startswith((b"id: ", b"data: ")) for line in raw.split(b"\n"))
        shared_panel.write(session, todos("z=i"))
        assert "z" in stream.next().data


def last_time(panel: Panel) -> int:
    return int(panel.events("a")[-1]["time"])


def test_a_quiet_stream_says_that_it_lives(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R075, R083."""
    monkeypatch.setattr("planstrip.web.channels.HEARTBEAT_S", 0.1)
    with running(database) as panel:
        panel.write("a", todos("a=i"))
        with panel.stream("/sessions/a/stream") as stream, panel.stream("/api/sessions/a/stream") as plan:
            for one in (stream, plan):
                one.next()
                beats = [one.next("heartbeat") for _ in range(3)]
                told = f"3 {last_time(panel)}"  # where it stands, and when the agent gave its last sign
                assert all(beat.data == told and beat.id is None for beat in beats)
            panel.write("a", todos("b=i"))
            assert "b" in plan.next().data


def test_heartbeats_come_every_fifteen_seconds() -> None:
    """R079, R083."""
    from planstrip.web import channels

    assert channels.HEARTBEAT_S == 15
    assert channels.FRAME_INTERVAL_S >= 0.1


# Who is slow or gone


def test_streams_that_were_opened_and_closed_leave_nobody(panel: Panel) -> None:
    """R095."""
    panel.write("a", todos("a=i"))
    for number in range(10):
        streams = [panel.stream(KINDS[place % 3].format("a" if place % 2 else "later")) for place in range(50)]
        for stream in streams:
            if number % 2:
                stream.next()
            stream.socket.close()
    until(lambda: panel.parts.hub.viewers == 0)
    assert panel.parts.hub._channels == {}
    assert not panel.parts.hub.is_watched.is_set()
    panel.write("a", todos("b=i"))
    with panel.stream("/api/sessions/a/stream") as stream:
        assert "b" in stream.next().data
    until(lambda: panel.parts.hub.viewers == 0)


def test_the_same_session_may_be_left_and_opened_again_at_once(panel: Panel) -> None:
    panel.write("a", todos("a=i"))
    for number in range(30):
        with panel.stream("/api/sessions/a/stream") as stream:
            stream.next()
            panel.write("a", todos(f"t{number}=i"))
            assert f"t{number}" in stream.next().data


def test_a_reader_who_never_reads_costs_nobody_else(panel: Panel) -> None:
    many = [{"content": f"{n} " + "x" * 200, "status": "pending"} for n in range(500)]
    panel.write("a", many)
    stuck = [_stuck(panel) for _ in range(5)]
    with panel.stream("/api/sessions/a/stream") as stream:
        stream.next()
        for number in range(20):
            panel.write("a", [*many, {"content": f"last-{number}-", "status": "in_progress"}])
            while f"last-{number}-" not in stream.next().data:
                pass
        for one in stuck:
            one.close()
    until(lambda: panel.parts.hub.viewers == 0)


def _stuck(panel: Panel) -> socket.socket:
    """A reader with a small buffer that takes nothing."""
    one = socket.socket()
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    host, port = panel.url.removeprefix("http://").split(":")
    one.connect((host, int(port)))
    one.sendall(f"GET /api/sessions/a/stream HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    return one


def test_readers_from_many_positions_cost_bounded_memory(panel: Panel) -> None:
    panel.append(
        "a", *[{"type": "tool/call", "data": {"call_id": f"{n}", "name": "t", "arguments": ""}} for n in range(900)]
    )
    with panel.stream("/sessions/a/stream") as stream:
        stream.next()
        tracemalloc.start()
        for after in range(300):
            with panel.stream(f"/sessions/a/stream?after={after}") as other:
                other.next()
        grown, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert grown < 8_000_000


# The end


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_on_shutdown_streams_end_in_time(database: Path, number: int) -> None:
    """R094."""
    with serving(database) as program:
        streams = [Stream(program.url, kind.format("a"), {}) for kind in KINDS]
        for stream in streams:
            stream.next()
        stuck = socket.create_connection(tuple(program.url.removeprefix("http://").split(":")))  # type: ignore[arg-type]
        began = time.monotonic()
        program.process.send_signal(number)
        for stream in streams:
            assert stream.frame() is None
        ended = time.monotonic() - began
        assert program.process.wait(TIMEOUT_S) in (0, -number, 128 + number)
        assert ended < 10, "the contract says 2 s; this bound only tells a hang"
        stuck.close()
        for stream in streams:
            stream.socket.close()
    assert "Traceback" not in "".join(program.said)


def test_a_reader_who_never_reads_does_not_hold_the_shutdown(database: Path) -> None:
    with serving(database, "--drain-s", "60") as program:  # which is for requests, not for streams
        many = [{"content": f"{n} " + "x" * 200, "status": "pending"} for n in range(900)]
        with socket.socket() as stuck, Stream(program.url, "/api/sessions/a/stream", {}) as other:
            stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            host, port = program.url.removeprefix("http://").split(":")
            stuck.connect((host, int(port)))
            stuck.sendall(f"GET /api/sessions/a/stream HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            for n in range(32):  # each a frame of its own: more than the system takes for a reader
                many[0]["content"] = f"{n}-"
                address = f"{program.url}/api/sessions/a/todo_write"
                assert httpx.post(address, json={"todos": many}, trust_env=False).status_code == 200
                while f'"{n}-"' not in other.next().data:
                    pass
            assert program.stop() == 0


def test_a_stream_is_resumed_after_a_restart(database: Path) -> None:
    with serving(database) as program:

        def write(text: str) -> None:
            httpx.post(f"{program.url}/api/sessions/a/todo_write", json={"todos": todos(text)}, trust_env=False)

        write("a=i")
        with Stream(program.url, "/api/sessions/a/stream", {}) as stream:
            seen = stream.next()
        program.stop(signal.SIGKILL)
    with serving(database) as program:
        write("b=i")
        with Stream(program.url, "/api/sessions/a/stream?after=0", {"Last-Event-ID": seen.id or ""}) as stream:
            frame = stream.next()
            assert int(frame.id or 0) > int(seen.id or 0)
            assert json.loads(frame.data)["todos"] == todos("b=i")


def test_a_page_of_more_than_fifty_revisions_leads_to_the_older_ones(shared_panel: Panel) -> None:
    session = new_session()
    for number in range(50):
        shared_panel.write(session, todos(f"t{number}=i"))
    with shared_panel.stream(f"/sessions/{session}/stream") as stream:
        assert "Older revisions" not in stream.next().data
        shared_panel.write(session, todos("t50=i"))
        [link] = re.findall(r'href="([^"]+)">Older revisions', stream.next().data)
    page, before = (shared_panel.client.get(path).text for path in (f"/sessions/{session}", unescape(link)))
    assert link in page
    oldest = [re.findall(r'id="revision-(\d+)"', text)[0] for text in (page, before)]
    first = [event["position"] for event in shared_panel.events(session) if event["type"] == "todo/write"][:2]
    assert oldest == [str(first[1]), str(first[0])]
