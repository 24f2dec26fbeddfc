"""What the doctor found, a line each."""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Level: TypeAlias = Literal["ok", "note", "wrong"]

FORWARDED: Final = "send X-Forwarded-Proto; a proxy on another machine is believed when FORWARDED_ALLOW_IPS names it"


@dataclass(frozen=True, slots=True)
class Finding:
    """`said` is what was seen or measured; `change` is what to do about it, which a `note` may leave open."""

    level: Level
    name: str
    said: str
    change: str | None = None


def ok(name: str, said: str) -> Finding:
    return Finding("ok", name, said)


def note(name: str, said: str, change: str | None = None) -> Finding:
    return Finding("note", name, said, change)


def wrong(name: str, said: str, change: str) -> Finding:
    return Finding("wrong", name, said, change)
