"""The one door in: events that bring an earlier plan back carry it whole (spec.md §2)."""

from typing import Any

import pytest

from planstrip.projection import current
from tests.running import Panel, new_session, todos

START = {"type": "turn/start", "data": {"turn": 1}}


def write(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "todo/write", "data": {"todos": todos(text), **more}}


def rewind(to: int, **more: Any) -> dict[str, Any]:
    return {"type": "session/rewind", "data": {"to_position": to}, **more}


RETIRE = {"type": "viewer/retire", "data": {}}
RESTORE = {"type": "viewer/restore", "data": {}}


def test_a_rewind_is_stored_with_the_plan_of_its_position_whole(shared_panel: Panel) -> None:
    session = new_session()
    omitted = [{"content": "x", "status": "cancelled"}]
    shared_panel.append(session, write("a=i", omitted=omitted), write("b=i"), write("c=i"))
    shared_panel.append(session, rewind(1))
    stored = shared_panel.events(session)[-1]
    assert stored["data"] == {"to_position": 1, "todos": todos("a=i"), "omitted": omitted}
    plan = shared_panel.plan(session)
    assert (plan["todos"], plan["omitted"], plan["since"]["position"]) == (todos("a=i"), omitted, 4)


@pytest.mark.parametrize(("to", "expected"), [(0, None), (1, None), (2, "a=c"), (3, None), (4, "b=i"), (5, "b=i")])
def test_a_rewind_goes_to_the_plan_that_stood_there(shared_panel: Panel, to: int, expected: str | None) -> None:
    session = new_session()
    shared_panel.append(session, START, write("a=c"), START, write("b=i"), START)
    shared_panel.append(session, write("z=i"))
    assert shared_panel.append(session, rewind(to)).status_code == 201
    assert shared_panel.plan(session)["todos"] == (todos(expected) if expected else None)
    assert shared_panel.events(session)[-1]["data"]["todos"] == (todos(expected) if expected else [])


def test_to_position_lies_before_the_batch(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, write("a=i"))
    for to in (2, 3):
        refused = shared_panel.append(session, write("b=i"), rewind(to))
        assert refused.status_code == 422
        assert "to_position" in refused.json()["errors"][0]["path"]
    assert len(shared_panel.events(session)) == 1
    assert shared_panel.append(session, write("b=i"), rewind(1)).status_code == 201
    assert shared_panel.plan(session)["todos"] == todos("a=i")


def test_a_rewind_to_a_rewind_brings_its_plan(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, write("a=i"), write("b=i"))
    shared_panel.append(session, rewind(1))
    shared_panel.append(session, write("c=i"))
    shared_panel.append(session, rewind(3))
    assert shared_panel.plan(session)["todos"] == todos("a=i")


def test_a_plan_that_a_client_sends_along_is_refused(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, write("a=i"))
    for type_ in ("session/rewind", "viewer/restore"):
        event = {"type": type_, "data": {"to_position": 0, "todos": todos("z=i")}}
        assert shared_panel.append(session, event).status_code == 422
    assert len(shared_panel.events(session)) == 1


def test_a_rewind_with_a_known_key_is_found_though_the_door_added_its_plan(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, write("a=i"))
    shared_panel.append(session, rewind(1, key="k"))
    shared_panel.append(session, write("b=i"))
    assert shared_panel.append(session, rewind(1, key="k")).json() == {"first_position": 2, "last_position": 2}
    assert shared_panel.append(session, rewind(0, key="k")).status_code == 409
    assert shared_panel.plan(session)["todos"] == todos("b=i")


def test_retire_and_restore_may_be_appended_as_events(shared_panel: Panel) -> None:
    session = new_session()
    assert shared_panel.append(session, RETIRE).status_code == 409
    shared_panel.append(session, write("a=i"))
    assert shared_panel.append(session, RESTORE).status_code == 409
    assert shared_panel.append(session, RETIRE).status_code == 201
    assert shared_panel.append(session, RETIRE).status_code == 409
    assert shared_panel.append(session, START, RESTORE).status_code == 201
    assert shared_panel.events(session)[-1]["data"] == {"todos": todos("a=i")}
    assert shared_panel.plan(session)["todos"] == todos("a=i")


def test_a_dismissal_that_comes_as_an_event_is_kept_and_dismisses_what_it_names(shared_panel: Panel) -> None:
    session = new_session()
    dismiss = {"type": "viewer/dismiss", "data": {"content": "b"}}
    assert shared_panel.append(session, dismiss, write("a=i b=p"), dismiss, write("a=i")).status_code == 201
    with shared_panel.parts.engine.connect() as connection:
        assert [item.content for item in current(connection, session).unlisted] == ["b"]
    assert shared_panel.append(session, dismiss).status_code == 201
    with shared_panel.parts.engine.connect() as connection:
        assert current(connection, session).unlisted == ()


def test_a_batch_whose_last_event_is_refused_stores_nothing(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, write("a=i"))
    assert shared_panel.append(session, write("b=i"), RESTORE).status_code == 409
    assert shared_panel.append(session, RETIRE, RETIRE).status_code == 409
    assert shared_panel.plan(session)["todos"] == todos("a=i")
    assert shared_panel.plan(session)["position"] == 1
    assert shared_panel.append(session, RETIRE, RESTORE, RETIRE).status_code == 201
    assert shared_panel.plan(session)["todos"] is None


def test_a_finished_plan_that_was_retired_comes_back(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, write("a=c"), RETIRE, START, RESTORE)
    assert shared_panel.plan(session)["todos"] == todos("a=c")
    shared_panel.append(session, START)
    assert shared_panel.plan(session)["todos"] is None
    assert shared_panel.append(session, RESTORE).status_code == 409


def test_a_session_starts_once_however_many_ask_at_once(shared_panel: Panel) -> None:
    session = new_session()
    answers = [shared_panel.client.post("/api/sessions", json={"id": session, "agent": "x"}) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [201, 200, 200]
    assert len(shared_panel.events(session)) == 1
