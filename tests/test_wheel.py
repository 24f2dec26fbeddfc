"""The wheel carries all that the program needs, and runs inside a folder that has an `app` package of its own."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CARRIED = (
    "planstrip/templates/session/_strip.html",
    "planstrip/static/vendor/htmx-4.0.1.min.js",
    "planstrip/static/css/tokens.css",
    "planstrip/alembic/versions/20261130_first.py",
    *(f"planstrip/locale/{code}/LC_MESSAGES/planstrip.mo" for code in ("zh", "ja", "de", "fr", "es", "ru", "ar")),
    "planstrip/fixtures/demo/parallel-plan.jsonl",
    "planstrip/py.typed",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    return next(folder.glob("*.whl"))


def test_it_carries_what_the_program_needs_and_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert [name for name in CARRIED if name not in names] == []
    assert not [name for name in names if name.startswith(("tests/", "app/"))]


def test_pytest_finds_its_fixture_by_an_entry_point(wheel: Path, tmp_path: Path) -> None:
    """Installed anywhere, with its metadata beside it, it is loaded without being named."""
    zipfile.ZipFile(wheel).extractall(tmp_path)
    points = next(tmp_path.glob("*.dist-info/entry_points.txt")).read_text(encoding="utf-8")
    assert "[pytest11]\nplanstrip = planstrip.pytest_plugin\n" in points
    program = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); from importlib.metadata import distribution;"
        "[point] = distribution('planstrip').entry_points.select(group='pytest11');"
        "print(point.load().planstrip_snapshot.__doc__, sys.modules[point.module].__file__)"
    )
    run = subprocess.run(
        (sys.executable, "-c", program, str(tmp_path)), check=True, capture_output=True, text=True, timeout=60
    )
    assert str(tmp_path) in run.stdout


def test_it_runs_inside_a_folder_that_has_an_app_package_of_its_own(wheel: Path, tmp_path: Path) -> None:
    installed, elsewhere = tmp_path / "installed", tmp_path / "elsewhere"
    zipfile.ZipFile(wheel).extractall(installed)
    (elsewhere / "app").mkdir(parents=True)
    (elsewhere / "app/__init__.py").write_text("raise ImportError('not this one')\n", encoding="utf-8")
    program = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); sys.path.insert(0, ''); import planstrip.paths as paths;"
        "assert 'installed' in paths.__file__, paths.__file__;"
        "from planstrip.cli import main; main()"
    )
    run = subprocess.run(
        (sys.executable, "-c", program, str(installed), "migrate", "--database-url", f"sqlite:///{tmp_path}/a.sqlite3"),
        cwd=elsewhere,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "a.sqlite3").exists()
