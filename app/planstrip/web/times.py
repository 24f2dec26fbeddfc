"""Event times as text: ISO 8601 for the browser, and a clock in UTC until the browser puts in its own."""

from datetime import UTC, datetime, timedelta
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def iso(time_ms: int) -> str:
    """`2026-11-30T14:02:05Z`. Added to the epoch, since fromtimestamp fails on some systems far from it."""
    return (EPOCH + timedelta(seconds=time_ms // 1000)).isoformat()[:19] + "Z"


def clock(time_ms: int) -> str:
    """`14:02`, UTC."""
    return iso(time_ms)[11:16]
