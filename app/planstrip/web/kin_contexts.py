"""What the templates of a session's subagents, and of a plan that is not there, are given."""

from collections.abc import Sequence
from dataclasses import dataclass

from planstrip.plan.outline import State
from planstrip.web.contexts import Segment


@dataclass(frozen=True, slots=True)
class ChildLine:
    """One subagent: its name, its state, how far its plan is (without one its state in words) as in a RowContext."""

    url: str
    name: str
    state: State
    state_label: str
    meter: Sequence[Segment]
    lead: str
    active: str | None
    suffix: str | None
    suffix_name: str | None


@dataclass(frozen=True, slots=True)
class Children:
    """`header`: `3 agents, 2 running`; empty without any. `is_long`: folded."""

    header: str
    lines: Sequence[ChildLine]
    is_long: bool


@dataclass(frozen=True, slots=True)
class HintPart:
    text: str
    is_code: bool


@dataclass(frozen=True, slots=True)
class Hint:
    """How an agent that has shown no plan could show one."""

    parts: Sequence[HintPart]
