"""The ledger: a list's difference from the one before (spec.md §9; reports.md R037, R039, R046)."""

import itertools
from collections.abc import Sequence
from typing import Final

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planstrip.events import STATUSES, Omitted, Todo
from planstrip.plan import likeness
from planstrip.plan.ledger import GONE, apply, compare
from planstrip.plan.likeness import longest_rise, normalise, pair
from tests.logs import todo_lists
from tests.logs import todos as arbitrary
from tests.running import todos as parsed

WORDS: Final = (
    "write",
    "tests",
    "Straße",
    "実装",
    "the",
    "a",
    "1",
    "2",
    "İ",
    "ﬁx",
    "e\u0301",
    "parser",
    "✅",
    "`x`",
    "…",
)

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
disguises = st.sampled_from([str.upper, str.casefold, lambda text: text.replace(" ", "  "), lambda text: f"{text}."])
statuses = st.sampled_from(STATUSES)


def unique(todos: Sequence[Todo]) -> tuple[Todo, ...]:
    return tuple({todo.content: todo for todo in todos}.values())


@st.composite
def edits(draw: st.DrawFn) -> tuple[tuple[Todo, ...], tuple[Todo, ...]]:
    """A list and what an agent made of it: texts disguised or lengthened, items moved, left out, added, restated."""
    before = unique(draw(st.lists(st.builds(Todo, texts, statuses), max_size=12)))
    kept = [todo for todo in before if draw(st.integers(0, 5))]
    changed = []
    for todo in kept:
        content = draw(disguises)(todo.content) if not draw(st.integers(0, 2)) else todo.content
        content = f"{content} {draw(texts)}" if not draw(st.integers(0, 4)) else content
        changed.append(Todo(content, draw(statuses)))
    added = draw(st.lists(st.builds(Todo, texts, statuses), max_size=4))
    return before, unique(draw(st.permutations([*changed, *added])))


@given(edits())
def test_applying_a_difference_to_the_earlier_list_gives_the_later_one(
    lists: tuple[tuple[Todo, ...], tuple[Todo, ...]],
) -> None:
    before, after = lists
    assert apply(before, compare(before, after)) == after
    assert apply(after, compare(after, before)) == before


@given(todo_lists, todo_lists)
def test_applying_it_holds_for_lists_that_have_nothing_to_do_with_each_other(
    before: tuple[Todo, ...], after: tuple[Todo, ...]
) -> None:
    assert apply(before, compare(before, after)) == after


@given(st.lists(arbitrary, max_size=6).map(tuple), st.lists(arbitrary, max_size=6).map(tuple))
def test_applying_it_holds_where_a_content_stands_twice(before: tuple[Todo, ...], after: tuple[Todo, ...]) -> None:
    """The invariant forbids it, but a log outlives what was checked."""
    assert apply(before * 2, compare(before * 2, after * 2)) == after * 2


@given(edits())
def test_every_to_do_is_told_of_once(lists: tuple[tuple[Todo, ...], tuple[Todo, ...]]) -> None:
    before, after = lists
    difference = compare(before, after)
    gone = [change.before for change in difference if change.kind in GONE]
    came = [change.after for change in difference if change.kind == "added"]
    assert len(before) - len(gone) == len(after) - len(came)
    assert len(set(gone)) == len(gone)
    told = [(change.kind, change.before, change.after) for change in difference]
    assert len(set(told)) == len(told)
    dropped = {change.before for change in difference if change.kind == "dropped"}
    assert dropped == {place for place in gone if place is not None and before[place].status != "completed"}


@given(edits())
def test_equal_texts_are_one_to_do_whatever_else_is_like_them(
    lists: tuple[tuple[Todo, ...], tuple[Todo, ...]],
) -> None:
    before, after = lists
    places = {todo.content: place for place, todo in enumerate(after)}
    pairs = pair(before, after)
    for place, todo in enumerate(before):
        if todo.content in places:
            assert pairs[place] == places[todo.content]


@given(texts, disguises, st.sampled_from(["pending", "in_progress"]))
def test_a_change_of_case_spacing_or_punctuation_is_a_rename(text: str, disguise: object, status: str) -> None:
    renamed = disguise(text)  # type: ignore[operator]
    assume(renamed != text and normalise(text))
    (change,) = compare([Todo(text, status)], [Todo(renamed, status)])  # type: ignore[arg-type]
    assert (change.kind, change.content, change.was) == ("renamed", renamed, text)


@given(st.integers(1, 30), st.data())
def test_one_to_do_that_moved_is_one_change(size: int, data: st.DataObject) -> None:
    before = tuple(Todo(f"task {number}", "pending") for number in range(size))
    start, end = data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, size - 1))
    moved = [*before[:start], *before[start + 1 :]]
    moved.insert(end, before[start])
    assert [change.kind for change in compare(before, tuple(moved))] == ["reordered"] * (start != end)


@given(st.permutations(range(7)))
def test_as_few_as_can_be_are_told_as_moved(numbers: list[int]) -> None:
    longest = max(
        size
        for size in range(1, 8)
        for picked in itertools.combinations(numbers, size)
        if list(picked) == sorted(picked)
    )
    rise = longest_rise(numbers)
    assert len(rise) == longest
    assert [number for number in numbers if number in rise] == sorted(rise)


