"""How much the log may hold: what is over it is refused, and nothing else."""

from pathlib import Path

from tests.running import running, todos

TURN = {"type": "turn/start", "data": {"turn": 1}}


def test_a_full_panel_takes_no_new_session_and_goes_on_with_the_others(database: Path) -> None:
    with running(database, max_sessions=2) as panel:
        assert [panel.write(session, todos("a=i")).status_code for session in "aab"] == [200, 200, 200]
        for answer in (panel.write("c", todos("a=i")), panel.append("c", TURN)):
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "300")
            assert answer.json()["title"] == "No room for a new session"
            assert "limit: 2" in answer.json()["detail"]
        assert panel.client.get("/api/sessions/c/plan").status_code == 404
        assert panel.write("a", todos("a=c")).status_code == 200


def test_a_full_panel_that_is_started_again_is_full(database: Path) -> None:
    with running(database, max_sessions=1) as panel:
        panel.write("a", todos("a=i"))
    with running(database, max_sessions=1) as panel:
        assert panel.write("b", todos("a=i")).status_code == 503
    with running(database, max_sessions=2) as panel:
        assert panel.write("b", todos("a=i")).status_code == 200


def test_a_full_session_takes_no_more_events(database: Path) -> None:
    with running(database, max_session_events=4) as panel:
        assert panel.write("a", todos("a=i")).status_code == 200
        answer = panel.write("a", todos("a=c"))
        assert answer.status_code == 413
        assert "at event 3 (limit: 4)" in answer.json()["detail"]
        assert panel.append("a", TURN).status_code == 201
        assert panel.append("a", TURN).status_code == 413
        assert panel.append("a", TURN | {"key": "k"}, TURN).status_code == 413
        assert panel.plan("a")["position"] == 4
        assert panel.write("b", todos("a=i")).status_code == 200


def test_what_a_full_session_has_already_is_acknowledged_again(database: Path) -> None:
    with running(database, max_session_events=1) as panel:
        keyed = TURN | {"key": "k"}
        assert [panel.append("a", keyed).status_code for _ in range(2)] == [201, 201]
