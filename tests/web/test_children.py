"""Subagents on their parent's page: listed, told below the row that began them, live (issue 3, R027, R066, R068)."""

import re
from pathlib import Path
from typing import Any

import pytest

from planstrip.intake.imports import import_paths
from planstrip.paths import fixtures_dir
from tests.counts import joined
from tests.running import Panel, new_session, running, todos
from tests.transcripts.opencode_store import Agent, loaded
from tests.web.test_stream import until


def start(panel: Panel, session: str, parent: str | None = None, **more: object) -> None:
    given = {"agent": "codex", "parent": parent, **more}
    data = {name: value for name, value in given.items() if value is not None}
    assert panel.append(session, {"type": "session/start", "data": data}).status_code == 201


def delegate(panel: Panel, session: str, call_id: str = "c", answer: str | None = None) -> int:
    """The position of the row."""
    call = {"call_id": call_id, "name": "Task", "arguments": '{"description": "Survey"}'}
    events: list[dict[str, Any]] = [{"type": "tool/call", "data": call}]
    if answer is not None:
        events.append({"type": "tool/result", "data": {"call_id": call_id, "is_error": False, "text": answer}})
    position: int = panel.append(session, *events).json()["first_position"]
    return position


def region(text: str, id_: str) -> str:
    """What stands in the element of an id, to its end tag; the element must be there."""
    found = re.search(rf'<(\w+) id="{id_}"[^>]*>(.*?)</\1>', text, re.DOTALL)
    assert found, f"no #{id_}"
    return found[2]


