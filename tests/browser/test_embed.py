"""Frames in a page of another origin, in a browser that takes no third-party cookies (spec.md §10, reports.md)."""

import re
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Frame, Page, ViewportSize, expect

from planstrip.web.languages import NAMES
from planstrip.web.places import ASK_MS, MAX_STREAMS
from tests.browser.other_site import Site, other_site
from tests.browser.record import STRIP
from tests.browser.states import TURN, call, result
from tests.running import Panel, new_session, running, todos

README = Path(__file__).parents[2] / "README.md"
ADDRESS = "http://127.0.0.1:8765/embed/mine?theme=auto"
HOSTILE = "</script><img src=x onerror=alert(1)>\u202e{{7*7}}"
BLOCKED = "chrome-error://chromewebdata/"
GREEN = [0, 160, 80]
IS_CAUGHT_UP = "() => document.querySelector('[data-field=live]').textContent !== 'catching up'"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with other_site() as site:
        yield site


@pytest.fixture(scope="module")
def framed(site: Site, tmp_path_factory: pytest.TempPathFactory, empty_log: bytes) -> Iterator[Panel]:
    """A panel that the site may frame."""
    path = tmp_path_factory.mktemp("framed") / "log.sqlite3"
    path.write_bytes(empty_log)
    with running(path, frame_ancestors=f"'self' {site.url}") as panel:
        yield panel


@pytest.fixture
def page(page: Page) -> Page:
    """In which third-party cookies are blocked, as Safari and Firefox do by default, and Chrome in a private window."""
    page.context.new_cdp_session(page).send(
        "Network.setCookieControls",
        {
            "enableThirdPartyCookieRestriction": True,
            "disableThirdPartyCookieMetadata": True,
            "disableThirdPartyCookieHeuristics": True,
        },
    )
    return page


def titled(panel: Panel, title: str, written: str = "a=c b=i c=p") -> str:
    session = new_session()
    panel.append(session, {"type": "session/start", "data": {"agent": "codex", "title": title}}, TURN)
    panel.write(session, todos(written))
    return session


def iframe(panel: Panel, path: str, css: str = "", **attributes: str) -> str:
    named = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f'<iframe src="{panel.url}{path}" style="border: 0; {css}"{named}></iframe>'


def show(page: Page, address: str, count: int = 1) -> list[Frame]:
    page.goto(address)
    frames = page.frames[1:]
    assert len(frames) == count
    return frames


def header(frame: Frame) -> Any:
    return frame.locator(f"{STRIP} [data-field=header]")


def told(text: str) -> str:
    return text.replace(" · ", "\u2002·\u2002")


# The host


def snippet(panel: Panel, session: str) -> str:
    """The README's own, but for the address that it frames."""
    section = README.read_text().partition("\n## Embed\n")[2].partition("\n## ")[0]
    found = re.search(r"```html\n(.*?)```", section, re.DOTALL)
    assert found
    assert found[1].count("\n") <= 20
    assert found[1].count(ADDRESS) == 1
    return found[1].replace(ADDRESS, f"{panel.url}/embed/{session}?theme=auto")


def test_with_the_readmes_snippet_a_frame_is_as_high_as_what_it_shows(page: Page, framed: Panel, site: Site) -> None:
    session = titled(framed, "Mend the parser")
    liar = site.put("<script>parent.postMessage({type: 'planstrip:height', height: 4000}, '*')</script>", path="/liar")
    (frame, _) = show(page, site.put(snippet(framed, session) + f'<iframe class="planstrip" src="{liar}">'), 2)
    heights = "() => [...document.querySelectorAll('iframe')].map(frame => Number(frame.height))"
    fits = "() => document.documentElement.scrollHeight <= innerHeight && document.body.offsetHeight >= innerHeight - 1"
    page.wait_for_function(f"() => ({heights})()[0] > 0")
    frame.wait_for_function(fits)
    folded, lied = page.evaluate(heights)
    assert 60 < folded < 100
    assert lied == 4000  # it framed itself so, and nobody else
    frame.locator(f"{STRIP} > summary").click()
    page.wait_for_function(f"at => ({heights})()[0] > at + 60", arg=folded)
    frame.wait_for_function(fits)
    framed.write(session, todos(" ".join(f"step{n}=p" for n in range(30))))
    page.wait_for_function(f"() => ({heights})()[0] > 700")
    frame.wait_for_function(fits)
    frame.locator(f"{STRIP} > summary").click()
    page.wait_for_function(f"at => ({heights})()[0] === at", arg=folded)


