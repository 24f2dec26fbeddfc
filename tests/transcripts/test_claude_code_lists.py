"""Which calls set a list, and which list: TodoWrite whole, task calls by their results in their order."""

import itertools
import json

import pytest

from planstrip.transcripts.claude_code_lists import MAX_OPEN, Lists

CREATED = "Task #{} created successfully: {}"
DONE = "Todos have been modified successfully."


def item(content: str, status: str = "pending") -> dict[str, str]:
    return {"content": content, "status": status, "activeForm": f"Doing {content}"}


class Told:
    """`call` is a call and its result at once; the list that stands then, or None."""

    def __init__(self, *, owns_tasks: bool = True) -> None:
        self.lists = Lists(owns_tasks)
        self.numbers = itertools.count()

    def opened(self, name: str, sent: object, size: int = 0) -> str:
        call_id = f"c{next(self.numbers)}"
        self.lists.called(call_id, name, sent, size)
        return call_id

    def closed(self, call_id: str, text: str, details: object = None, *, is_error: bool = False) -> list[str] | None:
        mapped = self.lists.answered(call_id, text, details, is_error=is_error)
        return None if mapped is None else [f"{todo.content}={todo.status}" for todo in mapped.list.todos]

    def call(
        self, name: str, sent: object, text: str, details: object = None, *, is_error: bool = False
    ) -> list[str] | None:
        return self.closed(self.opened(name, sent), text, details, is_error=is_error)

    def create(self, id_: int, subject: str) -> list[str] | None:
        return self.call("TaskCreate", {"subject": subject}, CREATED.format(id_, subject))

    def update(self, id_: int, **sent: object) -> list[str] | None:
        return self.call("TaskUpdate", {"taskId": str(id_)} | sent, f"Updated task #{id_} x")


def test_a_list_is_what_the_agent_accepted() -> None:
    told = Told()
    details = {"oldTodos": [], "newTodos": [item("kept")]}
    assert told.call("TodoWrite", {"todos": [item("sent")]}, DONE, details) == ["kept=pending"]
    assert told.call("TodoWrite", {"todos": [item("sent")]}, DONE) == ["sent=pending"]
    assert told.call("TodoWrite", {"todos": json.dumps([item("a string")])}, DONE) == ["a string=pending"]
    assert told.call("TodoWrite", {"todos": []}, DONE) == []
    assert told.call("TodoWrite", {"todos": ["broken", item("whole"), {"content": 5}]}, DONE) == ["whole=pending"]


@pytest.mark.parametrize("sent", [None, {}, {"todos": None}, {"todos": "[{"}, {"todos": '{"a": 1}'}, 5])
def test_a_call_without_a_list_sets_none(sent: object) -> None:
    assert Told().call("TodoWrite", sent, DONE) is None


def test_a_failed_call_sets_none() -> None:
    told = Told()
    assert told.call("TodoWrite", {"todos": [item("a")]}, "InputValidationError", is_error=True) is None
    assert told.call("TaskCreate", {"subject": "a"}, CREATED.format(1, "a"), is_error=True) is None
    assert told.call("Bash", {"todos": [item("a")]}, DONE, {"newTodos": [item("a")]}) is None


def test_a_call_that_is_answered_twice_or_by_nobody_sets_its_list_once_at_most() -> None:
    told = Told()
    call_id = told.opened("TodoWrite", {"todos": [item("a")]})
    assert told.closed(call_id, DONE) == ["a=pending"]
    assert told.closed(call_id, DONE) is None
    first = told.opened("TodoWrite", {"todos": [item("a")]})
    for _ in range(MAX_OPEN):
        told.opened("TodoWrite", {"todos": [item("b")]})
    assert told.closed(first, DONE) is None


def test_an_input_larger_than_any_list_is_not_held() -> None:
    told = Told()
    huge = {"todos": [item("x" * 300_000)]}
    assert told.closed(told.opened("TodoWrite", huge, 300_000), DONE) is None


def test_tasks_change_in_the_order_of_their_results() -> None:
    told = Told()
    told.create(1, "a")
    told.create(2, "b")
    first = told.opened("TaskUpdate", {"taskId": "1", "status": "in_progress"})
    second = told.opened("TaskUpdate", {"taskId": "2", "status": "completed"})
    assert told.closed(second, "Updated task #2 status") == ["a=pending", "b=completed"]
    assert told.closed(first, "Updated task #1 status") == ["a=in_progress", "b=completed"]


def test_a_subagents_tasks_are_no_list_of_its_own() -> None:
    told = Told(owns_tasks=False)
    assert told.create(1, "a") is None
    assert told.update(1, status="completed") is None
    assert told.call("TodoWrite", {"todos": [item("own")]}, DONE) == ["own=pending"]


def test_a_task_list_shows_what_others_changed_and_sets_nothing_itself() -> None:
    told = Told()
    told.create(1, "a")
    told.create(2, "b")
    tasks = [{"id": "2", "subject": "b", "status": "completed"}, {"id": "7", "subject": "theirs", "status": "pending"}]
    assert told.call("TaskList", {}, "", {"tasks": tasks}) is None
    assert told.update(7, status="in_progress") == ["b=completed", "theirs=in_progress"]


def test_a_task_list_that_a_change_overtook_is_stale() -> None:
    stale = {"tasks": [{"id": "1", "subject": "a", "status": "pending"}]}
    told = Told()
    told.create(1, "a")
    listing = told.opened("TaskList", {})
    told.update(1, status="completed")
    told.closed(listing, "", stale)
    assert told.update(1, owner="w") == ["a=completed"]
    change = told.opened("TaskUpdate", {"taskId": "1", "status": "in_progress"})
    listing = told.opened("TaskList", {})
    told.closed(change, "Updated task #1 status")
    told.closed(listing, "", stale)
    assert told.update(1, owner="w") == ["a=in_progress"]
