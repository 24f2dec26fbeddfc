"""Which row began which child: told where it can be, else guessed (issue 3, R068)."""

import json
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from planstrip.events import ToolCall, ToolResult
from planstrip.plan.children import Child, Family, link, succeed
from planstrip.plan.rows import Row
from planstrip.plan.todos import Counts


def row(position: int, answer: str | None = None, name: str = "Task", ended: int | None = None, **said: object) -> Row:
    """A call at `position` seconds; answered ten seconds later, or at `ended`."""
    result = None if answer is None else ToolResult(f"call-{position}", False, answer)
    end = ended if ended is not None else position + 10
    call = ToolCall(f"call-{position}", name, json.dumps(said))
    ended_at = None if result is None and ended is None else end * 1_000
    return Row(
        position, position, position * 1_000, call, result, "running" if result is None else "ok", ended_at=ended_at
    )


def child(id_: str, at: float, title: str | None = None, call: str | None = None, **counts: int) -> Child:
    return Child(id_, title, "working", Counts(**counts), None, int(at * 1_000), call)


def links(rows: Sequence[Row], children: Sequence[Child]) -> dict[int, str]:
    return {position: " ".join(ids) for position, ids in link(rows, children).items()}


# Told


def test_a_child_that_names_the_call_belongs_to_it() -> None:
    late = child("later", 900, call="call-1")
    assert links([row(1), row(2)], [child("a", 2.5, call="call-2"), late]) == {1: "later", 2: "a"}


def test_one_call_may_begin_several() -> None:
    assert links([row(1)], [child("a", 5, call="call-1"), child("b", 6, call="call-1")]) == {1: "a b"}


def test_an_answer_that_holds_the_childs_id_tells_more_than_the_clock() -> None:
    rows = [row(1, "agentId: bbbb (for resuming)"), row(2, '{"agent_id":"aaaa","nickname":"Kant"}')]
    assert links(rows, [child("aaaa", 1.5), child("bbbb", 2.5)]) == {1: "bbbb", 2: "aaaa"}


def test_an_id_inside_another_word_is_none() -> None:
    assert links([row(1, "see aaaa-1 and xaaaa")], [child("aaaa", 99)]) == {}


def test_an_agent_that_is_called_again_stands_at_both_calls() -> None:
    rows = [row(1, "agentId: aaaa"), row(50, resume="aaaa")]
    assert links(rows, [child("aaaa", 2)]) == {1: "aaaa", 50: "aaaa"}


def test_a_prompt_that_speaks_of_an_agent_does_not_begin_it() -> None:
    rows = [row(1, "agentId: aaaa"), row(50, prompt="Read what aaaa found")]
    assert links(rows, [child("aaaa", 2)]) == {1: "aaaa"}


# Guessed


def test_the_first_child_that_begins_while_the_call_runs_is_its_own() -> None:
    rows = [row(10, "fine"), row(30, "fine")]
    children = [child("early", 9), child("a", 11), child("between", 25), child("b", 31), child("c", 32)]
    assert links(rows, children) == {10: "a", 30: "b"}


def test_parallel_calls_get_their_children_in_order() -> None:
    assert links([row(10), row(11)], [child("b", 13), child("a", 12)]) == {10: "a", 11: "b"}


def test_of_parallel_calls_the_words_tell_which() -> None:
    rows = [row(10, prompt="Survey A\nin depth"), row(11, prompt="Survey B\nin depth")]
    assert links(rows, [child("b", 12, "Survey B"), child("a", 13, "Survey A")]) == {10: "a", 11: "b"}
    named = [row(10, description="Look at A"), row(11, description="Look at B")]
    children = [child("b", 12, "Look at B (@general subagent)"), child("a", 13, "Look at A (@general subagent)")]
    assert links(named, children) == {10: "a", 11: "b"}


def test_where_clocks_tell_nothing_the_prompt_does_once_the_call_is_answered() -> None:
    children = [child("a", 0, "Write the words…")]
    assert links([row(90, "Error: its token limit", prompt="Write the words 'one', then stop")], children) == {90: "a"}
    assert links([row(90, prompt="Write the words 'one', then stop")], children) == {}


def test_a_call_that_was_stopped_takes_no_later_child() -> None:
    assert links([row(10, ended=12), row(20)], [child("a", 21)]) == {20: "a"}


def test_a_row_has_one_child_by_guess_and_a_child_one_row() -> None:
    assert links([row(10), row(11), row(12)], [child("a", 13)]) == {10: "a"}
    assert links([row(10)], [child("a", 13), child("b", 14)]) == {10: "a"}


def test_arguments_that_do_not_parse_hinder_nothing() -> None:
    broken = Row(1, 1, 1_000, ToolCall("c", "Task", '["a'), None)
    assert links([broken], [child("a", 2, "x")]) == {1: "a"}


ids = st.sampled_from(["aaaa", "bbbb", "cccc"])
rows_ = st.lists(
    st.builds(row, st.integers(1, 20), st.none() | ids, prompt=ids), max_size=4, unique_by=lambda one: one.position
)
children_ = st.lists(
    st.builds(child, ids, st.integers(0, 40), ids, st.none() | st.sampled_from(["call-1", "call-5"])),
    max_size=3,
    unique_by=lambda one: one.id,
)


@given(rows_, children_)
def test_links_name_only_what_is_there(rows: list[Row], children: list[Child]) -> None:
    found = link(rows, children)
    assert set(found) <= {one.position for one in rows}
    assert {id_ for ids in found.values() for id_ in ids} <= {one.id for one in children}


# What a live view keeps


def test_nothing_new_is_the_very_same_family() -> None:
    family = succeed(Family(), Family((child("a", 11),)), [row(10)])
    assert family.serial == 1
    assert succeed(family, Family((child("a", 11),)), [row(10), row(12, name="Bash")]) is family


def test_a_line_changes_with_its_own_child_alone() -> None:
    first = succeed(Family(), Family((child("a", 11), child("b", 21))), [row(10), row(20)])
    second = succeed(first, Family((child("a", 11), child("b", 21, completed=1))), [row(10), row(20)])
    assert {position: line.serial for position, line in second.lines.items()} == {10: 1, 20: 2}


def test_a_row_that_slid_out_keeps_its_child() -> None:
    first = succeed(Family(), Family((child("a", 11),)), [row(10)])
    second = succeed(first, Family((child("a", 11, completed=1),)), [row(30)])
    assert {position: len(line.children) for position, line in second.lines.items()} == {10: 1}
    assert second.of(10)[0].counts.completed == 1


def test_a_row_that_loses_its_child_is_told_so() -> None:
    first = succeed(Family(), Family((child("aaaa", 11),)), [row(10), row(11)])
    second = succeed(first, Family((child("aaaa", 11),)), [row(10), row(11, "agentId: aaaa")])
    assert {position: [one.id for one in line.children] for position, line in second.lines.items()} == {
        10: [],
        11: ["aaaa"],
    }
    assert second.lines[10].serial == 2
