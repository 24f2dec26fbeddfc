"""What a reader is told of the ledger: on the page, beside a row, under the plan, and live (spec.md §9)."""

import re

import pytest

from planstrip.events import Todo
from planstrip.plan.ledger import compare
from planstrip.plan.revisions import MAX_REVISIONS, Revision
from planstrip.web.languages import translations
from planstrip.web.ledger_labels import changes, dropped, revision
from tests.running import Panel, new_session, todos

EN, ZH = translations("en"), translations("zh")


def lines(before: str, after: str) -> list[str]:
    old, new = (tuple(Todo(**todo) for todo in todos(text)) for text in (before, after))  # type: ignore[arg-type]
    return [f"{line.mark} {line.word}: {line.text}" for line in changes(compare(old, new), EN)]


def page(panel: Panel, session: str, query: str = "") -> str:
    return panel.client.get(f"/sessions/{session}{query}").text


def revisions(html: str) -> list[str]:
    """What the list tells, without its markup, the newest first."""
    found = re.findall(r'<li class="revision".*?</div>\s*</li>', html, re.DOTALL)
    return [" ".join(re.sub(r"<time.*?</time>|<[^>]+>", " ", one).split()) for one in found]


# Texts


def test_each_change_has_its_mark_and_a_word_and_what_was_dropped_comes_first() -> None:
    assert lines("a=p b=i c=c d=p", "a=i b=c c=p e=p") == [
        "− Dropped while open: d",
        "✓ Completed: b",
        "→ Started: a",
        "↺ Reopened: c",
        "+ Added: e",
    ]
    assert lines("a=i b=p", "b=p a=p") == ["‖ Paused: a", "↕ Moved: a"]


def test_many_of_a_kind_are_one_line_but_for_what_was_dropped() -> None:
    assert lines("", "a=p b=p c=p") == ["+ Added: a", "+ Added: b", "+ Added: c"]
    assert lines("", "a=p b=p c=p d=p e=p") == ["+ Added: 5 tasks"]
    assert lines("a=p b=p c=p d=p e=p", "")[3:] == ["− Dropped while open: d", "− Dropped while open: e"]
    many = " ".join(f"{n}=p" for n in range(22))
    assert lines(many, "")[19:] == ["− Dropped while open: 19", "− Dropped while open: 2 more tasks"]


def test_what_is_added_under_way_or_done_says_so_beside_the_others() -> None:
    assert lines("a=p", "a=p b=i c=c d=p e=i") == [
        "+→ Added and started: b",
        "+→ Added and started: e",
        "+✓ Added, completed: c",
        "+ Added: d",
    ]
    assert lines("", "a=i b=i c=i d=i e=p") == ["+→ Added and started: 4 tasks", "+ Added: e"]


def test_what_had_been_dropped_is_told_as_returned_on_the_page_and_live(shared_panel: Panel) -> None:
    session = new_session()
    for text in ("a=i b=p c=p d=p", "a=i d=p"):
        answer = shared_panel.write(session, todos(text)).json()
    with shared_panel.stream(f"/sessions/{session}/stream?after={answer['position'] + 1}") as stream:
        stream.next()
        position = shared_panel.write(session, todos("a=i B=i c=p d=p x=p")).json()["position"]
        told = ["↶→ Returned and started: B ↶ Returned: c + Added: x"]
        frame = stream.next().data
    html = page(shared_panel, session)
    assert revisions(frame) == revisions(html)[-1:] == told
    row = f'id="row-{position - 1}"'
    assert "Returned and started" in frame[frame.index(row) :].split("</details>")[0]
    assert "Returned and started" in html[html.index(row) :].split("</details>")[0]
    assert revisions(page(shared_panel, session, f"?at={position}"))[-1:] == told
    rows = shared_panel.client.get(f"/sessions/{session}/rows?before={position + 5}").text
    assert "Returned and started" in rows[rows.index(row) :].split("</details>")[0]
    shared_panel.write(session, todos("a=i d=p x=p"))
    shared_panel.client.post(f"/api/sessions/{session}/dismiss", json={"content": "c"})
    shared_panel.write(session, todos("a=i d=p x=p c=p B=c"))
    assert revisions(page(shared_panel, session))[-1] == "+ Added: c ↶✓ Returned, completed: B"  # c was dismissed


def test_a_rename_keeps_the_earlier_text() -> None:
    (line,) = changes(compare([Todo("fix it", "pending")], [Todo("Fix it.", "pending")]), EN)
    assert (line.was, line.text) == ("fix it", "Fix it.")


def test_what_a_row_says_of_dropped_to_dos() -> None:
    """R037."""
    difference = compare([Todo("a", "pending"), Todo("b", "completed"), Todo("c", "in_progress")], [])
    assert dropped(difference, EN) == "2 dropped"
    assert dropped(difference, ZH) == "2 项未完成被移除"
    assert dropped((), EN) is None


@pytest.mark.parametrize(
    ("cause", "note", "told"),
    [("write", None, 1), ("rewind", "Rewound to an earlier list", 1), ("retire", "Plan retired", 0)],
)
def test_what_a_person_did_is_told_as_such(cause: str, note: str | None, told: int) -> None:
    before = (Todo("a", "pending"),)
    context = revision(Revision(1, 0, cause, before, (), by="ann"), None, EN)  # type: ignore[arg-type]
    assert (context.note, context.by, len(context.changes)) == (note, "ann", told)


