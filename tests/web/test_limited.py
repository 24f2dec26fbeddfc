"""What one client may ask for, writes, new and open streams, and that what is over it changes nothing (README)."""

import asyncio
from pathlib import Path

import httpx
import pytest
from starlette.types import Scope

from planstrip.errors import TooMany
from planstrip.settings import load
from planstrip.web.limited import Rate, client_of
from tests.running import TIMEOUT_S, Panel, running, todos
from tests.views import view

WRITES = {
    "todo_write": ("/api/sessions/b/todo_write", {"todos": todos("a=i")}),
    "events": ("/api/sessions/b/events", {"events": [{"type": "turn/start", "data": {"turn": 1}}]}),
    "session": ("/api/sessions", {"id": "b", "agent": "codex"}),
    "hook": ("/api/hooks/claude-code", {"hook_event_name": "SessionStart", "session_id": "b", "cwd": "/"}),
    "mcp": ("/mcp?session=b", {"jsonrpc": "2.0", "id": 1, "method": "ping"}),
}


def from_address(panel: Panel, address: str) -> httpx.Client:
    """As a client whose proxy on this machine tells its address."""
    return httpx.Client(base_url=panel.url, timeout=TIMEOUT_S, trust_env=False, headers={"x-forwarded-for": address})


def is_refusal(answer: httpx.Response, status: int) -> bool:
    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["status"] == answer.status_code
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    return answer.status_code == status


@pytest.mark.parametrize("door", WRITES)
def test_writes_over_the_limit_are_refused_and_change_nothing(database: Path, door: str) -> None:
    path, body = WRITES[door]
    with running(database, writes_per_minute=2) as panel:
        assert [panel.write("a", todos("a=i")).status_code for _ in range(2)] == [200, 200]
        answer = panel.client.post(path, json=body)
        assert is_refusal(answer, 429)
        assert "limit: 2" in answer.json()["detail"]
        assert panel.client.get("/api/sessions/b/plan").status_code == 404
        assert panel.plan("a")["position"] == 6
        assert panel.client.get("/").status_code == 200  # who reads is not held back


def test_clients_are_told_apart_by_the_address_that_a_proxy_tells(database: Path) -> None:
    with running(database, writes_per_minute=1) as panel:
        for address, expected in {"10.0.0.1": 200, "10.0.0.2": 200, "2001:db8::1": 200, "2001:db8::2": 429}.items():
            with from_address(panel, address) as client:
                answer = client.post("/api/sessions/a/todo_write", json={"todos": []})
                assert answer.status_code == expected, address


def test_a_person_who_sends_a_form_is_told_on_a_page(database: Path) -> None:
    with running(database, writes_per_minute=1) as panel:
        panel.write("a", todos("a=i"))
        answer = panel.client.post("/sessions/a/retire?lang=zh", headers={"accept": "text/html"})
        assert (answer.status_code, answer.headers["content-type"]) == (429, "text/html; charset=utf-8")
        assert "retry-after" in answer.headers
        assert "content-security-policy" in answer.headers


def test_the_limits_that_stand_by_default_hold_no_team_back() -> None:
    """200 agents behind one address, a write a second each, for two minutes; 2,000 viewers who all come at once."""
    settings = load(allow_parallel_in_progress=True)

    async def take(limit: int, count: int) -> None:
        rate = Rate(limit, "over %(limit)d")
        for _ in range(count):
            await rate.take("10.0.0.1")

    asyncio.run(take(settings.writes_per_minute, 200 * 60 * 2))
    asyncio.run(take(settings.streams_per_minute, 2_000))
    assert settings.max_client_streams >= 2_000
    with pytest.raises(TooMany):
        asyncio.run(take(1_000, 1_001))


@pytest.mark.parametrize("path", ["/sessions/a/stream", "/embed/a/stream", "/stream", "/api/sessions/a/stream"])
def test_a_client_holds_so_many_streams_and_has_room_again_when_one_ends(database: Path, path: str) -> None:
    with running(database, max_client_streams=2) as panel:
        with panel.stream(path), panel.stream(path) as second:
            assert is_refusal(panel.client.get(path), 429)
            with from_address(panel, "10.0.0.1") as other, other.stream("GET", path) as answer:
                assert answer.status_code == 200
            second.socket.close()
            _until_open(panel, path)
        _until_open(panel, path)


def test_a_process_holds_so_many_streams_of_all_clients(database: Path) -> None:
    with running(database, max_streams=1) as panel, panel.stream("/stream"):
        with from_address(panel, "10.0.0.1") as other:
            assert is_refusal(other.get("/sessions/a/stream"), 503)
        assert panel.client.get("/sessions/a").status_code == 200


def test_streams_are_opened_so_often(database: Path) -> None:
    with running(database, streams_per_minute=2) as panel:
        for _ in range(2):
            panel.stream("/stream").socket.close()
        assert is_refusal(panel.client.get("/stream"), 429)


def test_a_guest_is_known_by_the_token(database: Path) -> None:
    """One link that thousands follow leaves the others' places alone."""
    with running(database, max_client_streams=1) as panel:
        panel.write("a", todos("a=i"))
        token = view(panel, "a")
        with panel.stream(f"/sessions/a/stream?token={token}") as guest, panel.stream("/sessions/a/stream") as own:
            assert (guest.status, own.status) == (200, 200)
            assert panel.client.get(f"/sessions/a/stream?token={token}").status_code == 429


@pytest.mark.parametrize(
    ("host", "client"),
    [("10.0.0.1", "10.0.0.1"), ("2001:db8::5", "2001:db8::/64"), ("::ffff:10.0.0.1", "10.0.0.1"), ("a:b", "a:b")],
)
def test_of_ipv6_a_network_is_one_client(host: str, client: str) -> None:
    scope: Scope = {"type": "http", "client": (host, 1), "headers": []}
    assert client_of(scope) == client


def _until_open(panel: Panel, path: str) -> None:
    """The server has yet to hear that a stream's reader has gone."""
    for _ in range(500):
        with panel.stream(path) as stream:
            if stream.status == 200:
                return
    raise AssertionError("no room")
