"""The log of the intake's tests, for these too."""

import pytest

from tests.intake.conftest import log, store

__all__ = ["log", "store"]

pytest.register_assert_rewrite("tests.transcripts.walking")
