"""The README's commands are those that CI and the program take."""

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands() -> list[str]:
    return [line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines() if line]


def test_ci_runs_the_second_command_and_nothing_else() -> None:
    script = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    doing = [line for line in script if line and not line.startswith("#")]
    assert doing == ["set -euo pipefail", 'cd "$(dirname "$0")/.."', commands()[1]]


def test_its_pictures_are_there() -> None:
    pictures = re.findall(r'(?:src|srcset)="(docs/[^"]+)"', README)
    assert pictures
    assert [name for name in pictures if not (ROOT / name).exists()] == []


def test_every_command_it_names_exists() -> None:
    from planstrip.cli import app

    known = {info.name or info.callback.__name__ for info in app.registered_commands if info.callback}
    known |= {str(group.typer_instance.info.name) for group in app.registered_groups if group.typer_instance}
    named = {shlex.split(line)[1] for line in commands() if line.startswith("planstrip ")}
    named |= set(re.findall(r"`planstrip (\w+)", README))
    assert named <= known


def test_every_test_that_a_promise_names_is_there() -> None:
    promised = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (ROOT / "docs/promises.md").read_text(encoding="utf-8"))
    assert promised
    assert [(path, name) for path, name in promised if f"def {name}(" not in (ROOT / path).read_text()] == []
