"""The countable rules of the house style."""

import ast
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = ROOT / "app" / "planstrip"
MODULES: Final = sorted(PACKAGE.rglob("*.py"))
TEMPLATES: Final = sorted((ROOT / "templates").rglob("*.html"))
PARTIALS: Final = [path for path in TEMPLATES if path.name.startswith("_")]
STYLES: Final = sorted((ROOT / "static" / "css").glob("*.css"))
SCRIPTS: Final = sorted((ROOT / "static" / "js").glob("*.js"))

BASE: Final = {
    "events",
    "errors",
    "bidi",
    "paths",
    "settings",
    "tables",
    "db",
    "postgresql",
    "upsert",
    "lately",
    "marks",
    "logs",
    "metrics",
    "masks",
    "room",
    "sqlite",
}
LOG: Final = BASE | {
    "eventlog",
    "writer",
    "appending",
    "follower",
    "forgetting",
    "view_tokens",
    "past",
    "plan",
    "projection",
    "session_rows",
    "timelines",
    "transcripts",
}
# What each part of the package may import of it at run time; who is not named here may import everything.
ARROWS: Final[dict[str, set[str]]] = {
    **dict.fromkeys(BASE, BASE),
    "events": set(),
    "paths": set(),
    "tables": {"events"},
    "bidi": set(),
    "upsert": set(),
    "lately": set(),
    "sqlite": set(),
    "marks": {"tables"},
    "room": {"errors", "tables"},
    "masks": {"errors", "events", "lately"},
    "deadlines": set(),
    "errors": {"bidi", "events"},
    "logs": {"terminal"},
    "metrics": {"errors"},
    "plan": {"events", "errors", "plan"},
    "transcripts": {"events", "errors", "plan", "transcripts"},
    "eventlog": {"events", "db", "errors", "tables", "lately", "room"},
    "appending": {"errors", "eventlog", "metrics"},
    "writer": {"events", "db", "errors", "tables", "eventlog", "appending", "metrics", "room"},
    "follower": BASE,
    "forgetting": BASE,
    "copying": BASE,
    "archives": BASE | {"snapshot"},
    "retention": BASE | {"archives", "forgetting", "terminal"},
    "keeping": {"db", "errors", "retention", "settings"},
    "backups": BASE | {"archives", "copying", "eventlog", "plan"},
    "restoring": BASE | {"archives", "copying", "backups"},
    "operation": {"terminal", "progress", "backups", "restoring", "retention"},
    "view_tokens": BASE,
    "terminal": set(),
    "refolding": LOG,
    "revising": BASE | {"eventlog", "plan"},
    "heads": BASE | {"plan"},
    "projection": BASE | {"eventlog", "heads", "plan", "revising", "session_rows", "timelines"},
    "timelines": BASE | {"lately", "eventlog", "plan"},
    "session_rows": {"events", "plan"},
    "past": BASE | {"eventlog", "heads", "plan", "projection", "timelines"},
    "families": BASE | {"plan"},
    "parts": BASE | {"writer"},
    "intake": LOG | {"archives", "parts", "intake", "hooks"},
    "web": LOG | {"parts", "families", "intake", "hooks", "connect", "web"},
    "issuing": LOG | {"terminal", "hooks", "web"},
    "writing": BASE | {"projection", "writer"},
    "progress": LOG | {"intake", "terminal", "writing", "copying"},
    "doctor": LOG | {"doctor", "hooks", "terminal", "web"},
    "transcribing": LOG | {"intake", "hooks"},
    "hooks": {"hooks"},  # run by an agent on every call: it loads nothing else
    "snapshot": LOG | {"intake", "web", "writing", "snapshot"},
    "status": {"settings", "errors", "paths", "masks"},
    "acp": {"intake", "transcripts"},
    "pytest_plugin": {"errors", "snapshot"},  # loaded by every pytest run of whoever installed us
    "connect": {"connect", "errors", "hooks"},
}
MAY_IMPORT_ALL: Final = {
    "main",
    "cli",
    "cli_operation",
    "cli_tokens",
    "serving",
    "workers",
    "demo",
    "__main__",
    "__init__",
}

PHYSICAL: Final = re.compile(
    r"(?<![\w-])(?:(?:margin|padding|border|inset|scroll-margin|scroll-padding)-(?:left|right|top|bottom)[\w-]*"
    r"|left|right|top|bottom|width|height|(?:min|max)-(?:width|height))\s*:"
    r"|(?<![\w-])(?:text-align|float|clear)\s*:\s*(?:left|right)"
)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def lines_of(path: Path) -> int:
    return len(path.read_text().splitlines())


def functions() -> Iterator[tuple[str, int]]:
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{name_of(path)}:{node.lineno} {node.name}", (node.end_lineno or node.lineno) - node.lineno + 1


# Size


def test_no_module_is_longer_than_300_lines() -> None:
    assert {name_of(path): lines for path in MODULES if (lines := lines_of(path)) > 300} == {}


def test_no_function_is_longer_than_40_lines() -> None:
    assert {name: lines for name, lines in functions() if lines > 40} == {}


def test_a_function_has_about_8_lines() -> None:
    median = statistics.median(lines for _, lines in functions())
    print(f"median function: {median} lines")
    assert median <= 9


