"""The pages: the board, a session, an embedded strip (spec.md §10, §6, §5)."""

import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.counts import joined
from tests.running import Panel, Stream, new_session, running, todos

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 1337*1337 }}{% if %}",
    "\u202egnp.exe",
    "\x1b[31mred\x1b[0m",
    "a\nb\r\nc",
    "\x00nul",
    "x" * 5_000,
    "&lt;&amp;",
    "</bdi></details>",
]


class Parsed(HTMLParser):
    """What a page refers to, its elements and its inline code."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inline = ""
        self._is_script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.tags.append((tag, named))
        wanted = ("href", "src", "action", "formaction", "poster", "data")
        self.addresses += [
            value or "" for name, value in attrs if name in wanted or (name.startswith("hx-") and "/" in (value or ""))
        ]
        self._is_script = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._is_script = False

    def handle_data(self, data: str) -> None:
        if self._is_script:
            self.inline += data

    def has(self, **attributes: str) -> bool:
        return any(all(named.get(name) == value for name, value in attributes.items()) for _, named in self.tags)


def get(panel: Panel, path: str, **headers: str) -> str:
    answer = panel.client.get(path, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return answer.text


PAGES = ("/", "/sessions/{}", "/embed/{}", "/docs", "/sign-in", "/sessions/later-{}", "/embed/later-{}")


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_page_asks_no_other_host_and_has_no_inline_code(shared_panel: Panel, path: str, lang: str) -> None:
    """R138."""
    session = new_session()
    shared_panel.append(session, {"type": "turn/start", "data": {"turn": 1}})
    shared_panel.write(session, todos("a=c b=i c=i d=p"))
    parsed = Parsed(get(shared_panel, path.format(session) + f"?lang={lang}"))
    assert all(re.match(r"[/?#]|data:image/", address) and not address.startswith("//") for address in parsed.addresses)
    assert parsed.inline.strip() == ""
    for _, attributes in parsed.tags:
        assert "style" not in attributes
        assert not any(name.startswith("on") for name in attributes)
    assert parsed.has(lang=lang) or parsed.has(lang=f"{lang}-CN") or parsed.has(lang="zh-Hans")


@pytest.mark.parametrize("path", ["/sessions/{}", "/embed/{}"])
def test_a_page_of_a_session_that_does_not_exist_yet_waits_for_it(shared_panel: Panel, path: str) -> None:
    """R035."""
    session = new_session()
    text = get(shared_panel, path.format(session))
    assert "wait" in text.lower()
    assert 'data-testid="plan-strip"' not in text
    assert 'data-position="0"' in text
    assert shared_panel.client.get(f"/api/sessions/{session}/plan").status_code == 404  # it was not made by looking


@pytest.mark.parametrize("path", ["/sessions/{}", "/embed/{}"])
def test_a_page_shows_the_strip_and_its_position(shared_panel: Panel, path: str) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=c b=i c=i d=p"))
    text = get(shared_panel, path.format(session))
    parsed = Parsed(text)
    assert ("details", "plan-strip") in [(tag, named.get("data-testid")) for tag, named in parsed.tags]
    assert "1 completed\u2002·\u20022 in progress\u2002·\u20021 pending" in joined(text)
    statuses = [named["data-status"] for _, named in parsed.tags if "data-status" in named]
    assert statuses == ["completed", "in_progress", "in_progress", "pending"]
    assert re.search(r'data-position="[23]"', text)
    assert parsed.has(**{"data-live": "live"}) or "data-live" in text


def test_a_link_to_a_session_has_a_preview_with_its_counts(shared_panel: Panel) -> None:
    session, title = new_session(), '"><script>alert(1)</script> exe.'
    shared_panel.append(session, {"type": "session/title", "data": {"title": f"{title}\u202egnp"}})
    assert Parsed(get(shared_panel, f"/sessions/{session}")).has(property="og:description", content="no plan")
    shared_panel.write(session, todos("a=c b=i"))
    preview = Parsed(get(shared_panel, f"/sessions/{session}"))
    assert preview.has(property="og:title", content=f"{title}gnp")
    assert preview.has(property="og:description", content="1 completed\u2002·\u20021 in progress")
    past = Parsed(get(shared_panel, f"/sessions/{session}?at=1&lang=zh"))
    assert past.has(property="og:description", content="没有计划")
    long = {"type": "session/title", "data": {"title": f"One\n\ttwo {'x' * 10_000}"}}
    shared_panel.append(session, long)
    told = get(shared_panel, f"/sessions/{session}")
    (cut,) = (named["content"] or "" for _, named in Parsed(told).tags if named.get("property") == "og:title")
    assert (cut[:10], cut[-2:], len(cut)) == ("One two xx", "x…", 200)
    assert f"{cut} · planstrip</title>" in told


@pytest.mark.parametrize("lang", ["en", "ar"])
def test_no_text_of_others_leaves_the_isolate_that_a_sentence_puts_around_it(shared_panel: Panel, lang: str) -> None:
    """In tooltips, and in what assistive technology is told."""
    session, evil = new_session(), "a\u2069b\u202ec\u2067"
    shared_panel.append(session, {"type": "session/start", "data": {"agent": evil, "title": evil}})
    shared_panel.append(session, {"type": "turn/start", "data": {"turn": 1, "prompt": evil}})
    shared_panel.write(session, [{"content": evil, "status": "in_progress"}, {"content": "b", "status": "pending"}])
    shared_panel.append(session, {"type": "turn/wait", "data": {"turn": 1, "for": evil}})
    quoted = quote(evil)
    for path in (f"/sessions/{session}", f"/embed?session={session}", f"/nowhere/{quoted}", f"/sessions/x?at={quoted}"):
        asked = f"{path}{'&' if '?' in path else '?'}lang={lang}"
        text = shared_panel.client.get(asked, headers={"accept": "text/html"}).text
        for said in (*re.findall(r'="([^"]*\u2068[^"]*)"', text), *re.findall(">([^<]*\u2068[^<]*)<", text)):
            assert said.count("\u2068") == said.count("\u2069"), said
            assert not re.search("[\u202a-\u202e\u2066\u2067]", said), said
        assert lang == "en" or "\u2068" in text


def test_a_head_is_answered_as_a_get_without_its_body(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    of = f"/api/sessions/{session}"
    pages = ("/", f"/sessions/{session}", f"/embed/{session}", "/openapi.json", "/healthz", "/metrics", "/api/sessions")
    for path in (*pages, f"{of}/plan", f"{of}/plan.md", f"{of}/plan.svg", f"{of}/events", f"{of}/stream"):
        head = shared_panel.client.head(path)
        assert (head.status_code, head.content) == (200, b""), path
        if not path.endswith("/stream"):
            assert head.headers["content-type"] == shared_panel.client.get(path).headers["content-type"]
    assert "head" not in shared_panel.client.get("/openapi.json").json()["paths"]["/api/sessions/{session}/plan.svg"]


def test_without_a_plan_the_strip_is_absent(shared_panel: Panel) -> None:
    """R050, R057."""
    session = new_session()
    shared_panel.append(session, {"type": "session/title", "data": {"title": "t"}})
    for path in (f"/sessions/{session}", f"/embed/{session}"):
        text = get(shared_panel, path)
        assert "plan-strip" not in text
        assert "0/0" not in text


def test_a_row_shows_its_fields(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=c b=i c=i d=p"))
    parsed = Parsed(get(shared_panel, f"/sessions/{session}"))
    assert parsed.has(**{"data-tool": "todo_write", "data-state": "ok"})
    assert {"title", "summary", "suffix"} <= {named.get("data-field") for _, named in parsed.tags}


def field(text: str, name: str) -> str | None:
    """The text of a page's first field of a name."""
    found = re.search(rf'data-field="{name}"[^>]*>([^<]*)<', joined(text))
    return unescape(found[1]) if found else None


