"""The record of a running panel's session is that of the same events in a file, at its end and at any position."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planstrip.errors import UnusableSettings
from planstrip.intake.imports import import_paths
from planstrip.plan.todos import trim
from planstrip.snapshot.panels import address_of
from planstrip.snapshot.taking import Look, take
from tests.running import Panel, new_session, running, todos

FIXTURES = Path(__file__).parents[2] / "fixtures"
LOOKS = [Look(), Look("zh", has_all_rows=True), Look(has_all_rows=True, has_steps=True), Look(as_json=True)]

contents = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).map(trim).filter(bool)
plans = st.lists(
    st.fixed_dictionaries({"content": contents, "status": st.sampled_from(["pending", "in_progress", "completed"])}),
    max_size=4,
    unique_by=lambda todo: todo["content"],
)
calls = st.sampled_from(["a", "b"])
arguments = st.one_of(plans.map(lambda plan: json.dumps({"todos": plan})), contents)
EVENTS: Mapping[str, st.SearchStrategy[dict[str, Any]]] = {
    "todo/write": st.fixed_dictionaries({"todos": plans}, optional={"call_id": calls}),
    "tool/call": st.fixed_dictionaries({"call_id": calls, "name": st.just("todo_write"), "arguments": arguments}),
    "tool/result": st.fixed_dictionaries({"call_id": calls, "is_error": st.booleans(), "text": contents}),
    "turn/start": st.fixed_dictionaries({"turn": st.integers(1, 9)}, optional={"prompt": contents}),
    "turn/end": st.fixed_dictionaries(
        {"turn": st.just(1), "reason": st.fixed_dictionaries({"kind": st.sampled_from(["completed", "aborted"])})}
    ),
    "session/rewind": st.fixed_dictionaries({"to_position": st.integers(0, 6)}),
    "viewer/retire": st.just({}),
    "viewer/restore": st.just({}),
    "later/type": st.just({"x": 1}),
}
events = st.sampled_from(sorted(EVENTS)).flatmap(
    lambda type_: EVENTS[type_].map(lambda data: {"type": type_, "data": data})
)


@given(st.lists(events, min_size=1, max_size=10))
@settings(max_examples=12, suppress_health_check=list(HealthCheck))
def test_what_was_pushed_and_what_stands_in_a_file_give_one_record(
    shared_panel: Panel, tmp_path_factory: pytest.TempPathFactory, sent: list[dict[str, Any]]
) -> None:
    session = new_session()
    start = {"type": "session/start", "data": {"agent": "mine"}}
    taken = [event for event in (start, *sent) if shared_panel.append(session, event).status_code == 201]
    folder = tmp_path_factory.mktemp("events")
    for name, written in (("sent.jsonl", taken), ("stored.jsonl", shared_panel.events(session))):
        (folder / name).write_text("".join(json.dumps(event) + "\n" for event in written), encoding="utf-8")
    look = Look(has_all_rows=True, has_steps=True)
    [shown] = take(f"{shared_panel.url}/sessions/{session}", look).records.values()
    assert take(str(folder), look).records == {"sent": shown, "stored": shown}


@pytest.mark.parametrize(
    "sample", ["claude-code/todowrite-parallel-and-errors.jsonl", "gemini-cli/write_todos-session.jsonl"]
)
def test_an_imported_transcript_has_the_record_of_its_file(panel: Panel, sample: str) -> None:
    [report] = import_paths(panel.parts.writer, [FIXTURES / sample]).files
    for look in LOOKS:
        url = f"{panel.url}/sessions/{report.session}?lang=zh"
        assert take(url, look, "x").records == take(str(FIXTURES / sample), look, "x").records


def test_as_it_stood_at_a_position(shared_panel: Panel) -> None:
    session = new_session()
    for plan in ("a=i", "a=c b=i"):
        shared_panel.append(session, {"type": "todo/write", "data": {"todos": todos(plan)}})
    url = f"{shared_panel.url}/embed/{session}"
    assert list(take(f"{url}?at=1", Look()).records.values()) == ["panel=1 in progress\nitem=in_progress a\n"]
    assert list(take(f"{url}?at=0", Look()).records.values()) == [""]
    assert take(f"{url}?at=2", Look()) == take(url, Look())
    with pytest.raises(UnusableSettings, match=r"at is 3, but session .* stands at 2"):
        take(f"{url}?at=3", Look())


def test_a_long_session_is_read_to_its_end(shared_panel: Panel) -> None:
    """The API gives 500 events at a time."""
    session = new_session()
    between = [{"type": "later/type", "data": {}}] * 498
    plans = [{"type": "todo/write", "data": {"todos": todos(f"n{number}=p")}} for number in range(4)]
    shared_panel.append(session, plans[0], *between, plans[1])
    shared_panel.append(session, plans[2], *between, *between, plans[3])
    for query, last in (("", 3), ("?at=1001", 2), ("?at=501", 2), ("?at=500", 1), ("?at=499", 0)):
        [text] = take(f"{shared_panel.url}/sessions/{session}{query}", Look()).records.values()
        assert text == f"panel=1 pending\nitem=pending n{last}\n"


@pytest.fixture(scope="module")
def locked_panel(tmp_path_factory: pytest.TempPathFactory, empty_log: bytes) -> Iterator[Panel]:
    path = tmp_path_factory.mktemp("locked") / "log.sqlite3"
    path.write_bytes(empty_log)
    with running(path, token="secret", root_path="/plans") as panel:
        panel.client.headers["Authorization"] = "Bearer secret"
        panel.client.headers["Content-Type"] = "application/json"
        yield panel


def test_a_panel_below_a_prefix_is_asked_with_its_token(locked_panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    assert locked_panel.write("会话 1", todos("a=i")).status_code == 200
    url = f"{locked_panel.url}/sessions/%E4%BC%9A%E8%AF%9D%201"
    with pytest.raises(UnusableSettings, match="wants a token"):
        take(url, Look())
    guest = locked_panel.client.post("/api/tokens", json={"session": "会话 1"}).json()["token"]
    with pytest.raises(UnusableSettings, match="a view token opens the page, not the log"):
        take(f"{url}?token={guest}", Look())
    expected = {
        "会话_1": "row=todo_write\ntitle=Update to-do list\nsummary=0/1 completed · a\npanel=1 in progress\n"
        "item=in_progress a\n"
    }
    assert take(url, Look(), token="secret").records == expected
    assert take(f"{url}?token=secret", Look()).records == expected
    monkeypatch.setenv("PLANSTRIP_TOKEN", "secret")
    assert take(url, Look()).records == expected


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1:8765/", "http://127.0.0.1:8765/sessions/", "http:///sessions/a", "http://h/sessions/a/b"),
        *("http://h/sessions/a?at=-1", "http://h/sessions/a?at=x", "http://h/sessions/a?at=²", "http://[h/sessions/a"),
    ],
)
def test_an_address_that_is_no_sessions_page_is_refused(url: str) -> None:
    with pytest.raises(UnusableSettings):
        address_of(url, None)


def test_what_is_not_there_is_named(shared_panel: Panel, unused_port: int) -> None:
    with pytest.raises(UnusableSettings, match="there is no session 'unknown'"):
        take(f"{shared_panel.url}/sessions/unknown", Look())
    with pytest.raises(UnusableSettings, match=f"127.0.0.1:{unused_port} gives no session"):
        take(f"http://127.0.0.1:{unused_port}/sessions/a", Look())
