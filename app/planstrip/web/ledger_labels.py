"""What a reader is told of the ledger: changes, revisions, to-dos that are no longer listed. Pure."""

from collections.abc import Collection, Iterator, Sequence
from gettext import NullTranslations
from hashlib import sha256
from typing import Final, assert_never

from planstrip.plan.ledger import Change, Difference, Kind
from planstrip.plan.revisions import Revision
from planstrip.plan.unlisted import Unlisted
from planstrip.web.contexts import ChangeLine, RevisionContext
from planstrip.web.strip_contexts import UnlistedItem, UnlistedSection
from planstrip.web.times import clock, iso

# The order in which they are told: what a person must not miss comes first.
MARKS: Final[dict[Kind, str]] = {
    "dropped": "\u2212",
    "omitted": "\u00d7",
    "completed": "\u2713",
    "started": "\u2192",
    "paused": "\u2016",
    "reopened": "\u21ba",
    "renamed": "~",
    "added": "+",
    "reordered": "\u2195",
    "removed": "\u2212",
}
BACK: Final = "\u21b6"  # of what is added after it had been dropped
MAX_LINES: Final = 3  # of a kind, before they are only counted
MAX_DROPPED: Final = 20
BY_PAGE: Final = "page"  # who acted: whoever can open it


def changes(difference: Difference, tr: NullTranslations, returned: Collection[str] = ()) -> list[ChangeLine]:
    """A line a change; many of a kind are one line, but for what was dropped. `returned`: what had been dropped."""
    return [
        line
        for kind in MARKS
        for (mark, word), found in _alike(kind, difference, tr, returned).items()
        for line in _lines(kind, mark, word, found, tr)
    ]


def dropped(difference: Difference, tr: NullTranslations) -> str | None:
    """`2 dropped`, for the row of a write that left open to-dos out."""
    count = sum(change.kind == "dropped" for change in difference)
    return dropped_count(count, tr) if count else None


def dropped_count(count: int, tr: NullTranslations) -> str:
    return tr.ngettext("%(count)d dropped", "%(count)d dropped", count) % {"count": count}


def revision(revision: Revision, row: int | None, tr: NullTranslations) -> RevisionContext:
    """`row` is the position of the row that it is told in, None where that is not on the page."""
    is_told = revision.cause in ("write", "rewind")
    turn = revision.turn
    return RevisionContext(
        position=revision.position,
        row=row,
        turn=None if turn is None else tr.gettext("Turn %(number)d") % {"number": turn},
        time=iso(revision.time),
        clock=clock(revision.time),
        note=_note(revision, tr),
        by=tr.gettext("page") if revision.by == BY_PAGE else revision.by,
        changes=changes(revision.difference, tr, revision.returned) if is_told else (),
    )


def unlisted(items: Sequence[Unlisted], dismiss_url: str | None, tr: NullTranslations) -> UnlistedSection | None:
    """None without any. `dismiss_url` is None where nobody can dismiss: in a frame."""
    if not items:
        return None
    count = len(items)
    title = tr.ngettext(
        "%(count)d unfinished item no longer listed", "%(count)d unfinished items no longer listed", count
    )
    listed = [UnlistedItem(key_of(item.content), item.content, iso(item.time), clock(item.time)) for item in items]
    return UnlistedSection(title % {"count": count}, listed, dismiss_url)


def key_of(content: str) -> str:
    """What a form names a to-do by: its text may hold what no form sends unchanged."""
    return sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _alike(
    kind: Kind, difference: Difference, tr: NullTranslations, returned: Collection[str]
) -> dict[tuple[str, str], list[Change]]:
    """The changes of a kind by how they are told, a mark and a word: what is added may have begun, or be back."""
    found = dict[tuple[str, str], list[Change]]()
    for change in difference:
        if change.kind == kind == "added":
            found.setdefault(_coming(change, tr, change.content in returned), []).append(change)
        elif change.kind == kind:
            found.setdefault((MARKS[kind], _word(kind, tr)), []).append(change)
    return found


def _lines(kind: Kind, mark: str, word: str, found: Sequence[Change], tr: NullTranslations) -> Iterator[ChangeLine]:
    shown = found if len(found) <= MAX_LINES else ()
    if kind == "dropped":
        shown = found[:MAX_DROPPED]
    for change in shown:
        yield ChangeLine(kind, mark, word, change.content, change.was)
    rest = len(found) - len(shown)
    if rest:
        text = tr.ngettext("%(count)d more task", "%(count)d more tasks", rest) if shown else _many(rest, tr)
        yield ChangeLine(kind, mark, word, text % {"count": rest})


def _many(count: int, tr: NullTranslations) -> str:
    return tr.ngettext("%(count)d task", "%(count)d tasks", count)


def _note(revision: Revision, tr: NullTranslations) -> str | None:
    match revision.cause:
        case "write":
            return None
        case "rewind":
            return tr.gettext("Rewound to an earlier list")
        case "retire":
            return tr.gettext("Plan retired")
        case "restore":
            return tr.gettext("Plan restored")
        case never:
            assert_never(never)


def _coming(change: Change, tr: NullTranslations, is_back: bool) -> tuple[str, str]:
    mark = BACK if is_back else MARKS["added"]
    match change.status:
        case "pending":
            return mark, tr.gettext("Returned") if is_back else _word("added", tr)
        case "in_progress":
            word = tr.gettext("Returned and started") if is_back else tr.gettext("Added and started")
            return mark + MARKS["started"], word
        case "completed":
            word = tr.gettext("Returned, completed") if is_back else tr.gettext("Added, completed")
            return mark + MARKS["completed"], word
        case never:
            assert_never(never)


def _word(kind: Kind, tr: NullTranslations) -> str:
    """For assistive technology, beside the mark."""
    words: dict[Kind, str] = {
        "dropped": tr.gettext("Dropped while open"),
        "omitted": tr.gettext("Called off"),
        "completed": tr.gettext("Completed"),
        "started": tr.gettext("Started"),
        "paused": tr.gettext("Paused"),
        "reopened": tr.gettext("Reopened"),
        "renamed": tr.gettext("Renamed"),
        "added": tr.gettext("Added"),
        "reordered": tr.gettext("Moved"),
        "removed": tr.gettext("Removed"),
    }
    return words[kind]
