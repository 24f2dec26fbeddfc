"""`planstrip status`: a session's plan in one line, for a terminal's status bar. Standard library only.

Whatever goes wrong, the bar gets a line: an empty one.
"""

import json
import os
import select
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import IO, Any, Final

# Where an agent tells the processes that it starts which session they belong to.
VARIABLES: Final = ("CLAUDE_CODE_SESSION_ID", "QWEN_CODE_SESSION_ID", "CODEX_THREAD_ID", "CODEX_SESSION_ID")
DEFAULT_SERVER: Final = "http://127.0.0.1:8765"
WIDTH: Final = 80
STDIN_WAIT_S: Final = 0.03  # Claude Code has written before we run; a bar that leaves a pipe open writes nothing
MAX_STDIN_BYTES: Final = 1024 * 1024
STORE_WAIT_S: Final = 0.05
COLUMNS: Final = ("id", "agent", "title", "completed", "in_progress", "pending", "active")
_SQLITE: Final = ("sqlite:///", "sqlite+pysqlite:///")


@dataclass(frozen=True, slots=True)
class Status:
    """Where a session stands; `active_content` is its first to-do in progress."""

    session: str
    agent: str | None
    title: str | None
    completed: int
    in_progress: int
    pending: int
    active_content: str | None

    @property
    def total(self) -> int:
        return self.completed + self.in_progress + self.pending

    @property
    def active_extra(self) -> int:
        return max(0, self.in_progress - 1) if self.active_content else 0

    def line(self, width: int) -> str:
        """Empty without a plan. The name alone is cut: the counts and the `+N` are whole."""
        if not self.total:
            return ""
        counts = f"{self.completed}/{self.total}"
        if not self.active_content:
            return counts
        suffix = f" +{self.active_extra}" if self.active_extra else ""
        name = " ".join("".join(char if char.isprintable() else " " for char in self.active_content).split())
        space = max(1, width - len(counts) - len(suffix) - 3)
        return f"{counts} · {name if len(name) <= space else name[: space - 1] + '…'}{suffix}"

    def as_json(self, width: int) -> dict[str, object]:
        return {
            "session": self.session,
            "agent": self.agent,
            "title": self.title,
            "done": self.completed,
            "total": self.total,
            "active_content": self.active_content,
            "active_extra": self.active_extra,
            "text": self.line(width),
        }


NOTHING: Final = {"session": None, "agent": None, "title": None, "done": 0, "total": 0} | {
    "active_content": None,
    "active_extra": 0,
    "text": "",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which session is asked for: by its id, or the newest of a folder."""

    session: str | None = None
    cwd: str | None = None

    @property
    def folders(self) -> list[str]:
        """The folder and those above it, the nearest first; not the home directory nor the root, which hold all."""
        home, found = os.path.expanduser("~"), list[str]()
        for folder in (os.path.abspath(self.cwd or "."), os.path.realpath(self.cwd or ".")):
            found.append(folder)
            while (folder := os.path.dirname(folder)) not in (home, os.path.dirname(folder)):
                found.append(folder)
        return list(dict.fromkeys(found))


def main() -> None:
    sys.exit(run(sys.argv[2:]))


def run(arguments: Sequence[str]) -> int:
    """0, but 2 for arguments that are none."""
    options = _parsed(arguments)
    try:
        status = _find(_wanted(options, os.environ, sys.stdin), options)
        status = _masked(status) if status and os.environ.get("PLANSTRIP_MASK") else status
    except Exception:  # noqa: BLE001 - a status bar shows no traceback
        status = None
    if options.json:
        text = json.dumps(status.as_json(options.width) if status else NOTHING, ensure_ascii=False)
    else:
        text = status.line(options.width) if status else ""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding) + "\n")
        sys.stdout.flush()
    except OSError:  # the bar is gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return 0


def _parsed(arguments: Sequence[str]) -> Any:
    import argparse

    parser = argparse.ArgumentParser("planstrip status", add_help=False)
    for name in ("--session", "--cwd", "--database-url", "--server"):
        parser.add_argument(name)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--width", type=int, default=WIDTH)
    return parser.parse_args(arguments)


def _wanted(options: Any, environment: Mapping[str, str], stdin: IO[str] | None) -> Wanted:
    if options.session or options.cwd:
        return Wanted(options.session, options.cwd)
    session = next((environment[name] for name in VARIABLES if environment.get(name)), None)
    if session is not None:
        return Wanted(session)
    given = _given(stdin)
    session, cwd = given.get("session_id"), given.get("cwd")
    return Wanted(session if isinstance(session, str) else None, cwd if isinstance(cwd, str) else None)


def _given(stdin: IO[str] | None) -> Mapping[str, Any]:
    """What Claude Code's `statusLine` is handed: an object on standard input."""
    if stdin is None or stdin.isatty():
        return {}
    descriptor, data = stdin.fileno(), b""
    deadline = time.monotonic() + STDIN_WAIT_S
    while len(data) < MAX_STDIN_BYTES:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))
        chunk = os.read(descriptor, 65536) if ready else b""
        if not chunk:
            break
        data += chunk
    try:
        given = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def _find(wanted: Wanted, options: Any) -> Status | None:
    """From the server where one is named, else from the database; a store that no file holds is the server's."""
    server = options.server or os.environ.get("PLANSTRIP_URL") or os.environ.get("PLANSTRIP_SERVER")
    url = options.database_url or os.environ.get("PLANSTRIP_DATABASE_URL")
    path = next((url[len(prefix) :] for prefix in _SQLITE if url and url.startswith(prefix)), None)
    if server is None and (path is not None or url is None):
        return _from_database(path or default_path(), wanted)
    try:
        return _from_server(server or DEFAULT_SERVER, wanted)
    except (OSError, ValueError):
        return _from_database(path or default_path(), wanted) if url is None or path else None


