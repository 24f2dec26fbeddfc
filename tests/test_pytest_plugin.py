"""`planstrip_snapshot` in a user's suite: it fails with a diff, an option rewrites it, and it costs others nothing."""

import shutil
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[1] / "fixtures"
PINNED = Path(__file__).parent / "snapshots" / "parallel-plan.txt"
pytest_plugins = ["pytester"]


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    """A suite with a recording of its agent beside its tests, that takes every warning for an error."""
    shutil.copy(FIXTURES / "demo/parallel-plan-zh.jsonl", pytester.path / "agent.jsonl")
    pytester.makepyfile(
        test_agent="""
        def test_plan(planstrip_snapshot):
            planstrip_snapshot("agent.jsonl", name="plan")

        class TestMore:
            def test_steps(self, planstrip_snapshot):
                planstrip_snapshot("agent.jsonl", steps=True)
                planstrip_snapshot("agent.jsonl", all_rows=True, as_json=True, lang="zh")
        """
    )
    return pytester


def run(suite: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return suite.runpytest_inprocess("-W", "error", "-p", "no:cacheprovider", *arguments)


def kept(suite: pytest.Pytester) -> list[str]:
    return sorted(str(path.relative_to(suite.path / "snapshots")) for path in suite.path.glob("snapshots/**/*.*"))


def test_a_record_is_missing_then_written_then_as_kept(suite: pytest.Pytester) -> None:
    result = run(suite)
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["E *--planstrip-update rewrites the records", "E *+++ plan", "E *+row=todo_write"])
    assert kept(suite) == []
    run(suite, "--planstrip-update").assert_outcomes(passed=2)
    assert kept(suite) == ["plan.txt", "test_agent-TestMore-test_steps-2.json", "test_agent-TestMore-test_steps.txt"]
    assert (suite.path / "snapshots/plan.txt").read_bytes() == PINNED.read_bytes()
    run(suite).assert_outcomes(passed=2)


def test_a_change_fails_with_the_lines_that_differ_and_the_users_own_line(suite: pytest.Pytester) -> None:
    run(suite, "--planstrip-update")
    path = suite.path / "snapshots/plan.txt"
    path.write_bytes(path.read_bytes().replace("跑后台构建".encode(), b"Build"))
    result = run(suite)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [">*planstrip_snapshot(*name=*", "E *-item=in_progress Build", "E *+item=in_progress 跑后台构建"]
    )
    assert "golden.py" not in result.stdout.str()
    assert path.read_bytes() != PINNED.read_bytes()


def test_a_folder_has_a_folder_of_records_and_tells_of_one_too_many(pytester: pytest.Pytester) -> None:
    shutil.copytree(FIXTURES / "claude-code/todowrite-subagents", pytester.path / "run")
    pytester.makepyfile('def test_run(planstrip_snapshot):\n    planstrip_snapshot("run", "run")')
    run(pytester, "--planstrip-update").assert_outcomes(passed=1)
    assert kept(pytester)[0] == "run/main.txt"
    next(pytester.path.glob("run/subagents/*.jsonl")).unlink()
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *--- *agent-*.txt", "E *+++ /dev/null"])


def test_what_can_not_be_read_is_said_in_one_line(pytester: pytest.Pytester) -> None:
    pytester.makepyfile('def test_run(planstrip_snapshot):\n    planstrip_snapshot("none.jsonl")')
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *AssertionError: none.jsonl: cannot be read: *"])
    assert "imports.py" not in result.stdout.str()


def test_a_suite_that_does_not_use_it_loads_nothing_of_it(pytester: pytest.Pytester) -> None:
    """In a process of its own: how it is installed loads it."""
    pytester.makepyfile(
        """
        import sys

        def test_loaded(request):
            assert request.config.pluginmanager.has_plugin("planstrip")
            ours = {name for name in sys.modules if name.partition(".")[0] == "planstrip"}
            assert ours == {"planstrip", "planstrip.pytest_plugin"}
            assert not {"sqlalchemy", "pydantic", "jinja2", "starlette"} & set(sys.modules)
        """
    )
    pytester.runpytest_subprocess("-W", "error", "-p", "no:hypothesispytest").assert_outcomes(passed=1)