@pytest.mark.parametrize(
    ("written", "summary", "suffix", "header"),
    [
        ("s1=c s2=i s3=c s4=c s5=c s6=i", "4/6 completed · s2", "+1", "4 completed · 2 in progress"),  # R001
        (  # R002
            "t1=c t2=c t3=c t4=i t5=p t6=p t7=p t8=p",
            "3/8 completed · t4",
            None,
            "3 completed · 1 in progress · 4 pending",
        ),
        (  # R006
            " ".join(f"t{n}={'i' if n == 7 else 'c'}" for n in range(18)),
            "17/18 completed · t7",
            None,
            "17 completed · 1 in progress",
        ),
        ("a=i b=i c=i d=i", "0/4 completed · a", "+3", "4 in progress"),  # R025
        ("a=i b=i c=i", "0/3 completed · a", "+2", "3 in progress"),  # R028, R029
        ("a=p b=p c=p d=p", "0/4 completed", None, "4 pending"),  # R049
        ("a=c b=p", "1/2 completed", None, "1 completed · 1 pending"),  # R049
        ("a=p", "0/1 completed", None, "1 pending"),  # R049: a list of one is a plan
        (  # R099: twelve, three of them active beyond the fifth
            " ".join(f"t{n}={'i' if n in (6, 8, 11) else 'p'}" for n in range(12)),
            "0/12 completed · t6",
            "+2",
            "3 in progress · 9 pending",
        ),
    ],
)
def test_row_strip_list_and_api_tell_the_same_numbers(
    shared_panel: Panel, written: str, summary: str, suffix: str | None, header: str
) -> None:
    """R001, R002, R006, R025, R028, R029, R049, R099: the row counts what is completed, the strip every status."""
    session = new_session()
    counts = shared_panel.write(session, todos(written)).json()["counts"]
    text = get(shared_panel, f"/sessions/{session}")
    strip = text[text.index('id="strip"') : text.index('id="unlisted"')]
    assert (field(text, "summary"), field(text, "suffix")) == (summary, suffix)
    assert field(strip, "header") == header.replace(" · ", "\u2002·\u2002")
    listed = re.findall(r'data-status="(\w+)".*?data-field="content"[^>]*>([^<]*)<', strip, re.DOTALL)
    assert [{"content": content, "status": status} for status, content in listed] == todos(written)
    assert {status: [one for one, _ in listed].count(status) for status in counts} == counts
    assert summary.startswith(f"{counts['completed']}/{len(listed)} ")
    assert shared_panel.plan(session)["counts"] == counts


