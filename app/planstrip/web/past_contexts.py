"""What the templates of a session's past are given, every text already in the reader's language."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planstrip.plan.plans import Outcome


@dataclass(frozen=True, slots=True)
class PastBar:
    """Where in the past a page stands: after write `number` of `total`. Addresses are None where there is no step.

    `play_url` starts the replay, `playing_url` is its next step while it runs.
    """

    position: int
    place: str
    time: str
    clock: str
    number: int
    total: int
    before_url: str | None
    after_url: str | None
    now_url: str
    play_url: str | None
    playing_url: str | None
    action: str
    kept: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class PlanLine:
    """A plan of the session. `outcome` None: it stands."""

    number: str
    outcome: Outcome | None
    outcome_label: str
    header: str
    time: str
    clock: str
    url: str | None


@dataclass(frozen=True, slots=True)
class PlanList:
    """The newest first; empty while the session had but one plan."""

    lines: Sequence[PlanLine] = ()
