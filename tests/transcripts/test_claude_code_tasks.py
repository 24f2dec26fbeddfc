"""The agent's own task list: one entry a call, by id, in order of creation."""

import pytest

from planstrip.plan.todos import MAX_CONTENT_CHARS
from planstrip.transcripts.claude_code_tasks import MAX_TASKS, Tasks, Told


def create(tasks: Tasks, id_: int | str, subject: str = "") -> bool:
    subject = subject or f"task {id_}"
    return tasks.created({"subject": subject}, f"Task #{id_} created successfully: {subject}", None)


def update(tasks: Tasks, id_: int | str, details: object = None, **sent: object) -> bool:
    return tasks.updated(sent, f"Updated task #{id_} status", details)


def listed(tasks: Tasks) -> list[str]:
    return [f"{subject}={status}" for subject, status in tasks.pairs]


@pytest.mark.parametrize(
    ("sent", "details"),
    [
        ({"subject": "sent"}, {"task": {"id": "1", "subject": "kept"}}),
        ({"subject": "kept"}, None),
        ({"title": "kept"}, "text"),
        ({"task": {"subject": "kept"}}, {}),
        (None, None),
    ],
)
def test_a_subject_is_what_the_agent_kept_or_was_sent_under_any_name(sent: object, details: object) -> None:
    tasks = Tasks()
    assert tasks.created(sent, "Task #1 created successfully: kept", details)
    assert listed(tasks) == ["kept=pending"]


@pytest.mark.parametrize("text", ["", "Task not found", "<tool_use_error>x", "A Task #1 created successfully: a"])
def test_what_does_not_say_so_changes_nothing(text: str) -> None:
    tasks = Tasks()
    assert not tasks.created({"subject": "a"}, text, {"task": {"id": "1", "subject": "a"}})
    assert not tasks.updated({"taskId": "1", "subject": "a"}, text, {"success": True})
    assert listed(tasks) == []


def test_a_success_that_is_none_is_refused() -> None:
    tasks = Tasks()
    create(tasks, 1)
    assert not update(tasks, 1, {"success": False, "error": "x"}, status="completed")
    assert listed(tasks) == ["task 1=pending"]


def test_a_change_is_the_results_and_else_the_calls() -> None:
    tasks = Tasks()
    create(tasks, 1)
    assert update(tasks, 1, {"statusChange": {"from": "pending", "to": "completed"}}, status="in_progress")
    assert listed(tasks) == ["task 1=completed"]
    assert update(tasks, 1, None, title="renamed", task={"status": "in_progress"})
    assert listed(tasks) == ["renamed=in_progress"]


def test_a_change_of_owner_or_of_what_blocks_repeats_the_list() -> None:
    tasks = Tasks()
    create(tasks, 1)
    assert update(tasks, 1, {"success": True, "updatedFields": ["owner"]}, owner="w", addBlockedBy=["2"])
    assert listed(tasks) == ["task 1=pending"]


def test_a_task_that_was_never_told_is_not_invented() -> None:
    tasks = Tasks()
    create(tasks, 1)
    assert not update(tasks, 9, status="completed")
    assert listed(tasks) == ["task 1=pending"]
    assert update(tasks, 9, status="completed", subject="named")
    assert listed(tasks) == ["task 1=pending", "named=completed"]


def test_what_was_deleted_stays_as_such_until_it_is_forgotten() -> None:
    tasks = Tasks()
    for id_ in (1, 2, 3):
        create(tasks, id_)
    update(tasks, 2, {"statusChange": {"to": "deleted"}})
    assert listed(tasks) == ["task 1=pending", "task 2=deleted", "task 3=pending"]
    tasks.forget_deleted()
    assert listed(tasks) == ["task 1=pending", "task 3=pending"]


def test_an_id_that_comes_again_begins_another_list() -> None:
    tasks = Tasks()
    create(tasks, 1, "copied")
    create(tasks, 2, "copied too")
    create(tasks, 1, "the fork's own")
    assert listed(tasks) == ["the fork's own=pending"]


def test_what_another_file_tells_late_undoes_nothing_newer() -> None:
    tasks = Tasks()
    create(tasks, 1)
    assert tasks.updated({"status": "completed"}, "Updated task #1 status", None, Told(20))
    assert tasks.updated({"status": "in_progress"}, "Updated task #1 status", None, Told(10, "agent-a"))
    assert listed(tasks) == ["task 1=completed"]
    assert tasks.updated({"status": "in_progress"}, "Updated task #1 status", None, Told(30, "agent-a"))
    assert listed(tasks) == ["task 1=in_progress"]
    assert tasks.updated({"status": "pending"}, "Updated task #1 status", None, Told(25, "agent-a"))
    assert listed(tasks) == ["task 1=pending"], "a file's own order counts, whatever its clock says"
    assert tasks.updated({"status": "completed"}, "Updated task #1 status", None)
    assert listed(tasks) == ["task 1=completed"], "what has no time is told now"


def test_a_subagents_task_that_a_list_has_told_before_begins_no_other_list() -> None:
    tasks = Tasks()
    create(tasks, 1)
    create(tasks, 2)
    assert tasks.created({"subject": "task 2"}, "Task #2 created successfully: task 2", None, Told(5, "agent-a"))
    assert listed(tasks) == ["task 1=pending", "task 2=pending"]


def test_a_list_is_bounded() -> None:
    tasks = Tasks()
    for id_ in range(MAX_TASKS + 5):
        create(tasks, id_, "x" * 50_000 if id_ == MAX_TASKS else "a")
    assert len(tasks.pairs) == MAX_TASKS
    assert max(len(subject or "") for subject, _ in tasks.pairs) == MAX_CONTENT_CHARS + 1


def test_a_list_of_junk_is_what_of_it_is_whole() -> None:
    tasks = Tasks()
    create(tasks, 1)
    tasks.listed("nothing")
    tasks.listed({"tasks": "x"})
    assert listed(tasks) == ["task 1=pending"]
    tasks.listed({"tasks": [5, {"id": 1, "subject": "a"}, {"id": "2"}, {"id": "3", "subject": "c"}]})
    assert listed(tasks) == ["c=pending"]
