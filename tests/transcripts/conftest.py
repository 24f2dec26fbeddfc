"""The log of the intake's tests, for these too."""

from tests.intake.conftest import log, store

__all__ = ["log", "store"]
