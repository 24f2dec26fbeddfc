"""What a reader is told of a session's relatives: its children, line by line, and the session that began it. Pure."""

from collections.abc import Iterable, Mapping
from gettext import NullTranslations
from typing import Protocol

from planstrip.plan.children import Child, Family
from planstrip.plan.outline import State
from planstrip.plan.todos import Counts
from planstrip.web.contexts import Link
from planstrip.web.directions import beside
from planstrip.web.kin_contexts import ChildLine, Children
from planstrip.web.labels import done_of, extra_suffix, meter, state_word
from planstrip.web.links import session_url

MAX_OPEN_LINES = 3


class Told(Protocol):
    """A session as a line tells it: a child of a page's session, or of one on the board."""

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str | None: ...
    @property
    def state(self) -> State: ...
    @property
    def counts(self) -> Counts: ...
    @property
    def active(self) -> str | None: ...


def children(family: Family, root: str, lang: str, tr: NullTranslations) -> Children:
    shown = family.children
    header = agents_running(len(shown), sum(child.state == "working" for child in shown), tr)
    return Children(header or "", lines(shown, root, lang, tr), len(shown) > MAX_OPEN_LINES)


def lines(children: Iterable[Child], root: str, lang: str, tr: NullTranslations) -> list[ChildLine]:
    return [line(child, session_url(root, child.id, _query(lang)), tr) for child in children]


def parent(family: Family, root: str, lang: str) -> Link | None:
    if family.parent is None:
        return None
    return Link(session_url(root, family.parent, _query(lang)), family.parent_title or family.parent)


def agents_running(agents: int, running: int, tr: NullTranslations) -> str | None:
    """`3 agents, 1 running`; None without any."""
    if not agents:
        return None
    said = tr.ngettext("%(num)d agent", "%(num)d agents", agents) % {"num": agents}
    if not running:
        return said
    return tr.gettext("%(agents)s, %(running)d running") % {"agents": said, "running": running}


def line(child: Told, url: str, tr: NullTranslations) -> ChildLine:
    counts, label = child.counts, state_word(child.state, tr)
    suffix, suffix_name = extra_suffix(counts.in_progress - 1, tr) if child.active else (None, None)
    counted = done_of(counts.completed, counts.total, tr) if counts.total else label
    lead, active = beside(counted, child.active or None, tr)
    return ChildLine(
        url=url,
        name=child.title or child.id,
        state=child.state,
        state_label=label,
        meter=meter(counts),
        lead=lead,
        active=active,
        suffix=suffix,
        suffix_name=suffix_name,
    )


def _query(lang: str) -> Mapping[str, str]:
    return {"lang": lang}
