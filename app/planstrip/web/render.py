"""Turns contexts into HTML: the only caller of Jinja. A push and a page are made from the very same partials."""

from collections.abc import MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from planstrip.bidi import undirected
from planstrip.lately import Lately
from planstrip.masks import NO_MASKS, Masks
from planstrip.paths import templates_dir
from planstrip.plan.children import Family
from planstrip.plan.revisions import Revision
from planstrip.plan.rows import Row, Turn, Window
from planstrip.plan.tools import is_delegating
from planstrip.web import kinship, labels, ledger_labels
from planstrip.web.assets import Assets
from planstrip.web.board_contexts import BoardList, BoardRow
from planstrip.web.contexts import Frame, Head, Partial, RowContext, TurnContext
from planstrip.web.kin_contexts import Hint
from planstrip.web.languages import HTML_TAGS, choices, direction, translations
from planstrip.web.marked import marked
from planstrip.web.past_contexts import PlanList
from planstrip.web.places import ASK_MS
from planstrip.web.strip_contexts import Retired, Strip, UnlistedSection

if TYPE_CHECKING:
    from jinja2 import Environment

    from planstrip.web.drawing import Drawing
    from planstrip.web.embed_contexts import Framed

THEMES: Final = ("light", "dark", "auto")
MAX_CACHED_CHARS: Final = 16 * 1024 * 1024
MAX_REGIONS_CHARS: Final = 12 * 1024 * 1024  # of 500 sessions that are watched
# A parser turns CR into LF and drops NUL: the one is written as a reference, the other as its picture.
UNPARSEABLE: Final = str.maketrans({"\r": "&#13;", "\0": "\u2400"})

NO_FAMILY: Final = Family()

RowKey: TypeAlias = tuple[str, int, int | None, bool, str]