def test_the_plan_does_not_depend_on_what_a_page_shows(shared_panel: Panel) -> None:
    """R005, R044: its write is among the older rows, and another page was looked at in between."""
    session = new_session()
    call = {"call_id": "w", "name": "todo_write", "arguments": "{}"}
    write = {"type": "todo/write", "data": {"todos": todos("a=c b=i"), "call_id": "w"}}
    shared_panel.append(
        session, {"type": "turn/start", "data": {"turn": 1}}, {"type": "tool/call", "data": call}, write
    )
    later = [{"type": "tool/call", "data": {"call_id": f"{n}", "name": "bash", "arguments": ""}} for n in range(120)]
    shared_panel.append(session, *later)
    for path in (f"/sessions/{session}", "/", f"/sessions/{session}"):
        text = get(shared_panel, path)
        if path != "/":
            assert 'id="row-2"' not in text
            assert field(text, "header") == "1 completed\u2002·\u20021 in progress"


def test_a_write_that_failed_changes_nothing_and_its_list_is_in_its_row(shared_panel: Panel) -> None:
    """R013, R121: on the row stands why; what the model sent is kept in its IN."""
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    refused = json.dumps({"todos": todos("a=c")})
    shared_panel.append(
        session,
        {"type": "tool/call", "data": {"call_id": "x", "name": "todo_write", "arguments": refused}},
        {"type": "tool/result", "data": {"call_id": "x", "is_error": True, "text": "permission denied"}},
    )
    text = get(shared_panel, f"/sessions/{session}")
    row = text[text.index('id="row-4"') :]
    assert 'data-state="error"' in row
    assert field(row, "summary") == "permission denied"
    assert refused in unescape(row)
    assert field(text, "header") == "1 in progress"


