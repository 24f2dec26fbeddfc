"""The pages: the board, a session, an embedded strip (spec.md §10, §6, §5)."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.running import Panel, new_session, running, todos

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
    assert "1 completed\u2002·\u20022 in progress\u2002·\u20021 pending" in text
    statuses = [named["data-status"] for _, named in parsed.tags if "data-status" in named]
    assert statuses == ["completed", "in_progress", "in_progress", "pending"]
    assert re.search(r'data-position="[23]"', text)
    assert parsed.has(**{"data-live": "live"}) or "data-live" in text


def test_a_link_to_a_session_has_a_preview_with_its_counts(shared_panel: Panel) -> None:
    session, title = new_session(), '"><script>alert(1)</script>'
    shared_panel.append(session, {"type": "session/title", "data": {"title": title}})
    assert Parsed(get(shared_panel, f"/sessions/{session}")).has(property="og:description", content="no plan")
    shared_panel.write(session, todos("a=c b=i"))
    preview = Parsed(get(shared_panel, f"/sessions/{session}"))
    assert preview.has(property="og:title", content=title)
    assert preview.has(property="og:description", content="1 completed\u2002·\u20021 in progress")


def test_without_a_plan_the_strip_is_absent(shared_panel: Panel) -> None:
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
    with running(database, root_path="/plans") as panel:
        panel.write("a", todos("x=i"))
        many = [{"type": "tool/call", "data": {"call_id": f"{n}", "name": "b", "arguments": ""}} for n in range(120)]
        panel.append("a", *many)
        for prefix in ("/plans", ""):  # as a proxy hands it on that keeps the prefix, and one that takes it off
            for path in ("/", "/sessions/a", "/embed/a", "/docs", "/sign-in"):
                answer = panel.client.get(panel.url + prefix + path)
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
                        assert panel.client.get(panel.url + address).status_code == 200, address
            with panel.stream(f"{prefix}/sessions/a/stream") as stream:
                assert stream.status == 200
                frame = stream.next().data
                assert all(address.startswith(("/plans/", "#")) for address in Parsed(frame).addresses)
            assert panel.client.get(f"{panel.url}{prefix}/api/sessions").status_code == 200
            missing = panel.client.get(f"{panel.url}{prefix}/api/sessions/no/plan", headers={"accept": "text/html"})
            assert missing.headers["content-type"] == "application/problem+json"
            assert panel.client.get(f"{panel.url}{prefix}/healthz").status_code == 200
        assert panel.client.get("openapi.json").json()["servers"] == [{"url": "/plans"}]
