"""A session's children and its parent, as the sessions' table tells them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from planstrip import projection
from planstrip.families import above, parents_of, relinked, with_family
from planstrip.intake.check import check_data
from planstrip.plan.children import MAX_CHILDREN
from planstrip.plan.outline import QUIET_AFTER_MS
from planstrip.plan.view import View
from tests.stores import Store, event, opened, turn, write

NOW = 10_000


@pytest.fixture
def store(database: Path) -> Iterator[Store]:
    with opened(database) as store:
        yield store


def seen(store: Store, session: str, before: View | None = None, now: int = NOW) -> View:
    with store.reading() as connection:
        return with_family(connection, session, before or projection.view(connection, session), now)


def begin(store: Store, session: str, parent: str | None = None, **more: object) -> None:
    given = {"agent": "codex", "parent": parent, **more}
    store.append(session, event("session/start", **{name: value for name, value in given.items() if value is not None}))


def test_children_are_told_in_the_order_in_which_they_began(store: Store) -> None:
    for session in ("z", "a", "m"):
        begin(store, session, "boss", title=f"The {session}")
    store.append("z", turn(), write("a=c b=i c=i"))
    first, *others = seen(store, "boss").family.children
    assert [child.id for child in (first, *others)] == ["z", "a", "m"]
    assert (first.title, first.state, first.active) == ("The z", "working", "b")
    assert (first.counts.completed, first.counts.in_progress, first.started_at) == (1, 2, 1_000)
    assert [child.state for child in others] == ["none", "none"]


def test_a_child_falls_quiet_by_the_clock(store: Store) -> None:
    begin(store, "kid", "boss")
    store.append("kid", turn())
    view = seen(store, "boss")
    assert seen(store, "boss", view) is view
    later = seen(store, "boss", view, NOW + 5 * 60_000)
    assert (later.family.serial, later.family.children[0].state) == (2, "quiet")


def test_what_shows_nothing_changes_nothing(store: Store) -> None:
    begin(store, "kid", "boss")
    store.append("kid", turn(), write("a=i"))
    view = seen(store, "boss")
    store.append("kid", event("tool/call", call_id="c", name="bash", arguments=""))
    assert seen(store, "boss", view) is view
    store.append("kid", write("a=c"))
    assert seen(store, "boss", view).family.serial == 2


def test_a_sign_of_an_agent_at_work_is_a_sign_of_those_above(store: Store) -> None:
    for session, parent in (("boss", None), ("kid", "boss"), ("grandkid", "kid")):
        begin(store, session, parent)
        store.append(session, turn())
    view = seen(store, "boss")
    call = check_data("tool/call", {"call_id": "c", "name": "bash", "arguments": ""}, time=NOW + QUIET_AFTER_MS)
    store.append("grandkid", call)
    later = seen(store, "boss", view, NOW + QUIET_AFTER_MS)
    assert (later.heard_at, later.family.serial, later.family.children[0].state) == (NOW + QUIET_AFTER_MS, 1, "working")
    with store.reading() as connection:
        assert above(connection, NOW + QUIET_AFTER_MS).working == {"boss", "kid"}
        assert above(connection, NOW + 2 * QUIET_AFTER_MS).working == set()


def test_who_waits_is_looked_for_from_above_until_the_parent_goes_on(store: Store) -> None:
    begin(store, "boss")
    store.append("boss", turn())
    begin(store, "kid", "boss")
    store.append("kid", turn(), event("turn/wait", turn=1, **{"for": "permission"}))
    store.append("boss", event("tool/call", call_id="c", name="bash", arguments=""))  # another, beside it
    view = seen(store, "boss")
    assert (view.family.is_waiting, waiting(store)) == (True, ["boss"])
    store.append("boss", event("turn/end", turn=1, reason={"kind": "completed"}))
    assert (seen(store, "boss").family.is_waiting, waiting(store)) == (False, [])


def test_a_child_that_was_cut_off_needs_nobody_once_its_parent_knows(store: Store) -> None:
    begin(store, "boss")
    store.append("boss", turn(), event("tool/call", call_id="c", name="Task", arguments="{}"))
    begin(store, "kid", "boss", parent_call="c")
    store.append("kid", turn(), event("turn/end", turn=1, reason={"kind": "aborted"}))
    assert [child.state for child in seen(store, "boss").family.present] == ["interrupted"]
    store.append("boss", event("tool/result", call_id="c", is_error=True, text="aborted"))
    assert seen(store, "boss").family.present == ()


def waiting(store: Store) -> list[str]:
    with store.reading() as connection:
        return sorted(above(connection, NOW).waiting)


def test_a_child_names_its_parent_and_the_call(store: Store) -> None:
    store.append("boss", event("session/title", title="Boss"))
    begin(store, "kid", "boss", parent_call="c")
    begin(store, "odd", "boss", parent_call=7)
    assert [child.call for child in seen(store, "boss").family.children] == ["c", None]
    family = seen(store, "kid").family
    assert (family.parent, family.parent_title, family.children) == ("boss", "Boss", ())


def test_a_parent_that_was_never_heard_of_is_named_all_the_same(store: Store) -> None:
    begin(store, "kid", "nobody")
    family = seen(store, "kid").family
    assert (family.parent, family.parent_title) == ("nobody", None)


def test_a_session_is_no_child_of_its_own(store: Store) -> None:
    begin(store, "a", "a")
    assert seen(store, "a").family.children == ()


def test_rows_that_come_later_are_linked_without_another_look(store: Store) -> None:
    begin(store, "kid-1", "boss")
    view = seen(store, "boss")
    assert relinked(view) is view
    store.append("boss", event("tool/call", call_id="c", name="Task", arguments="{}"))
    store.append("boss", event("tool/result", call_id="c", is_error=False, text="agentId: kid-1"))
    with store.reading() as connection:
        view = relinked(projection.catch_up(connection, "boss", view))
    assert [child.id for child in view.family.of(1)] == ["kid-1"]
    assert view.family.of(1) == seen(store, "boss").family.of(1)


def test_parents_are_told_for_many_at_once(store: Store) -> None:
    begin(store, "kid", "boss")
    begin(store, "boss")
    with store.reading() as connection:
        assert parents_of(connection, ["kid", "boss", "later"]) == {"kid": "boss", "boss": None, "later": None}


def test_a_page_holds_the_newest_children_only(store: Store) -> None:
    for number in range(MAX_CHILDREN + 3):
        begin(store, f"kid-{number}", "boss")
    children = seen(store, "boss").family.children
    assert len(children) == MAX_CHILDREN
    assert children[0].id == "kid-3"
