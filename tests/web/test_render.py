"""Agents' text comes out as text, fields stay apart, and a push is made of the page's own partials."""

import json
from html.parser import HTMLParser

import pytest

from planstrip.events import Entry, Event, Todo, TodoWrite, ToolCall, ToolResult, TurnStart
from planstrip.plan.rows import Row
from planstrip.plan.view import View, advance
from planstrip.web import drawing, hints, kinship, labels, strip_labels
from planstrip.web.assets import Assets
from planstrip.web.board import Board
from planstrip.web.board_contexts import BoardPage
from planstrip.web.board_labels import board_list
from planstrip.web.contexts import ErrorPage, Partial, SignInPage
from planstrip.web.embed_contexts import EmbedPage, Framed, SeveralPage
from planstrip.web.languages import translations
from planstrip.web.past_contexts import PlanList
from planstrip.web.render import Renderer
from planstrip.web.session_contexts import SessionPage

HOSTILE = "</bdi><script>alert(1)</script> \"'&amp; \u202egnp.exe \x1b[31m\nline\r\nend <hx-partial hx-target=#head>"
CONTENTS = ("梳理需求", "实现 fixture 样本", "跑后台构建", "浏览器验收")


@pytest.fixture(scope="module")
def renderer() -> Renderer:
    return Renderer(Assets())


