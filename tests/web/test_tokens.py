"""View tokens over the REST API (spec.md §10)."""

from pathlib import Path
from typing import Any

import pytest

from planstrip.view_tokens import DEFAULT_LIFE_S
from tests.running import Panel, new_session, running, todos
from tests.views import view_of


def make(panel: Panel, **body: Any) -> dict[str, Any]:
    answer = panel.client.post("/api/tokens", json=body)
    assert answer.status_code == 201, answer.text
    assert answer.headers["cache-control"] == "no-store"
    made: dict[str, Any] = answer.json()
    return made


def test_a_token_is_made_listed_and_revoked(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("x=i"))
    made = make(shared_panel, session=session, label="for Ann")
    assert made["expires_at"] - made["created_at"] == DEFAULT_LIFE_S * 1000
    assert (made["session"], made["board"], made["label"]) == (session, None, "for Ann")
    assert made["url"] == f"{shared_panel.url}/sessions/{session}?token={made['token']}"
    assert shared_panel.client.get(made["url"]).status_code == 200
    listed = shared_panel.client.get("/api/tokens")
    assert made["token"] not in listed.text
    assert listed.json()["tokens"][0] == {name: value for name, value in made.items() if name not in ("token", "url")}
    for _ in range(2):
        assert shared_panel.client.delete(f"/api/tokens/{made['id']}").status_code == 204
    assert shared_panel.client.get(made["url"]).status_code == 401
    revoked_at = shared_panel.client.get("/api/tokens").json()["tokens"][0]["revoked_at"]
    assert made["created_at"] <= revoked_at < made["expires_at"]


def test_a_board_is_shown_by_its_filter(shared_panel: Panel) -> None:
    made = make(shared_panel, board={"cwd": "/a b", "state": "waiting"}, expires_in_s=60)
    assert made["board"] == {"cwd": "/a b", "state": "waiting"}
    assert made["url"] == f"{shared_panel.url}/?token={made['token']}"
    assert make(shared_panel, board={})["board"] == {}


def test_below_a_prefix_the_link_leads_there(database: Path) -> None:
    with running(database, root_path="/plans") as panel:
        made = make(panel, session="é 1")
        assert made["url"] == f"{panel.client.base_url}sessions/%C3%A9%201?token={made['token']}"
        assert panel.client.get(made["url"]).status_code == 200


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "session"),
        ({"session": "a", "board": {}}, "session"),
        ({"session": None}, "session"),
        ({"session": 1}, "session"),
        ({"session": "a/b"}, "session"),
        ({"session": ""}, "session"),
        ({"board": []}, "board"),
        ({"board": {"nonsense": "x"}}, "board.nonsense"),
        ({"board": {"state": "sleeping"}}, "board.state"),
        ({"board": {"q": ""}}, "board.q"),
        ({"board": {"q": "x" * 1_001}}, "board.q"),
        ({"board": {"cwd": "a\u0000"}}, "board.cwd"),
        ({"session": "a", "expires_in_s": 59}, "expires_in_s"),
        ({"session": "a", "expires_in_s": 10**12}, "expires_in_s"),
        ({"session": "a", "expires_in_s": "600"}, "expires_in_s"),
        ({"session": "a", "label": "x" * 201}, "label"),
        ({"session": "a", "label": "a\nb"}, "label"),
        ({"session": "a", "scope": "all"}, "scope"),
    ],
)
def test_what_is_no_wish_is_refused_by_its_path(shared_panel: Panel, body: dict[str, Any], path: str) -> None:
    before = len(shared_panel.client.get("/api/tokens").json()["tokens"])
    answer = shared_panel.client.post("/api/tokens", json=body)
    assert answer.status_code == 422
    assert [problem["path"] for problem in answer.json()["errors"]] == [path]
    assert len(shared_panel.client.get("/api/tokens").json()["tokens"]) == before


def test_it_is_guarded_as_other_writes_are(shared_panel: Panel) -> None:
    post = shared_panel.client.post
    assert post("/api/tokens", content=b"{}", headers={"content-type": "text/plain"}).status_code == 415
    assert post("/api/tokens", json={"session": "a"}, headers={"Origin": "https://evil.example"}).status_code == 403
    made = make(shared_panel, session="a")
    delete = shared_panel.client.delete(f"/api/tokens/{made['id']}", headers={"Origin": "https://evil.example"})
    assert delete.status_code == 403


def test_a_token_that_there_is_not_cannot_be_revoked(shared_panel: Panel) -> None:
    answer = shared_panel.client.delete("/api/tokens/0123456789abcdef")
    assert answer.status_code == 404
    assert "0123456789abcdef" in answer.json()["detail"]


def test_what_ended_long_ago_is_listed_no_longer(shared_panel: Panel) -> None:
    day_ms = 24 * 3600 * 1000
    old, _ = view_of(shared_panel, "a", ago_ms=39 * day_ms, life_s=8 * 24 * 3600)
    lately, _ = view_of(shared_panel, "a", ago_ms=37 * day_ms, life_s=8 * 24 * 3600)
    make(shared_panel, session="a")
    listed = {token["id"] for token in shared_panel.client.get("/api/tokens").json()["tokens"]}
    assert lately.id in listed
    assert old.id not in listed


def test_the_store_never_holds_a_token(database: Path) -> None:
    with running(database) as panel:
        made = make(panel, session="a")
    signature = made["token"].partition(".")[2].encode()
    for path in database.parent.glob("log.sqlite3*"):
        content = path.read_bytes()
        assert made["id"].encode() in content or path.suffix != ".sqlite3"
        assert signature not in content
