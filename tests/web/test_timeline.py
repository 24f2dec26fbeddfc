"""The timeline on a session's page and in its stream: equal, and sent only with what changes it (spec.md §8, §9)."""

import re
from typing import Any

from tests.running import Panel, new_session, todos

MINUTE_MS = 60_000


def event(type_: str, minute: float, **data: Any) -> dict[str, Any]:
    return {"type": type_, "data": data, "time": int(minute * MINUTE_MS)}


def call(number: int, minute: float) -> dict[str, Any]:
    return event("tool/call", minute, call_id=f"c{number}", name="bash", arguments="{}")


def write(text: str, minute: float) -> dict[str, Any]:
    return event("todo/write", minute, todos=todos(text))


STEPS = [
    event("turn/start", 0, turn=1),
    write("a=i b=p c=p", 0),
    call(1, 0.5),
    call(2, 1.5),  # more than a minute after the write: the bars grow
    write("a=c b=i c=i", 3),
    event("turn/end", 4, turn=1, reason={"kind": "aborted"}),
    event("later/type", 5),
    event("turn/start", 50, turn=2),
    write("a=c b=c", 52),
    call(3, 53),
    event("turn/end", 53, turn=2, reason={"kind": "completed"}),
    event("turn/start", 60, turn=3),
    write("d=i", 61),
    event("session/rewind", 62, to_position=2),
]


def region(html: str, name: str) -> str:
    """The element of that id, from its start tag to its end tag, white space between tags left out."""
    start = re.search(rf'<(\w+) id="{name}"', html)
    assert start is not None, html[:2_000]
    tag, at, depth = start[1], start.start(), 0
    for found in re.finditer(rf"<(/?){tag}\b", html[at:]):
        depth += -1 if found[1] else 1
        if not depth:
            return re.sub(r"\s+", " ", html[at : at + found.end()] + ">")
    raise AssertionError(name)


def page(panel: Panel, session: str) -> str:
    return panel.client.get(f"/sessions/{session}").text


def test_a_pushed_timeline_and_strip_are_a_fresh_pages_after_every_event(shared_panel: Panel) -> None:
    session = new_session()
    with shared_panel.stream(f"/sessions/{session}/stream") as stream:
        held = {name: region(stream.next().data, name) for name in ("timeline",)}
        for step in STEPS:
            shared_panel.append(session, step).raise_for_status()
            fresh = page(shared_panel, session)
            if step["type"] != "later/type":
                data = stream.next().data
                held |= {name: region(data, name) for name in ("timeline", "strip") if f'id="{name}"' in data}
            assert {name: region(fresh, name) for name in held} == held, step


def test_a_tool_call_does_not_send_the_timeline_but_once_a_minute(shared_panel: Panel) -> None:
    session = new_session()
    with shared_panel.stream(f"/sessions/{session}/stream") as stream:
        stream.next()
        sent = []
        for step in (*STEPS[:2], *(call(number, number / 4) for number in range(1, 10))):
            shared_panel.append(session, step).raise_for_status()
            sent.append('id="timeline"' in stream.next().data)
        assert sent == [False, True, False, False, False, True, False, False, False, True, False]


def test_the_page_draws_lanes_tells_them_and_names_worked_times(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, *STEPS[:6])
    drawn = region(page(shared_panel, session), "timeline")
    assert "1.2 tasks at a time over 4 min of work" in drawn
    assert '<bdi title="a">a</bdi><span class="visually-hidden">: worked 3 min, finished</span>' in drawn
    assert "<title>\u2068b\u2069: worked 1 min, in progress, no turn runs</title>" in drawn
    assert 'class="interruption"' in drawn
    assert '<span class="worked">3 min</span>' in region(page(shared_panel, session), "strip")


def test_before_the_first_plan_there_is_an_empty_region_to_fill(shared_panel: Panel) -> None:
    drawn = region(page(shared_panel, new_session()), "timeline")
    assert drawn == '<figure id="timeline" class="aside-part timeline"></figure>'


def test_an_embed_has_no_timeline(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, *STEPS[:6])
    embed = shared_panel.client.get(f"/embed/{session}").text
    assert 'id="timeline"' not in embed
    assert 'class="worked"' not in embed


def test_hostile_contents_are_text_in_the_drawing(shared_panel: Panel) -> None:
    session = new_session()
    hostile = '"><script>alert(1)</script>'
    shared_panel.append(session, event("todo/write", 1, todos=[{"content": hostile, "status": "in_progress"}]))
    drawn = region(page(shared_panel, session), "timeline")
    assert "<script" not in drawn
    assert "&lt;script&gt;" in drawn
