"""What the page shows of each agent's sample, kept beside this file: `pytest --planstrip-update` rewrites it."""

from pathlib import Path

import pytest

from planstrip.pytest_plugin import PlanstripSnapshot

FIXTURES = Path(__file__).parents[2] / "fixtures"
SAMPLES = [
    "acp/opencode-acp-wire.jsonl",
    "claude-code/todowrite-parallel-and-errors.jsonl",
    "codex/interrupted-and-resumed.rollout.jsonl",
    "deepseek-harness/real-rejected-writes.jsonl",
    "gemini-cli/write_todos-session.jsonl",
    "kimi/wire.jsonl",
    "langchain/updates.jsonl",
    "opencode/messages.json",
    "qwen-code/todo_write-session.jsonl",
]


@pytest.mark.parametrize("sample", SAMPLES)
def test_each_agents_sample_gives_the_record_kept(planstrip_snapshot: PlanstripSnapshot, sample: str) -> None:
    planstrip_snapshot(FIXTURES / sample, name=sample.partition("/")[0], all_rows=True)


def test_each_step_of_the_demo_is_as_kept(planstrip_snapshot: PlanstripSnapshot) -> None:
    planstrip_snapshot(FIXTURES / "demo/parallel-plan.jsonl", name="demo-steps", steps=True)
