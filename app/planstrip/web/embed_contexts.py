"""What the frames for other people's pages are given: one session's strip, and those of several."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from planstrip.web.contexts import Frame, Head
from planstrip.web.strip_contexts import Strip

Size: TypeAlias = Literal["regular", "compact"]


@dataclass(frozen=True, slots=True)
class EmbedPage:
    """`rows` is the HTML of the last tool rows, None where none were asked for. `stream_url` is None in the past."""

    frame: Frame
    session: str
    exists: bool
    head: Head
    strip: Strip | None
    stream_url: str | None
    position: int
    size: Size = "regular"
    rows: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Framed:
    """One of several sessions in a frame; `exists` is False until its first event."""

    session: str
    exists: bool
    head: Head
    strip: Strip | None
    position: int


@dataclass(frozen=True, slots=True)
class SeveralPage:
    frame: Frame
    tab: str
    sessions: Sequence[Framed]
    stream_url: str
    size: Size
