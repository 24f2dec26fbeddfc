"""What a session's record is called: after its file, or its id, as a file name on every system."""

import re
from pathlib import Path
from typing import Final

MAX_BYTES: Final = 200  # a file system takes 255, and `.json` and a number come behind
_SUFFIXES: Final = (".jsonl.zstd", ".jsonl", ".json", ".db")
_UNSAFE: Final = re.compile(r"[^\w.\-]+")


def safe(name: str) -> str:
    """One part of a path, never empty and never hidden."""
    kept = _UNSAFE.sub("_", name).strip(".") or "_"
    return kept.encode()[:MAX_BYTES].decode(errors="ignore")


def of_file(path: Path, root: Path | None = None) -> str:
    """A file's path below `root`, without its suffix; with `/` between folders, whatever the system's own."""
    below = path.relative_to(root) if root is not None else Path(path.name)
    suffix = next((suffix for suffix in _SUFFIXES if below.name.endswith(suffix)), "")
    stem = below.name.removesuffix(suffix) or below.name
    return "/".join(map(safe, (*below.parts[:-1], stem)))


def of(name: str) -> str:
    """A name that a person gave, with `/` between folders."""
    return "/".join(map(safe, name.split("/")))


class Names:
    """Gives every name once: what would be the same file, also where case does not count, gets a number."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def give(self, wanted: str) -> str:
        name, number = wanted, 1
        while name.casefold() in self._given:
            number += 1
            name = f"{wanted}-{number}"
        self._given.add(name.casefold())
        return name
