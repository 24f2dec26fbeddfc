"""What a push holds: the regions that changed since a viewer's position, as the page's own partials (spec.md §8)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from planstrip.plan.children import Family
from planstrip.plan.revisions import MAX_REVISIONS
from planstrip.plan.rows import Row, Turn
from planstrip.plan.tools import is_delegating
from planstrip.plan.view import Standing, View
from planstrip.web import drawing, hints, kinship, labels, strip_labels, timeline_labels
from planstrip.web.channels import Base
from planstrip.web.contexts import Link, Partial, TurnContext
from planstrip.web.languages import translations
from planstrip.web.links import older_revisions_url, older_url
from planstrip.web.past_labels import plan_list
from planstrip.web.readers import OWNER, Reader
from planstrip.web.render import NO_FAMILY, Renderer
from planstrip.web.sse import sse
from planstrip.web.strip_contexts import Strip


@dataclass(frozen=True, slots=True)
class Frames:
    """One session's frames in one language, for one reader. `clock` gives ms since the epoch."""

    renderer: Renderer
    session: str
    lang: str
    clock: Callable[[], int]
    reader: Reader = OWNER

    def page(self, view: View, base: Base, is_first: bool) -> bytes | None:
        """What takes a page from `base` to the view; None when nothing that it shows has changed."""
        if self.reader.is_guest:
            view = replace(view, family=NO_FAMILY)
        is_family_new = is_first or view.family.serial > base.serial
        if not is_family_new and view.changed <= base.position:
            return None
        # The head tells the age of what is seen, so it goes with every frame.
        parent = kinship.parent(view.family, self.renderer.root, self.lang)
        partials = [self._head(view.standing, view.family, parent)]
        partials += self._unseen(list(self._regions(view, base, is_first)), view, base, is_first)
        if is_family_new:
            partials.append(Partial("#children", "outerMorph", self.renderer.children(self.lang, view.family)))
        if not base.position or view.window.dropped > base.position:
            partials += self._newest_rows(view)  # a page that was waiting, or one too far behind
        else:
            partials += self._rows(view, base.position)
            partials += self._children(view, base, is_first)
        partials += self._revisions(view, base.position)
        return sse(self.renderer.frame(partials), position=view.changed)

    def _head(self, standing: Standing, family: Family, parent: Link | None = None) -> Partial:
        head = labels.head(self.session, standing, translations(self.lang), self.clock(), parent, family)
        return Partial("#head", "outerMorph", self.renderer.head(self.lang, head))

    def _regions(self, view: View, base: Base, is_first: bool) -> Iterator[Partial]:
        """What may have changed beside the rows; all of it with the first frame, come what may."""
        is_drawn = is_first or view.standing.timeline_changed > base.position
        if is_drawn or view.standing.strip_changed > base.position or view.family.serial > base.serial:
            yield from self._standing(view)
        if is_drawn:
            yield self._timeline(view)
        if is_first or hints.changed(view) > base.position:
            hint = hints.hint(view, translations(self.lang))
            yield Partial("#hint", "outerMorph", self.renderer.hint(self.lang, hint))

    def _unseen(self, regions: list[Partial], view: View, base: Base, is_first: bool) -> list[Partial]:
        """Without those that a viewer at `base` has as they are: an event may move one and not show in it."""
        kept, here = self.renderer.regions, (self.session, f"{self.lang} {self.reader.key}")
        seen = {} if is_first else kept.get((*here, base)) or {}
        now = seen | {region.target: region.html for region in regions}
        kept.put((*here, Base(view.changed, view.family.serial)), now, sum(map(len, now.values())))
        return [region for region in regions if seen.get(region.target) != region.html]

    def _standing(self, view: View) -> Iterator[Partial]:
        """The strip, and what is told in its stead while no plan stands."""
        tr, root, standing = translations(self.lang), self.renderer.root, view.standing
        acts = strip_labels.acts(root, self.session, standing, self.lang, self.reader)
        worked = timeline_labels.worked(view.timeline, tr)
        yield self._strip_of(strip_labels.strip(view, tr, now=self.clock(), acts=acts, worked=worked))
        section = strip_labels.unlisted_alone(standing, acts, tr)
        yield Partial("#unlisted", "outerMorph", self.renderer.unlisted(self.lang, section))
        retired = strip_labels.retired(root, self.session, standing, self.lang, tr, self.reader)
        yield Partial("#retired", "outerMorph", self.renderer.retired(self.lang, retired))
        plans = plan_list(root, self.session, standing, self.lang, tr, self.reader)
        yield Partial("#plans", "outerMorph", self.renderer.plans(self.lang, plans))

    def _strip_of(self, strip: Strip | None) -> Partial:
        return Partial("#strip", "outerMorph", self.renderer.strip(self.lang, strip))

    def _timeline(self, view: View) -> Partial:
        drawn = drawing.draw(view.timeline, translations(self.lang))
        return Partial("#timeline", "outerMorph", self.renderer.timeline(self.lang, drawn))

    def _revisions(self, view: View, base: int) -> Iterator[Partial]:
        window = view.window
        is_far = len(window.revisions) == MAX_REVISIONS and window.revisions[0].position > base
        if not base or is_far:
            revisions = self.renderer.cached_revisions(self.session, window, self.lang)
            yield Partial("#revisions", "outerMorph", self.renderer.revisions(self.lang, revisions))
        elif fresh := self.renderer.cached_revisions(self.session, window, self.lang, after=base):
            if len(window.revisions) == MAX_REVISIONS:  # a page that is watched for long is to grow no longer list
                beyond = f"#revisions > :nth-last-child(n + {MAX_REVISIONS + 1 - len(fresh)})"
                yield Partial(beyond, "delete", "")
            yield Partial("#revisions", "beforeend", "".join(fresh))
        if view.revisions_begin is not None and (not base or window.revisions[-1].position > base):
            yield self._older_revisions(view)

    def _older_revisions(self, view: View) -> Partial:
        root, kept = self.renderer.root, self.reader.kept
        url = older_revisions_url(root, self.session, self.lang, view.revisions_begin, kept)
        return Partial("#revisions-older", "outerMorph", self.renderer.older_revisions(self.lang, url))

    def _newest_rows(self, view: View) -> Iterator[Partial]:
        turns = [self._turn_context(view, turn) for turn in view.window.turns]
        yield Partial("#turns", "outerMorph", self.renderer.turns(self.lang, turns))
        older = older_url(self.renderer.root, self.session, self.lang, view.window, kept=self.reader.kept)
        yield Partial("#older", "outerMorph", self.renderer.older(self.lang, older))

    def _rows(self, view: View, base: int) -> Iterator[Partial]:
        for row in view.window.late:
            if row.changed > base:
                yield self._row(row)
        for turn in view.window.turns:
            yield from self._turn(view, turn, base)

    def _turn(self, view: View, turn: Turn, base: int) -> Iterator[Partial]:
        first = turn.position or turn.changed  # what came before any turn stands since its first row
        if first > base:
            yield Partial("#turns", "beforeend", self.renderer.turn(self.lang, self._turn_context(view, turn)))
            return
        if turn.changed > base:
            label = self.renderer.turn_label(self.lang, self._turn_context(view, turn))
            yield Partial(f"#turn-{turn.position}-label", "outerMorph", label)
        for row in turn.rows:
            if row.position > base:
                html = self.renderer.whole_row(self.session, row, self.lang, view.family)
                yield Partial(f"#turn-{turn.position}-rows", "beforeend", html)
            elif row.changed > base:
                yield self._row(row)

    def _turn_context(self, view: View, turn: Turn) -> TurnContext:
        return self.renderer.turn_context(self.session, turn, self.lang, view.family)

    def _row(self, row: Row) -> Partial:
        return Partial(f"#row-{row.position}", "outerMorph", self.renderer.cached_row(self.session, row, self.lang))

    def _children(self, view: View, base: Base, is_first: bool) -> Iterator[Partial]:
        """Below the rows that stood at `base`: those that changed; all for a page that was not there to see them."""
        changed = {at for at, line in view.family.lines.items() if is_first or line.serial > base.serial}
        if is_first:
            changed.update(row.position for row in view.window.rows if is_delegating(row.call))
        for position in sorted(changed):
            if position <= base.position:
                html = self.renderer.row_children(self.lang, position, view.family)
                yield Partial(f"#row-{position}-children", "outerMorph", html)
