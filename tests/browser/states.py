"""Each page in each of its states, for tests that look at all of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from playwright.sync_api import Page

from tests.browser.record import STRIP, wait_live
from tests.running import Panel, new_session, todos

TURN: Final = {"type": "turn/start", "data": {"turn": 1, "prompt": "Mend the parser of the configuration"}}
END: Final = {"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "completed"}}}
CUT: Final = {"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "aborted"}}}
WAIT: Final = {"type": "turn/wait", "data": {"turn": 1, "for": "permission"}}
PLAN: Final = todos("read_the_grammar=c write_the_parser=i run_the_build=i check_it_in_a_browser=p")
BEGUN: Final = todos("read_the_grammar=i write_the_parser=i run_the_build=p check_it_in_a_browser=p")


@dataclass(frozen=True, slots=True)
class State:
    """`address` appends what the state needs and gives its path; `prepare` does there what a reader would do."""

    address: Callable[[Panel], str]
    prepare: Callable[[Page], None] = lambda _page: None

    def show(self, page: Page, panel: Panel, query: str = "") -> None:
        path = self.address(panel)
        path, _, row = path.partition("#")
        page.goto(f"{panel.url}{path}{'&' if '?' in path else '?'}{query}#{row}")
        if page.locator("[data-live]").count():
            wait_live(page)
        self.prepare(page)


def call(call_id: str, name: str = "bash", arguments: str = '{"command": "make"}') -> Mapping[str, Any]:
    return {"type": "tool/call", "data": {"call_id": call_id, "name": name, "arguments": arguments}}


def result(call_id: str, *, is_error: bool = False) -> Mapping[str, Any]:
    text = "make: *** no rule to make target" if is_error else "built\n" * 40
    return {"type": "tool/result", "data": {"call_id": call_id, "is_error": is_error, "text": text}}


def start(panel: Panel, session: str, title: str, **more: str) -> None:
    data = {"agent": "codex", "title": title, "cwd": "/home/someone/parser", **more}
    panel.append(session, {"type": "session/start", "data": data})


def session(*writes: object, then: tuple[Mapping[str, Any], ...] = (), query: str = "") -> Callable[[Panel], str]:
    """A titled session with rows of every state, the lists that its agent wrote, and the events after them."""

    def address(panel: Panel) -> str:
        name = new_session()
        start(panel, name, "Mend the parser")
        panel.append(name, TURN, call("a"), result("a"), call("b"), result("b", is_error=True))
        for written in writes:
            panel.write(name, written)
        panel.append(name, call("c", "read_file", '{"path": "src/parser.py"}'), *then)
        return f"/sessions/{name}{query}"

    return address


def with_children(count: int) -> Callable[[Panel], str]:
    def address(panel: Panel) -> str:
        path = session(PLAN, then=(call("t", "Task", '{"description": "Survey"}'),))(panel)
        for number in range(count):
            kid = new_session()
            start(panel, kid, f"Survey part {number}", parent=path.rpartition("/")[2], parent_call="t")
            panel.append(kid, TURN)
            panel.write(kid, PLAN)
        return path

    return address


def retired(panel: Panel) -> str:
    path = session(PLAN)(panel)
    panel.client.post(f"/api{path}/retire", json={})
    return path


def child(panel: Panel) -> str:
    boss, kid = new_session(), new_session()
    start(panel, boss, "The whole work")
    start(panel, kid, "Its part", parent=boss)
    panel.write(kid, PLAN)
    return f"/sessions/{kid}"


def board(panel: Panel) -> str:
    """A session in each state, one of them with children."""
    with_children(2)(panel)
    for writes, then in (
        ((PLAN,), (WAIT,)),
        ((PLAN,), (CUT,)),
        ((todos("a=c b=c"),), (END,)),
        ((PLAN,), (END,)),
        ((), ()),
    ):
        session(*writes, then=then)(panel)
    return "/"


def embed(query: str, *writes: object) -> Callable[[Panel], str]:
    return lambda panel: session(*writes)(panel).replace("/sessions/", "/embed/") + query


def embed_several(panel: Panel) -> str:
    """One with a plan, one without, one that is waited for."""
    names = [session(*writes)(panel).rpartition("/")[2] for writes in (DROPPED, ())]
    return "/embed?" + "&".join(f"session={name}" for name in (*names, new_session()))


def open_strip(page: Page) -> None:
    page.locator(f"{STRIP} > summary").click()


def open_all(page: Page) -> None:
    """Every panel, list and row, where it is not hidden."""
    for summary in page.locator("details:not([open]) > summary").all():
        if summary.is_visible():
            summary.click()


def mark(page: Page) -> None:
    """One session pinned, another muted."""
    for number, name in ((0, "Pin"), (1, "Mute")):
        page.locator(".session").nth(number).get_by_role("button", name=name).click()


def lose(page: Page) -> None:
    """What live.js says of a stream that broke."""
    open_all(page)
    page.locator("#live").evaluate("live => { live.dataset.live = 'lost'; }")


def open_languages(page: Page) -> None:
    page.locator("[popovertarget=languages]").click()


def press_question_mark(page: Page) -> None:
    page.keyboard.press("?")


DROPPED: Final = (PLAN, todos("read_the_grammar=c run_the_build=i"))
LATER: Final = tuple({"type": "turn/start", "data": {"turn": n}} for n in range(2, 9))
REFUSED: Final = (PLAN, todos("a=i a=i"))

STATES: Final[Mapping[str, State]] = {
    "board": State(board),
    "board, children open": State(board, open_all),
    "board, filtered": State(lambda panel: board(panel) + "?q=parser&state=working"),
    "board, nothing found": State(lambda _panel: "/?q=nothing-of-the-kind"),
    "board, pinned and muted": State(board, mark),
    "board, keys": State(board, press_question_mark),
    "board, languages": State(board, open_languages),
    "session that is waited for": State(lambda _panel: f"/sessions/{new_session()}"),
    "session without a plan": State(session()),
    "session": State(session(PLAN)),
    "session, strip open": State(session(PLAN), open_strip),
    "session, all open": State(session(BEGUN, PLAN), open_all),
    "session, all done": State(session(PLAN, todos("a=c b=c"), then=(END,)), open_all),
    "session, interrupted": State(session(PLAN, then=(CUT,)), open_all),
    "session, waiting for a person": State(session(PLAN, then=(WAIT,)), open_all),
    "session, ended with open to-dos": State(session(PLAN, then=(END,)), open_all),
    "session, write refused": State(session(*REFUSED), open_all),
    "session, to-dos dropped": State(session(*DROPPED), open_all),
    "session, dropped without a plan": State(session(PLAN, []), open_all),
    "session, retired": State(retired, open_all),
    "session, keys": State(session(PLAN), press_question_mark),
    "session with children": State(with_children(2), open_all),
    "session with many children": State(with_children(4), open_all),
    "session, lost": State(session(*DROPPED), lose),
    "session, a row that a link led to": State(session(PLAN, query="?lang=en#row-4")),
    "session, taken back": State(
        session(PLAN, then=({"type": "session/rewind", "data": {"to_position": 2}},)), open_all
    ),
    "session, out of date": State(session(PLAN, then=LATER), open_all),
    "session of a child": State(child),
    "past": State(session(*DROPPED, query="?at=9"), open_all),
    "embed": State(embed("", PLAN)),
    "embed, open": State(embed("?open=1", *DROPPED)),
    "embed with rows": State(embed("?rows=3", PLAN), open_all),
    "embed, compact": State(embed("?size=compact", PLAN)),
    "embed of several": State(embed_several, open_all),
    "embed without a plan": State(embed("")),
    "embed, error": State(lambda _panel: "/embed/a?rows=many"),
    "docs": State(lambda _panel: "/docs"),
    "sign-in": State(lambda _panel: "/sign-in"),
    "error": State(lambda _panel: "/nowhere"),
}