def words(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def line(text: str, id_: str) -> str:
    """The words below a row; the element must be there."""
    found = re.search(rf'<div id="{id_}"[^>]*>(.*?)(?=</hx-partial>|<details|</section>)', text, re.DOTALL)
    assert found, f"no #{id_}"
    return words(found[1])


def page(panel: Panel, session: str, lang: str = "en") -> str:
    return panel.client.get(f"/sessions/{session}?lang={lang}").text


# The page


def test_a_session_without_children_shows_no_empty_list(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    assert region(page(shared_panel, session), "children") == ""


def test_the_page_lists_its_children_and_their_row_shows_how_far_they_are(shared_panel: Panel) -> None:
    """R068."""
    boss, kid = new_session(), new_session()
    row = delegate(shared_panel, boss)
    start(shared_panel, kid, boss, title="Survey A", parent_call="c")
    shared_panel.append(kid, {"type": "turn/start", "data": {"turn": 1}})
    shared_panel.write(kid, todos("x=c y=i z=i"))
    text = page(shared_panel, boss)
    assert "1 agent, 1 running" in words(region(text, "children"))
    told = line(text, f"row-{row}-children")
    assert told == "Survey A working 1/3 completed · y +1"
    assert f'href="/sessions/{kid}?lang=en"' in text
    chinese = page(shared_panel, boss, "zh")
    assert "1 个智能体，1 个运行中" in words(region(chinese, "children"))
    assert "1/3 已完成 · y" in line(chinese, f"row-{row}-children")


def test_more_than_three_are_folded(shared_panel: Panel) -> None:
    boss = new_session()
    for number in range(4):
        start(shared_panel, new_session(), boss, title=f"kid {number}")
        folded = "<details" in region(page(shared_panel, boss), "children")
        assert folded == (number == 3)
    assert "4 agents" in words(region(page(shared_panel, boss), "children"))


def test_a_childs_page_links_back(shared_panel: Panel) -> None:
    boss, kid = new_session(), new_session()
    start(shared_panel, boss, title="The boss")
    start(shared_panel, kid, boss)
    text = page(shared_panel, kid)
    assert f'class="head-parent" href="/sessions/{boss}?lang=en"' in text
    assert "The boss" in words(text)
    assert "head-parent" not in page(shared_panel, boss)
    assert "head-parent" not in shared_panel.client.get(f"/embed/{kid}").text


def test_a_childs_words_are_text(shared_panel: Panel) -> None:
    boss, kid = new_session(), new_session()
    row = delegate(shared_panel, boss)
    start(shared_panel, kid, boss, title="<script>alert(1)</script>")
    shared_panel.write(kid, [{"content": "<img src=x>\u202e", "status": "in_progress"}])
    text = page(shared_panel, boss)
    assert "<script>alert" not in text
    assert "<img" not in text
    assert "<bdi>&lt;script&gt;" in text
    assert "&lt;img src=x&gt;" in line(text, f"row-{row}-children")


def test_a_childs_plan_never_touches_its_parents(shared_panel: Panel) -> None:
    """R066."""
    boss, kid = new_session(), new_session()
    shared_panel.write(boss, todos("a=i b=p"))
    before = shared_panel.plan(boss), shared_panel.events(boss)
    start(shared_panel, kid, boss)
    shared_panel.write(kid, todos("x=c"))
    shared_panel.write(kid, [])
    assert (shared_panel.plan(boss), shared_panel.events(boss)) == before


def test_plans_of_a_family_that_writes_in_turns_are_each_their_own(shared_panel: Panel) -> None:
    """R027, R043, R067: twenty silent minutes of the parent's, and it is told that three agents run."""
    boss, kids = new_session(), [new_session() for _ in range(3)]
    shared_panel.append(boss, {"type": "turn/start", "data": {"turn": 1}})
    shared_panel.write(boss, todos("a=i b=p c=p"))
    now = shared_panel.parts.clock()
    for kid in kids:
        start(shared_panel, kid, boss)
        shared_panel.append(kid, {"type": "turn/start", "data": {"turn": 1}, "time": now - 20 * 60_000})
    for status in "pic":
        for kid in kids:
            shared_panel.write(kid, todos(f"of-{kid}={status}"))
    text = page(shared_panel, boss)
    assert 'data-field="header">1 in progress\u2002·\u20022 pending<' in joined(text)
    assert "3 agents, 3 running" in words(region(text, "children"))
    assert shared_panel.plan(boss)["todos"] == todos("a=i b=p c=p")
    assert [shared_panel.plan(kid)["todos"] for kid in kids] == [todos(f"of-{kid}=c") for kid in kids]


def test_a_run_that_goes_on_under_another_id_leads_to_where_the_plan_is(shared_panel: Panel) -> None:
    """R035: it shows no plan of its own, and the one that there is stands where it was written."""
    first, resumed = new_session(), new_session()
    shared_panel.write(first, todos("a=i b=p"))
    start(shared_panel, resumed, first)
    text = page(shared_panel, resumed)
    assert "plan-strip" not in text
    assert f'class="head-parent" href="/sessions/{first}?lang=en"' in text
    assert shared_panel.plan(first)["todos"] == todos("a=i b=p")


def test_older_rows_show_their_children_too(shared_panel: Panel) -> None:
    boss, kid = new_session(), new_session()
    row = delegate(shared_panel, boss, answer=f"agentId: {kid}")
    start(shared_panel, kid, boss, title="Long ago")
    calls = [{"type": "tool/call", "data": {"call_id": f"{n}", "name": "bash", "arguments": ""}} for n in range(120)]
    shared_panel.append(boss, *calls)
    assert f"row-{row}-children" not in page(shared_panel, boss)
    older = shared_panel.client.get(f"/sessions/{boss}/rows?before=23&lang=en").text
    assert line(older, f"row-{row}-children").startswith("Long ago")


def test_a_page_of_the_past_tells_nothing_of_what_its_children_are_now(shared_panel: Panel) -> None:
    boss, kid = new_session(), new_session()
    row = delegate(shared_panel, boss, answer=f"agentId: {kid}")
    start(shared_panel, kid, boss, title="Later")
    for path in (f"/sessions/{boss}?at={row}", f"/sessions/{boss}/rows?before={row + 1}&at={row}&lang=en"):
        assert line(shared_panel.client.get(path).text, f"row-{row}-children") == ""


# The samples

AGENTS = ("claude-code", "codex", "deepseek-harness")
# Parent -> its rows' children, as the agents' own files tell them.
EXPECTED = {
    "d915ee73-bcf9-4523-9ef8-1cc4cb6a4caf": {8: "a20dc255acbeb7b7d", 9: "a8db20b80310b47fc"},
    "d3160dbc-7ba8-446c-9a35-349145946096": {6: "a894d5f", 7: "aa600ec"},
    "01a22d4c-754a-7960-bdb2-599a75d50122": {6: "01a22d4c-780b-7760-b8f7-573aed8e7cf7"},
    "11111111-1111-4111-8111-111111111111": {4: "22222222-2222-4222-8222-222222222222"},
}


def test_the_parents_of_the_samples_show_their_children(database: Path) -> None:
    with running(database) as panel:
        import_paths(panel.parts.writer, [fixtures_dir() / agent for agent in AGENTS])
        for parent, rows in EXPECTED.items():
            text = page(panel, parent)
            for row, child in rows.items():
                shown = re.findall(rf'row-{row}-children" class="row-children">.*?href="/sessions/([^"?]+)', text)
                assert shown == [child]


def test_an_opencode_task_shows_the_session_that_it_began(database: Path, tmp_path: Path) -> None:
    agent = Agent(loaded(tmp_path / "opencode.db"))
    agent.session("ses_boss")
    agent.message("ses_boss", "msg_1", "user")
    agent.part("ses_boss", "msg_1", "prt_1", type="text", text="Go")
    agent.message("ses_boss", "msg_2", "assistant", parentID="msg_1")
    for number, words in enumerate(("Survey A", "Survey B")):
        started = {"status": "running", "input": {"description": words, "prompt": "…"}, "time": {"start": agent.now}}
        agent.part("ses_boss", "msg_2", f"prt_2{number}", type="tool", tool="task", callID=words, state=started)
    for words, child in (("Survey B", "ses_b"), ("Survey A", "ses_a")):
        agent.session(child, parent="ses_boss", title=f"{words} (@general subagent)")
    agent.close()
    with running(database) as panel:
        import_paths(panel.parts.writer, [tmp_path / "opencode.db"])
        text = page(panel, "ses_boss")
        calls = [event["position"] for event in panel.events("ses_boss") if event["type"] == "tool/call"]
        for row, child in zip(calls, ("ses_a", "ses_b"), strict=True):
            assert re.findall(rf'row-{row}-children" class="row-children">.*?href="/sessions/([^"?]+)', text) == [child]


def test_who_opens_a_session_may_name_the_call(shared_panel: Panel) -> None:
    boss, kid = new_session(), new_session()
    rows = [delegate(shared_panel, boss, call_id) for call_id in ("one", "two")]
    body = {"id": kid, "agent": "my-agent", "parent": boss, "parent_call": "two"}
    assert shared_panel.client.post("/api/sessions", json=body).status_code == 201
    text = page(shared_panel, boss)
    assert [bool(line(text, f"row-{row}-children")) for row in rows] == [False, True]


# The stream


def test_a_childs_write_reaches_its_parents_viewer(shared_panel: Panel) -> None:
    """R068."""
    boss, kid = new_session(), new_session()
    shared_panel.write(boss, todos("a=i"))
    row = delegate(shared_panel, boss)
    start(shared_panel, kid, boss, title="Survey")
    with shared_panel.stream(f"/sessions/{boss}/stream?after={row}&lang=en") as stream:
        first = stream.next()
        assert "Survey" in line(first.data, f"row-{row}-children")
        shared_panel.write(kid, todos("x=c y=i"))
        frame = stream.next()
        assert frame.id == first.id == f"{row}"  # the one cursor is the parent's own
        assert "1/2 completed · y" in line(frame.data, f"row-{row}-children")
        assert "1/2 completed · y" in words(frame.data.partition('id="children"')[2])
        assert 'data-testid="plan-strip"' not in frame.data
        shared_panel.write(kid, todos("x=c y=c"))
        assert "2/2 completed" in line(stream.next().data, f"row-{row}-children")


def test_a_child_that_begins_under_the_viewers_eyes_appears(shared_panel: Panel) -> None:
    boss, kid = new_session(), new_session()
    row = delegate(shared_panel, boss)
    with shared_panel.stream(f"/sessions/{boss}/stream?after={row}&lang=en") as stream:
        assert line(stream.next().data, f"row-{row}-children") == ""
        shared_panel.append(new_session(), {"type": "session/title", "data": {"title": "a stranger"}})
        start(shared_panel, kid, boss, title="Survey")
        frame = stream.next()
        assert "1 agent" in words(frame.data)
        assert line(frame.data, f"row-{row}-children").startswith("Survey")


def test_what_shows_nothing_of_a_child_sends_nothing(shared_panel: Panel) -> None:
    boss, kid = new_session(), new_session()
    shared_panel.write(boss, todos("a=i"))
    start(shared_panel, kid, boss)
    shared_panel.write(kid, todos("x=i"))
    with (
        shared_panel.stream(f"/sessions/{boss}/stream?after=3") as page,
        shared_panel.stream(f"/embed/{boss}/stream?after=3") as embed,
        shared_panel.stream(f"/api/sessions/{boss}/stream?after=3") as plan,
    ):
        for stream in (page, embed, plan):
            stream.next()
        shared_panel.append(kid, {"type": "tool/call", "data": {"call_id": "c", "name": "bash", "arguments": ""}})
        assert page.wait(0.4) is None
        shared_panel.write(kid, todos("x=c"))
        assert "1/1 completed" in words(page.next().data)
        assert embed.wait(0.3) is None
        assert plan.wait(0.1) is None


def test_a_new_row_comes_with_its_child_and_a_row_that_settles_keeps_it(shared_panel: Panel) -> None:
    boss, kid = new_session(), new_session()
    shared_panel.append(boss, {"type": "turn/start", "data": {"turn": 1}})
    start(shared_panel, kid, boss, parent_call="c")
    with shared_panel.stream(f"/sessions/{boss}/stream?after=1&lang=en") as stream:
        stream.next()
        row = delegate(shared_panel, boss)
        assert line(stream.next().data, f"row-{row}-children").startswith(kid)
        shared_panel.append(boss, {"type": "tool/result", "data": {"call_id": "c", "is_error": False, "text": "fine"}})
        settled = stream.next().data
        assert f'id="row-{row}"' in settled
        assert f"row-{row}-children" not in settled  # nothing of it has changed


def test_a_child_whose_row_has_slid_out_is_still_told(shared_panel: Panel) -> None:
    boss, kid = new_session(), new_session()
    row = delegate(shared_panel, boss, answer="launched")
    start(shared_panel, kid, boss, parent_call="c")
    with shared_panel.stream(f"/sessions/{boss}/stream?after={row + 1}&lang=en") as stream:
        stream.next()
        for batch in range(11):
            calls = [{"call_id": f"{batch}/{n}", "name": "bash", "arguments": ""} for n in range(10)]
            shared_panel.append(boss, *[{"type": "tool/call", "data": call} for call in calls])
            stream.next()
        shared_panel.write(kid, todos("x=c"))
        seen = ""
        while "1/1 completed" not in seen:
            seen = stream.next().data
        assert "1/1 completed" in line(seen, f"row-{row}-children")


def test_two_viewers_of_a_family_get_the_same_bytes(shared_panel: Panel) -> None:
    boss, kid = new_session(), new_session()
    row = delegate(shared_panel, boss)
    start(shared_panel, kid, boss)
    path = f"/sessions/{boss}/stream?after={row}&lang=en"
    with shared_panel.stream(path) as one, shared_panel.stream(path) as other:
        assert one.raw() == other.raw()
        shared_panel.write(kid, todos("x=c"))
        assert one.raw() == other.raw()


def test_parent_and_child_may_be_watched_at_once(shared_panel: Panel) -> None:
    """R051: what is open beside a page changes nothing of it."""
    boss, kid = new_session(), new_session()
    start(shared_panel, boss, title="The boss")
    start(shared_panel, kid, boss)
    with (
        shared_panel.stream(f"/sessions/{boss}/stream?after=1") as above,
        shared_panel.stream(f"/sessions/{kid}/stream?after=1") as below,
    ):
        above.next()
        assert "The boss" in words(below.next().data)
        shared_panel.write(kid, todos("x=c"))
        assert "1/1 completed" in words(above.next().data)
        assert "1 completed" in words(below.next().data)
        shared_panel.write(boss, todos("a=i b=p"))
        said = words(above.next().data)
        assert "1 in progress · 1 pending" in said
        assert "0/2 completed · a" in said


def test_another_process_may_write_the_child(panel: Panel, database: Path) -> None:
    boss, kid = "boss", "kid"
    row = delegate(panel, boss)
    with panel.stream(f"/sessions/{boss}/stream?after={row}&lang=en") as stream:
        stream.next()
        with running(database) as other:
            start(other, kid, boss, title="From elsewhere")
            assert "From elsewhere" in line(stream.next().data, f"row-{row}-children")
            other.write(kid, todos("x=c"))
            assert "1/1 completed" in line(stream.next().data, f"row-{row}-children")


def test_a_parent_that_is_named_late_is_found_at_the_next_heartbeat(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planstrip.web.channels.HEARTBEAT_S", 0.2)
    with running(database) as panel:
        panel.append("boss", {"type": "session/title", "data": {"title": "Boss"}})
        with panel.stream("/sessions/boss/stream?after=1&lang=en") as stream:
            stream.next()
            panel.append("kid", {"type": "session/title", "data": {"title": "A foundling"}})
            start(panel, "kid", "boss")
            assert "A foundling" in words(stream.next().data)


def test_the_last_viewer_frees_all(panel: Panel) -> None:
    start(panel, "kid", "boss")
    with panel.stream("/sessions/boss/stream") as stream:
        stream.next()
        panel.write("kid", todos("x=c"))
        stream.next()
        panel.write("stranger", todos("x=c"))
        until(lambda: "stranger" in panel.parts.hub._kin._parents)
    hub = panel.parts.hub
    until(lambda: (hub._channels, hub._kin._parents, hub._kin._strangers, hub._kin.due) == ({}, {}, set(), set()))
    until(lambda: hub._kin._asking is None)
    panel.write("kid", todos("x=i"))
    assert hub._kin._parents == {}


def test_nobody_is_asked_for_parents_while_the_board_alone_is_watched(panel: Panel) -> None:
    with panel.stream("/stream") as stream:
        assert stream.status == 200
        stream.next()
        panel.write("stranger", todos("x=c"))
        stream.next()
        assert panel.parts.hub._kin._parents == {}