def _masked(status: Status) -> Status:
    from planstrip.masks import masks_from

    return masks_from(os.environ).of(status)


def _from_database(path: str, wanted: Wanted) -> Status | None:
    import sqlite3
    from urllib.parse import quote

    is_idle = not os.path.exists(f"{path}-wal")  # then opening it plainly would make files beside it
    address = f"file:{quote(os.path.abspath(path))}?mode=ro{'&immutable=1' if is_idle else ''}"
    columns = ", ".join(COLUMNS)
    with closing(sqlite3.connect(address, uri=True, timeout=STORE_WAIT_S)) as connection:
        if wanted.session is not None:
            query = f"SELECT {columns} FROM sessions WHERE id = ?"  # noqa: S608 - names of ours
            row = connection.execute(query, (wanted.session,)).fetchone()
        else:
            folders = wanted.folders
            query = (
                f"SELECT {columns} FROM sessions WHERE cwd IN ({','.join('?' * len(folders))})"  # noqa: S608
                " AND parent IS NULL ORDER BY length(cwd) DESC, updated_at DESC LIMIT 1"
            )
            row = connection.execute(query, folders).fetchone()
    return None if row is None else Status(*row)


def _from_server(server: str, wanted: Wanted) -> Status | None:
    from urllib.parse import quote

    if wanted.session is not None:
        session: str | None = wanted.session
    else:
        found = (_ask(server, f"/api/sessions?limit=20&cwd={quote(folder, safe='')}") for folder in wanted.folders)
        session = next(_tops(found), None)
    if session is None:
        return None
    plan = _ask(server, f"/api/sessions/{quote(session, safe='')}/plan")
    counts = plan.get("counts") or {}
    active = (todo["content"] for todo in plan.get("todos") or [] if todo["status"] == "in_progress")
    numbers = [int(counts.get(name, 0)) for name in ("completed", "in_progress", "pending")]
    return Status(session, None, None, numbers[0], numbers[1], numbers[2], next(active, None))


def _tops(answers: Iterator[dict[str, Any]]) -> Iterator[str]:
    """Ids of sessions that no other started, the nearest folder's newest first."""
    for answer in answers:
        yield from (found["id"] for found in answer.get("sessions", []) if found.get("parent") is None)


def _ask(server: str, path: str) -> dict[str, Any]:
    """Raises OSError or ValueError."""
    from http.client import HTTPConnection, HTTPException, HTTPSConnection
    from urllib.parse import urlsplit

    parts = urlsplit(server.rstrip("/"))
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    token = (os.environ.get("PLANSTRIP_TOKEN") or "").strip()
    with closing(kind(parts.hostname or "127.0.0.1", parts.port, timeout=STORE_WAIT_S * 2)) as connection:
        try:
            connection.request("GET", parts.path + path, headers={"Authorization": f"Bearer {token}"} if token else {})
            answer = json.loads(connection.getresponse().read())
        except HTTPException as error:
            raise ValueError(str(error)) from error
    return answer if isinstance(answer, dict) else {}


def default_path() -> str:
    """What `settings.default_database_url` names, found without a library."""
    home = os.path.expanduser("~")
    if sys.platform == "darwin":
        folder = os.path.join(home, "Library", "Application Support")
    elif sys.platform == "win32":
        folder = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    else:
        folder = (os.environ.get("XDG_DATA_HOME") or "").strip() or os.path.join(home, ".local", "share")
    return os.path.join(folder, "planstrip", "planstrip.sqlite3")
