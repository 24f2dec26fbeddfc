"""What an agent's own file gives: its header and its events, in planstrip's vocabulary only (spec.md §2)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from planstrip.transcripts.records import Record


@dataclass(frozen=True, slots=True)
class Header:
    """Whose file it is. `created_at` in ms since the epoch, UTC. `key` names the file's `session/start`."""

    session: str
    agent: str
    key: str
    created_at: int | None = None
    cwd: str | None = None
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class Adapted:
    """An event as it goes to the door. `time` None: the record has none."""

    type: str
    data: dict[str, object]
    time: int | None
    key: str


class Adapter(Protocol):
    """Made for one file. Takes its records in order, the first one included; never raises for what stands in one."""

    @property
    def header(self) -> Header: ...

    def take(self, record: Record) -> Iterator[Adapted]: ...


@dataclass(frozen=True, slots=True)
class Format:
    """One agent's transcripts. `claims`: whether a file whose first record this is, is the agent's."""

    agent: str
    claims: Callable[[Record], bool]
    adapter: Callable[[Record, Path], Adapter]


def session_start(header: Header) -> Adapted:
    data: dict[str, object] = {"agent": header.agent}
    data |= {key: value for key, value in (("cwd", header.cwd), ("parent", header.parent)) if value is not None}
    return Adapted("session/start", data, header.created_at, header.key)
