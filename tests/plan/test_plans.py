"""Plans are numbered, and each has its outcome (spec.md §4, §9; reports.md R060, R061)."""

import itertools

import pytest
from hypothesis import given

from planstrip.events import Entry, Todo, TodoWrite, ViewerRestore, ViewerRetire
from planstrip.plan.plans import Plans
from planstrip.plan.view import stand
from tests.logs import entries, log, logs


def plans(notation: str) -> Plans:
    return stand(log(notation)).plans


@pytest.mark.parametrize(
    ("notation", "outcomes"),
    [
        ("W[a=i]", []),
        ("W[a=c] > T+", ["finished"]),
        ("T+ > W[a=c,b=c] > T-", []),  # R060: it stands at its turn
        ("T+ > W[a=c,b=c] > T- > T+", ["finished"]),  # R052, R061: and then it is history
        ("W[a=c] > W[]", ["finished"]),
        ("W[a=i] > W[]", ["abandoned"]),
        ("T+ > W[a=i] > T! > T+ > W[]", ["interrupted"]),
        ("W[a=i] > W[a=c,b=i] > W[b=c,c=i]", []),  # something is kept each time
        ("W[read the code=i] > W[write a letter=i]", ["abandoned"]),  # nothing is
        ("W[read the code=i] > W[Read the code!=c]", []),
        ("W[a=c] > T+ > W[b=c] > T+ > W[c=i]", ["finished", "finished"]),
    ],
)
def test_each_past_plan_has_its_outcome(notation: str, outcomes: list[str]) -> None:
    found = plans(notation)
    assert [past.outcome for past in found.past] == outcomes
    assert [past.number for past in found.past] == list(range(1, len(outcomes) + 1))


def test_a_past_plan_can_be_looked_up_where_it_stood_last() -> None:
    """R061."""
    past = plans("T+ > W[a=i,b=p] > W[a=c,b=c] > T- > T+ > W[c=i]").past[0]
    assert (past.first, past.last, past.began, past.ended) == (2, 4, 2_000, 3_000)
    assert stand(log("T+ > W[a=i,b=p] > W[a=c,b=c] > T-")).counts == past.counts
    assert plans("T+ > W[a=c] > T+ > W[c=i]").number == 2


def test_a_finished_plan_ended_with_its_last_write_and_is_told_with_all_that_it_held() -> None:
    """Six were finished and then left out, one was dropped while open: a list that forgets is no smaller plan."""
    past = plans("T+ > W[a=c,b=c,x=i,y=p] > W[b=c,y=p] > W[b=c,c=i] > W[c=c,d=c] > T- > T+ > W[z=i]").past[0]
    assert (past.counts.completed, past.dropped, past.ended) == (4, 2, 5_000)
    returned = plans("W[a=c,b=i] > W[b=i] > W[a=c,b=c] > T+").past[0]
    assert (returned.counts.completed, returned.dropped) == (2, 0)
    renamed = plans("W[read the code=c,b=i] > W[Read the code!=c,b=c] > T+").past[0]
    assert renamed.counts.completed == 2


def test_a_retired_plan_that_is_restored_is_the_same_plan() -> None:
    written = TodoWrite((Todo("a", "in_progress"),))
    retired = stand(entries([written, ViewerRetire("me")])).plans
    assert ([past.outcome for past in retired.past], retired.is_retired) == (["retired"], True)
    restored = stand(entries([written, ViewerRetire("me"), ViewerRestore(written.todos)])).plans
    assert restored == stand(entries([written])).plans
    assert not stand(entries([written, ViewerRetire("me"), TodoWrite(())])).plans.is_retired
    assert stand(entries([written, ViewerRetire("me"), written])).plans.number == 2


@given(logs)
def test_numbers_rise_and_no_two_plans_overlap(log: list[Entry]) -> None:
    standing = stand(log)
    past = standing.plans.past
    assert all(one.first <= one.last < two.first for one, two in itertools.pairwise(past))
    assert all(one.number < two.number for one, two in itertools.pairwise(past))
    if standing.plan is not None:
        assert standing.plans.number > (past[-1].number if past else 0)