@pytest.mark.parametrize(("paths", "limit"), [(PARTIALS, 20), (STYLES, 120)], ids=["partials", "styles"])
def test_no_partial_and_no_style_sheet_is_long(paths: list[Path], limit: int) -> None:
    assert paths
    assert {name_of(path): lines for path in paths if (lines := lines_of(path)) > limit} == {}


def test_all_scripts_together_have_300_lines() -> None:
    assert 0 < sum(lines_of(path) for path in SCRIPTS) <= 300


# Shape


def test_a_folder_has_three_files() -> None:
    folders = {path.parent for path in [*MODULES, *TEMPLATES, *STYLES, *SCRIPTS]}
    small = [name_of(folder) for folder in folders if len([path for path in folder.iterdir() if path.is_file()]) < 3]
    allowed = {"templates/embed", "templates/rows"}  # named in the house style's own tree
    assert set(small) - allowed == set()


def test_nothing_is_named_for_nothing() -> None:
    vague = re.compile(r"(?:^|_)(?:utils?|helpers?|managers?|services?)(?:_|$)")
    names = [path.stem for path in [*MODULES, *TEMPLATES, *STYLES, *SCRIPTS]]
    for path in MODULES:
        names += [
            re.sub(r"(?<!^)(?=[A-Z])", "_", node.name).lower()
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        ]
    assert [name for name in names if vague.search(name)] == []


def test_each_module_opens_with_one_sentence() -> None:
    for path in [*MODULES, *sorted((ROOT / "tests").rglob("*.py"))]:
        docstring = ast.get_docstring(ast.parse(path.read_text()))
        assert docstring, name_of(path)
        assert docstring.split("\n\n")[0].rstrip().endswith("."), name_of(path)


# Arrows


def runtime_imports(path: Path) -> Iterator[str]:
    """The parts of the package that a module imports, but for those that only the type checker sees."""
    pending: list[ast.AST] = [ast.parse(path.read_text())]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending += node.orelse
            continue
        pending += ast.iter_child_nodes(node)
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name.split(".")[1] for name in names if name.startswith("planstrip."))


def test_the_arrows_point_down() -> None:
    wrong = []
    for path in MODULES:
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if part in MAY_IMPORT_ALL:
            continue
        assert part in ARROWS, f"{part} has no arrows: say in ARROWS what it may import"
        parts = {name for name in runtime_imports(path) if name != "__version__"}
        wrong += [f"{name_of(path)} imports {name}" for name in sorted(parts - ARROWS[part])]
    assert wrong == []


# Templates, styles, scripts


def test_each_partial_opens_with_what_it_needs() -> None:
    assert [name_of(path) for path in PARTIALS if not path.read_text().startswith("{#")] == []


def test_no_template_has_inline_style_or_script() -> None:
    for path in TEMPLATES:
        text = path.read_text()
        assert not re.search(r"\sstyle\s*=", text), name_of(path)
        assert not re.search(r"<style|javascript:|\son\w+\s*=", text), name_of(path)
        assert not re.search(r"<script(?![^>]*\ssrc=)", text), name_of(path)
        assert not re.search(r"""(?:href|src|action)=["'](?:https?:)?//""", text), name_of(path)
        safe = re.findall(r"(\S+)\s*\|\s*safe", text)
        assert set(safe) <= {"partial.html"}, name_of(path)  # which is a template's own output


def rules(path: Path) -> str:
    """A style sheet without comments and without the conditions of its at-rules."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
    return re.sub(r"@[\w-]+[^{;]*", "@", text)


def test_no_style_sheet_selects_by_id_or_insists() -> None:
    for path in STYLES:
        text = rules(path)
        preludes = re.findall(r"(?:^|[{};])([^{};]*)\{", text)
        assert not [prelude for prelude in preludes if re.search(r"#[A-Za-z_]", prelude)], name_of(path)
        assert "!important" not in text.replace(" ", ""), name_of(path)


def test_colours_are_named_in_the_tokens_alone() -> None:
    for path in STYLES:
        if path.name != "tokens.css":
            text = rules(path)
            assert not re.findall(r":[^;{}]*(#[0-9a-fA-F]{3,8})\b", text), name_of(path)


def test_properties_are_logical() -> None:
    found = {name_of(path): [match.group() for match in PHYSICAL.finditer(rules(path))] for path in STYLES}
    assert {name: properties for name, properties in found.items() if properties} == {}


def test_no_script_makes_html() -> None:
    for path in SCRIPTS:
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|\beval\(|new Function", path.read_text()), (
            path.name
        )


def test_what_is_vendored_is_named_with_its_version() -> None:
    vendored = [path for path in (ROOT / "static" / "vendor").iterdir() if path.suffix == ".js"]
    assert vendored
    assert all("4.0.1" in path.name for path in vendored)


# Tools


@pytest.mark.parametrize("command", ["ruff check", "ruff format --check", "mypy"])
def test_the_linters_and_the_type_checker_find_nothing(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command.split()], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_comments_are_few() -> None:
    lines = [line.strip() for path in MODULES for line in path.read_text().splitlines() if line.strip()]
    comments = [line for line in lines if line.startswith("#")]
    assert len(comments) <= len(lines) / 20
    assert not [line for line in comments if re.match(r"#\s*[-=#*]{3,}", line)]
