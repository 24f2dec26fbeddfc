"""What a reader of the board is told: sessions turned into template contexts, in a catalogue's language. Pure."""

from collections import Counter
from collections.abc import Mapping
from gettext import NullTranslations
from typing import Final

from planstrip.plan.outline import State
from planstrip.web import labels, numbers
from planstrip.web.board import Board, Family
from planstrip.web.board_contexts import BoardList, BoardRow, Filter
from planstrip.web.kinship import agents_running, line
from planstrip.web.links import board_url, session_url
from planstrip.web.readers import OWNER, Reader

KEPT_ON_PAGES: Final = ("lang", "theme")
TOLD_IN_TAB: Final[tuple[State, ...]] = ("waiting", "interrupted", "quiet", "working")


def own_query(given: Mapping[str, str], reader: Reader) -> dict[str, str]:
    """What of an address's query the links of the page have: of a guest's no filter, but the token."""
    names = {*KEPT_ON_PAGES, "after"} if reader.is_guest else given.keys() - {"token"}
    return {name: value for name, value in given.items() if name in names} | dict(reader.kept)


def board_list(
    board: Board, root: str, query: Mapping[str, str], tr: NullTranslations, reader: Reader = OWNER
) -> BoardList:
    """`query`: the page's own, which every link within the board keeps but for what it changes."""
    kept = {name: value for name, value in query.items() if name in KEPT_ON_PAGES} | dict(reader.kept)
    place = query.get("cwd")
    all_url = _url(root, kept | ({"cwd": place} if place and query.keys() - {"cwd", *KEPT_ON_PAGES} else {}))
    return BoardList(
        rows=[row(family, root, kept, tr) for family in board.families],
        next_url=None if board.next is None else _url(root, query, after=board.next),
        states=[
            _filter(root, query, "state", state, labels.state_word(state, tr), numbers.count(count, tr), state)
            for state, count in board.states
        ],
        agents=[_filter(root, query, "agent", agent, labels.agent_name(agent) or agent) for agent in board.agents],
        tab=_tab(board, tr),
        all_url=None if reader.is_guest else all_url,
        is_narrowed=reader.is_guest or bool(query.keys() - {*KEPT_ON_PAGES}),
    )


def row(family: Family, root: str, kept: Mapping[str, str], tr: NullTranslations) -> BoardRow:
    session, children, waiting = family.session, family.children, family.waiting
    suffix, suffix_name = labels.extra_suffix(session.counts.in_progress - 1 if session.active else 0, tr)
    return BoardRow(
        key=labels.dom_key(session.id),
        session=session.id,
        url=session_url(root, session.id, kept),
        title=session.title or session.id,
        agent=labels.agent_name(session.agent),
        cwd=session.cwd,
        state=session.state,
        state_label=labels.state_label(session.state, tr),
        need="waiting" if waiting else session.state,
        told=labels.told_agents("waiting", waiting, tr) if waiting else None,
        is_long_silent=session.state == "quiet" and session.is_long_silent,
        header=labels.counts_header(session.counts, tr),
        meter=labels.meter(session.counts),
        active=session.active,
        suffix=suffix,
        suffix_name=suffix_name,
        updated=labels.iso(max(session.updated_at, family.sign)),
        folded=agents_running(len(children), sum(child.state == "working" for child in children), tr),
        children=[line(child, session_url(root, child.id, kept), tr) for child in children],
    )


def _tab(board: Board, tr: NullTranslations) -> str:
    counts = Counter(dict(board.states)) - Counter(dict(board.muted))
    told = [_told(counts[state], state, tr) for state in TOLD_IN_TAB if counts[state]]
    return " · ".join([*told, "planstrip"])


def _told(count: int, state: State, tr: NullTranslations) -> str:
    values = {"count": numbers.count(count, tr), "state": labels.state_word(state, tr)}
    return tr.gettext("%(count)s %(state)s") % values


def _filter(
    root: str,
    query: Mapping[str, str],
    name: str,
    value: str,
    label: str,
    count: str | None = None,
    state: State | None = None,
) -> Filter:
    is_current = query.get(name) == value
    return Filter(label, _url(root, query, **{name: None if is_current else value}), is_current, count, state)


def _url(root: str, query: Mapping[str, str], **changed: str | None) -> str:
    """The board with a query changed; another filter begins at the first page."""
    found: dict[str, str | None] = {**query, "after": None, **changed}
    return board_url(root, {name: value for name, value in found.items() if value})
