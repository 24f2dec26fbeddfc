"""The recordings that the demo replays: each one a log that the door takes, with a parallel plan in it."""

import json
from pathlib import Path

import pytest

from planstrip.events import Entry, TodoWrite
from planstrip.intake.check import check_event
from planstrip.plan.fold import fold

DEMO = Path(__file__).parents[1] / "fixtures" / "demo"


def entries(path: Path) -> list[Entry]:
    events = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    drafts = [check_event(event, path.stem) for event in events]
    return [Entry(position, draft.time or 0, draft.event) for position, draft in enumerate(drafts, 1)]


@pytest.mark.parametrize("path", sorted(DEMO.glob("*.jsonl")), ids=lambda path: path.stem)
def test_each_recording_passes_the_door_in_order_with_work_in_parallel(path: Path) -> None:
    log = entries(path)
    assert [entry.time for entry in log] == sorted(entry.time for entry in log)
    writes = [entry.event.todos for entry in log if isinstance(entry.event, TodoWrite)]
    assert any(sum(todo.status == "in_progress" for todo in todos) > 1 for todos in writes)


def test_the_chinese_one_ends_on_the_plan_that_the_spec_pins() -> None:
    plan = fold(entries(DEMO / "parallel-plan-zh.jsonl"))
    assert plan is not None
    assert [(todo.status, todo.content) for todo in plan.todos] == [
        ("completed", "梳理需求"),
        ("in_progress", "实现 fixture 样本"),
        ("in_progress", "跑后台构建"),
        ("pending", "浏览器验收"),
    ]
