"""What stands about a session, its state, and where each part of its page last changed (spec.md §8, §9)."""

from hypothesis import given
from hypothesis import strategies as st

from planstrip.events import (
    EndReason,
    Entry,
    Event,
    SessionStart,
    Todo,
    TodoWrite,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnResume,
    TurnStart,
    TurnWait,
    Unknown,
    ViewerDismiss,
    ViewerRestore,
    ViewerRetire,
)
from planstrip.plan import fold
from planstrip.plan.outline import QUIET_AFTER_MS, state_of
from planstrip.plan.view import View, advance, stand
from tests.logs import entries, log, logs


@given(logs, st.data())
def test_a_view_in_two_parts_is_the_view_of_the_whole_at_every_cut(entries: list[Entry], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(entries)))
    assert advance(advance(View(), entries[:cut]), entries[cut:]) == advance(View(), entries)


@given(logs)
def test_a_view_that_a_frame_would_not_change_has_not_changed(entries: list[Entry]) -> None:
    """What names no change shows none: the parts that a page renders are the same before and after."""
    view = View()
    for entry in entries:
        before, view = view, advance(view, [entry])
        if view.standing.plan_changed == before.standing.plan_changed:
            assert view.standing.plan == before.standing.plan
        if view.standing.strip_changed == before.standing.strip_changed and view.standing.plan:
            assert view.standing.is_moving == before.standing.is_moving
        if view.standing.strip_changed == before.standing.strip_changed:
            assert view.standing.unlisted == before.standing.unlisted
        if view.standing.head_changed == before.standing.head_changed:
            assert view.standing.outline == before.standing.outline
            assert view.standing.condition == before.standing.condition
        if view.window.changed == before.window.changed:
            assert view.window.turns == before.window.turns
        assert view.changed <= entry.position


@given(logs)
def test_the_plan_of_a_view_is_the_folds(entries: list[Entry]) -> None:
    assert stand(entries).plan == fold.fold(entries)


def condition(notation: str) -> str:
    return stand(log(notation)).condition


def test_the_state_is_the_first_that_fits() -> None:
    assert condition("T+ > W[a=i]") == "running"
    assert condition("T+ > W[a=i] > T!") == "interrupted"
    assert condition("T+ > W[a=i] > T-") == "open"
    assert condition("T+ > W[a=c] > T-") == "done"
    assert condition("T+ > T-") == "none"
    assert condition("W[a=i]") == "open"
    waiting = entries([TurnStart(1), TurnWait(1, "approval")])
    assert stand(waiting).condition == "waiting"
    assert stand([*waiting, Entry(3, 0, TurnEnd(1, EndReason("completed")))]).condition == "none"


def test_a_plan_moves_only_while_a_turn_runs() -> None:
    """R016, R041: an interrupted turn leaves it still until the next one runs, and so does a question to a person."""

    def moves(notation: str) -> bool:
        return stand(log(notation)).is_moving

    assert moves("T+ > W[a=c,b=i,c=p]")
    assert not moves("T+ > W[a=c,b=i,c=p] > T-")
    assert not moves("T+ > W[a=c,b=i,c=p] > T!")
    assert moves("T+ > W[a=c,b=i,c=p] > T! > T+")
    assert not stand([*log("T+ > W[a=c,b=i,c=p]"), Entry(3, 0, TurnWait(1, "question"))]).is_moving


def test_that_a_turn_runs_does_not_depend_on_writes() -> None:
    """R018, R155: sixty to-dos, and twenty minutes without a word of the plan."""
    later = 20 * 60_000
    sixty = TodoWrite(tuple(Todo(f"{n}", "pending") for n in range(60)))
    working = stand([*entries([TurnStart(1), sixty]), Entry(3, later, ToolCall("c", "bash", "{}"))])
    assert (working.is_moving, working.outline.turn, working.plan_changed) == (True, "open", 2)
    assert state_of(working.condition, working.updated_at, later + 1_000) == "working"


def test_who_waits_for_a_person_waits_until_the_answer() -> None:
    """R019: not until whatever comes next, and it is told apart from a session that is idle with the same plan."""
    asked = [*log("T+ > W[a=i]"), Entry(3, 0, TurnWait(1, "question"))]
    meanwhile = [Entry(4, 0, ToolCall("c", "bash", "{}")), Entry(5, 0, ToolResult("c", is_error=False, text=""))]
    assert stand([*asked, *meanwhile]).condition == "waiting"
    assert stand([*asked, *meanwhile, Entry(6, 0, TurnResume(1))]).condition == "running"
    assert condition("W[a=i]") == "open"


def test_a_running_turn_is_quiet_after_five_minutes_without_an_event() -> None:
    assert state_of("running", 0, QUIET_AFTER_MS - 1) == "working"
    assert state_of("running", 0, QUIET_AFTER_MS) == "quiet"
    assert state_of("done", 0, QUIET_AFTER_MS * 9) == "done"


def test_a_later_start_fills_in_what_is_missing() -> None:
    outline = stand(entries([SessionStart("codex"), SessionStart("other", "Title", "/w", "p")])).outline
    assert (outline.agent, outline.title, outline.cwd, outline.parent) == ("codex", "Title", "/w", "p")


def test_a_session_without_a_title_is_called_by_its_first_prompt() -> None:
    outline = stand(entries([TurnStart(1, "\n  Fix the build \n now"), TurnStart(2, "Again")])).outline
    assert outline.label == "Fix the build"


def test_an_unknown_type_moves_the_head_and_nothing_that_is_shown() -> None:
    before = advance(View(), log("W[a=i]"))
    after = advance(before, [Entry(2, 9, Unknown("later/type"))])
    assert after.standing.position == 2
    assert after.changed == before.changed


def test_what_a_person_does_here_is_no_sign_of_the_agent() -> None:
    written = [Entry(1, 1_000, TurnStart(1)), Entry(2, 2_000, TodoWrite((Todo("a", "pending"),)))]
    acts: list[Event] = [ViewerDismiss("b"), ViewerRetire(), ViewerRestore((Todo("a", "pending"),))]
    seen = [Entry(3 + n, 9_000_000 + n, event) for n, event in enumerate(acts)]
    standing = stand([*written, *seen])
    assert (standing.position, standing.updated_at) == (5, 2_000)
    assert state_of(standing.condition, standing.updated_at, 9_000_000) == "quiet"
    assert stand(seen[1:], stand([*written, seen[0]])) == standing
    assert stand([Entry(6, 9_000_009, TurnResume(1))], standing).updated_at == 9_000_009
