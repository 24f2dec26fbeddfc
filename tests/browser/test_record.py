"""The pinned record of spec.md §7, from the running program."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from planstrip.demo import steps
from planstrip.intake.imports import import_paths
from planstrip.paths import fixtures_dir
from planstrip.snapshot.taking import Look, take
from tests.browser.record import STRIP, field, record, wait_live
from tests.running import Panel, new_session, serving, todos

PARALLEL = "梳理需求=c 实现_fixture_样本=i 跑后台构建=i 浏览器验收=p"
SAMPLES = [  # each with a plan that stands at its end, and no character that a record escapes
    "claude-code/todowrite-v2.0.76-subagents/main.jsonl",
    "codex/interrupted-and-resumed.rollout.jsonl",
    "deepseek-harness/real-parallel-multi-turn.jsonl",
    "gemini-cli/write_todos-session.jsonl",
    "kimi/wire.jsonl",
    "qwen-code/todo_write-session.jsonl",
]
SNAPSHOT = Path(__file__).parents[1] / "snapshots" / "parallel-plan.txt"


def parallel_plan() -> list[dict[str, str]]:
    return [item | {"content": item["content"].replace("_", " ")} for item in todos(PARALLEL)]


def test_the_running_program_shows_the_parallel_plan_byte_for_byte(page: Page, database: Path) -> None:
    with serving(database) as program:
        page.goto(f"{program.url}/sessions/pinned?lang=en")
        answer = page.request.post(f"{program.url}/api/sessions/pinned/todo_write", data={"todos": parallel_plan()})
        assert answer.ok, answer.text()
        wait_live(page, answer.json()["position"])
        page.wait_for_selector(STRIP)
        assert record(page).encode() == SNAPSHOT.read_bytes()
        page.reload()
        assert record(page).encode() == SNAPSHOT.read_bytes()


def test_the_recorded_fixture_ends_in_the_same_plan(page: Page, shared_panel: Panel) -> None:
    session = new_session()
    recorded = [
        {"type": step.type, "data": step.data} for step in steps(fixtures_dir() / "demo/parallel-plan-zh.jsonl")
    ]
    assert shared_panel.append(session, *recorded).status_code == 201
    page.goto(f"{shared_panel.url}/sessions/{session}")
    assert record(page).splitlines()[4:] == SNAPSHOT.read_text(encoding="utf-8").splitlines()[4:]


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_page_and_the_snapshot_command_tell_the_same(page: Page, panel: Panel, sample: str) -> None:
    path = fixtures_dir() / sample
    [report] = import_paths(panel.parts.writer, [path]).files
    page.goto(f"{panel.url}/sessions/{report.session}?lang=zh")
    assert [record(page)] == list(take(str(path), Look("zh")).records.values())


def test_the_same_in_chinese(page: Page, shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, parallel_plan())
    page.goto(f"{shared_panel.url}/sessions/{session}?lang=zh")
    row, strip = page.locator("[data-plan]"), page.locator(STRIP)
    assert field(row, "title") == "更新任务清单"
    assert field(row, "summary") == "1/4 已完成 · 实现 fixture 样本"
    assert field(row, "suffix") == "+1"
    assert field(strip, "title") == "任务"
    assert field(strip, "header") == "1 已完成\u2002·\u20022 进行中\u2002·\u20021 待处理"


@pytest.mark.parametrize(
    ("plan", "header"), [("a=c b=c", "2 completed"), ("a=p", "1 pending"), ("a=i", "1 in progress")]
)
def test_segments_of_nothing_are_left_out(page: Page, shared_panel: Panel, plan: str, header: str) -> None:
    session = new_session()
    shared_panel.write(session, todos(plan))
    page.goto(f"{shared_panel.url}/sessions/{session}")
    assert field(page.locator(STRIP), "header") == header


def test_the_suffix_says_its_noun_to_assistive_technology_and_not_to_the_eye(page: Page, shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=i b=i c=i"))
    page.goto(f"{shared_panel.url}/sessions/{session}")
    suffix = page.locator("[data-field=suffix]")
    assert suffix.text_content() == "+2"
    assert "2 more in progress" in page.locator("[data-plan] summary").aria_snapshot()


def test_a_failed_write_shows_its_reason_and_drops_the_suffix(page: Page, shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=i b=i"))
    shared_panel.write(session, todos("a=i a=i"))
    page.goto(f"{shared_panel.url}/sessions/{session}")
    row = page.locator("[data-plan]").last
    assert row.get_attribute("data-state") == "error"
    assert field(row, "summary") == 'invalid todos: duplicate content "a"'
    assert row.locator("[data-field=suffix]").count() == 0
    assert field(page.locator(STRIP), "header") == "2 in progress"  # R013: a refused write changes nothing
