"""The command line's `snapshot`: prints the records, or compares them with those in a folder."""

import json
import sys
from pathlib import Path

from planstrip.errors import UnusableSettings
from planstrip.snapshot.golden import Shelf
from planstrip.snapshot.layout import dumped, escape
from planstrip.snapshot.taking import Look, Taken, take


def run_snapshot(source: str, look: Look, *, name: str | None, folder: Path | None, is_update: bool) -> int:
    """0; 1 when a file failed or a record differs from the one in `folder`, which `is_update` mends.

    Raises PlanstripError when there is nothing to be had.
    """
    if is_update and folder is None:
        raise UnusableSettings("--update rewrites the records in a folder: name it with --check DIR")
    taken = take(source, look, name)
    for problem in (*taken.problems, *(f"failed: {failure}" for failure in taken.failures)):
        _say(problem)
    differing = 0
    if folder is None:
        _print(_whole(taken, look))
    elif is_update:
        _update(Shelf(folder, look.suffix, taken.owned), taken)
    else:
        differing = _compare(Shelf(folder, look.suffix, taken.owned), taken)
    return 1 if differing or taken.failures else 0


def _whole(taken: Taken, look: Look) -> str:
    """One session's record as it is; several each below a line with its name. JSON is one object, by name."""
    if look.as_json:
        return dumped({name: json.loads(text) for name, text in taken.records.items()})
    if taken.is_single:
        return "".join(taken.records.values())
    return "\n".join(f"session={name}\n{text}" for name, text in taken.records.items())


def _compare(shelf: Shelf, taken: Taken) -> int:
    diffs = list(shelf.compare(taken.records))
    _print("\n".join(diffs))
    records = "1 record" if len(taken.records) == 1 else f"{len(taken.records)} records"
    _say(f"{records}: {len(diffs)} not as in {shelf.folder}; --update rewrites them" if diffs else f"{records} as kept")
    return len(diffs)


def _update(shelf: Shelf, taken: Taken) -> None:
    for path in shelf.update(taken.records):
        _say(f"{'wrote' if path.exists() else 'deleted'} {path}")


def _print(text: str) -> None:
    """As UTF-8 with line feeds, whatever the machine's locale."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


def _say(text: str) -> None:
    sys.stderr.write(f"{escape(text)}\n")
