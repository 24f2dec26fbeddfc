"""An agent's list becomes one that keeps the invariant; nothing that it says is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planstrip.events import Omitted, Todo
from planstrip.plan.todos import invariant_problems
from planstrip.transcripts.mapping import kept, kept_plan, map_list


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("pending", "pending"),
        ("in_progress", "in_progress"),
        ("inProgress", "in_progress"),
        ("in-progress", "in_progress"),
        ("completed", "completed"),
        ("done", "completed"),
        ("closed", "completed"),
        ("complete", "completed"),
        ("blocked", "pending"),
        ("_future", "pending"),
        (None, "pending"),
    ],
)
def test_each_word_becomes_one_of_three(word: str | None, status: str) -> None:
    """R021, R024."""
    assert [todo.status for todo in map_list([("a", word)]).todos] == [status]


@pytest.mark.parametrize("word", ["cancelled", "canceled", "abandoned", "deleted", "failed"])
def test_what_was_given_up_is_kept_beside_the_list_with_its_own_word(word: str) -> None:
    """R020."""
    mapped = map_list([("a", word), ("a", "pending")])
    assert mapped.omitted == (Omitted("a", word),)
    assert mapped.todos == (Todo("a", "pending"),)


def test_contents_are_trimmed_blanks_left_out_and_repeats_numbered() -> None:
    raw = [" a\ufeff", "\u3000", None, "a", "a (2)", "a", "b\nc ", "\x1f"]
    contents = [todo.content for todo in map_list((content, "pending") for content in raw).todos]
    assert contents == ["a", "a (2)", "a (2) (2)", "a (3)", "b\nc", "\x1f"]


@given(st.lists(st.tuples(st.none() | st.sampled_from(["a", "a (2)", " a", ""]) | st.text(), st.none() | st.text())))
def test_every_list_that_comes_of_it_keeps_the_invariant(items: list[tuple[str | None, str | None]]) -> None:
    assert not list(invariant_problems(map_list(items).todos))


def test_a_thousand_equal_contents_are_numbered_at_once() -> None:
    todos = map_list([("same", "pending")] * 1_000).todos
    assert (todos[0].content, todos[-1].content) == ("same", "same (1000)")


@given(st.text(max_size=60), st.integers(0, 40))
def test_a_text_is_kept_up_to_its_limit_and_says_what_is_missing(text: str, limit: int) -> None:
    short = kept(text, limit)
    size = len(text.encode())
    if size <= limit:
        assert short == text
        return
    head, mark = short.rsplit("… [trimmed ", 1)
    assert text.startswith(head)
    assert len(head.encode()) + int(mark.removesuffix(" bytes]")) == size


def test_plan_arguments_are_kept_whole_as_long_as_the_door_takes_them() -> None:
    assert kept_plan("x" * 200_000) == "x" * 200_000
    assert kept_plan('"' * 200_000).endswith("… [trimmed 183616 bytes]")
