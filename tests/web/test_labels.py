"""What a reader is told, byte for byte (spec.md §5, §6, §7)."""

import json

import pytest

from planstrip.events import (
    MAX_TIME_MS,
    Entry,
    Event,
    Failure,
    Omitted,
    Todo,
    TodoWrite,
    ToolCall,
    ToolResult,
    TurnStart,
)
from planstrip.plan.rows import Row, RowState, Turn
from planstrip.plan.todos import Counts
from planstrip.plan.view import Standing, View, stand
from planstrip.web import labels, strip_labels
from planstrip.web.contexts import RowContext
from planstrip.web.languages import translations

EN, ZH = translations("en"), translations("zh")
PARALLEL = (
    Todo("梳理需求", "completed"),
    Todo("实现 fixture 样本", "in_progress"),
    Todo("跑后台构建", "in_progress"),
    Todo("浏览器验收", "pending"),
)


def arguments(*todos: Todo) -> str:
    return json.dumps({"todos": [{"content": todo.content, "status": todo.status} for todo in todos]})


def row(call: ToolCall, result: ToolResult | None = None, state: RowState = "ok") -> RowContext:
    return labels.row(Row(7, 8, 1_764_511_325_000, call, result, state), EN)


def told(name: str, raw: str) -> tuple[str, str, str | None]:
    context = row(ToolCall("c", name, raw))
    return context.title, context.summary, context.suffix


def standing(*events: Event) -> Standing:
    return stand(Entry(position, position * 1000, event) for position, event in enumerate(events, 1))


def test_the_row_keeps_title_summary_and_suffix_apart() -> None:
    raw = arguments(*PARALLEL)
    assert told("todo_write", raw) == ("Update to-do list", "1/4 completed · 实现 fixture 样本", "+1")
    chinese = labels.row(Row(7, 8, 0, ToolCall("c", "todo_write", raw)), ZH)
    assert (chinese.title, chinese.summary, chinese.suffix) == ("更新任务清单", "1/4 已完成 · 实现 fixture 样本", "+1")
    assert row(ToolCall("c", "todo_write", raw)).suffix_name == "1 more in progress"


@pytest.mark.parametrize(
    ("todos", "summary"),
    [
        ((), "Cleared"),
        ((Todo("a", "completed"),), "1/1 completed"),
        ((Todo("a", "pending"),), "0/1 completed"),
        ((Todo("a", "in_progress"),), "0/1 completed · a"),
    ],
)
def test_a_plan_without_a_second_active_todo_has_no_suffix(todos: tuple[Todo, ...], summary: str) -> None:
    assert told("TodoWrite", arguments(*todos)) == ("Update to-do list", summary, None)


@pytest.mark.parametrize("raw", ["not json\nmore", '{"todos": "a"}', '{"todos": [1]}', "[]", '"x"'])
def test_arguments_without_a_list_give_the_generic_row(raw: str) -> None:
    context = row(ToolCall("c", "todo_write", raw))
    assert (context.title, context.summary, context.is_plan) == ("todo_write", raw.partition("\n")[0], False)


@pytest.mark.parametrize("name", ["todo_write", "TodoWrite", "todowrite", "mcp__planstrip__todo_write"])
def test_every_name_of_the_tool_marks_a_plan_row_and_stays_recorded(name: str) -> None:
    context = row(ToolCall("c", name, arguments(*PARALLEL)))
    assert (context.is_plan, context.tool, context.icon) == (True, name, "plan")


def test_other_agents_plan_calls_say_the_same() -> None:
    codex = json.dumps({"plan": [{"step": "a", "status": "completed"}, {"step": "b", "status": "in_progress"}]})
    kimi = json.dumps({"todos": [{"title": "a", "status": "done"}, {"title": "b", "status": "in_progress"}]})
    assert told("update_plan", codex) == told("TodoList", kimi) == ("Update to-do list", "1/2 completed · b", None)


def test_a_failed_row_says_why_and_drops_the_suffix() -> None:
    call = ToolCall("c", "todo_write", arguments(*PARALLEL))
    context = row(call, ToolResult("c", True, "\n  invalid todos: too many\nmore"), "error")
    assert (context.summary, context.suffix, context.suffix_name) == ("invalid todos: too many", None, None)
    assert row(call, ToolResult("c", True, "", Failure("Refused", "x")), "error").summary == "Refused"
    assert row(call, None, "error").summary == "Failed"


