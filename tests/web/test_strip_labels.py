"""What the strip says of its own certainty, and what a person can do about the plan (spec.md §9)."""

import re
from gettext import NullTranslations

import pytest

from planstrip.events import (
    EndReason,
    Event,
    SessionEnd,
    Todo,
    TodoWrite,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnStart,
    TurnWait,
    Unknown,
    ViewerRestore,
    ViewerRetire,
)
from planstrip.plan.view import View, advance
from planstrip.web import certainty_labels, strip_labels
from planstrip.web.languages import translations
from tests.counts import joined
from tests.logs import entries
from tests.running import Panel, new_session, todos

EN, ZH = translations("en"), translations("zh")
OPEN = TodoWrite((Todo("a", "completed"), Todo("b", "in_progress"), Todo("c", "pending")))
ENDED, CUT = TurnEnd(1, EndReason("completed")), TurnEnd(1, EndReason("aborted"))
REFUSED = (ToolCall("p", "todo_write", "{}"), ToolResult("p", is_error=True, text="no"))


def view(*events: Event) -> View:
    return advance(View(), entries(events))


def notes(*events: Event, tr: NullTranslations = EN) -> list[str]:
    strip = strip_labels.strip(view(*events), tr)
    return [note.text for note in strip.notes] if strip else []


def calls(count: int) -> list[Event]:
    return [ToolCall(f"c{number}", "bash", "{}") for number in range(count)]


def test_a_fresh_plan_of_a_running_turn_needs_no_note() -> None:
    assert notes(TurnStart(1), OPEN, *calls(5)) == []


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ((TurnStart(1), OPEN, ENDED), ["turn ended with 2 open"]),  # R008
        ((TurnStart(1), OPEN, Unknown("context/compacted"), ENDED), ["turn ended with 2 open"]),  # R034
        ((TurnStart(1), OPEN, *REFUSED, ENDED), ["turn ended with 2 open", "a write was refused"]),  # R013
        ((TurnStart(1), OPEN, CUT, TurnStart(2)), ["from an interrupted turn", "1 turn since the last write"]),  # R047
        ((TurnStart(1), OPEN, *calls(40)), ["over 40 tool calls since the last write"]),  # R009
        (
            (OPEN, *[TurnStart(n) for n in range(30)])[:31],
            ["from an interrupted turn", "30 turns since the last write", "may be out of date"],  # R063
        ),
        ((TurnStart(1), TodoWrite((Todo("a", "completed"),)), ENDED), []),  # R052
    ],
)
def test_what_makes_a_plan_less_than_certain_is_said(events: tuple[Event, ...], expected: list[str]) -> None:
    assert notes(*events) == expected


def test_a_plan_that_may_be_behind_is_marked_and_dated_and_as_it_was_written(shared_panel: Panel) -> None:
    """R009, R011: forty calls, and a turn after it; nothing is ticked."""
    session = new_session()
    shared_panel.append(session, {"type": "turn/start", "data": {"turn": 1}})
    shared_panel.write(session, todos("s1=i s2=p s3=p s4=p s5=p"))
    made = [{"type": "tool/call", "data": {"call_id": f"{n}", "name": "bash", "arguments": ""}} for n in range(40)]
    shared_panel.append(session, *made)
    page = shared_panel.client.get(f"/sessions/{session}").text
    assert 'data-caution="aging"' in page
    assert "over 40 tool calls since the last write" in page
    assert re.search(r'<time class="ago strip-ago" datetime="[^"]+" data-time="ago">', page)
    assert "1 in progress\u2002·\u20024 pending" in joined(page)
    shared_panel.append(session, {"type": "turn/start", "data": {"turn": 2}})
    assert "1 turn, over 40 tool calls since the last write" in shared_panel.client.get(f"/sessions/{session}").text