class Fields(HTMLParser):
    """The text of each [data-field], and every start tag."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[tuple[str, str]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._open: str | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.tags.append((tag, attributes))
        if "data-field" in attributes:
            self._open = tag
            self.texts.append((attributes["data-field"] or "", ""))

    def handle_data(self, data: str) -> None:
        if self._open:
            name, text = self.texts[-1]
            self.texts[-1] = name, text + data

    def handle_endtag(self, tag: str) -> None:
        if tag == self._open:
            self._open = None


def view(contents: tuple[str, ...] = CONTENTS) -> View:
    statuses = ("completed", "in_progress", "in_progress", "pending")
    raw = json.dumps({"todos": [{"content": c, "status": s} for c, s in zip(contents, statuses, strict=True)]})
    todos = (
        Todo(contents[0], "completed"),
        Todo(contents[1], "in_progress"),
        Todo(contents[2], "in_progress"),
        Todo(contents[3], "pending"),
    )
    events: list[Event] = [
        TurnStart(1, "Go"),
        ToolCall("c", "todo_write", raw),
        TodoWrite(todos, "c"),
        ToolResult("c", False, "Updated"),
    ]
    return advance(View(), [Entry(position, 0, event) for position, event in enumerate(events, 1)])


def session_page(renderer: Renderer, shown: View, lang: str = "en", *, exists: bool = True) -> str:
    tr = translations(lang)
    page = SessionPage(
        frame=renderer.frame_context(lang, "auto", "/plans", "/sessions/s?lang=en"),
        session="s",
        exists=exists,
        head=labels.head("s", shown.standing, tr, 0),
        strip=strip_labels.strip(shown, tr),
        unlisted=strip_labels.unlisted_alone(shown.standing, None, tr),
        retired=None,
        timeline=drawing.draw(shown.timeline, tr),
        revisions=renderer.cached_revisions("s", shown.window, lang),
        older_revisions_url=None,
        plans=PlanList(),
        hint=hints.hint(shown, tr),
        children=kinship.children(shown.family, "/plans", lang, tr),
        turns=[renderer.turn_context("s", turn, lang) for turn in shown.window.turns],
        older_url=None,
        stream_url="/plans/sessions/s/stream?after=4",
        position=shown.changed,
    )
    return renderer.page("session/show.html", lang, page)


def test_the_parallel_plan_is_told_in_separate_fields(renderer: Renderer) -> None:
    strip = strip_labels.strip(view(), translations("en"))
    fields = Fields(renderer.strip("en", strip)).texts
    assert fields == [
        ("title", "To-dos"),
        ("header", "1 completed\u2002·\u20022 in progress\u2002·\u20021 pending"),
        ("turn", "turn running"),
        *[("content", content) for content in CONTENTS],
    ]
    row = Fields(renderer.cached_row("s", view().window.rows[0], "en")).texts
    assert row == [("title", "Update to-do list"), ("summary", "1/4 completed · 实现 fixture 样本"), ("suffix", "+1")]


def test_the_suffix_is_absent_when_there_is_none(renderer: Renderer) -> None:
    html = renderer.row("en", labels.row(Row(1, 1, 0, ToolCall("c", "bash", "{}")), translations("en")))
    assert "suffix" not in html


def test_without_a_plan_the_strip_is_an_empty_wrapper(renderer: Renderer) -> None:
    assert renderer.strip("en", None).strip() == '<div id="strip" class="strip-region"></div>'


def test_hostile_text_is_shown_as_text(renderer: Renderer) -> None:
    contents = (HOSTILE + "1", HOSTILE + "2", "\x00nul", "d")
    html = session_page(renderer, view(contents))
    parsed = Fields(html)
    shown = [text for name, text in parsed.texts if name == "content"]
    assert shown == [HOSTILE + "1", HOSTILE + "2", "\u2400nul", "d"]
    assert [tag for tag, _ in parsed.tags].count("script") == 1  # our own, in the head
    assert not {"\r", "\0"} & set(html)
    assert "<hx-partial" not in html


def test_no_page_carries_a_style_attribute_a_handler_or_an_inline_script(renderer: Renderer) -> None:
    parsed = Fields(session_page(renderer, view()))
    for tag, attributes in parsed.tags:
        assert not [name for name in attributes if name == "style" or name.startswith("on")], tag
        assert tag != "script" or attributes.get("src")


def test_ids_are_unique_and_made_of_our_positions(renderer: Renderer) -> None:
    ids = [attributes["id"] for _, attributes in Fields(session_page(renderer, view())).tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {"live", "head", "strip", "turns", "turn-1", "turn-1-label", "turn-1-rows", "row-2"} <= set(ids)


def test_a_push_is_the_pages_own_partial(renderer: Renderer) -> None:
    shown, tr = view(), translations("zh")
    page = session_page(renderer, shown, "zh")
    turn = renderer.turn_context("s", shown.window.turns[0], "zh")
    assert renderer.strip("zh", strip_labels.strip(shown, tr)).split("#}")[-1].strip() in page
    assert renderer.head("zh", labels.head("s", shown.standing, tr, 0)).strip() in page
    assert renderer.turns("zh", [turn]).strip() in page
    assert renderer.turn("zh", turn).strip() in page
    assert renderer.turn_label("zh", turn).strip() in page
    assert renderer.turn("zh", labels.turn(shown.window.turns[0], tr)) == renderer.turn("zh", turn)


def test_a_frame_is_a_run_of_partials(renderer: Renderer) -> None:
    html = renderer.frame([Partial("#strip", "outerMorph", "<p>a</p>"), Partial("#row-2", "outerMorph", "<i>b</i>")])
    assert html.split("\n")[:2] == [
        '<hx-partial hx-target="#strip" hx-swap="outerMorph"><p>a</p></hx-partial>',
        '<hx-partial hx-target="#row-2" hx-swap="outerMorph"><i>b</i></hx-partial>',
    ]


def test_a_row_is_rendered_once_and_again_when_it_changed(renderer: Renderer) -> None:
    row = Row(90, 90, 0, ToolCall("c", "bash", "{}"))
    first = renderer.cached_row("once", row, "en")
    assert renderer.cached_row("once", row, "en") is first
    assert renderer.cached_row("other", row, "en") is not first
    done = Row(90, 91, 0, row.call, ToolResult("c", False, "fine"), "ok")
    assert "fine" in renderer.cached_row("once", done, "en")


def test_older_rows_can_be_asked_for_only_when_there_are_some(renderer: Renderer) -> None:
    assert renderer.older("en", None).strip() == '<div id="older" class="older"></div>'
    assert 'hx-get="/s/rows?before=9&amp;lang=en"' in renderer.older("en", "/s/rows?before=9&lang=en")


def test_a_session_that_does_not_exist_yet_is_waited_for(renderer: Renderer) -> None:
    html = session_page(renderer, View(), exists=False)
    assert 'data-position="0"' in html
    assert "Waiting for this session" in html
    assert "Waiting for this session" not in session_page(renderer, view())


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_other_page_renders(renderer: Renderer, lang: str) -> None:
    frame = renderer.frame_context(lang, "dark", "", "/?q=a")
    head = labels.head("s", View().standing, translations(lang), 0)
    embed = EmbedPage(frame, "s", True, head, None, "/embed/s/stream", 0)
    several = SeveralPage(frame, "1 session", [Framed("s", True, head, None, 0)], "/embed/sessions/streams", "regular")
    pages = {
        "board.html": BoardPage(frame, board_list(Board(), "", {}, translations(lang)), "<b>x</b>", {}, "/stream"),
        "embed/show.html": embed,
        "embed/several.html": several,
        "sign_in.html": SignInPage(frame, "/", True),
        "error.html": ErrorPage(frame, 404, "Not found", "<b>x</b>"),
    }
    for name, page in pages.items():
        html = renderer.page(name, lang, page)
        assert f'<html lang="{frame.lang}" data-theme="dark"' in html
        assert "<b>x</b>" not in html


def test_half_of_a_surrogate_pair_in_what_a_model_escaped_breaks_no_page(renderer: Renderer) -> None:
    call = ToolCall("a", "todo_write", r'{"todos": [{"content": "\ud800x", "status": "in_progress"}]}')
    html = renderer.cached_row("s", Row(1, 1, 0, call), "en")
    assert "\ufffdx" in html
    html.encode()
