"""Finds the files that are not code: in a checkout at the repository's root, in an installed wheel beside the code."""

from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).resolve().parent
CHECKOUT: Final = PACKAGE.parents[1]


def templates_dir() -> Path:
    return _find("templates")


def static_dir() -> Path:
    return _find("static")


def alembic_dir() -> Path:
    return _find("alembic")


def fixtures_dir() -> Path:
    return _find("fixtures")


def locale_dir() -> Path:
    return PACKAGE / "locale"


def _find(name: str) -> Path:
    installed = PACKAGE / name
    return installed if installed.is_dir() else CHECKOUT / name
