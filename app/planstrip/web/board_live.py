"""The board's stream: the rows that changed since a viewer's place, or the list once its order did (spec.md §8)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from planstrip.parts import Parts
from planstrip.web.board import Board, Query, read_board
from planstrip.web.board_contexts import BoardList
from planstrip.web.channels import Base, Topic
from planstrip.web.contexts import Partial
from planstrip.web.render import Renderer
from planstrip.web.sse import sse


@dataclass(frozen=True, slots=True)
class BoardView:
    """A board and at which of its versions what changed last: `rows` by session, `order`, `counts`."""

    board: Board = field(default_factory=Board)
    version: int = 1
    rows: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    order: int = 1
    counts: int = 1


def advance(view: BoardView | None, board: Board) -> BoardView:
    """The view of a board that was read again; the very same when nothing changed."""
    if view is None:
        return BoardView(board)
    old = view.board
    if board == old:
        return view
    version = view.version + 1
    before = {family.session.id: family for family in old.families}
    changed = [family.session.id for family in board.families if before.get(family.session.id) != family]
    rows = {**view.rows, **dict.fromkeys(changed, version)}
    return BoardView(
        board,
        version,
        rows=MappingProxyType({session: rows[session] for session in board.order if session in rows}),
        order=version if (board.order, board.next) != (old.order, old.next) else view.order,
        counts=version if _counted(board) != _counted(old) else view.counts,
    )


def _counted(board: Board) -> tuple[object, ...]:
    return board.states, board.agents, board.muted


def topic(parts: Parts, query: Query, name: str) -> Topic[BoardView]:
    """`name` tells queries apart."""

    def read(view: BoardView | None) -> BoardView:
        return advance(view, read_board(parts, query))

    return Topic(f"/board {name}", read, read, lambda _: 0, hears_all=True)


@dataclass(frozen=True, slots=True)
class BoardFrames:
    """The frames of one query in one language. `context` makes of a board what the templates need."""

    renderer: Renderer
    lang: str
    context: Callable[[Board], BoardList]

    def build(self, view: BoardView, base: Base, is_first: bool) -> bytes | None:
        if not is_first and view.version <= base.position:
            return None
        shown = self.context(view.board)
        partials = []
        if is_first or view.counts > base.position:
            partials.append(Partial("#filters", "outerMorph", self.renderer.board_filters(self.lang, shown)))
        if not is_first:  # also beside the list: a page that holds its order still shows what each session has become
            changed = {session for session, version in view.rows.items() if version > base.position}
            partials += [
                Partial(f"#session-{row.key}", "outerMorph", self.renderer.board_row(self.lang, row))
                for row in shown.rows
                if row.session in changed
            ]
        if is_first or view.order > base.position:
            partials.append(Partial("#board", "outerMorph", self.renderer.board_list(self.lang, shown)))
        return sse(self.renderer.frame(partials), position=view.version)