@pytest.mark.parametrize("arguments", ["", "{}"])
def test_a_call_of_which_only_the_name_is_known_has_its_row(shared_panel: Panel, arguments: str) -> None:
    """R123."""
    session = new_session()
    shared_panel.append(
        session,
        {"type": "tool/call", "data": {"call_id": "x", "name": "todo_write", "arguments": arguments}},
        {"type": "tool/result", "data": {"call_id": "x", "is_error": False, "text": ""}},
        {"type": "tool/call", "data": {"call_id": "y", "name": "bash", "arguments": '{"command": "make"}'}},
    )
    text = get(shared_panel, f"/sessions/{session}")
    assert (field(text, "title"), field(text, "summary")) == ("todo_write", arguments)
    assert text.count("data-tool") == 2
    assert "plan-strip" not in text


def test_rows_are_history_and_one_place_shows_the_plan(shared_panel: Panel) -> None:
    """R007, R015, R060: settled rows with their times, still after the turn's end, also when it is opened anew."""
    session = new_session()
    shared_panel.append(session, {"type": "turn/start", "data": {"turn": 1}})
    for written in ("a=i b=p", "a=c b=i", "a=c b=c"):
        shared_panel.write(session, todos(written))
    shared_panel.append(session, {"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "completed"}}})
    parsed = Parsed(get(shared_panel, f"/sessions/{session}"))
    rows = [named for _, named in parsed.tags if "data-tool" in named]
    strips = [named for _, named in parsed.tags if named.get("data-testid") == "plan-strip"]
    assert [row["data-state"] for row in rows] == ["ok"] * 3
    assert sum(tag == "time" and named.get("class") == "when" for tag, named in parsed.tags) == 3
    (strip,) = strips
    assert "data-complete" in strip
    assert "data-moving" not in strip


def test_what_came_between_two_writes_stands_between_their_rows(shared_panel: Panel) -> None:
    """R159: the tool calls and their failures, in order; nothing is judged."""
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    for number, is_error in enumerate((False, True)):
        call = {"call_id": f"{number}", "name": "bash", "arguments": '{"command": "make test"}'}
        result = {"call_id": f"{number}", "is_error": is_error, "text": "2 tests failed"}
        shared_panel.append(session, {"type": "tool/call", "data": call}, {"type": "tool/result", "data": result})
    shared_panel.write(session, todos("a=c"))
    text = get(shared_panel, f"/sessions/{session}")
    rows = re.findall(r'data-tool="(\w+)" data-state="(\w+)"', text)
    assert rows == [("todo_write", "ok"), ("bash", "ok"), ("bash", "error"), ("todo_write", "ok")]
    assert 'data-change="completed"' in text[text.index('id="row-8"') :]


def test_two_long_texts_can_both_be_read_to_their_ends(shared_panel: Panel) -> None:
    """R098: by hover, by focus, and by assistive technology; only the style sheet shortens."""
    session, beginning = new_session(), "Refactor the authentication middleware so that session tokens are rotated on "
    texts = [(beginning + end).ljust(140, ".") for end in ("every login", "every logout")]
    shared_panel.write(session, [{"content": text, "status": "in_progress"} for text in texts])
    text = get(shared_panel, f"/sessions/{session}")
    strip = text[text.index('id="strip"') : text.index('id="unlisted"')]
    for content in texts:
        assert f'data-field="content" tabindex="0" title="{content}">{content}<' in strip
    assert f"0/2 completed · {texts[0]}" == field(text, "summary")


def test_two_lists_of_one_moment_both_stay_and_the_last_one_stands(shared_panel: Panel) -> None:
    """R032: of one turn and one call id, in one batch and at one time."""
    session, first, last = new_session(), todos("a=i b=p"), todos("a=c b=i")
    events = [{"type": "turn/start", "data": {"turn": 1}}]
    for listed in (first, last):
        arguments = json.dumps({"todos": listed})
        events += [
            {"type": "tool/call", "data": {"call_id": "c", "name": "todo_write", "arguments": arguments}},
            {"type": "todo/write", "data": {"todos": listed, "call_id": "c"}},
            {"type": "tool/result", "data": {"call_id": "c", "is_error": False, "text": ""}},
        ]
    shared_panel.append(session, *[event | {"time": 1_000} for event in events])
    assert [event["data"]["todos"] for event in shared_panel.events(session) if event["type"] == "todo/write"] == [
        first,
        last,
    ]
    assert shared_panel.plan(session)["todos"] == last
    text = get(shared_panel, f"/sessions/{session}")
    rows = text[text.index('id="turns"') :]
    assert rows.index("0/2 completed · a") < rows.index("1/2 completed · b")


def test_frames_of_equal_plans_say_whose_each_is(shared_panel: Panel) -> None:
    """R072: in the frame and in its tab."""
    for number in range(4):
        session = new_session()
        shared_panel.append(session, {"type": "session/title", "data": {"title": f"Project {number}"}})
        shared_panel.write(session, todos("a=i b=p"))
        text = get(shared_panel, f"/embed/{session}")
        assert field(text, "session") == f"Project {number}"
        assert re.search(rf"<title>[^<]*Project {number} · planstrip</title>", text)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text_everywhere(panel: Panel, text: str) -> None:
    start = {"agent": text, "title": text, "cwd": text}
    panel.append("a", {"type": "session/start", "data": start})
    panel.append("a", {"type": "turn/start", "data": {"turn": 1, "prompt": text}})
    panel.append("a", {"type": "tool/call", "data": {"call_id": text, "name": text, "arguments": text}})
    failed = {"call_id": text, "is_error": True, "text": text, "error": {"name": text, "code": text}}
    panel.append("a", {"type": "tool/result", "data": failed})
    panel.append("a", {"type": "turn/wait", "data": {"turn": 1, "for": text}})
    panel.write("a", [{"content": f"[{text}]", "status": "in_progress"}])
    panel.write("a", text)
    with panel.stream("/sessions/a/stream") as stream:
        frame = stream.next().data
    for shown in (get(panel, "/"), get(panel, "/sessions/a"), get(panel, "/embed/a"), frame):
        parsed = Parsed(shown)
        assert "<script>alert" not in shown
        assert not any(named.get("onerror") or named.get("src") == "x" for _, named in parsed.tags)
        assert "\x00" not in shown
        assert "1787569" not in re.sub(r'"[^"]*"', "", shown) or "1337*1337" in shown


@pytest.mark.parametrize("session", ["会话 一", "a?b#c&d", "<b>", "100%", "a\"b'c", "\u202eabc", "a+b"])
def test_an_awkward_id_leads_to_its_page_and_stream(panel: Panel, session: str) -> None:
    assert panel.client.post("/api/sessions", json={"id": session, "agent": "x"}).status_code == 201
    board = Parsed(get(panel, "/"))
    (address,) = [address for address in board.addresses if "/sessions/" in address]
    if session == "..":  # every client takes it for the folder above
        return
    page = get(panel, address)
    (stream,) = [address for address in Parsed(page).addresses if "/stream?" in address]
    with panel.stream(stream) as open_stream:
        assert open_stream.status == 200
        assert open_stream.next().id == "1"


def test_the_board_lists_filters_and_pages(panel: Panel) -> None:
    for number in range(55):
        data = {"agent": "codex", "title": f"title-{number}-", "cwd": f"/w/{number % 2}"}
        panel.append(f"s{number}", {"type": "session/start", "data": data, "time": number})
    first = get(panel, "/")
    assert "title-54-" in first
    assert "title-0-" not in first
    (following,) = [address for address in Parsed(first).addresses if "after=" in address]
    assert "title-0-" in get(panel, following)
    assert ">title-3-<" not in get(panel, "/?q=title-4-")
    assert ">title-4-<" in get(panel, "/?q=title-4-")
    assert ">title-4-<" not in get(panel, "/?cwd=/w/1&q=title-4-")
    assert panel.client.get("/?state=busy").status_code == 422
    assert panel.client.get("/?after=x", headers={"accept": "text/html"}).status_code == 422


def test_the_language_is_that_of_the_address_or_of_the_browser(shared_panel: Panel) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    for path in (f"/sessions/{session}", f"/embed/{session}"):
        assert "To-dos" in get(shared_panel, path)
        assert "任务" in get(shared_panel, path + "?lang=zh")
        assert "任务" in get(shared_panel, path, **{"accept-language": "zh-CN,zh;q=0.9,en;q=0.5"})
        assert "To-dos" in get(shared_panel, path + "?lang=en", **{"accept-language": "zh"})
        assert "To-dos" in get(shared_panel, path + "?lang=xx")


@pytest.mark.parametrize("theme", ["light", "dark", "auto", "no'ne\"<"])
def test_an_embed_takes_a_theme_and_a_language_and_whether_it_is_open(shared_panel: Panel, theme: str) -> None:
    session = new_session()
    shared_panel.write(session, todos("a=i"))
    parsed = Parsed(get(shared_panel, f"/embed/{session}?theme={theme}&open=1"))
    chosen = theme if theme in ("light", "dark") else "auto"
    assert parsed.has(lang="en", **{"data-theme": chosen})
    assert any("open" in named for _, named in parsed.tags if named.get("data-testid") == "plan-strip")
    closed = Parsed(get(shared_panel, f"/embed/{session}"))
    assert not any("open" in named for _, named in closed.tags if named.get("data-testid") == "plan-strip")


def test_a_page_has_the_newest_hundred_rows_and_older_ones_on_demand(panel: Panel) -> None:
    """R148."""
    calls: list[dict[str, Any]] = [
        {"type": "tool/call", "data": {"call_id": f"{n}", "name": "bash", "arguments": f"row-{n}-"}} for n in range(250)
    ]
    panel.append("a", {"type": "turn/start", "data": {"turn": 1}}, *calls)
    text, seen = get(panel, "/sessions/a"), 0
    for expected in (100, 100, 50):
        found = re.findall(r'data-tool="bash"', text)
        assert len(found) == expected
        seen += expected
        older = [address for address in Parsed(text).addresses if "/rows?before=" in address]
        if seen == 250:
            break
        text = get(panel, older[0])
    assert "row-0-" in text


@pytest.mark.parametrize("before", ["", "x", "-1", "9" * 30])
def test_older_rows_before_nothing_are_refused(shared_panel: Panel, before: str) -> None:
    assert shared_panel.client.get(f"/sessions/a/rows?before={before}").status_code == 422


def test_below_a_prefix_every_address_has_it(database: Path) -> None:
    """R137."""
    with running(database, root_path="/plans") as panel:
        panel.write("a", todos("x=i"))
        many = [{"type": "tool/call", "data": {"call_id": f"{n}", "name": "b", "arguments": ""}} for n in range(120)]
        panel.append("a", *many)
        for prefix in ("/plans", ""):  # as a proxy hands it on that keeps the prefix, and one that takes it off
            for path in ("/", "/sessions/a", "/embed/a", "/docs", "/sign-in"):
                answer = panel.client.get(panel.origin + prefix + path)
                assert answer.status_code == 200, (prefix, path)
                parsed = Parsed(answer.text)
                assert parsed.addresses
                assert all(address.startswith(("/plans/", "#", "data:", "?")) for address in parsed.addresses), (
                    prefix,
                    path,
                    [address for address in parsed.addresses if not address.startswith("/plans/")],
                )
                for address in parsed.addresses:
                    if address.startswith("/plans/") and not any(act in address for act in ("stream", "/retire?")):
                        assert panel.client.get(panel.origin + address).status_code == 200, address
            with Stream(panel.origin, f"{prefix}/sessions/a/stream", {}) as stream:
                assert stream.status == 200
                frame = stream.next().data
                assert all(address.startswith(("/plans/", "#")) for address in Parsed(frame).addresses)
            assert panel.client.get(f"{panel.origin}{prefix}/api/sessions").status_code == 200
            missing = panel.client.get(f"{panel.origin}{prefix}/api/sessions/no/plan", headers={"accept": "text/html"})
            assert missing.headers["content-type"] == "application/problem+json"
            assert panel.client.get(f"{panel.origin}{prefix}/healthz").status_code == 200
            assert panel.client.get(f"{panel.origin}{prefix}").status_code == 200  # a person leaves the slash away
        assert panel.client.get("openapi.json").json()["servers"] == [{"url": "/plans"}]
