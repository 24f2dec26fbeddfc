"""This machine: the settings, the store, the agents whose transcripts lie here, the server and what waits for it."""

import os
import time
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Final

from planstrip.doctor.door import address
from planstrip.doctor.findings import Finding, note, ok, wrong
from planstrip.doctor.store import store
from planstrip.doctor.streams import FIRST_S, SESSION
from planstrip.doctor.wire import Target, listening, target_of
from planstrip.errors import UnusableSettings
from planstrip.hooks.names import panel_url
from planstrip.hooks.spool import spool_of
from planstrip.settings import POLICY_MISSING, Settings, load
from planstrip.transcripts.places import PLACES

POLICY: Final = "give `planstrip serve` --allow-parallel-in-progress or --no-allow-parallel-in-progress"
ANYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - told apart, not bound


def machine(database_url: str | None) -> Iterator[Finding]:
    found, settings = _settings(database_url)
    yield found
    if settings is not None:
        yield from store(settings.database_url)
    yield from agents(Path.home(), os.environ)
    if settings is not None:
        yield from _server(settings, os.environ)


def _settings(database_url: str | None) -> tuple[Finding, Settings | None]:
    """What the environment says, which flags of `serve` may replace: the policy has no default to be assumed."""
    try:
        return ok("settings", "usable"), load(database_url=database_url)
    except UnusableSettings as error:
        said = error.detail
    try:
        settings = load(database_url=database_url, allow_parallel_in_progress=True)
    except UnusableSettings as error:
        return wrong("settings", error.detail, "mend the environment's PLANSTRIP_…"), None
    if said == POLICY_MISSING:
        return note("settings", "the environment names no policy", POLICY), settings
    return wrong("settings", said, "mend the environment's PLANSTRIP_…"), settings


def agents(home: Path, environment: Mapping[str, str]) -> Iterator[Finding]:
    folders = {agent: place.path(home, environment) for agent, place in PLACES.items()}
    found = {agent: folder for agent, folder in folders.items() if folder.is_dir()}
    for agent, folder in found.items():
        newest, count = _newest(folder)
        date = time.strftime("%Y-%m-%d", time.localtime(newest))
        said = (
            f"{count} file{'s' * (count != 1)} at {folder}, the newest of {date}"
            if count
            else f"no file yet at {folder}"
        )
        yield ok(agent, said)
    if found:
        return
    yield note(
        "agents", f"no transcripts of {', '.join(PLACES)} on this machine", "`planstrip connect AGENT`, or hooks"
    )


def _newest(folder: Path) -> tuple[float, int]:
    """When a file below the folder was last written (s since the epoch), and how many there are."""
    newest, count = 0.0, 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                written = os.stat(os.path.join(parent, name)).st_mtime
            except OSError:
                continue  # gone by now
            newest, count = max(newest, written), count + 1
    return newest, count


def _server(settings: Settings, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Where `serve` listens by these settings, and where hooks and `mcp` go, if that is elsewhere."""
    own = settings.base_url.replace(f"//{settings.host}:", f"//{ANYWHERE.get(settings.host, settings.host)}:")
    told = panel_url(environment)
    server = _answering("server", own)
    yield server
    if server.level == "ok":
        yield _stream(target_of(own, settings.secret))
    if told is not None and told.rstrip("/") != own:
        yield _answering("hooks", told.rstrip("/"))
    waiting = len(spool_of(told or own).names())
    if waiting:
        yield note("spool", f"payloads of hooks that wait for the panel: {waiting}", "start the panel")


def _answering(name: str, url: str) -> Finding:
    try:
        found = address(target_of(url, None))
    except UnusableSettings as error:
        return wrong(name, error.detail.replace("--url", "PLANSTRIP_URL"), "mend it")
    return Finding(found.level, name, f"{url}: {found.said}" if found.level == "ok" else found.said, found.change)


def _stream(target: Target) -> Finding:
    """Whether a page that is opened now is live."""
    what = "restart the panel; where that does not help, send us what it logs"
    try:
        with listening(target, SESSION, FIRST_S) as stream:
            status, first = stream.response.status, stream.frame(FIRST_S)
    except (OSError, HTTPException) as error:
        return wrong("stream", f"it broke: {error or type(error).__name__}", what)
    if status == 401:
        return note("stream", "the panel needs its token to be asked", "set PLANSTRIP_TOKEN to it")
    if status != 200 or first is None:
        return wrong("stream", f"it answers {status}, and no frame came within {FIRST_S:.0f} s", what)
    return ok("stream", f"the first frame came after {round(first.at_s * 1000)} ms")
