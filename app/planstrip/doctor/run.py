"""The command line's `doctor`: a line a finding, and below it what to change; plain text where it is piped."""

import os
import sys
from collections.abc import Iterable, Iterator
from http.client import HTTPException
from typing import Final

from planstrip.doctor.door import address, token, writes
from planstrip.doctor.findings import Finding, Level, wrong
from planstrip.doctor.machine import machine
from planstrip.doctor.pages import pages
from planstrip.doctor.streams import streams
from planstrip.doctor.wire import Target, target_of
from planstrip.errors import UnusableSettings
from planstrip.terminal import sayable

STYLES: Final[dict[Level, str]] = {"ok": "green", "note": "yellow", "wrong": "bold red"}
INDENT: Final = " " * 19
MAX_IDLE_S: Final = 24 * 3600


def run_doctor(url: str | None, *, idle_s: float, database_url: str | None) -> int:
    """0, or 1 when something is wrong. Raises UnusableSettings for arguments that cannot be meant."""
    if url is None:
        return _tell(machine(database_url))
    if not 0 <= idle_s <= MAX_IDLE_S:
        raise UnusableSettings(f"--idle is {idle_s:g}; expected seconds, from 0 to {MAX_IDLE_S}")
    return _tell(through(target_of(url, (os.environ.get("PLANSTRIP_TOKEN") or "").strip() or None), idle_s))


def through(target: Target, idle_s: float) -> Iterator[Finding]:
    """What stands between this machine and a panel. Nothing further is asked where nobody answers, or lets us in."""
    try:
        for check in (address, token):
            found = check(target)
            yield found
            if found.level == "wrong":
                return
        yield from writes(target)
        yield from pages(target)
        yield from streams(target, idle_s)
    except (OSError, HTTPException) as error:
        yield wrong("connection", f"it broke: {error or type(error).__name__}", "look at the proxy's error log")


def _tell(findings: Iterable[Finding]) -> int:
    from rich.console import Console
    from rich.text import Text

    console, is_wrong = Console(highlight=False, soft_wrap=True), False
    for finding in findings:
        name, said = (sayable(sys.stdout, text) for text in (finding.name, finding.said))
        console.print(Text.assemble((f"{finding.level:<5}", STYLES[finding.level]), f"  {name:<11} {said}"))
        if finding.change is not None:
            console.print(Text.assemble((f"{INDENT}change: ", "dim"), sayable(sys.stdout, finding.change)))
        is_wrong = is_wrong or finding.level == "wrong"
    return 1 if is_wrong else 0