@pytest.mark.parametrize("lang", ["en", "ar"])
@pytest.mark.parametrize(("query", "words"), [("rows=many", "rows"), ("token=view_00.x", "")])
def test_an_error_in_a_frame_fits_it_and_has_its_height_told_too(
    page: Page, framed: Panel, site: Site, query: str, words: str, lang: str
) -> None:
    """Its heading begins where its text does."""
    host = snippet(framed, "s").replace("?theme=auto", f"?lang={lang}&{query}").replace("width: 100%", "width: 240px")
    (frame,) = show(page, site.put(host))
    page.wait_for_function("() => document.querySelector('iframe').height > 60")
    fits = "() => document.documentElement.scrollHeight <= innerHeight && document.documentElement.scrollWidth <= 240"
    frame.wait_for_function(fits)
    assert page.evaluate("() => document.querySelector('iframe').height < 200")
    assert words in frame.locator("main").inner_text()
    begins = """one => {
      const range = document.createRange(), is = getComputedStyle(one).direction;
      range.selectNodeContents(one);
      const edges = [...range.getClientRects()].map(({ left, right }) => (is === "rtl" ? -right : left));
      return Math.round(Math.min(...edges));
    }"""
    starts = {one.evaluate(begins) for one in frame.locator(".empty > *").all()}
    assert len(starts) == 1
    assert frame.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgba(0, 0, 0, 0)"


def test_a_message_of_another_origin_moves_no_frame(page: Page, framed: Panel, site: Site) -> None:
    """A frame that was led elsewhere since is not the panel any more."""
    session = titled(framed, "Mend the parser")
    liar = site.put("<script>parent.postMessage({type: 'planstrip:height', height: 4000}, '*')</script>", path="/liar")
    show(page, site.put(snippet(framed, session)))
    page.wait_for_function("() => document.querySelector('iframe').height > 0")
    page.evaluate(
        """liar => new Promise((done) => {
          addEventListener("message", () => setTimeout(done), { once: true });
          const frame = document.querySelector("iframe");
          frame.contentWindow.location = liar;
        })""",
        liar,
    )
    assert int(page.evaluate("() => document.querySelector('iframe').height")) < 100


def test_what_a_frame_tells_is_its_height_and_no_word_of_the_plan(page: Page, framed: Panel, site: Site) -> None:
    session = titled(framed, HOSTILE)
    framed.write(session, [{"content": HOSTILE, "status": "in_progress"}])
    listen = "<script>window.heard = []; addEventListener('message', ({ data }) => heard.push(data))</script>"
    (frame,) = show(page, site.put(listen + iframe(framed, f"/embed/{session}?rows=3")))
    page.wait_for_function("() => heard.length")
    frame.locator(f"{STRIP} > summary").click()
    page.wait_for_function("() => heard.length > 1")
    heard = page.evaluate("() => heard")
    assert {tuple(sorted(message)) for message in heard} == {("height", "type")}
    assert {message["type"] for message in heard} == {"planstrip:height"}
    heights = [message["height"] for message in heard]
    assert all(isinstance(height, int) and 0 < height < 2000 for height in heights)
    assert all(one != other for one, other in pairwise(heights))


def test_a_page_of_our_own_tells_nobody_its_height(page: Page, framed: Panel) -> None:
    session = titled(framed, "Mend the parser")
    page.add_init_script("window.heard = []; addEventListener('message', ({ data }) => heard.push(data))")
    page.goto(f"{framed.url}/embed/{session}")
    page.wait_for_selector("[data-live=live]")
    assert page.evaluate("() => heard") == []


# The frame