class Renderer:
    """`root` is the prefix that the app is mounted below, without a slash at its end.

    `regions`: by session, language and place of the viewers who were sent it, the HTML of each region of a page.
    """

    def __init__(self, assets: Assets, root: str = "", masks: Masks = NO_MASKS) -> None:
        self.assets = assets
        self.is_masked = bool(masks)
        self.root = root
        self._environments: dict[str, Environment] = {}
        self.regions = Lately[tuple[str, str, tuple[int, int]], dict[str, str]](MAX_REGIONS_CHARS)
        self._rows = Lately[RowKey, str](MAX_CACHED_CHARS)

    def page(self, name: str, lang: str, context: object) -> str:
        """A whole document: `session/show.html`, `board.html` … with the context that its template names."""
        return self._render(name, lang, page=context)

    def frame_context(
        self, lang: str, theme: str, root: str, path_with_query: str, home_url: str | None = None
    ) -> Frame:
        """An unknown theme is `auto`; the language links keep the rest of the query."""
        return Frame(
            lang=HTML_TAGS[lang],
            direction=direction(lang),
            theme=theme if theme in THEMES else "auto",
            root=root,
            css_url=self.assets.css_url,
            js_url=self.assets.js_url,
            favicon_url=self.assets.favicon_url,
            home_url=home_url,
            languages=choices(lang, path_with_query),
        )

    def strip(self, lang: str, strip: Strip | None) -> str:
        return self._render("session/_strip.html", lang, strip=strip)

    def retired(self, lang: str, retired: Retired | None) -> str:
        return self._render("session/_retired.html", lang, retired=retired)

    def plans(self, lang: str, plans: PlanList) -> str:
        return self._render("session/_plans.html", lang, plans=plans)

    def head(self, lang: str, head: Head) -> str:
        return self._render("session/_head.html", lang, head=head)

    def hint(self, lang: str, hint: Hint | None) -> str:
        return self._render("session/_hint.html", lang, hint=hint)

    def children(self, lang: str, family: Family) -> str:
        children = kinship.children(family, self.root, lang, translations(lang))
        return self._render("session/_children.html", lang, children=children)

    def row_children(self, lang: str, position: int, family: Family) -> str:
        """What stands below a delegating row, and changes without it."""
        lines = kinship.lines(family.of(position), self.root, lang, translations(lang))
        return self._render("rows/_children.html", lang, position=position, lines=lines)

    def timeline(self, lang: str, timeline: "Drawing | None") -> str:
        return self._render("session/_timeline.html", lang, timeline=timeline)

    def older(self, lang: str, older_url: str | None) -> str:
        return self._render("session/_older.html", lang, older_url=older_url)

    def turns(self, lang: str, turns: Sequence[TurnContext]) -> str:
        return self._render("session/_turns.html", lang, turns=turns)

    def turn(self, lang: str, turn: TurnContext) -> str:
        return self._render("session/_turn.html", lang, turn=turn)

    def turn_label(self, lang: str, turn: TurnContext) -> str:
        return self._render("session/_turn_label.html", lang, turn=turn)

    def last_rows(self, lang: str, rows: Sequence[str]) -> str:
        """Of rows that are HTML already, those of a frame."""
        return self._render("embed/_rows.html", lang, rows=rows)

    def framed(self, lang: str, framed: "Framed") -> str:
        return self._render("embed/_framed.html", lang, framed=framed)

    def row(self, lang: str, row: RowContext) -> str:
        return self._render("rows/_row.html", lang, row=row)

    def cached_row(self, session: str, row: Row, lang: str) -> str:
        """A row's HTML, made once: a row changes only at an event, which `changed` names."""
        key = (session, row.position, row.changed, row.is_rewound, lang)
        html = self._rows.get(key)
        if html is None:
            html = self.row(lang, labels.row(row, translations(lang)))
            self._rows.put(key, html, len(html))
        return html

    def unlisted(self, lang: str, section: UnlistedSection | None) -> str:
        return self._render("session/_unlisted_alone.html", lang, unlisted=section)

    def revisions(self, lang: str, revisions: Sequence[str]) -> str:
        return self._render("session/_revisions.html", lang, revisions=revisions)

    def older_revisions(self, lang: str, url: str | None) -> str:
        return self._render("session/_revisions_older.html", lang, older_revisions_url=url)

    def cached_revisions(self, session: str, window: Window, lang: str, after: int = 0) -> list[str]:
        """The HTML of the revisions after a position, oldest first, each made once."""
        rows = {row.revision.position: row.position for row in (*window.rows, *window.late) if row.revision}
        shown = [revision for revision in window.revisions if revision.is_shown and revision.position > after]
        return [self._cached_revision(session, revision, rows.get(revision.position), lang) for revision in shown]

    def _cached_revision(self, session: str, revision: Revision, row: int | None, lang: str) -> str:
        key = (session, -revision.position, row, False, lang)  # a row's position is never negative
        html = self._rows.get(key)
        if html is None:
            context = ledger_labels.revision(revision, row, translations(lang))
            html = self._render("session/_revision.html", lang, revision=context)
            self._rows.put(key, html, len(html))
        return html

    def whole_row(self, session: str, row: Row, lang: str, family: Family) -> str:
        """The row and the agents that it began: cached apart, since their plans move while the row stands still."""
        html = self.cached_row(session, row, lang)
        return html + self.row_children(lang, row.position, family) if is_delegating(row.call) else html

    def turn_context(self, session: str, turn: Turn, lang: str, family: Family = NO_FAMILY) -> TurnContext:
        """A turn whose rows come out of the cache."""
        return labels.turn(turn, translations(lang), lambda row: self.whole_row(session, row, lang, family))

    def board_list(self, lang: str, shown: BoardList) -> str:
        return self._render("board/_list.html", lang, shown=shown)

    def board_row(self, lang: str, row: BoardRow) -> str:
        return self._render("board/_row.html", lang, row=row)

    def board_filters(self, lang: str, shown: BoardList) -> str:
        return self._render("board/_filters.html", lang, shown=shown)

    def frame(self, partials: Sequence[Partial]) -> str:
        """One push: htmx puts each partial where it says. Its HTML is what this renderer made, and goes in as it is."""
        return self._render("_frame.html", "en", partials=partials)

    def _render(self, name: str, lang: str, **context: object) -> str:
        html = self._environment(lang).get_template(name).render(context)
        if "\r" in html or "\0" in html:
            html = html.translate(UNPARSEABLE)
        if self.is_masked and "[masked: " in html:
            html = marked(html, translations(lang))
        return _encodable(html)

    def _environment(self, lang: str) -> "Environment":
        if lang not in self._environments:
            self._environments[lang] = self._make_environment(lang)
        return self._environments[lang]

    def _make_environment(self, lang: str) -> "Environment":
        from jinja2 import Environment, FileSystemLoader, StrictUndefined  # 60 ms that no start waits for
        from markupsafe import Markup

        class Quick(Environment):
            """Each rendering copies a template's globals, and a chain of maps is copied name by name."""

            def make_globals(self, d: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
                return {**self.globals, **(d or {})}

        environment = Quick(
            loader=FileSystemLoader(templates_dir()),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
            extensions=["jinja2.ext.i18n"],
        )
        extension: Any = environment
        extension.install_gettext_translations(translations(lang), newstyle=True)

        def row_html(row: RowContext | str) -> Markup:
            return Markup(row if isinstance(row, str) else self.row(lang, row))  # noqa: S704  (our own rendering)

        environment.filters["undirected"] = undirected
        environment.globals.update(row_html=row_html, ready_html=Markup, root=self.root, ask_s=ASK_MS // 1_000)
        return environment


def _encodable(html: str) -> str:
    """Arguments that a model escaped may parse to half of a surrogate pair, which no page can be sent with."""
    try:
        html.encode()
    except UnicodeEncodeError:
        return html.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return html
