"""A session's past: pages and embeds as they stood, the stops on the way, and the plans with their outcomes (§9)."""

import re

import pytest

from tests.running import Panel, new_session, todos


def story(panel: Panel) -> str:
    """Three writes at 3, 6 and 10: a plan that is finished, and another of which one to-do is dropped."""
    session = new_session()
    panel.append(session, {"type": "turn/start", "data": {"turn": 1, "prompt": "Begin"}})
    panel.write(session, todos("first=i"))
    panel.write(session, todos("first=c"))
    panel.append(session, {"type": "turn/start", "data": {"turn": 2, "prompt": "Go on"}})
    panel.write(session, todos("second=i third=p"))
    panel.write(session, todos("second=c"))
    return session


def get(panel: Panel, path: str) -> str:
    answer = panel.client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.text


def items(text: str) -> list[str]:
    return re.findall(r'data-status="(\w+)"', text)


def test_a_page_shows_the_session_as_it_stood(shared_panel: Panel) -> None:
    session = story(shared_panel)
    now, then = get(shared_panel, f"/sessions/{session}"), get(shared_panel, f"/sessions/{session}?at=3")
    assert (items(then), items(now)) == (["in_progress"], ["completed"])
    assert 'data-position="3"' in then
    assert "Begin" in then
    assert "Go on" not in then
    assert "no longer listed" in now
    assert "no longer listed" not in then


def test_the_past_is_marked_has_no_stream_and_one_way_back(shared_panel: Panel) -> None:
    session = story(shared_panel)
    then = get(shared_panel, f"/sessions/{session}?at=3&lang=en")
    assert "The past" in then
    assert "data-live=" not in then
    assert "hx-sse" not in then
    assert "<form method" not in then  # nothing can be done there
    assert f'href="/sessions/{session}?lang=en">Back to now' in then
    assert "The past" not in get(shared_panel, f"/sessions/{session}")


def test_the_plan_of_a_page_is_that_of_the_api_at_every_position(shared_panel: Panel) -> None:
    session = story(shared_panel)
    head = shared_panel.plan(session)["position"]
    for position in range(head + 1):
        plan = shared_panel.plan(session, position)["todos"] or []
        for path in (f"/sessions/{session}?at={position}", f"/embed/{session}?at={position}"):
            assert items(get(shared_panel, path)) == [todo["status"] for todo in plan]


def test_writes_are_the_stops(shared_panel: Panel) -> None:
    session = story(shared_panel)
    text = get(shared_panel, f"/sessions/{session}?at=6&lang=en")
    assert 'type="range" autofocus name="stop" min="0" max="4" value="2"' in text
    assert "Write 2 of 4" in text
    assert f'href="/sessions/{session}?lang=en&amp;at=3"' in text
    assert f'href="/sessions/{session}?lang=en&amp;at=10"' in text
    answer = shared_panel.client.get(f"/sessions/{session}?stop=3&lang=en", headers={"hx-request": "true"})
    assert 'data-position="10"' in answer.text
    assert answer.headers["hx-push-url"] == f"/sessions/{session}?lang=en&at=10"
    assert 'data-position="2"' in get(shared_panel, f"/sessions/{session}?stop=0")  # before the first


def test_a_replay_goes_on_to_the_next_stop_and_ends_at_the_last(shared_panel: Panel) -> None:
    session = story(shared_panel)
    assert 'hx-trigger="load delay:' in get(shared_panel, f"/sessions/{session}?at=6&play=1")
    assert 'hx-trigger="load delay:' not in get(shared_panel, f"/sessions/{session}?at=13&play=1")
    assert 'hx-trigger="load delay:' not in get(shared_panel, f"/sessions/{session}?at=6")


def test_plans_are_numbered_with_their_outcome_and_lead_to_where_they_stood(shared_panel: Panel) -> None:
    """R039, R061."""
    session = story(shared_panel)
    text = get(shared_panel, f"/sessions/{session}?lang=en")
    assert re.findall(r'data-outcome="(\w+)"', text) == ["stands", "finished"]
    link = re.search(r'href="([^"]+)">Plan 1<', text)
    assert link
    assert items(get(shared_panel, link[1].replace("&amp;", "&"))) == ["completed"]


@pytest.mark.parametrize("path", ["/sessions/{}?at=99", "/embed/{}?at=99", "/sessions/none?at=1"])
def test_beyond_the_head_there_is_nothing(shared_panel: Panel, path: str) -> None:
    assert shared_panel.client.get(path.format(story(shared_panel))).status_code == 404


@pytest.mark.parametrize("query", ["at=-1", "at=x", "at=1e3", "at=9" + "9" * 30, "stop=x", "at="])
def test_a_position_that_is_none_is_refused_with_its_value(shared_panel: Panel, query: str) -> None:
    answer = shared_panel.client.get(f"/sessions/{story(shared_panel)}?{query}")
    assert answer.status_code == 422
    assert f"{query.partition('=')[0]} is '{query.partition('=')[2][:40]}'" in answer.json()["detail"]


def test_older_rows_of_the_past_are_as_they_were(shared_panel: Panel) -> None:
    session = new_session()
    calls = [
        {"type": "tool/call", "data": {"call_id": f"c{number}", "name": "bash", "arguments": "{}"}}
        for number in range(120)
    ]
    shared_panel.append(session, *calls)
    shared_panel.append(session, {"type": "tool/result", "data": {"call_id": "c1", "is_error": False, "text": "x"}})
    then = get(shared_panel, f"/sessions/{session}/rows?before=5&at=120")
    now = get(shared_panel, f"/sessions/{session}/rows?before=5")
    assert (then.count('data-state="ok"'), now.count('data-state="ok"')) == (0, 1)
    assert "at=120" in get(shared_panel, f"/sessions/{session}?at=120")