@pytest.mark.parametrize("path", ["/embed/{}", "/embed?session={}"])
def test_a_frame_lives_without_cookies_under_its_parents_policy(
    page: Page, framed: Panel, site: Site, path: str
) -> None:
    """R134."""
    session, cookies = titled(framed, "Mend the parser"), list[str]()
    page.context.add_cookies([{"name": "other", "value": "kept", "url": framed.url}])
    page.on("request", lambda request: cookies.append(request.all_headers().get("cookie", "")))
    policy = f"default-src 'none'; style-src 'unsafe-inline'; frame-src {framed.url}/"
    (frame,) = show(page, site.put(iframe(framed, path.format(session)), policy=policy))
    frame.wait_for_selector("[data-live=live]")
    expect(header(frame)).to_have_text(told("1 completed · 1 in progress · 1 pending"))
    framed.write(session, todos("a=c b=c"))
    expect(header(frame)).to_have_text("2 completed", timeout=30_000)
    frame.locator(f"{STRIP} > summary").click()
    framed.write(session, todos("a=c b=c d=i"))
    expect(header(frame)).to_have_text(told("2 completed · 1 in progress"))
    assert frame.locator(STRIP).evaluate("strip => strip.open")  # though nothing may be kept
    assert set(cookies) == {""}
    assert [cookie["name"] for cookie in page.context.cookies() if "name" in cookie] == ["other"]


def test_nothing_else_may_be_framed_and_by_nobody_else(browser: Browser, framed: Panel, site: Site) -> None:
    """R133."""
    session = titled(framed, "Mend the parser")
    page = browser.new_page()
    paths = ("/", f"/sessions/{session}", "/docs", "/sign-in", f"/api/sessions/{session}/plan.svg")
    blocked = show(page, site.put("".join(iframe(framed, path) for path in paths)), len(paths))
    for frame in blocked:
        frame.wait_for_url(BLOCKED)
    with other_site() as stranger:
        (refused,) = show(page, stranger.put(iframe(framed, f"/embed/{session}")))
        refused.wait_for_url(BLOCKED)
    page.close()


@pytest.mark.parametrize("system", ["light", "dark"])
@pytest.mark.parametrize(("theme", "scheme"), [("light", "light"), ("dark", "dark"), ("auto", "light dark")])
def test_the_page_behind_shines_through_and_the_text_can_be_read(
    page: Page, framed: Panel, site: Site, system: str, theme: str, scheme: str
) -> None:
    """As a frame whose `color-scheme` is not its document's is painted opaque, the README says which to give it."""
    session = titled(framed, "Mend the parser")
    page.emulate_media(color_scheme=system)  # type: ignore[arg-type]
    css = f"display: block; inline-size: 400px; block-size: 200px; color-scheme: {scheme}"
    body = f"<style>body {{ margin: 0; background: rgb({', '.join(map(str, GREEN))}) }}</style>"
    (frame,) = show(page, site.put(body + iframe(framed, f"/embed/{session}?theme={theme}", css)))
    expect(header(frame)).to_be_visible()
    is_dark = theme == "dark" or (theme == "auto" and system == "dark")
    ink, paper = frame.locator(STRIP).evaluate(
        "strip => [getComputedStyle(strip).color, getComputedStyle(strip).backgroundColor]"
    )
    assert (lightness(ink) > lightness(paper)) == is_dark
    for x, y in ((1, 1), (200, 190), (398, 1)):
        assert pixel(page, x, y) == GREEN
    assert pixel(page, 200, 12) != GREEN


def lightness(colour: str) -> int:
    return sum(map(int, re.findall(r"\d+", colour)[:3]))


def pixel(page: Page, x: int, y: int) -> list[int]:
    shot = page.screenshot(clip={"x": x, "y": y, "width": 1, "height": 1})
    reader = page.context.new_page()
    found: list[int] = reader.evaluate(
        """async (bytes) => {
          const image = await createImageBitmap(new Blob([new Uint8Array(bytes)]));
          const drawing = new OffscreenCanvas(1, 1).getContext("2d");
          drawing.drawImage(image, 0, 0);
          return [...drawing.getImageData(0, 0, 1, 1).data].slice(0, 3);
        }""",
        list(shot),
    )
    reader.close()
    return found


