"""What users of plan panels report: each row that is ours is answered by a test that names it."""

import ast
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parent
# The numbers of the rows, by their kind.
REPORTS: Final = {
    "a11y": "89 101 124 125 126 127 128",
    "wrong data": "1 2 5 6 7 8 13 14 24 27 28 56 65 67 116 118 121 123 145",
    "lost plan": "33 34 35 36 37 41 42 43 44 45 46 61 66 70 147",
    "display": "15 16 17 18 29 31 49 52 53 57 58 59 91 97 98 99 104 105 108 114 115",
    "live-update": "9 11 12 54 73 75 76 77 78 79 80 81 82 83 85 87 93 120",
    "embedding": "132 133 134 135 137",
    "i18n": "3 109 111 130",
    "integration": "26 32 50 51 113 154 155 162 164",
    "security": "138 140 141",
    "workflow feature": "19 20 21 25 39 47 60 63 64 68 71 72 102 103 106 151 152 153 158 159",
}
NOT_OURS: Final = {
    "R140": "a mask that misses a secret is worse than none: `planstrip forget` takes out what leaked (spec.md §1)",
    "R031": "the strip's header names no task (spec.md §6): a row and the board do, the name first",
    "R108": "there is no switch for the details: a strip that stands has a list to open",
}


def answers() -> Mapping[str, list[str]]:
    """Row -> the tests that name it, in a docstring or beside one of their inputs."""
    found = defaultdict[str, list[str]](list)
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                first = min([node.lineno, *(part.lineno for part in node.decorator_list)])
                told = "\n".join(text.split("\n")[first - 1 : node.end_lineno])
                for row in set(re.findall(r"\bR\d{3}\b", told)):
                    found[row].append(f"{path.relative_to(TESTS)}::{node.name}")
    return found


def test_every_report_is_answered_by_a_test_or_is_not_ours() -> None:
    rows = {f"R{int(number):03}" for numbers in REPORTS.values() for number in numbers.split()}
    assert set(NOT_OURS) <= rows
    assert rows - answers().keys() == set(NOT_OURS)
