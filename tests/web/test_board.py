"""The board: every session once, in the order in which they need a person, found, folded and live (spec.md §9, §10)."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from planstrip.plan.outline import QUIET_AFTER_MS, State
from planstrip.web import board_labels, labels
from planstrip.web.board import ORDER, RECENT_MS, ROWS, URGENT_MS, Board, Query, read_board
from planstrip.web.board_live import BoardView, advance
from planstrip.web.languages import translations
from planstrip.web.listing import Filters
from tests.running import Panel, running, todos

START, TURN = "session/start", "turn/start"


@pytest.fixture
def panel(tmp_path: Path) -> Iterator[Panel]:
    with running(tmp_path / "plans.sqlite3") as panel:
        yield panel


def now() -> int:
    return time.time_ns() // 1_000_000


def event(type_: str, age_ms: int = 0, **data: Any) -> dict[str, Any]:
    return {"type": type_, "time": now() - age_ms, "data": data}


def put(panel: Panel, session: str, state: State, age_ms: int = 0, **start: Any) -> None:
    """A session that is in a state since `age_ms` ago."""
    age_ms = max(age_ms, QUIET_AFTER_MS + 1_000) if state == "quiet" else age_ms
    plan = todos("a=c") if state == "done" else todos("a=c b=i c=i")
    events = [event(START, age_ms, agent=start.pop("agent", "codex"), **start)]
    if state in ("done", "open"):
        events.append(event("todo/write", age_ms, todos=plan))
    elif state != "none":
        events.append(event(TURN, age_ms, turn=1))
    if state == "waiting":
        events.append(event("turn/wait", age_ms, turn=1, **{"for": "permission"}))
    if state == "interrupted":
        events.append(event("turn/end", age_ms, turn=1, reason={"kind": "aborted"}))
    assert panel.append(session, *events).status_code == 201


def read(panel: Panel, after: str | None = None, **filters: str) -> Board:
    return read_board(panel.parts, Query(Filters(**filters), after))


def shown(panel: Panel, **filters: str) -> list[str]:
    return list(read(panel, **filters).order)


def look(panel: Panel, path: str = "/", **marked: list[str]) -> str:
    """What a browser sees that keeps these sessions as `pinned` or `muted`."""
    told = "; ".join(f"planstrip-{name}={quote(json.dumps(ids))}" for name, ids in marked.items())
    return panel.client.get(path, headers={"cookie": told}).text


# Order


def test_who_needs_a_person_comes_first_and_what_is_long_past_last(panel: Panel) -> None:
    """R071."""
    for number, state in enumerate(reversed(ORDER)):
        put(panel, f"old-{state}", state, RECENT_MS * 2 + number)
        put(panel, state, state, 60_000)
    assert shown(panel)[: len(ORDER) - 1] == list(ORDER[:-1])
    assert all(session.startswith("old-") for session in shown(panel)[len(ORDER) :])
    assert [family.session.state for family in read(panel).families[: len(ORDER)]] == list(ORDER)


def test_what_broke_off_is_urgent_for_an_hour_and_then_stands_below_what_works(panel: Panel) -> None:
    for number in range(3):
        put(panel, f"cut-{number}", "interrupted", URGENT_MS + number)
        put(panel, f"silent-{number}", "quiet", URGENT_MS + number)
    put(panel, "works", "working")
    put(panel, "just-cut", "interrupted", 60_000)
    found = shown(panel)
    assert found[:2] == ["just-cut", "works"]
    assert len(found) == 8


def test_within_a_state_the_newest_in_it_comes_first_and_no_event_moves_it(panel: Panel) -> None:
    put(panel, "first", "working", 3_000)
    put(panel, "second", "working", 2_000)
    assert shown(panel) == ["second", "first"]
    panel.append("first", event("tool/call", call_id="a", name="bash", arguments="{}"))
    assert shown(panel) == ["second", "first"]


def test_every_session_stands_on_exactly_one_page(panel: Panel) -> None:
    expected = [f"s-{number:03}" for number in range(2 * ROWS + 7)]
    for number, session in enumerate(expected):
        put(panel, session, ORDER[number % len(ORDER)], number * 1_000)
    found: list[str] = []
    board = read(panel)
    while True:
        assert len(board.families) <= ROWS
        found += board.order
        if board.next is None:
            break
        put(panel, f"late-{len(found)}", "waiting")  # what comes meanwhile moves no later page
        board = read(panel, board.next)
    assert sorted(found) == expected


@pytest.mark.parametrize("after", ["x", "é", "WzFd", "W10", "WyJhIiwxLDIsImIiXQ", "WzFlOTk5LDEsMSwiYSJd"])
def test_a_cursor_that_is_none_is_refused(panel: Panel, after: str) -> None:
    answer = panel.client.get("/", params={"after": after})
    assert answer.status_code == 422
    assert "expected the `next` of an earlier page" in answer.text


# Families


def test_children_are_folded_under_their_parent_at_any_depth(panel: Panel) -> None:
    put(panel, "parent", "open", 9_000)
    put(panel, "child", "working", 5_000, parent="parent")
    put(panel, "grandchild", "done", 4_000, parent="child")
    put(panel, "orphan", "open", 8_000, parent="elsewhere")
    board = read(panel)
    assert list(board.order) == ["orphan", "parent"]
    assert [child.id for child in board.families[1].children] == ["child", "grandchild"]
    assert "2 agents, 1 running" in panel.client.get("/").text


def test_sessions_that_name_each_other_or_themselves_are_not_lost(panel: Panel) -> None:
    put(panel, "a", "open", parent="b")
    put(panel, "b", "open", parent="a")
    put(panel, "self", "open", parent="self")
    assert sorted(shown(panel)) == ["a", "b", "self"]


def test_a_child_that_matches_stands_for_itself(panel: Panel) -> None:
    put(panel, "parent", "open", title="The work")
    put(panel, "child", "working", parent="parent", title="A review")
    assert shown(panel, q="review") == ["child"]
    assert shown(panel, state="working") == ["child"]


def test_a_session_comes_where_the_neediest_of_its_agents_belongs(panel: Panel) -> None:
    put(panel, "cut", "interrupted", 1_000)
    put(panel, "boss", "working", 60_000)
    put(panel, "kid", "working", 30_000, parent="boss")
    put(panel, "grandkid", "waiting", 20_000, parent="kid")
    assert shown(panel) == ["boss", "cut"]
    text = panel.client.get("/").text
    assert 'data-session-state="waiting" data-told="1 agent waits for you"' in text
    assert read(panel).states == (("waiting", 1), ("interrupted", 1), ("working", 2))


def test_a_narrowed_board_tells_who_waits_below_as_the_whole_one_does(panel: Panel) -> None:
    """Also of who stands in the list itself."""
    put(panel, "boss", "quiet", title="boss")
    put(panel, "kid", "working", parent="boss")
    put(panel, "grandkid", "waiting", parent="kid")
    put(panel, "other", "waiting", parent="boss")
    told = 'data-session-state="waiting" data-told="2 agents wait for you"'
    assert all(told in panel.client.get(path).text for path in ("/", "/?q=boss", "/?agent=codex"))
    [kid] = [family for family in read(panel, agent="codex").families if family.session.id == "kid"]
    assert (kid.waiting, kid.children) == (1, ())
    guest = read_board(panel.parts, Query(Filters(q="boss"), is_held=True))
    assert [family.waiting for family in guest.families] == [0]
    put(panel, "loop", "waiting", parent="loop")
    assert [family.waiting for family in read(panel, q="loop").families] == [0]


def test_who_delegates_is_not_silent_while_the_agent_works(panel: Panel) -> None:
    put(panel, "boss", "quiet", 12 * 60_000)
    put(panel, "kid", "working", 11 * 60_000, parent="boss")
    assert [family.session.state for family in read(panel).families] == ["quiet"]
    panel.append("kid", event("tool/call", call_id="c", name="bash", arguments=""))
    assert [family.session.state for family in read(panel).families] == ["working"]
    assert read(panel).states == (("working", 2),)
    assert shown(panel, state="quiet") == []
    listed = panel.client.get("/api/sessions?state=working").json()["sessions"]
    assert {session["id"]: session["state"] for session in listed} == {"boss": "working", "kid": "working"}


def test_a_row_tells_the_last_sign_of_its_agents_in_a_search_too(panel: Panel) -> None:
    put(panel, "boss", "working", 90_000, title="boss")
    put(panel, "kid", "working", 30_000, parent="boss")
    whole, found = (board_labels.row(read(panel, q=q).families[0], "", {}, translations("en")) for q in ("", "boss"))
    assert whole.session == found.session == "boss"
    assert whole.updated == found.updated == labels.iso(read(panel).families[0].children[0].updated_at)


def test_what_its_parent_went_on_without_is_counted_no_more(panel: Panel) -> None:
    put(panel, "boss", "working", 60_000)
    put(panel, "cut", "interrupted", 50_000, parent="boss")
    put(panel, "asks", "waiting", 40_000, parent="boss")
    put(panel, "silent", "quiet", parent="boss")
    assert dict(read(panel).states) == {"waiting": 1, "interrupted": 1, "working": 1}  # one was silent before its turn
    panel.append("boss", event("turn/end", 1_000, turn=1, reason={"kind": "completed"}), event(TURN, turn=2))
    assert dict(read(panel).states) == {"working": 1}
    assert [shown(panel, state=state) for state in ("waiting", "interrupted", "quiet")] == [[], [], []]
    assert "planstrip" in panel.client.get("/").text


def test_a_long_silence_is_told_with_its_beginning(panel: Panel) -> None:
    put(panel, "new", "quiet")
    put(panel, "long", "quiet", 3 * QUIET_AFTER_MS)
    text = panel.client.get("/").text
    assert (text.count("no sign for 5 min</span>"), text.count("no sign since <time")) == (1, 1)
    assert 'data-tab="2 silent · planstrip"' in text


# Search and filters


def test_a_search_looks_through_titles_places_and_todos_in_any_script(panel: Panel) -> None:
    put(panel, "title", "open", title="Миграция ТАБЛИЦ")
    put(panel, "place", "open", cwd="/home/me/Code/panel")
    panel.write("todo", [{"content": "实现 fixture 样本", "status": "pending"}])
    panel.write("sign", [{"content": "reach 100% of it_all", "status": "pending"}])
    assert shown(panel, q="миграция таблиц") == ["title"]
    assert shown(panel, q="code/PANEL") == ["place"]
    assert shown(panel, q="FIXTURE 样") == ["todo"]
    assert shown(panel, q="100%") == ["sign"]
    assert shown(panel, q="t_a") == ["sign"]  # no wildcard


def test_a_todo_that_was_rewritten_is_found_by_its_new_words_only(panel: Panel) -> None:
    panel.write("s", [{"content": "old words", "status": "pending"}])
    panel.write("s", [{"content": "new words", "status": "pending"}])
    assert (shown(panel, q="old words"), shown(panel, q="new words")) == ([], ["s"])


def test_filters_are_links_with_counts_that_keep_the_rest_of_the_query(panel: Panel) -> None:
    put(panel, "a", "waiting", agent="codex", cwd="/w")
    put(panel, "b", "done", agent="kimi", cwd="/w")
    text = panel.client.get("/?cwd=/w&lang=en&state=done").text
    links = re.findall(r'<a class="chip filter" href="([^"]+)"( aria-current="true")?', text)
    assert ("/?cwd=%2Fw&amp;lang=en&amp;state=waiting", "") in links
    assert ("/?cwd=%2Fw&amp;lang=en", ' aria-current="true"') in links  # the one that stands leads back
    assert ("/?cwd=%2Fw&amp;lang=en&amp;state=done&amp;agent=kimi", "") in links
    assert read(panel).states == (("waiting", 1), ("done", 1))
    assert shown(panel, cwd="/w", state="done", agent="kimi") == ["b"]


def test_a_query_that_matches_nothing_says_so_and_leads_back(panel: Panel) -> None:
    put(panel, "a", "open")
    text = panel.client.get("/?q=nowhere").text
    assert "No session matches" in text
    assert 'href="/"' in text


def test_a_row_names_the_active_todo_and_how_many_more(panel: Panel) -> None:
    put(panel, "s", "open")
    text = panel.client.get("/").text
    assert '<bdi class="row-summary" data-field="active">b</bdi>' in text
    assert '<span class="suffix" data-field="suffix" role="img" aria-label="1 more in progress">+1</span>' in text


# Live


def test_only_the_rows_that_changed_are_pushed(panel: Panel) -> None:
    put(panel, "a", "working", 2_000, title="First")
    put(panel, "b", "working", 1_000, title="Second")
    with panel.stream("/stream") as stream:
        first = stream.next().data
        assert "First" in first
        assert "Second" in first
        panel.write("a", todos("x=i"))
        frame = stream.next().data
        assert 'hx-target="#session-' in frame
        assert "First" in frame
        assert "Second" not in frame
        assert 'hx-target="#board"' not in frame


def test_a_new_session_and_one_that_moves_bring_the_list_in_its_order(panel: Panel) -> None:
    put(panel, "a", "working", 2_000, title="First")
    with panel.stream("/stream") as stream:
        stream.next()
        put(panel, "b", "waiting", title="Second")
        frame = stream.next().data
        assert 'hx-target="#board"' in frame
        listed = frame.partition('hx-target="#board"')[2]
        assert listed.index("Second") < listed.index("First")
        assert "1 waiting for you · 1 working · planstrip" in frame


def test_a_stream_keeps_to_its_query(panel: Panel) -> None:
    put(panel, "a", "working", agent="codex", title="First")
    with panel.stream("/stream?agent=codex") as stream:
        stream.next()
        put(panel, "b", "working", agent="kimi", title="Second")
        put(panel, "c", "working", agent="codex", title="Third")
        frame = stream.next().data
        while "Third" not in frame:
            frame = stream.next().data
        assert "Second" not in frame


def test_what_has_not_changed_is_the_very_same_view(panel: Panel) -> None:
    put(panel, "a", "working")
    board = read(panel)
    view = advance(None, board)
    assert advance(view, board) is view
    other = advance(view, Board(board.families[:0]))
    assert (other.version, other.order, other.rows) == (2, 2, {})
    assert isinstance(other, BoardView)


def test_who_leaves_the_board_leaves_nothing_behind(panel: Panel) -> None:
    with panel.stream("/stream") as stream:
        stream.next()
        assert panel.parts.hub.viewers == 1
    end = time.monotonic() + 10
    while panel.parts.hub.viewers and time.monotonic() < end:
        time.sleep(0.01)
    assert (panel.parts.hub.viewers, panel.parts.hub._channels, panel.parts.hub._broad) == (0, {}, set())


# Marks


def test_what_is_pinned_comes_first_wherever_it_would_be_paged_to_and_once(panel: Panel) -> None:
    for number in range(2 * ROWS + 3):
        put(panel, f"s{number:03}", "open", age_ms=number * 1_000)
    last, middle = f"s{2 * ROWS + 2:03}", f"s{ROWS + 5:03}"
    pages, after = list[tuple[str, ...]](), None
    while not pages or after:
        board = read_board(panel.parts, Query(after=after, pinned=(last, "unknown", middle)))
        pages, after = [*pages, board.order], board.next
    assert pages[0][:3] == (last, middle, "s000")
    assert [len(page) for page in pages] == [ROWS + 2, ROWS, 1]
    assert sorted(sum(pages, ())) == [f"s{number:03}" for number in range(2 * ROWS + 3)]
    assert read_board(panel.parts, Query(Filters(q=middle), pinned=(last, middle))).order == (middle,)  # what matches


def test_page_and_stream_put_first_what_the_browser_keeps_as_pinned(panel: Panel) -> None:
    for number in range(ROWS + 5):
        put(panel, f"s{number:02}", "open", age_ms=number * 1_000)
    far, cookie = f"s{ROWS + 4}", {"cookie": f"planstrip-pinned={quote(json.dumps([f's{ROWS + 4}']))}"}
    assert names(look(panel, pinned=[far]))[:2] == [far, "s00"]
    with panel.stream("/stream", **cookie) as stream:
        assert names(stream.next().data)[:2] == [far, "s00"]
        put(panel, "new", "working")
        while "new" not in (order := names(stream.next().data)):
            pass
        assert order[:3] == [far, "new", "s00"]
    assert names(look(panel))[:2] == ["new", "s00"]


@pytest.mark.parametrize(
    "kept", ["", "x", "%5B", "{}", "[1, null, [], {}]", '["a/b", "\\ud800", "\\u0000"]', "[" * 5_000]
)
def test_a_cookie_that_holds_something_else_is_nothing_of_ours(panel: Panel, kept: str) -> None:
    put(panel, "a", "open")
    answer = panel.client.get("/", headers={"cookie": f"planstrip-pinned={quote(kept)}; planstrip-muted={quote(kept)}"})
    assert (answer.status_code, names(answer.text)) == (200, ["a"])


def test_what_is_muted_and_what_works_for_it_does_not_count_in_the_tab(panel: Panel) -> None:
    put(panel, "loud", "working")
    put(panel, "still", "waiting")
    put(panel, "boss", "working")
    put(panel, "kid", "waiting", parent="boss")
    put(panel, "grandkid", "working", parent="kid")
    assert tab(look(panel)) == "2 waiting for you · 3 working · planstrip"
    assert tab(look(panel, muted=["still"])) == "1 waiting for you · 3 working · planstrip"
    html = look(panel, muted=["still", "boss", "gone"])
    assert tab(html) == "1 working · planstrip"
    assert re.findall(r'data-state="waiting"></span>.*?<span class="number">(\d+)<', html) == [
        "2"
    ]  # a filter's finds them
    with panel.stream("/stream", cookie=f"planstrip-muted={quote(json.dumps(['still']))}") as stream:
        assert 'data-tab="1 waiting for you · 3 working' in stream.next().data


def names(html: str) -> list[str]:
    """Of the whole list, which a frame may have beside single rows."""
    html = html[html.find('id="board"') :]
    return re.findall(r'<article id="session-\w+" class="session" data-watch="([^"]*)"', html)


def tab(html: str) -> str:
    return re.search(r"<title>(.*?)</title>", html)[1]  # type: ignore[index]
