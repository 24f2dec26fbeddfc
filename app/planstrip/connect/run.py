"""Writes what `planstrip connect` decides, with a backup beside each file; shows it only; or takes it back."""

import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from planstrip.connect.agents import AGENTS, WITHOUT_HOOKS, Change, Places, Plan, changes, home_places
from planstrip.connect.merging import Unmergeable
from planstrip.connect.notes import note_of
from planstrip.errors import UnusableSettings
from planstrip.hooks.names import DEFAULT_URL, agent_of, panel_url

BACKUP: Final = ".before-planstrip"
RECORD: Final = ".planstrip-record"
_FLAG: Final = re.compile(r"--(|no-)allow-parallel-in-progress\b")
POLICY: Final = (
    "While no server runs, `planstrip mcp` must be told how many to-dos may be in progress:"
    " connect again with --allow-parallel-in-progress or --no-allow-parallel-in-progress."
)


@dataclass(frozen=True, slots=True)
class Options:
    """`ask_policy`: of the panel at an address; None where none answers."""

    is_shown_only: bool = False
    is_undone: bool = False
    is_http: bool = False
    server: str | None = None
    allow_parallel_in_progress: bool | None = None
    has_mcp: bool = True
    has_hooks: bool = True
    ask_policy: Callable[[str], bool | None] = lambda _: None


def run_connect(name: str, options: Options, places: Places | None = None) -> int:
    """0, or 1 when a file could not be taken back. Raises UnusableSettings before anything is written."""
    agent = agent_of(name)
    if agent not in AGENTS:
        raise UnusableSettings(f"there is no agent {name[:60]!r} to connect; expected one of {', '.join(AGENTS)}")
    places = places or home_places()
    policy = None
    if options.has_mcp and not options.is_http:
        policy = _policy(options)
        if policy is None and not options.is_undone:
            policy = _kept(changes(agent, _plan(options, None), places))
    found = changes(agent, _plan(options, policy), places)
    if options.is_undone:
        return _undo(found)
    if options.is_shown_only:
        for change in found:
            _say(f"# {change.path}\n{change.merge('').rstrip()}\n")
    else:
        for change, before, after in _merged(found):
            _write(change, before, after)
    _say(note_of(agent))
    if options.server is not None and options.has_hooks and agent not in WITHOUT_HOOKS:
        _say(f"Hooks go to the panel that PLANSTRIP_URL names: set it to {options.server} where the agent runs.")
    if options.has_mcp and not options.is_http and policy is None:
        _say(POLICY)
    return 0


def program() -> list[str]:
    """How an agent starts us: by name where any shell finds it, else by the path of this very program."""
    found = shutil.which("planstrip")
    if found is not None:
        is_in_venv = sys.prefix != sys.base_prefix and Path(found).parent == Path(sys.prefix, "bin")
        return [found] if is_in_venv else ["planstrip"]
    return [sys.executable, "-m", "planstrip"]


def _plan(options: Options, policy: bool | None) -> Plan:
    flags = {True: ["--allow-parallel-in-progress"], False: ["--no-allow-parallel-in-progress"], None: []}[policy]
    server = _server(options)
    if options.server and not options.is_http:
        flags = ["--server", server, *flags]
    url = f"{server}/mcp" if options.is_http else None
    return Plan(program(), ["mcp", *flags], url, options.has_mcp, options.has_hooks)


def _policy(options: Options) -> bool | None:
    """As it was told, else as the panel says that runs: an entry without it works only beside a panel that runs."""
    said = os.environ.get("PLANSTRIP_ALLOW_PARALLEL_IN_PROGRESS", "").strip().lower()
    if options.allow_parallel_in_progress is not None:
        return options.allow_parallel_in_progress
    if said:
        return said in ("1", "true", "yes", "on", "t", "y")
    return None if options.is_undone else options.ask_policy(_server(options))


def _kept(found: Sequence[Change]) -> bool | None:
    """As an entry of ours says already: who connects again has not taken it back."""
    said = {match[1] for change in found for match in _FLAG.finditer(_read(change.path) or "")}
    return said == {""} if len(said) == 1 else None


def _server(options: Options) -> str:
    return (options.server or panel_url(os.environ) or DEFAULT_URL).rstrip("/").removesuffix("/mcp")


def _merged(found: Sequence[Change]) -> list[tuple[Change, str | None, str]]:
    """Every file with what it holds and what it is to hold: all can be written, or none is."""
    merged = []
    for change in found:
        before = _read(change.path)
        try:
            merged.append((change, before, change.merge(before or "")))
        except Unmergeable as error:
            raise UnusableSettings(
                f"{change.path}: nothing was added: {error}; --print shows what to add by hand"
            ) from error
    return merged


def _read(path: Path) -> str | None:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise UnusableSettings(f"{path}: cannot be read: {error}") from error


def _write(change: Change, before: str | None, after: str) -> None:
    path = change.path
    if before == after:
        _say(f"{path}: is connected already")
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if before is None or not _is_ours_still(path, before):  # else the backup is of what was there before us
            _backup(path, before)
        _replace(path, after)
        was_there = _beside(path, BACKUP).exists()
        _replace(_beside(path, RECORD), json.dumps({"sha256": _digest(after), "was_there": was_there}))
    except OSError as error:
        raise UnusableSettings(f"{path}: cannot be written: {error.strerror or error}") from error
    _say(f"{path}: {'added to' if was_there else 'written'}" + (f", backup in {_beside(path, BACKUP)}" * was_there))


def _backup(path: Path, before: str | None) -> None:
    backup = _beside(path, BACKUP)
    if before is None:
        backup.unlink(missing_ok=True)
    else:
        shutil.copy2(path, backup)


def _undo(found: Sequence[Change]) -> int:
    """Files as they were before; from one that was changed since, our part alone is taken out."""
    code = 0
    for change in found:
        path, record = change.path, _beside(change.path, RECORD)
        held = _read(path)
        if not record.exists():
            _say(f"{path}: was not connected by this program")
            continue
        try:
            if held is None or _is_ours_still(path, held):
                _restore(path)
                _say(f"{path}: as it was before")
            else:
                _take_out(change, held)
                _say(f"{path}: has changed since; planstrip's part was taken out")
            record.unlink()
        except Unmergeable as error:
            _say(f"{path}: has changed since, and was left alone: {error}; take planstrip's part out by hand")
            code = 1
        except OSError as error:
            raise UnusableSettings(f"{path}: cannot be written: {error.strerror or error}") from error
    return code


def _take_out(change: Change, held: str) -> None:
    backup = _beside(change.path, BACKUP)
    before = _read(backup)
    rest = change.merge.without(held, before or "")
    if before is None and rest.strip() in ("", "{}"):
        change.path.unlink()
    else:
        _replace(change.path, rest)
    backup.unlink(missing_ok=True)


def _restore(path: Path) -> None:
    backup = _beside(path, BACKUP)
    if backup.exists():
        os.replace(backup, os.path.realpath(path))
    else:
        path.unlink(missing_ok=True)


def _is_ours_still(path: Path, held: str) -> bool:
    """Whether it is as we left it."""
    try:
        record = json.loads(_beside(path, RECORD).read_text())
        return bool(record["sha256"] == _digest(held))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _replace(path: Path, text: str) -> None:
    """At once or not at all; through a link, and with the mode that the file had."""
    target = Path(os.path.realpath(path))
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
        if target.exists():
            shutil.copymode(target, name)
        else:
            os.chmod(name, 0o644)
        os.replace(name, target)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