def told(before: str, after: str, **more: object) -> list[str]:
    lists = [tuple(Todo(**todo) for todo in parsed(text)) for text in (before, after)]  # type: ignore[arg-type]
    return [f"{change.kind} {change.content}" for change in compare(*lists, **more)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "a=i b=p", ["added a", "added b"]),
        ("a=i b=p", "a=c b=i", ["completed a", "started b"]),
        ("a=c", "a=i", ["reopened a"]),
        ("a=c", "a=p", ["reopened a"]),
        ("a=i b=p", "a=p b=p", ["paused a"]),
        ("a=p", "a=c", ["completed a"]),
        ("a=p b=p c=p", "a=c", ["completed a", "dropped b", "dropped c"]),  # R037
        ("a=c b=p c=p", "b1=i b2=p", ["added b1", "added b2", "removed a", "dropped b", "dropped c"]),  # R039
        ("a=i b=p", "a=i b=p", []),  # R046
        ("a=i b=c", "", ["dropped a", "removed b"]),
        ("a=p b=p c=p", "c=p a=p b=p", ["reordered c"]),
        ("a=p b=p", "b=c x=p a=i", ["completed b", "added x", "started a", "reordered a"]),
        ("Phase-1=p", "Phase-2=p", ["added Phase-2", "dropped Phase-1"]),
        ("Write-tests=p", "Write-docs=p", ["added Write-docs", "dropped Write-tests"]),
        ("Write-a-note=p", "Write-a-short-note=i", ["renamed Write-a-short-note", "started Write-a-short-note"]),
        ("Fix-the-tests-(3/10)=p", "Fix-the-tests-(4/10)=p", ["renamed Fix-the-tests-(4/10)"]),
        (
            "Write-tests=p",
            "Write-tests-for-the-parser-and-for-the-lexer=p",
            ["renamed " + "Write-tests-for-the-parser-and-for-the-lexer"],
        ),
        ("Step-1=p", "Step-1-2-and-3=p", ["added Step-1-2-and-3", "dropped Step-1"]),
        (
            "Task-1-of-round-1=c Task-2-of-round-1=i",
            "Task-1-of-round-2=p Task-2-of-round-2=p",
            [
                "added Task-1-of-round-2",
                "added Task-2-of-round-2",
                "removed Task-1-of-round-1",
                "dropped Task-2-of-round-1",
            ],
        ),
        ("编写迁移脚本=p", "编写迁移脚本和测试=p", ["renamed 编写迁移脚本和测试"]),
        (
            "Test-the-old-parser=c",
            "Test-the-new-parser=p",
            ["added Test-the-new-parser", "removed Test-the-old-parser"],
        ),
    ],
)
def test_what_a_write_changed(before: str, after: str, expected: list[str]) -> None:
    """R037, R039, R046."""
    assert told(before, after) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Enable the cache", "Disable the cache"),
        ("Add the cache for sessions", "Remove the cache for sessions"),
        ("Start the background worker", "Stop the background worker"),
        ("Lock the settings file", "Unlock the settings file"),
        ("Den Cache der Sitzungen aktivieren", "Den Cache der Sitzungen deaktivieren"),
        ("Enable the cache for sessions", "Don't enable the cache for sessions"),
        ("Implement client authentication", "Implement server authentication"),
        ("Upgrade everything to Python 3.11", "Upgrade everything to Python 3.12"),
        ("Document version v1 of the API", "Document version v2 of the API"),
        ("Fix 3 failing tests in the parser", "Fix 5 failing tests in the parser"),
        ("Write the login page's own tests", "Write the logout page's own tests"),
        ("启用会话缓存", "禁用会话缓存"),
        ("キャッシュを有効にする", "キャッシュを無効にする"),
    ],
)
def test_what_says_something_else_is_another_to_do_however_alike(before: str, after: str) -> None:
    for one, other in ((before, after), (after, before)):
        changes = compare([Todo(one, "pending")], [Todo(other, "pending")])
        assert [change.kind for change in changes] == ["added", "dropped"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Fix a bug in the parser", "Fix the bugs in parser"),
        ("Write parser tests", "Write unit tests for the parser"),
        ("Cache the query", "Caching the queries"),
        ("Implement user login", "Implement login for users"),
        ("Run the whole suite", "Run the whole suite and fix what fails"),
        ("修复登录流程", "修复登录流程并更新测试"),
    ],
)
def test_words_that_come_go_move_or_end_otherwise_make_a_rename(before: str, after: str) -> None:
    for one, other in ((before, after), (after, before)):
        assert [c.kind for c in compare([Todo(one, "pending")], [Todo(other, "pending")])] == ["renamed"]


@given(st.text(max_size=40), st.text(max_size=40))
def test_reading_word_by_word_knows_no_order_and_no_text_gives_way_to_itself(one: str, other: str) -> None:
    assert not likeness.is_turned(one, one)
    assert likeness.is_turned(one, other) == likeness.is_turned(other, one)


def test_the_place_decides_between_equally_like_texts() -> None:
    before = [Todo(text, "pending") for text in ("Check the page", "x", "Check the pages")]
    after = [Todo(text, "pending") for text in ("Check the pagess", "x", "Check the pagesss")]
    assert pair(before, after) == {0: 0, 1: 1, 2: 2}


def test_what_the_agent_called_off_is_not_dropped() -> None:
    assert told("a=p b=p", "a=p", omitted=[Omitted("B", "cancelled")]) == ["omitted b"]


def test_what_a_person_took_back_is_not_dropped() -> None:
    assert told("a=p b=p", "a=p", is_by_agent=False) == ["removed b"]


def test_a_thousand_new_texts_are_each_compared_with_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = itertools.count()
    original = likeness.likeness

    def counted(*sides: likeness.Side) -> float:
        next(compared)
        return original(*sides)

    monkeypatch.setattr(likeness, "likeness", counted)
    before, after = ([Todo(f"{word} number {n} of many", "pending") for n in range(1_000)] for word in ("old", "other"))
    assert apply(before, compare(before, after)) == tuple(after)
    assert 1_000 <= next(compared) <= 1_000 * likeness.NEAREST
