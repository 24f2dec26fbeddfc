"""The records of a source, by name: what `planstrip snapshot` prints and what a test compares."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from planstrip.errors import UnreadableTranscript, UnusableSettings
from planstrip.events import Entry
from planstrip.masks import masks_from
from planstrip.snapshot import layout, names, panels
from planstrip.snapshot.record import final_record, steps
from planstrip.web.languages import NAMES, translations

if TYPE_CHECKING:
    from planstrip.snapshot.reading import Files


@dataclass(frozen=True, slots=True)
class Look:
    """How a record looks: never the machine's own language. Raises UnusableSettings for one that is not known."""

    lang: str = "en"
    has_all_rows: bool = False
    has_steps: bool = False
    as_json: bool = False

    def __post_init__(self) -> None:
        if self.lang not in NAMES:
            raise UnusableSettings(f"lang is {self.lang!r:.40}; expected one of {', '.join(NAMES)}")

    @property
    def suffix(self) -> str:
        return ".json" if self.as_json else ".txt"


@dataclass(frozen=True, slots=True)
class Taken:
    """`records`: each session's, by name, as a file holds it; `owned` as in golden, the rest as in reading.

    `is_single`: the source can have one session only.
    """

    records: Mapping[str, str]
    is_single: bool = True
    owned: str | None = None
    problems: Sequence[str] = ()
    failures: Sequence[str] = ()


def take(source: str, look: Look, name: str | None = None, token: str | None = None) -> Taken:
    """Of a path, or of the address of a running panel's session. `name` instead of the one session's, or before all.

    `token`: the panel's; PLANSTRIP_TOKEN by default. Raises PlanstripError when there is nothing to be had.
    """
    if panels.is_url(source):
        address = panels.address_of(source, token or (os.environ.get("PLANSTRIP_TOKEN") or "").strip() or None)
        return Taken({names.of(name or address.session): _record(panels.read_session(address), look)})
    from planstrip.snapshot.reading import Files  # a panel's session needs no database

    files = Files(Path(source))
    records = {title: _record(entries, look) for title, entries in files.sessions()}
    if not records and (files.folder is None or not files.failures):
        raise UnreadableTranscript("; ".join(files.failures) or f"{source}: no transcript in this directory")
    if name is not None and files.folder is None:
        records = {names.of(name): text for text in records.values()}
    elif name is not None:
        records = {f"{names.of(name)}/{title}": text for title, text in records.items()}
    return Taken(records, files.folder is None, _owned(files, name), files.problems, files.failures)


def _owned(files: "Files", name: str | None) -> str | None:
    """Nothing where a file failed: its records of old are not of no session."""
    if files.folder is None or files.failures:
        return None
    return files.folder if name is None else f"{names.of(name)}/{files.folder}"


def _record(entries: Sequence[Entry], look: Look) -> str:
    make = steps if look.has_steps else final_record
    masks = masks_from(os.environ)
    shown = make(entries, translations(look.lang), has_all_rows=look.has_all_rows, masks=masks)
    return layout.dumped(layout.json_of(shown)) if look.as_json else layout.text_of(shown)
