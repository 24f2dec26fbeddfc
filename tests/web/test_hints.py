"""Where a plan would stand, a page says how this agent's own plan tool is switched on (issue 3, R050)."""

import re

import pytest

from planstrip.connect.agents import AGENTS
from planstrip.connect.notes import OWN_TOOL, note_of
from planstrip.web.languages import translations
from tests.running import Panel, new_session, todos

TURN = {"type": "turn/start", "data": {"turn": 1}}


def start(agent: str, **more: str) -> dict[str, object]:
    return {"type": "session/start", "data": {"agent": agent, **more}}


def told(html: str) -> str:
    """The hint's words as they are written in the notes, empty where there is none."""
    found = re.search(r'<div id="hint" class="hint">(.*?)</div>', html, re.DOTALL)
    assert found
    text = re.sub(r"</?code>", "`", re.sub(r"</?p[^>]*>", "", found[1]))
    return text.strip().replace("&#34;", '"').replace("&#39;", "'")


def page(panel: Panel, session: str, lang: str = "en") -> str:
    return told(panel.client.get(f"/sessions/{session}?lang={lang}").text)


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_it_says_what_connect_says_in_the_readers_language(shared_panel: Panel, agent: str, lang: str) -> None:
    session = new_session()
    shared_panel.append(session, start(agent), TURN)
    said, tr = page(shared_panel, session, lang), translations(lang)
    assert said == f"{tr.gettext('No plan so far.')} {tr.gettext(OWN_TOOL[agent])}"
    assert note_of(agent).startswith(OWN_TOOL[agent])
    assert (said.isascii()) == (lang == "en")


@pytest.mark.parametrize("agent", ["my-agent", "acp", None])
def test_an_agent_that_we_do_not_know_is_pointed_at_our_tool(shared_panel: Panel, agent: str | None) -> None:
    session = new_session()
    shared_panel.append(session, *([start(agent)] if agent else []), TURN)
    assert "`todo_write`" in page(shared_panel, session)
    assert "`/mcp`" in page(shared_panel, session)


def test_nothing_is_said_before_the_first_row_after_a_plan_and_to_a_subagent(shared_panel: Panel) -> None:
    session, kid = new_session(), new_session()
    assert page(shared_panel, session) == ""
    shared_panel.append(session, start("codex"))
    assert page(shared_panel, session) == ""
    shared_panel.write(session, todos("a=c"))
    shared_panel.append(session, TURN)  # the finished plan leaves
    assert shared_panel.plan(session)["todos"] is None
    assert page(shared_panel, session) == ""
    shared_panel.append(kid, start("codex", parent=session), TURN)
    assert page(shared_panel, kid) == ""


def test_it_comes_with_the_first_row_and_goes_with_the_first_plan(shared_panel: Panel) -> None:
    session = new_session()
    with shared_panel.stream(f"/sessions/{session}/stream?lang=en") as stream:
        assert told(stream.next().data) == ""
        shared_panel.append(session, {"type": "tool/call", "data": {"call_id": "a", "name": "bash", "arguments": ""}})
        assert "todo_write" in told(stream.next().data)
        shared_panel.append(session, start("codex"))
        assert "update_plan" in told(stream.next().data)
        shared_panel.append(session, {"type": "tool/call", "data": {"call_id": "b", "name": "bash", "arguments": ""}})
        assert 'id="hint"' not in stream.next().data
        shared_panel.write(session, todos("a=i"))
        assert told(stream.next().data) == ""
