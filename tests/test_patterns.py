"""No regular expression of the program takes time out of proportion to a text, however hostile that is."""

import ast
import importlib
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from re import _parser
from typing import Any, Final

import pytest

APP: Final = Path(__file__).parents[1] / "app"
SHORT, LONG = 500, 8_000
MOST: Final = 5 * LONG / SHORT  # a pattern that is out of proportion takes 256 times as long for 16 times the text
LEAST_S: Final = 50e-6  # below it a clock tells little
# Made as they are needed, of an id with its own characters escaped: a literal between classes of one character.
MADE: Final = {"planstrip.plan.children": 1, "planstrip.intake.mcp": 1}
METHODS: Final = ("match", "fullmatch", "search", "sub", "split", "findall", "finditer")


@dataclass(frozen=True, slots=True)
class Use:
    where: str
    pattern: "re.Pattern[str]"
    method: str

    def run(self, text: str) -> None:
        if self.method in ("findall", "finditer", "split"):
            list(getattr(self.pattern, self.method)(text))
        elif self.method == "sub":
            self.pattern.sub("", text)
        else:
            getattr(self.pattern, self.method)(text)


def uses() -> Iterator[Use]:
    made: dict[str, int] = {}
    for path in sorted((APP / "planstrip").rglob("*.py")):
        source = path.read_text()
        if "import re\n" not in source:
            continue
        name = ".".join(path.relative_to(APP).with_suffix("").parts)
        kept = _kept(ast.parse(source))
        yield from _of_module(name, source, kept)
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {f"re.{method}" for method in METHODS}:
                pattern = node.args[0]
                if isinstance(pattern, ast.Constant):
                    yield Use(f"{name}:{node.lineno}", re.compile(str(pattern.value)), ast.unparse(node.func)[3:])
                else:
                    made[name] = made.get(name, 0) + 1
    assert made == MADE


def _kept(tree: ast.Module) -> list[str]:
    """The names that a module gives to patterns, or to several of them."""
    found = []
    for node in tree.body:
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        value = getattr(node, "value", None)
        if isinstance(target, ast.Name) and value is not None and "re.compile(" in ast.unparse(value):
            found.append(target.id)
    return found


def _of_module(name: str, source: str, kept: Iterable[str]) -> Iterator[Use]:
    module = importlib.import_module(name)
    for one in kept:
        methods = set(re.findall(rf"\b{one}\.({'|'.join(METHODS)})\(", source)) or {"search", "fullmatch"}
        for pattern in _patterns(getattr(module, one)):
            yield from (Use(f"{name}.{one}", pattern, method) for method in sorted(methods))


def _patterns(value: Any) -> Iterator["re.Pattern[str]"]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _patterns(one)


def texts(pattern: "re.Pattern[str]", size: int) -> Iterator[str]:
    """Each piece that the pattern speaks of, over and over, behind each, and an end that fits nothing."""
    pieces = sorted(_pieces(_parser.parse(pattern.pattern, pattern.flags)))
    for before in ("", *pieces):
        for piece in (*pieces, "".join(pieces)):
            yield before + piece * (size // len(piece)) + "\x00"


def _pieces(parsed: Any) -> set[str]:
    """The literals in a row, and a character of every class."""
    found, row = set[str](), ""
    for kind, value in parsed:
        name = str(kind)
        if name == "LITERAL":
            row += chr(value)
            continue
        found |= {row} if row else set()
        row = ""
        if name in ("IN", "CATEGORY", "ANY", "NOT_LITERAL"):
            found |= {char for char in 'a1 \n/-."' if re.fullmatch(_class_of(kind, value), char)} or {"a"}
        for part in _parts(value):
            found |= _pieces(part)
    return found | ({row} if row else set())


def _class_of(kind: Any, value: Any) -> "re.Pattern[str]":
    compiler = importlib.import_module("re._compiler")
    state = _parser.State()
    state.str = ""
    compiled: re.Pattern[str] = compiler.compile(_parser.SubPattern(state, [(kind, value)]))
    return compiled


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, _parser.SubPattern):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _parts(one)


def least_s(use: Use, text: str, runs: int = 3) -> float:
    took = []
    for _ in range(runs):
        began = time.process_time()
        use.run(text)
        took.append(time.process_time() - began)
    return min(took)


def is_out_of_proportion(use: Use) -> bool:
    return any(
        least_s(use, long, 1) > MOST * LEAST_S and least_s(use, long) > MOST * max(least_s(use, short), LEAST_S)
        for short, long in zip(texts(use.pattern, SHORT), texts(use.pattern, LONG), strict=True)
    )


@pytest.mark.parametrize("use", list(uses()), ids=lambda use: f"{use.where} {use.method}")
def test_each_pattern_takes_time_in_proportion_to_the_text(use: Use) -> None:
    assert not is_out_of_proportion(use), use.pattern.pattern


@pytest.mark.parametrize("pattern", [r"<a>(.*?)</a>", r"[0-9a-z]{12,}$"])
def test_it_sees_those_that_do_not(pattern: str) -> None:
    assert is_out_of_proportion(Use("here", re.compile(pattern, re.DOTALL), "search"))
