"""Records kept as files: what differs from them, and writing them anew."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Final

from planstrip.errors import UnusableSettings
from planstrip.snapshot.layout import is_json, is_text

NOTHING: Final = "/dev/null"


@dataclass(frozen=True, slots=True)
class Shelf:
    """A folder of records, `suffix` the end of their files' names.

    `owned`: what lies in this folder below it, and is a record, belongs to the sessions that are compared ("" is all
    of it); None: only the files that they name do.
    """

    folder: Path
    suffix: str
    owned: str | None = None

    def path(self, name: str) -> Path:
        return self.folder / f"{name}{self.suffix}"

    def compare(self, records: Mapping[str, str]) -> Iterator[str]:
        """A unified diff for each file that is not what it should be: changed, missing, or of no session."""
        for name, text in records.items():
            path = self.path(name)
            kept = _read(path)
            if kept != text:
                yield _diff(kept, text, NOTHING if kept is None else f"{path}", name)
        for path in self.stale(records):
            yield _diff(_read(path), None, f"{path}", NOTHING)

    def update(self, records: Mapping[str, str]) -> list[Path]:
        """Write what differs and delete what is of no session: the files that this touched."""
        differing = [name for name, text in records.items() if _read(self.path(name)) != text]
        for name in differing:
            _write(self.path(name), records[name])
        stale = self.stale(records)
        for path in stale:
            path.unlink()
        return [*map(self.path, differing), *stale]

    def stale(self, records: Mapping[str, str]) -> list[Path]:
        """Records of no session. Another file that somebody keeps here is none."""
        if self.owned is None:
            return []
        named = {os.path.normcase(self.path(name)) for name in records}
        is_record: Callable[[str], bool] = is_json if self.suffix == ".json" else is_text
        found = sorted((self.folder / self.owned).rglob(f"*{self.suffix}"))
        return [
            path
            for path in found
            if os.path.normcase(path) not in named and path.is_file() and is_record(_read(path) or "")
        ]


def _diff(old: str | None, new: str | None, before: str, after: str) -> str:
    """By line feeds alone: a value in JSON may hold what else ends a line."""
    left, right = ("" if text is None else text for text in (old, new))
    lines = list(unified_diff(_split(left), _split(right), before, after, lineterm=""))
    if not lines:  # an empty file that is missing, or too many
        lines = [f"--- {before}", f"+++ {after}"]
    return "".join(f"{line}\n" for line in lines)


def _split(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _read(path: Path) -> str | None:
    """None for a missing file. A checkout may have ended its lines as Windows does."""
    try:
        return path.read_bytes().decode(errors="backslashreplace").replace("\r\n", "\n")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnusableSettings(f"{path}: cannot be read: {error.strerror}") from error


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    except OSError as error:
        raise UnusableSettings(f"{path}: cannot be written: {error.strerror}") from error
