"""What a push holds: the regions that changed since a viewer's position, as the page's own partials (spec.md §8)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from planstrip.plan.revisions import MAX_REVISIONS
from planstrip.plan.rows import Row, Turn
from planstrip.plan.view import View
from planstrip.web import labels
from planstrip.web.contexts import Partial
from planstrip.web.languages import translations
from planstrip.web.links import dismiss_url, older_url
from planstrip.web.live import sse
from planstrip.web.past_labels import plan_list
from planstrip.web.render import Renderer


@dataclass(frozen=True, slots=True)
class Frames:
    """One session's frames in one language. `clock` gives ms since the epoch."""

    renderer: Renderer
    session: str
    lang: str
    clock: Callable[[], int]

    def page(self, view: View, base: int, is_first: bool) -> bytes | None:
        """What takes a page from `base` to the view; None when nothing that it shows has changed."""
        if not is_first and view.changed <= base:
            return None
        # The head tells the age of what is seen, so it goes with every frame; the strip with the first, come what may.
        partials = [self._head(view)]
        if is_first or view.standing.strip_changed > base:
            dismiss = dismiss_url(self.renderer.root, self.session, self.lang)
            partials += [self._strip(view, dismiss), self._unlisted(view, dismiss), self._plans(view)]
        partials += [*self._rows(view, base), *self._revisions(view, base)]
        return sse(self.renderer.frame(partials), position=view.changed)

    def embed(self, view: View, base: int, is_first: bool) -> bytes | None:
        """The same for an embedded strip."""
        if not is_first and view.standing.embed_changed <= base:
            return None
        return sse(
            self.renderer.frame([self._strip(view, None), self._head(view)]), position=view.standing.embed_changed
        )

    def _head(self, view: View) -> Partial:
        head = labels.head(self.session, view.standing, translations(self.lang), self.clock())
        return Partial("#head", "outerMorph", self.renderer.head(self.lang, head))

    def _strip(self, view: View, dismiss: str | None) -> Partial:
        strip = labels.strip(view.standing, translations(self.lang), dismiss_url=dismiss)
        return Partial("#strip", "outerMorph", self.renderer.strip(self.lang, strip))

    def _unlisted(self, view: View, dismiss: str) -> Partial:
        section = labels.unlisted_alone(view.standing, dismiss, translations(self.lang))
        return Partial("#unlisted", "outerMorph", self.renderer.unlisted(self.lang, section))

    def _plans(self, view: View) -> Partial:
        tr = translations(self.lang)
        plans = plan_list(self.renderer.root, self.session, view.standing, self.lang, tr)
        return Partial("#plans", "outerMorph", self.renderer.plans(self.lang, plans))

    def _revisions(self, view: View, base: int) -> Iterator[Partial]:
        window = view.window
        is_far = len(window.revisions) == MAX_REVISIONS and window.revisions[0].position > base
        if not base or is_far:
            revisions = self.renderer.cached_revisions(self.session, window, self.lang)
            yield Partial("#revisions", "outerMorph", self.renderer.revisions(self.lang, revisions))
        elif fresh := self.renderer.cached_revisions(self.session, window, self.lang, after=base):
            yield Partial("#revisions", "afterbegin", "".join(fresh))

    def _rows(self, view: View, base: int) -> Iterator[Partial]:
        window = view.window
        if not base or window.dropped > base:  # a page that was waiting, or one too far behind: the newest rows whole
            turns = [self.renderer.turn_context(self.session, turn, self.lang) for turn in window.turns]
            yield Partial("#turns", "outerMorph", self.renderer.turns(self.lang, turns))
            older = older_url(self.renderer.root, self.session, self.lang, window)
            yield Partial("#older", "outerMorph", self.renderer.older(self.lang, older))
            return
        for row in window.late:
            if row.changed > base:
                yield self._row(f"#row-{row.position}", "outerMorph", row)
        for turn in window.turns:
            yield from self._turn(turn, base)

    def _turn(self, turn: Turn, base: int) -> Iterator[Partial]:
        first = turn.position or turn.changed  # what came before any turn stands since its first row
        if first > base:
            context = self.renderer.turn_context(self.session, turn, self.lang)
            yield Partial("#turns", "beforeend", self.renderer.turn(self.lang, context))
            return
        if turn.changed > base:
            label = self.renderer.turn_label(self.lang, self.renderer.turn_context(self.session, turn, self.lang))
            yield Partial(f"#turn-{turn.position}-label", "outerMorph", label)
        for row in turn.rows:
            if row.position > base:
                yield self._row(f"#turn-{turn.position}-rows", "beforeend", row)
            elif row.changed > base:
                yield self._row(f"#row-{row.position}", "outerMorph", row)

    def _row(self, target: str, swap: str, row: Row) -> Partial:
        return Partial(target, swap, self.renderer.cached_row(self.session, row, self.lang))
