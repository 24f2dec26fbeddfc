"""What a session's page is given."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from planstrip.web.contexts import Frame, Head, TurnContext
from planstrip.web.past_contexts import PastBar, PlanList
from planstrip.web.strip_contexts import Retired, Strip, UnlistedSection

if TYPE_CHECKING:
    from planstrip.web.drawing import Drawing
    from planstrip.web.kin_contexts import Children, Hint


@dataclass(frozen=True, slots=True)
class SessionPage:
    """`exists` is False for a session that has no event yet: the page waits for it and fills live.

    `unlisted` is what no strip shows, for want of a plan. A revision is HTML that the renderer has ready.
    """

    frame: Frame
    session: str
    exists: bool
    head: Head
    strip: Strip | None
    unlisted: UnlistedSection | None
    retired: Retired | None
    timeline: "Drawing | None"
    revisions: Sequence[str]
    older_revisions_url: str | None
    hint: "Hint | None"
    children: "Children"
    turns: Sequence[TurnContext]
    older_url: str | None
    plans: PlanList
    stream_url: str | None
    position: int
    past: PastBar | None = None