@pytest.mark.parametrize("lang", NAMES)
@pytest.mark.parametrize("path", ["/embed/{}?open=1&rows=3", "/embed?session={}&open=1", "/embed/{}?size=compact"])
def test_at_240_px_nothing_is_cut_in_any_language(page: Page, framed: Panel, site: Site, path: str, lang: str) -> None:
    session = titled(framed, "Refactor the authentication middleware", "a=c b=i c=i d=p")
    framed.append(
        session, call("a"), result("a", is_error=True), {"type": "turn/wait", "data": {"turn": 1, "for": "x"}}
    )
    css = "inline-size: 240px; block-size: 360px"
    address = path.format(session) + ("&" if "?" in path else "?") + f"lang={lang}"
    (frame,) = show(page, site.put(iframe(framed, address, css)))
    expect(header(frame)).to_be_visible()
    assert frame.evaluate("() => document.documentElement.scrollWidth") <= 240
    inside = "one => { const box = one.getBoundingClientRect(); return box.left >= 0 && box.right <= 240; }"
    for shown in (header(frame), frame.locator("[data-field=content]").first, frame.locator(".chevron")):
        if shown.is_visible():
            assert shown.evaluate(inside)
    assert header(frame).evaluate("header => header.scrollWidth <= header.clientWidth + 1")
    if lang == "ar":
        assert frame.locator("html").get_attribute("dir") == "rtl"
        lead, chevron = frame.locator(".strip-counts").bounding_box(), frame.locator(".chevron").bounding_box()
        assert lead
        assert chevron
        assert lead["x"] > chevron["x"]


def test_the_last_rows_follow_and_no_more_of_them_are_kept(page: Page, framed: Panel, site: Site) -> None:
    session = titled(framed, "Mend the parser")
    framed.append(session, *[event for n in range(4) for event in (call(f"{n}"), result(f"{n}"))])
    (frame,) = show(page, site.put(iframe(framed, f"/embed/{session}?rows=3", "block-size: 300px")))
    rows = frame.locator("#rows [data-tool]")
    frame.wait_for_selector("[data-live=live]")
    expect(rows).to_have_count(3)
    rows.last.locator("summary").click()
    kept = rows.last.get_attribute("id")
    framed.append(session, call("new"))
    frame.wait_for_selector("#rows [data-state=running]")
    framed.append(session, result("new", is_error=True))
    frame.wait_for_selector("#rows [data-state=error]")
    expect(rows).to_have_count(3)
    assert frame.locator(f"#{kept}").evaluate("row => row.open")
    framed.append(session, *[call(f"more{n}") for n in range(9)])
    expect(frame.locator("#rows [data-state=running]")).to_have_count(3)
    expect(rows).to_have_count(3)


# Several


def test_several_strips_live_on_one_stream_and_fold_each_by_itself(page: Page, framed: Panel, site: Site) -> None:
    first, second, later = titled(framed, "First"), titled(framed, "Second"), new_session()
    streams: list[str] = []
    page.on("request", lambda request: streams.append(request.url) if "/stream" in request.url else None)
    query = "&".join(f"session={one}" for one in (first, second, later))
    (frame,) = show(page, site.put(iframe(framed, f"/embed?{query}", "block-size: 500px; inline-size: 600px")))
    frame.wait_for_selector("[data-live=live]")
    one, two, three = (frame.locator(f"[data-session={session}]") for session in (first, second, later))
    expect(three).to_contain_text("Waiting for this session")
    two.locator(f"{STRIP} > summary").click()
    framed.write(first, todos("a=c b=c"))
    framed.write(second, todos("a=c b=c c=i"))
    framed.write(later, todos("x=i"))
    for strip, text in ((one, "2 completed"), (two, "2 completed · 1 in progress"), (three, "1 in progress")):
        expect(strip.locator("[data-field=header]")).to_have_text(told(text))
    assert [strip.locator(STRIP).evaluate("strip => strip.open") for strip in (one, two, three)] == [False, True, False]
    expect(frame.locator("[role=status]")).to_contain_text("Second: 2 of 3 completed; now: c")
    assert "First: " in (frame.locator("[role=status]").text_content() or "")
    assert len(streams) == 1