@pytest.mark.parametrize(
    ("name", "raw", "expected"),
    [
        ("bash", '{"command": "make build"}', ("Run", "make build", None)),
        ("shell", '{"command": ["bash", "-lc", "make"]}', ("Run", "bash -lc make", None)),
        ("Read", '{"file_path": "/a/b.py"}', ("Read", "/a/b.py", None)),
        ("Edit", '{"file_path": "/a/b.py"}', ("Edit", "/a/b.py", None)),
        ("Grep", '{"pattern": "x", "path": "src"}', ("Search", "x", None)),
        ("WebFetch", '{"url": "https://example.org"}', ("Fetch", "https://example.org", None)),
        ("Task", '{"prompt": "p", "description": "Review"}', ("Delegate", "Review", None)),
        ("bash", '{"command": 7}', ("Run", '{"command": 7}', None)),
        ("bash", "null", ("Run", "null", None)),
        ("unheard_of", '{"a": 1}\n', ("unheard_of", '{"a": 1}', None)),
        ("unheard_of", "", ("unheard_of", "", None)),
    ],
)
def test_a_tool_is_told_by_its_kind(name: str, raw: str, expected: tuple[str, str, str | None]) -> None:
    assert told(name, raw) == expected


def test_the_header_joins_what_is_not_zero_in_order() -> None:
    assert labels.counts_header(Counts(1, 2, 1), EN) == "1 completed\u2002·\u20022 in progress\u2002·\u20021 pending"
    assert labels.counts_header(Counts(1, 2, 1), ZH) == "1 已完成\u2002·\u20022 进行中\u2002·\u20021 待处理"
    assert labels.counts_header(Counts(3, 0, 0), EN) == "3 completed"
    assert labels.counts_header(Counts(), EN) == ""


def test_the_meter_shares_its_width_by_count() -> None:
    segments = labels.meter(Counts(1, 2, 1))
    assert [(part.status, part.x) for part in segments] == [
        ("completed", "0.00"),
        ("in_progress", "25.00"),
        ("pending", "75.00"),
    ]
    assert segments[-1].width == "25.00"
    assert labels.meter(Counts()) == []


def test_there_is_no_strip_without_a_plan() -> None:
    assert strip_labels.strip(View(standing(TurnStart(1))), EN) is None
    assert strip_labels.strip(View(standing(TodoWrite(PARALLEL), TodoWrite(()))), EN) is None


def test_the_strip_lists_every_todo_in_the_models_order() -> None:
    stood = standing(TurnStart(1), TodoWrite(PARALLEL, None, (Omitted("x", "cancelled"),)))
    strip = strip_labels.strip(View(stood), EN, is_open=True)
    assert strip is not None
    assert [(item.status, item.content) for item in strip.items] == [(todo.status, todo.content) for todo in PARALLEL]
    assert (strip.position, strip.since, strip.is_moving, strip.is_open) == (2, "1970-01-01T00:00:02Z", True, True)
    assert [(item.content, item.word) for item in strip.omitted] == [("x", "cancelled")]


def test_the_head_falls_back_to_the_sessions_id_and_grows_quiet_after_five_minutes() -> None:
    open_turn = standing(TurnStart(1))
    assert labels.head("s-1", open_turn, EN, 300_999).state == "working"
    quiet = labels.head("s-1", open_turn, EN, 301_000)
    assert (quiet.title, quiet.state, quiet.state_label) == ("s-1", "quiet", "no sign for 5 min")
    assert labels.head("s-1", Standing(), EN, 0).updated == ""


def test_times_up_to_the_last_one_are_told() -> None:
    assert labels.iso(MAX_TIME_MS) == "9999-12-31T23:59:59Z"
    assert (labels.iso(0), labels.clock(0)) == ("1970-01-01T00:00:00Z", "00:00")


def test_a_turn_is_numbered_and_what_came_before_any_turn_is_not() -> None:
    assert labels.turn(Turn(5, 5, 0, 3, "Go on"), ZH).label == "第 3 轮"
    assert labels.turn(Turn(0, 1, 0), EN).label is None


def test_agents_are_called_by_their_names() -> None:
    assert [labels.agent_name(name) for name in ("claude-code", "my-agent", None)] == ["Claude Code", "my-agent", None]
