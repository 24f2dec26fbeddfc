"""No English is left over: every page in every state, in a language that is made here and has no Latin letter."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from sqlalchemy import select

from planstrip.paths import locale_dir
from planstrip.tables import events
from planstrip.web import languages
from tests.browser.states import STATES
from tests.running import Panel, new_session, running, todos

CARRIER: Final = "ru"  # under whose name the made language goes
PLACE: Final = re.compile(r"%\(\w+\)[sd]|\{\w+\}")
ASIDE: Final = {ord(letter): ord(letter) + 0xFEE0 for letter in map(chr, (*range(65, 91), *range(97, 123)))}
TOKEN: Final = "s3cret"

# What no catalogue translates: code, the names of keys, what is in English and says so, and each language's own name.
UNTOLD_TAGS: Final = {"code", "kbd", "script", "style"}
SEEN: Final = ("aria-label", "aria-valuetext", "title", "placeholder", "alt")
SEEN_DATA: Final = re.compile(r"data-(?:\w+-)*text|data-said|data-tab")
VOID: Final = {"input", "link", "meta", "br", "rect", "path", "circle", "line", "use"}


def made(text: str) -> str:
    """Each letter of ours as a wide one, which no agent and no browser writes; places stay."""
    kept = PLACE.findall(text)
    parts = [part.translate(ASIDE) for part in PLACE.split(text)]
    return "".join(part + place for part, place in zip(parts, [*kept, ""], strict=True))


@pytest.fixture(scope="module")
def catalogues(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder whose one catalogue is made of the template."""
    folder = tmp_path_factory.mktemp("locale")
    found = Catalog(locale=CARRIER)
    with (locale_dir() / "planstrip.pot").open("rb") as file:
        for message in read_po(file):
            if message.id:
                texts = message.id if isinstance(message.id, tuple) else (message.id,)
                said = tuple(made(str(text)) for text in texts)
                forms = said[0] if len(said) == 1 else (said[0], said[1], said[1])
                found.add(message.id, forms, context=message.context)
    path = folder / CARRIER / "LC_MESSAGES"
    path.mkdir(parents=True)
    with (path / "planstrip.mo").open("wb") as compiled:
        write_mo(compiled, found)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(languages, "locale_dir", lambda: folder)
        languages.translations.cache_clear()
        yield folder
    languages.translations.cache_clear()


@pytest.fixture(scope="module")
def pseudo(catalogues: Path, tmp_path_factory: pytest.TempPathFactory, empty_log: bytes) -> Iterator[Panel]:
    path = tmp_path_factory.mktemp("pseudo") / "log.sqlite3"
    path.write_bytes(empty_log)
    with running(path) as panel:
        yield panel