def test_of_several_the_one_whose_agent_fell_silent_says_so(page: Page, framed: Panel, site: Site) -> None:
    silent, busy = titled(framed, "Silent"), titled(framed, "Busy")
    page.clock.install()
    (frame,) = show(page, site.put(iframe(framed, f"/embed?session={silent}&session={busy}", "block-size: 300px")))
    frame.wait_for_selector("[data-live=live]")
    chips = [frame.locator(f"[data-session={session}] [data-field=quiet]") for session in (silent, busy)]
    page.clock.fast_forward(6 * 60_000)
    for chip in chips:
        expect(chip).to_be_visible()
    later = {"time": time.time_ns() // 1_000_000 + 6 * 60_000}
    framed.append(busy, {"type": "turn/start", "data": {"turn": 2}} | later)
    expect(chips[1]).to_be_hidden()
    expect(chips[0]).to_be_visible()


# Connections


def states(page: Page) -> list[tuple[str, str]]:
    """Of each frame what its region says: its state, and in words."""
    return [
        (found[0], found[1])
        for frame in page.frames[1:]
        if (
            found := frame.evaluate(
                """() => [document.querySelector("[data-live]")?.dataset.live,
                  document.querySelector("[data-field=live]")?.textContent]"""
            )
        )
    ]


def test_fifty_frames_over_http_1_all_show_their_plans_and_follow(page: Page, framed: Panel, site: Site) -> None:
    """R076: and pages of the panel still load."""
    sessions = [titled(framed, f"Session {n}") for n in range(10)]
    streams: list[str] = []
    page.on("request", lambda request: streams.append(request.url) if "/stream" in request.url else None)
    framed_all = "".join(iframe(framed, f"/embed/{sessions[n % 10]}", "block-size: 80px") for n in range(50))
    frames = show(page, site.put(framed_all), 50)
    for frame in frames:
        expect(header(frame)).to_have_text(told("1 completed · 1 in progress · 1 pending"), timeout=30_000)
    for frame in frames:
        frame.wait_for_function(IS_CAUGHT_UP)
    said = states(page)
    assert said.count(("live", "live")) == MAX_STREAMS
    assert said.count(("catching-up", f"every {ASK_MS // 1000} s")) == 50 - MAX_STREAMS
    for session in sessions:
        framed.write(session, todos("a=c b=c"))
    for frame in frames:
        expect(header(frame)).to_have_text("2 completed", timeout=30_000)  # they ask in turns, and one browser for all
    page.evaluate(
        "address => document.body.append(Object.assign(document.createElement('iframe'), { src: address }))",
        f"{framed.url}/embed/{sessions[0]}",
    )
    expect(page.frame_locator("iframe").nth(50).locator(STRIP)).to_be_visible(timeout=30_000)
    assert len(streams) < 50 * 16  # they ask seldom


def test_a_place_that_comes_free_is_taken(browser: Browser, framed: Panel, site: Site) -> None:
    page, session = browser.new_page(), titled(framed, "Mend the parser")
    frames = show(page, site.put(iframe(framed, f"/embed/{session}", "block-size: 80px") * 6), 6)
    for frame in frames:
        frame.wait_for_function(IS_CAUGHT_UP)
    asking = [frame for frame, (state, _) in zip(frames, states(page), strict=True) if state != "live"]
    assert len(asking) == 2
    for frame in set(frames) - set(asking):
        frame.frame_element().evaluate("frame => frame.remove()")
    for frame in asking:
        frame.wait_for_selector("[data-live=live]")
    page.close()


def test_seven_windows_of_one_browser_all_follow(context: BrowserContext, framed: Panel) -> None:
    """R076: none of them is hidden, and an eighth page loads."""
    session = titled(framed, "Mend the parser")
    tabs = [context.new_page() for _ in range(8)]
    for tab in tabs:
        tab.goto(f"{framed.url}/sessions/{session}")
        tab.wait_for_function(IS_CAUGHT_UP)
    shown = [tab.locator("[data-field=live]").first.text_content() for tab in tabs]
    assert (shown.count("live"), shown.count("every 5 s")) == (4, 4)
    framed.append(session, call("a"))
    framed.write(session, todos("a=c b=c"))
    for tab in tabs:
        expect(tab.locator(f"{STRIP} [data-field=header]")).to_have_text("2 completed", timeout=30_000)
        expect(tab.locator("[data-tool]")).to_have_count(3)


def test_a_frame_that_asks_says_so_when_the_server_is_gone(browser: Browser, site: Site, database: Path) -> None:
    page = browser.new_page(viewport=ViewportSize(width=900, height=900))
    with running(database, frame_ancestors=site.url) as panel:
        session = titled(panel, "Mend the parser")
        frames = show(page, site.put(iframe(panel, f"/embed/{session}", "block-size: 80px") * 6), 6)
        for frame in frames:
            frame.wait_for_function(IS_CAUGHT_UP)
    for frame in frames:
        frame.wait_for_selector("[data-live=lost]")
        expect(header(frame)).to_be_visible()
    page.close()