# On the page


def test_a_page_lists_the_revisions_newest_last_and_leads_to_their_rows(shared_panel: Panel) -> None:
    session = new_session()
    for text in ("a=i b=p c=p d=p", "a=c b=i c=p d=p", "a=c b=i c=p d=p", "a=c b=i c=p"):
        shared_panel.write(session, todos(text))
    html = page(shared_panel, session)
    assert revisions(html) == [
        "+→ Added and started: a + Added: b + Added: c + Added: d",
        "✓ Completed: a → Started: b",  # the third write changed nothing (reports.md R046)
        "− Dropped while open: d",
    ]
    assert re.findall(r'class="revision-time" href="#row-(\d+)"', html) == ["1", "4", "10"]
    assert html.count('data-field="dropped">1 dropped<') == 1
    assert "未完成即被移除: d" in revisions(page(shared_panel, session, "?lang=zh"))[-1]


def test_a_write_without_a_row_has_no_link(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.append(session, {"type": "todo/write", "data": {"todos": todos("a=i")}})
    html = page(shared_panel, session)
    assert revisions(html) == ["+→ Added and started: a"]
    assert 'href="#row-' not in html


def test_dropped_to_dos_are_listed_under_the_plan_and_alone_where_none_stands(shared_panel: Panel) -> None:
    """R037, R039."""
    session = new_session()
    shared_panel.write(session, todos("a=i b=p c=p"))
    shared_panel.write(session, todos("a=c"))
    html = page(shared_panel, session)
    strip = html[html.index('id="strip"') : html.index('id="unlisted"')]
    assert "2 unfinished items no longer listed" in strip
    assert strip.count("data-unlisted") == 2
    assert strip.count("data-status") == strip.count('data-field="content"') == 1
    assert '<div id="unlisted" class="unlisted-alone"></div>' in html
    shared_panel.write(session, [])
    html = page(shared_panel, session)
    assert 'data-testid="plan-strip"' not in html
    assert html[html.index('id="unlisted"') :].count("data-unlisted") == 2


def test_a_frame_in_another_page_lists_them_without_a_button(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=i b=p"))
    shared_panel.write(session, todos("a=c"))
    html = shared_panel.client.get(f"/embed/{session}").text
    assert "1 unfinished item no longer listed" in html
    assert "<form" not in html
    with shared_panel.stream(f"/embed/{session}/stream") as stream:
        frame = stream.next().data
        assert "1 unfinished item no longer listed" in frame
        assert "<form" not in frame


@pytest.mark.parametrize("text", ["<b>x</b>", "a\r\nb\0c", '"><img src=x>', "\u202eevil"])
def test_hostile_texts_are_told_and_dismissed_as_text(shared_panel: Panel, text: str) -> None:
    session = new_session()
    shared_panel.write(session, [{"content": text, "status": "pending"}, *todos("z=p")])
    shared_panel.write(session, todos("z=p"))
    html = page(shared_panel, session)
    assert "<img" not in html
    assert "<b>" not in html
    (key,) = re.findall(r'name="item" value="(\w+)"', html)
    shared_panel.client.post(f"/sessions/{session}/dismiss", data={"item": key})
    assert shared_panel.events(session)[-1]["data"] == {"content": text, "by": "page"}


# Live


def test_a_write_pushes_its_own_revision_and_nothing_for_an_equal_list(shared_panel: Panel) -> None:
    """R046."""
    session = new_session()
    position = shared_panel.write(session, todos("a=i b=p")).json()["position"] + 1
    with shared_panel.stream(f"/sessions/{session}/stream?after={position}") as stream:
        assert "revision" not in stream.next().data
        shared_panel.write(session, todos("a=c"))
        frame = stream.next().data
        assert revisions(frame) == ["− Dropped while open: b ✓ Completed: a"]
        assert '<hx-partial hx-target="#revisions" hx-swap="beforeend">' in frame
        shared_panel.write(session, todos("a=c"))
        assert "revision" not in stream.next().data


def test_a_page_that_waited_or_fell_far_behind_gets_the_list_whole(shared_panel: Panel) -> None:
    session = new_session()
    with shared_panel.stream(f"/sessions/{session}/stream") as stream:
        stream.next()
        shared_panel.write(session, todos("a=i"))
        assert '<hx-partial hx-target="#revisions" hx-swap="outerMorph">' in stream.next().data
    for number in range(MAX_REVISIONS + 1):
        shared_panel.write(session, todos(f"t{number}=c"))
    with shared_panel.stream(f"/sessions/{session}/stream?after=3") as stream:
        frame = stream.next().data
    assert '<hx-partial hx-target="#revisions" hx-swap="outerMorph">' in frame
    assert revisions(frame) == revisions(page(shared_panel, session))
    assert len(revisions(frame)) == MAX_REVISIONS


def test_a_dismissal_pushes_the_strip(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=i b=p"))
    shared_panel.write(session, todos("a=c"))
    with shared_panel.stream(f"/sessions/{session}/stream") as stream:
        assert "data-unlisted" in stream.next().data
        shared_panel.client.post(f"/api/sessions/{session}/dismiss", json={"content": "b"})
        frame = stream.next().data
    assert 'hx-target="#strip"' in frame
    assert "data-unlisted" not in frame
