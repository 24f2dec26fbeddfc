"""pytest's `planstrip_snapshot`: what the panel shows of a session, compared with a record kept beside the test.

Every pytest run of whoever has planstrip installed loads this module: it imports nothing until the fixture is called.
"""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

FOLDER: Final = "snapshots"
_BETWEEN: Final = re.compile(r"[^\w.\-]+")


@dataclass(slots=True)
class PlanstripSnapshot:
    """Raises AssertionError, with a unified diff, where `<folder of the test>/snapshots/<name>.txt` differs.

    `name` is by default made of the test's own; a source of several sessions has a folder of that name. The options
    are those of `planstrip snapshot`; `token` is the panel's, PLANSTRIP_TOKEN by default.
    """

    # `_test` names the records of calls without a name: the second one's ends in `-2`.
    _folder: Path
    _test: str
    _is_update: bool
    _names: list[str] = field(default_factory=list)

    def __call__(
        self,
        source: str | os.PathLike[str],
        name: str | None = None,
        *,
        lang: str = "en",
        all_rows: bool = False,
        steps: bool = False,
        as_json: bool = False,
        token: str | None = None,
    ) -> None:
        __tracebackhide__ = True
        from planstrip.errors import PlanstripError
        from planstrip.snapshot.golden import Shelf
        from planstrip.snapshot.taking import Look, take

        try:
            look = Look(lang, all_rows, steps, as_json)
            taken = take(os.fspath(source), look, name or self._next_name(), token)
            shelf = Shelf(self._folder, look.suffix, taken.owned)
            if self._is_update:
                shelf.update(taken.records)
            diffs = list(shelf.compare(taken.records))
        except PlanstripError as error:
            raise AssertionError(error.detail) from None
        if diffs or taken.failures:
            told = ["not as kept; --planstrip-update rewrites the records"] if diffs else []
            raise AssertionError("\n".join((*taken.failures, *told, *diffs)))

    def _next_name(self) -> str:
        self._names.append(self._test)
        return self._test if len(self._names) == 1 else f"{self._test}-{len(self._names)}"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("planstrip")
    group.addoption("--planstrip-update", action="store_true", help="Rewrite the records of planstrip_snapshot.")


@pytest.fixture
def planstrip_snapshot(request: pytest.FixtureRequest) -> PlanstripSnapshot:
    """Compare what the panel shows of a session with the record kept beside the test."""
    parts = (request.path.stem, *([request.cls.__name__] if request.cls else []), request.node.name)
    name = _BETWEEN.sub("-", "-".join(parts)).strip("-")
    return PlanstripSnapshot(request.path.parent / FOLDER, name, bool(request.config.getoption("planstrip_update")))