class Told(HTMLParser):
    """All that a person sees, reads by hovering, or hears of a document."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._within: list[tuple[str, bool]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        is_untold = tag in UNTOLD_TAGS or (named.get("lang") in ("en", *languages.HTML_TAGS.values()) and tag != "html")
        if not self._is_untold and not is_untold:
            self.texts += [value for name, value in named.items() if name in SEEN or SEEN_DATA.fullmatch(name)]
            if named.get("property") in ("og:title", "og:description"):
                self.texts.append(named["content"])
        if tag not in VOID:
            self._within.append((tag, is_untold))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._within and self._within.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not self._is_untold and data.strip():
            self.texts.append(data.strip())

    @property
    def _is_untold(self) -> bool:
        return any(is_untold for _, is_untold in self._within)


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings(part)


def told_by_agents(panel: Panel) -> set[str]:
    """Whatever an event's data holds, also line by line, and what stands in a call's arguments."""
    found = set[str]()
    with panel.parts.engine.connect() as connection:
        for row in connection.execute(select(events.c.session, events.c.type, events.c.data)):
            found.add(row.session)
            for text in strings(json.loads(row.data)):
                found |= {text, *text.splitlines()}
                if row.type == "tool/call":
                    found |= set(re.findall(r'"([^"]*)"', text))
    return {text for text in found if re.search(r"[A-Za-z]", text)}


def english(panel: Panel, text: str, *known: str) -> list[str]:
    """What of a document a person sees in Latin letters, and no agent wrote."""
    kept = sorted({*told_by_agents(panel), *known, "planstrip", "Codex", "{time}"}, key=len, reverse=True)
    whole = re.compile("|".join(rf"(?<![A-Za-z]){re.escape(said)}(?![A-Za-z])" for said in kept))
    return [seen for seen in Told(text).texts if re.search(r"[A-Za-z]", whole.sub("", seen))]


def get(panel: Panel, path: str, status: int = 200) -> str:
    query = "&" if "?" in path else "?"
    answer = panel.client.get(f"{path}{query}lang={CARRIER}", headers={"accept": "text/html"})
    assert answer.status_code == status, answer.text
    return answer.text


def test_what_is_made_is_seen(pseudo: Panel) -> None:
    """That the tests below can fail: the made words are there, and an English one among them is found."""
    session = new_session()
    pseudo.write(session, todos("α=i β=p"))
    page = get(pseudo, f"/sessions/{session}")
    assert made("To-dos") in page
    assert made("Timeline") in page
    assert english(pseudo, page) == []
    assert english(pseudo, page.replace(made("Timeline"), "Timeline")) != []
    assert english(pseudo, page.replace(f'title="{made("Theme: system, light or dark")}"', 'title="Theme"')) == [
        "Theme"
    ]


@pytest.mark.parametrize("name", STATES)
def test_a_page_in_each_of_its_states(pseudo: Panel, name: str) -> None:
    """R130."""
    path = STATES[name].address(pseudo).partition("#")[0].replace("lang=en", "theme=auto")
    # What an address says: sessions that have no event yet to be known by, and values that are refused.
    said = [path.partition("?")[0].rpartition("/")[2], *re.findall(r"=([^&]+)", path)]
    shown = get(pseudo, path, {"/nowhere": 404, "/embed/a?rows=many": 422}.get(path, 200))
    assert english(pseudo, shown, *said, path) == []


def test_what_a_page_is_sent_later(pseudo: Panel) -> None:
    """Its first frame has every region; and the rows before those shown."""
    path = STATES["session, to-dos dropped"].address(pseudo)
    for stream in (f"{path}/stream?after=0&lang={CARRIER}", f"/stream?lang={CARRIER}"):
        with pseudo.stream(stream) as opened:
            data = opened.next().data
        assert any("\uff21" <= char <= "\uff5a" for char in data)
        assert english(pseudo, data) == []
    assert english(pseudo, get(pseudo, f"{path}/rows?before=5")) == []


def test_states_that_no_click_brings_about(pseudo: Panel) -> None:
    session = new_session()
    waits = [{"type": "turn/wait", "data": {"turn": 1, "for": subject}} for subject in ("permission: α", "action")]
    calls = [{"type": "tool/call", "data": {"call_id": f"c{n}", "name": "α", "arguments": "{}"}} for n in range(90)]
    pseudo.append(session, {"type": "turn/start", "data": {"turn": 1}})
    pseudo.write(session, todos("α=i β=p γ=i"))
    pseudo.append(session, *calls, waits[0])
    for wait in (waits[1], {"type": "turn/resume", "data": {"turn": 1}}):
        page = get(pseudo, f"/sessions/{session}")
        assert english(pseudo, page) == []
        pseudo.append(session, wait)
    pseudo.client.post(f"/sessions/{session}/retire", headers={"content-type": "application/x-www-form-urlencoded"})
    assert english(pseudo, get(pseudo, f"/sessions/{session}")) == []
    assert english(pseudo, get(pseudo, f"/sessions/{session}?at=2&play=1")) == []


FAILING: Final = {
    "/nowhere": (404, ("/nowhere",)),
    "/?after=x": (422, ()),
    "/?state=busy": (422, ("busy", "waiting", "working", "quiet", "interrupted", "open", "done", "none")),
    "/sessions/{}?at=999": (404, ("{}",)),
    "/sessions/{}?at=x": (422, ("at",)),
    "/embed/{}?at=-1": (422, ("at",)),
    "/sessions/{}/rows": (422, ("before",)),
    "/sessions/" + "x" * 300: (422, ("x" * 60,)),
    "/sessions/a%01b": (422, (r"a\x01b",)),
}


@pytest.mark.parametrize("path", FAILING)
def test_an_error_says_what_is_wrong(pseudo: Panel, path: str) -> None:
    session = new_session()
    pseudo.write(session, todos("α=i"))
    status, known = FAILING[path]
    shown = get(pseudo, path.format(session), status)
    assert path.startswith("/embed") or made("All sessions") in shown  # a frame leads nowhere
    assert english(pseudo, shown, *(one.format(session) for one in known), "'x'") == []


def test_the_same_error_tells_a_program_in_english(pseudo: Panel) -> None:
    answer = pseudo.client.get(f"/sessions/nobody?at=9&lang={CARRIER}")
    assert answer.json()["detail"] == "there is no session 'nobody'; sessions are created by their first event"
    assert answer.json()["title"] == "Not found"


def test_a_method_that_is_not_taken(pseudo: Panel) -> None:
    answer = pseudo.client.post(f"/docs?lang={CARRIER}", headers={"accept": "text/html"})
    assert answer.status_code == 405
    assert made("Method Not Allowed") in answer.text
    assert english(pseudo, answer.text) == []


def test_a_board_without_sessions(catalogues: Path, database: Path) -> None:
    with running(database) as panel:
        assert english(panel, get(panel, "/")) == []


def test_the_shut_door(catalogues: Path, database: Path) -> None:
    with running(database, token=TOKEN) as panel:
        assert english(panel, get(panel, "/sign-in")) == []
        assert english(panel, get(panel, "/", 401)) == []
        assert english(panel, get(panel, "/embed/a", 401)) == []
        wrong = panel.client.post(f"/sign-in?lang={CARRIER}", data={"token": "no", "next": "/"})
        assert made("That is not the token.") in wrong.text
        assert english(panel, wrong.text) == []


def test_the_badge(pseudo: Panel) -> None:
    session = new_session()
    pseudo.write(session, todos("α=i β=p γ=c"))
    assert english(pseudo, pseudo.client.get(f"/api/sessions/{session}/plan.svg?lang={CARRIER}").text) == []