def test_it_is_said_in_the_readers_language() -> None:
    assert notes(TurnStart(1), OPEN, *REFUSED, ENDED, tr=ZH) == ["本轮结束时还有 2 项未完成", "有一次写入被拒绝"]


@pytest.mark.parametrize(
    ("plan", "en", "zh"),
    [
        ("a=c b=i c=i d=p", "1 of 4 completed; now: b and 1 more", "4 项中已完成 1 项；正在进行：b，另有 1 项"),
        ("a=c b=i", "1 of 2 completed; now: b", "2 项中已完成 1 项；正在进行：b"),
        ("a=p", "0 of 1 completed", "1 项中已完成 0 项"),
        ("a=c b=c", "All 2 completed", "2 项全部完成"),
        ("a=c", "1 of 1 completed", "1 项全部完成"),
    ],
)
def test_a_plan_is_said_in_a_line(plan: str, en: str, zh: str) -> None:
    """R126."""
    written = TodoWrite(tuple(Todo(**todo) for todo in todos(plan)))  # type: ignore[arg-type]
    for tr, expected in ((EN, en), (ZH, zh)):
        strip = strip_labels.strip(view(TurnStart(1), written), tr)
        assert strip is not None
        assert strip.said == expected


def test_what_was_worked_on_is_not_said_to_be_worked_on_now() -> None:
    """Interrupted, ended, silent: nothing is known to run; and what was dropped or refused is said too."""

    def said(*events: Event, is_unsure: bool = False) -> str | None:
        strip = strip_labels.strip(view(TurnStart(1), OPEN, *events), EN)
        assert strip is not None
        return strip.said_unsure if is_unsure else strip.said

    assert said(CUT) == "1 of 3 completed; turn interrupted; was at: b"
    assert said(ENDED) == "1 of 3 completed; turn ended; was at: b"
    assert said(is_unsure=True) == "1 of 3 completed; no sign for 5 min; was at: b"
    assert said(CUT, is_unsure=True) is None
    less = TodoWrite((Todo("b", "in_progress"),))
    assert said(less, *REFUSED) == "0 of 1 completed; now: b; 1 dropped; a write was refused"


def test_a_plan_grows_less_certain_by_the_hour_while_its_agent_may_be_at_work() -> None:
    hour = 3_600_000

    def told(age_ms: int, *events: Event) -> tuple[str, list[str]]:
        strip = strip_labels.strip(view(TurnStart(1), OPEN, *events), EN, now=2_000 + age_ms)
        assert strip is not None
        return strip.caution, [note.text for note in strip.notes]

    assert told(hour - 1) == ("fresh", [])
    assert told(hour) == ("aging", [])
    assert told(3 * hour) == ("stale", ["may be out of date"])
    assert told(3 * hour, TurnWait(1, "permission")) == ("fresh", ["waits for permission"])
    assert told(3 * hour, ENDED) == ("fresh", ["turn ended with 2 open"])
    all_done = TodoWrite(tuple(Todo(todo.content, "completed") for todo in OPEN.todos))
    assert told(3 * hour, all_done) == ("fresh", [])


def test_a_plan_that_was_retired_and_brought_back_is_as_old_as_its_write() -> None:
    events: list[Event] = [TurnStart(1), OPEN, CUT, TurnStart(2), *calls(45), TurnStart(3), *calls(45)]
    before = strip_labels.strip(view(*events), EN)
    after = strip_labels.strip(view(*events, ViewerRetire(), ViewerRestore(OPEN.todos)), EN)
    assert before is not None
    assert after is not None
    assert (after.since, after.caution, after.notes) == (before.since, before.caution, before.notes)
    assert after.since == "1970-01-01T00:00:02Z"


def test_who_waits_for_a_person_says_so_and_a_long_name_is_cut() -> None:
    long = TodoWrite((Todo("x\n" + "y" * 20_000, "in_progress"),))
    strip = strip_labels.strip(view(TurnStart(1), long, TurnWait(1, "permission")), EN)
    assert strip is not None
    assert strip.said == f"0 of 1 completed; was at: x {'y' * 117}…; waits for you"


