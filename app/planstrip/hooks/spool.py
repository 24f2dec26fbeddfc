"""Payloads on disk until a panel has taken them: a file each, in order, bounded. Standard library only."""

import contextlib
import json
import os
import sys
import time
from binascii import crc32
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from planstrip.hooks.held import Held

MAX_PAYLOAD_BYTES: Final = 10 * 1024 * 1024
MAX_TOTAL_BYTES: Final = 256 * 1024 * 1024
MAX_FILES: Final = 20_000
STALE_S: Final = 600.0  # a half-written file of a process that was killed
LOCK_STEP_S: Final = 0.005
LEFT_OUT: Final = "left-out.json"
LOCK: Final = ".lock"
SUFFIX: Final = ".json"
HALF: Final = ".half-"
SESSION_AT: Final = 39  # in a name

Outcome: TypeAlias = Literal["taken", "refused", "later", "full"]  # full: of this session, and for longer


class Parcel(NamedTuple):  # no dataclass on this path: it takes 15 ms to import
    """One payload. `id` names it for good, `time` is when its hook ran, in ms since the epoch."""

    id: str
    agent: str
    time: int
    payload: bytes


class Spool(NamedTuple):
    """One panel's folder. Names sort in the order in which they were put, and tell their sizes and sessions."""

    folder: Path

    def put(self, agent: str, payload: bytes, session: str = "") -> str | None:
        """The parcel's id; None when it was left out, which is then noted. Raises OSError."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._sweep()
        names = self.names()
        total = sum(_size(name) for name in names)
        if len(payload) > MAX_PAYLOAD_BYTES or total + len(payload) > MAX_TOTAL_BYTES or len(names) >= MAX_FILES:
            self.note(f"the spool is full, or a payload too large ({len(payload)} bytes)")
            return None
        stamp = max(time.time_ns(), int(names[-1][:20]) + 1 if names else 0)  # also when the clock was set back
        name = f"{stamp:020d}-{len(payload):08d}-{os.urandom(4).hex()}-{crc32(session.encode(errors='replace')):08x}"
        head = json.dumps({"agent": agent, "time": stamp // 1_000_000}).encode()
        self._write(name + SUFFIX, head + b"\n" + payload)
        return name

    def names(self) -> list[str]:
        """The ids that wait, oldest first."""
        try:
            found = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        return sorted(name[: -len(SUFFIX)] for name in found if name.endswith(SUFFIX) and name[:20].isdigit())

    def drain(self, send: Callable[[Parcel], Outcome], until: Callable[[], bool]) -> None:
        """Send what waits, in order, until something must wait on or `until` says that time is up.

        What a full panel does not take stays, with all that follows of its session, and nothing else waits for it.
        """
        held = Held(self.folder)
        try:
            while not until() and self._pass(held, send, until):
                pass
        finally:
            with contextlib.suppress(OSError):
                held.keep(self._write)

    def _pass(self, held: Held, send: Callable[[Parcel], Outcome], until: Callable[[], bool]) -> bool:
        """Whether another may find more to send."""
        names = self.names()
        held.forget_all_but({name[SESSION_AT:] for name in names})
        kept = kept_bytes = gone = 0
        for name in names:
            if until():
                return False
            outcome = self._offer(name, held, send)
            if outcome == "later":
                return False
            if outcome == "full":
                kept, kept_bytes = kept + 1, kept_bytes + _size(name)
                if kept <= MAX_FILES // 2 and kept_bytes <= MAX_TOTAL_BYTES // 2:
                    continue
                self.note(f"{name} waits for a full panel, and half of the spool does already")
            elif outcome == "refused":
                self.note(f"{name} was refused, or does not read")
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.folder / (name + SUFFIX))
            gone += 1
        return gone > 0

    def _offer(self, name: str, held: Held, send: Callable[[Parcel], Outcome]) -> Outcome:
        session = name[SESSION_AT:]
        if held.has(session):
            return "full"
        parcel = self._parcel(name)
        outcome: Outcome = "refused" if parcel is None else send(parcel)
        if outcome == "full":
            held.hold(session)
        elif outcome == "taken":
            held.took(session)
        return outcome

    @contextlib.contextmanager
    def lock(self, wait_s: float) -> Iterator[bool]:
        """Whether this process alone drains now. The system gives the lock back when its holder dies."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(self.folder / LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            end = time.monotonic() + wait_s
            while not (is_ours := _try_lock(handle)) and time.monotonic() < end:
                time.sleep(LOCK_STEP_S)
            yield is_ours
        finally:
            os.close(handle)

    def note(self, why: str) -> None:
        """Leave a mark that something could not be kept: how often, and why at last."""
        count = 0
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            count = int(json.loads((self.folder / LEFT_OUT).read_bytes())["count"])
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            body = json.dumps({"count": count + 1, "why": why, "time": time.time_ns() // 1_000_000})
            self._write(LEFT_OUT, body.encode())

    def take_note(self) -> dict[str, object] | None:
        """The mark, which is then gone: it is to be told once."""
        try:
            note = json.loads((self.folder / LEFT_OUT).read_bytes())
            os.unlink(self.folder / LEFT_OUT)
        except (OSError, ValueError):
            return None
        return note if isinstance(note, dict) else None

    def _parcel(self, name: str) -> Parcel | None:
        try:
            head, _, payload = (self.folder / (name + SUFFIX)).read_bytes().partition(b"\n")
            told = json.loads(head)
            return Parcel(name, str(told["agent"]), int(told["time"]), payload) if payload else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _write(self, name: str, data: bytes) -> None:
        half = self.folder / f"{HALF}{os.urandom(8).hex()}"
        try:
            with os.fdopen(os.open(half, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as target:
                target.write(data)
            os.replace(half, self.folder / name)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(half)
            raise

    def _sweep(self) -> None:
        for name in os.listdir(self.folder):
            if name.startswith(HALF):
                with contextlib.suppress(OSError):
                    if time.time() - os.stat(self.folder / name).st_mtime > STALE_S:
                        os.unlink(self.folder / name)


def spool_of(url: str) -> Spool:
    """The spool of the panel at this address: what one panel missed is no other's."""
    from urllib.parse import quote, urlsplit

    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "loopback", parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:  # no address: kept all the same, until it is one
        return Spool(data_dir() / "spool" / quote(url, safe="")[:200])
    if host in ("localhost", "::1", "0.0.0.0", "::") or host.startswith("127."):  # noqa: S104 - names of one place
        host = "loopback"
    path = parts.path.strip("/").replace("/", "+")
    name = quote(f"{host}-{port}" + (f"-{path}" if path else ""), safe="+")[:200]
    return Spool(data_dir() / "spool" / name)


def data_dir() -> Path:
    """The user's data folder, as platformdirs has it."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Application Support")
    else:
        given = os.environ.get("XDG_DATA_HOME", "")
        base = given if given.strip() else str(Path.home() / ".local" / "share")
    return Path(base) / "planstrip"


def _size(name: str) -> int:
    size = name[21:29]
    return int(size) if size.isdigit() else 0


def _try_lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
