"""What a frame shows of a session, the same for its page and its pushes: the strip, a caption, the last rows."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from planstrip.parts import Parts
from planstrip.plan.children import Family
from planstrip.plan.rows import Row
from planstrip.plan.view import Standing, View
from planstrip.web import labels, strip_labels
from planstrip.web.channels import Base, Kind
from planstrip.web.contexts import Head, Partial
from planstrip.web.embed_contexts import Framed
from planstrip.web.languages import translations
from planstrip.web.links import session_url
from planstrip.web.sse import sse
from planstrip.web.strip_contexts import Strip


@dataclass(frozen=True, slots=True)
class Framing:
    """Frames in one language."""

    parts: Parts
    lang: str

    def place(self, view: View, rows: int) -> int:
        """The position that a frame with so many rows shows."""
        return max(view.standing.embed_changed, view.window.changed if rows else 0)

    def head(self, session: str, view: View, now_ms: int | None = None) -> Head:
        """It leads to the session's page only where whoever sees the frame may see that: where no token is asked."""
        now, family = self._now(now_ms), Family(heard_at=view.family.heard_at)
        head = labels.head(session, view.standing, translations(self.lang), now, family=family)
        is_free = self.parts.settings.secret is None
        url = session_url(self.parts.settings.root_path, session, {"lang": self.lang}) if is_free else None
        return replace(head, url=url)

    def strip(self, standing: Standing, now_ms: int | None = None, *, is_open: bool = False) -> Strip | None:
        """Read-only, and without places in rows: what a frame has of them may not hold them."""
        now = self._now(now_ms)
        return strip_labels.strip(
            View(standing), translations(self.lang), now=now, is_open=is_open, is_past=now_ms is not None
        )

    def _now(self, now_ms: int | None) -> int:
        return self.parts.clock() if now_ms is None else now_ms

    def one(self, session: str, view: View, *, is_open: bool = False) -> Framed:
        """One of several; what assistive technology hears of its strip says whose it is."""
        standing, name = view.standing, translations(self.lang).gettext("%(session)s: %(said)s")
        head, strip = self.head(session, view), self.strip(standing, is_open=is_open)
        if strip is not None:
            said, unsure = (
                text and name % {"session": labels.plain(head.title), "said": text}
                for text in (strip.said, strip.said_unsure)
            )
            strip = replace(strip, said=said or "", said_unsure=unsure)
        return Framed(session, standing.position > 0, head, strip, standing.embed_changed)

    def rows(self, session: str, view: View, count: int) -> list[str]:
        """The HTML of the last rows; the agents that they began have frames of their own."""
        return [self._row(session, row) for row in view.window.rows[-count:]]

    def alone(self, session: str, rows: int) -> Kind[View]:
        """The pushes of a frame of one session with so many of its last rows."""
        place = partial(self.place, rows=rows)
        return Kind(f"embed {self.lang} {rows}", partial(self._alone, session, rows), place)

    def beside_others(self, session: str) -> Kind[View]:
        """Its pushes in a frame of several, without ids: each is whole, whatever came before."""
        build = partial(self._beside_others, session)
        return Kind(f"framed {self.lang}", build, lambda view: view.standing.embed_changed, key=labels.dom_key(session))

    def _alone(self, session: str, rows: int, view: View, base: Base, is_first: bool) -> bytes | None:
        place, renderer = self.place(view, rows), self.parts.renderer
        if not is_first and place <= base.position:
            return None
        partials = [
            Partial("#strip", "outerMorph", renderer.strip(self.lang, self.strip(view.standing))),
            Partial("#head", "outerMorph", renderer.head(self.lang, self.head(session, view))),
        ]
        if rows:
            partials += self._last_rows(session, view.window.rows[-rows:], rows, base.position)
        return sse(renderer.frame(partials), position=place)

    def _beside_others(self, session: str, view: View, base: Base, is_first: bool) -> bytes | None:
        if not is_first and view.standing.embed_changed <= base.position:
            return None
        framed = self.one(session, view)
        html = self.parts.renderer.framed(self.lang, framed)
        return sse(self.parts.renderer.frame([Partial(f"#framed-{framed.head.key}", "outerMorph", html)]))

    def _last_rows(self, session: str, shown: tuple[Row, ...], count: int, base: int) -> Iterator[Partial]:
        """New ones at the end, and as many taken away above; all of them for who has none of those that stand."""
        fresh = [row for row in shown if row.position > base]
        if len(fresh) == len(shown):
            html = self.parts.renderer.last_rows(self.lang, [self._row(session, row) for row in shown])
            yield Partial("#rows", "outerMorph", html)
            return
        for row in shown:
            if row.position <= base < row.changed:
                yield Partial(f"#row-{row.position}", "outerMorph", self._row(session, row))
        if fresh:
            yield Partial(f"#rows > :nth-last-child(n + {count - len(fresh) + 1})", "delete", "")
            yield Partial("#rows", "beforeend", "".join(self._row(session, row) for row in fresh))

    def _row(self, session: str, row: Row) -> str:
        return self.parts.renderer.cached_row(session, row, self.lang)