def test_the_turns_state_is_told_apart_from_the_plans() -> None:
    """R016, R018, R019."""

    def turn(*events: Event) -> str | None:
        note = certainty_labels.turn_note(view(*events).standing, EN)
        return note.text if note else None

    assert turn(OPEN) is None
    assert turn(TurnStart(1), OPEN) == "turn running"
    assert turn(TurnStart(1), OPEN, TurnWait(1, "")) == "waits for you"
    assert turn(TurnStart(1), TodoWrite((Todo("a", "completed"),)), ENDED) == "turn ended"
    told_in_a_note: list[tuple[Event, str]] = [
        (TurnWait(1, "permission"), "waits for permission"),
        (ENDED, "turn ended with 2 open"),
        (CUT, "turn interrupted"),
        (SessionEnd(), "turn interrupted"),
    ]
    for event, note in told_in_a_note:
        assert (turn(TurnStart(1), OPEN, event), notes(TurnStart(1), OPEN, event)) == (None, [note])


def test_each_todo_leads_to_the_row_where_its_status_last_changed() -> None:
    """R158."""
    first, second = (
        TodoWrite((Todo("a", "in_progress"), Todo("b", "pending")), "w1"),
        TodoWrite((Todo("a", "completed"), Todo("b", "pending")), "w2"),
    )
    shown = view(ToolCall("w1", "todo_write", "{}"), first, *calls(3), ToolCall("w2", "todo_write", "{}"), second)
    strip = strip_labels.strip(shown, EN)
    assert strip is not None
    assert [(item.content, item.place) for item in strip.items] == [("a", "#row-6"), ("b", "#row-1")]


# What a person does


def test_a_plan_is_retired_by_a_form_and_brought_back(shared_panel: Panel) -> None:
    """R064, R151: logged, attributed, undone; the agent's own list is not edited. R014."""
    session = new_session()
    shared_panel.write(session, todos("a=c b=i"))
    page = shared_panel.client.get(f"/sessions/{session}").text
    url = re.search(r'action="([^"]+/retire[^"]*)"', page)
    assert url
    assert shared_panel.client.post(url[1], data={"now": "1"}).status_code == 303
    assert shared_panel.plan(session)["todos"] is None
    assert shared_panel.events(session)[-1]["data"] == {"by": "page"}
    retired = shared_panel.client.get(f"/sessions/{session}").text
    assert "Plan 1 was retired" in retired
    assert "plan-strip" not in retired
    undo = re.search(r'action="([^"]+/restore[^"]*)"', retired)
    assert undo
    assert shared_panel.client.post(undo[1], data={"now": "1"}, headers={"hx-request": "true"}).status_code == 204
    assert len(shared_panel.plan(session)["todos"]) == 2
    assert "was retired" not in shared_panel.client.get(f"/sessions/{session}").text


def test_an_act_that_comes_too_late_changes_nothing(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, [])
    before = shared_panel.events(session)
    for act in ("retire", "restore"):
        assert shared_panel.client.post(f"/sessions/{session}/{act}", data={"now": "1"}).status_code == 303
        assert shared_panel.client.post(f"/sessions/none/{act}", data={"now": "1"}).status_code == 404
        answer = shared_panel.client.post(
            f"/sessions/{session}/{act}", data={"now": "1"}, headers={"origin": "http://evil"}
        )
        assert answer.status_code == 403
    assert shared_panel.events(session) == before


def test_a_frame_and_the_past_offer_no_acts(shared_panel: Panel) -> None:
    """R133."""
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    for path in (f"/embed/{session}?open=1", f"/sessions/{session}?at=2"):
        text = shared_panel.client.get(path).text
        assert "plan-strip" in text
        assert "/retire" not in text
        assert "<button class" not in text.partition("plan-strip")[2]
