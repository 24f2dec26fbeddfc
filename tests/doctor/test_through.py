"""`planstrip doctor --url`: what a proxy does to a panel is found, named, and told with what to change."""

import re
from collections.abc import Callable, Iterator, Mapping
from email.message import Message
from http.client import HTTPMessage
from typing import Any, TypeAlias

import pytest

from planstrip.cli import main
from planstrip.doctor import door, pages, streams
from planstrip.doctor.findings import Finding
from planstrip.doctor.run import through
from planstrip.doctor.wire import Answer, Target, target_of
from planstrip.errors import UnusableSettings
from tests.doctor.proxy import Faults, proxying
from tests.running import Panel, running

TOKEN = "s3cret"
Doctor: TypeAlias = Callable[..., tuple[object, str, str]]


@pytest.fixture(scope="module")
def below(tmp_path_factory: pytest.TempPathFactory, empty_log: bytes) -> Iterator[Panel]:
    """A panel below a prefix, with a token, that another site may frame."""
    path = tmp_path_factory.mktemp("below") / "log.sqlite3"
    path.write_bytes(empty_log)
    with running(path, token=TOKEN, root_path="/plans", frame_ancestors="https://dash.example") as panel:
        yield panel


def wrong(findings: Iterator[Finding] | list[Finding]) -> dict[str, str]:
    return {found.name: f"{found.said}; {found.change}" for found in findings if found.level == "wrong"}


def named(findings: list[Finding], name: str) -> Finding:
    return next(found for found in findings if found.name == name)


# Through the whole of it


@pytest.mark.parametrize("strips", [False, True], ids=["kept", "stripped"])
def test_a_proxy_that_does_nothing_wrong_is_fine_whether_it_takes_the_prefix_off_or_not(
    below: Panel, strips: bool
) -> None:
    with proxying(below.origin, Faults(root="/plans", strips=strips)) as proxy:
        found = list(through(target_of(f"{proxy}/plans/sessions/any?at=3", TOKEN), 0.2))
    assert wrong(found) == {}
    assert ("having taken /plans off" in named(found, "upstream").said) is strips
    assert named(found, "cookie").said == "HttpOnly, SameSite=Strict, for /plans"


@pytest.mark.parametrize(
    ("faults", "name", "change"),
    [
        (Faults(buffers=True), "buffering", "proxy_buffering off"),
        (Faults(compresses=True), "compression", "leave text/event-stream out"),
        (Faults(compresses=True, buffers=True), "compression", "leave text/event-stream out"),
        (Faults(cuts_after_s=0.5), "idle", "raise the proxy's read timeout"),
        (Faults(is_http_10=True), "upstream", "proxy_http_version 1.1"),
        (Faults(sets={"Cache-Control": "max-age=60"}), "stream", "leave Cache-Control as it is"),
    ],
    ids=lambda given: "" if not isinstance(given, str) or " " in given else given,
)
def test_what_a_proxy_does_to_the_stream_is_measured(
    shared_panel: Panel, monkeypatch: pytest.MonkeyPatch, faults: Faults, name: str, change: str
) -> None:
    """R078, R079, R080, R082."""
    if faults.buffers:
        monkeypatch.setattr(streams, "FIRST_S", 1.5)
    with proxying(shared_panel.origin, faults) as proxy:
        found = wrong(streams.streams(target_of(proxy, None), 0.8 if faults.cuts_after_s else 0.1))
    assert change in found[name], found
    assert set(found) <= {name, *(("buffering", "first frame") if faults.buffers else ())}


# The door


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        (Faults(root="/elsewhere"), r"404 \(text/html\), which is no panel's; correct the address"),
        (Faults(root="/plans"), "there is nothing at /plans/healthz; start the panel with --root-path /plans"),
        (
            Faults(root="/plans", strips=True, host="evil.example:81"),
            "Host is 'evil.example:81'.*; let the proxy hand on Host .*, or .* --allowed-hosts evil.example ",
        ),
        (Faults(answers=(502, "text/html", ("X-A", "b"))), "answers 502.*a proxy is there, the panel behind it is not"),
        (Faults(answers=(200, "text/html", ("X-A", "b"))), "which is no panel's"),
        (Faults(answers=(301, "text/html", ("Location", "https://x/"))), "leads to https://x/; use the address"),
        (Faults(answers=(401, "text/html", ("WWW-Authenticate", "Basic"))), "something in front .* wants a password"),
    ],
    ids=["elsewhere", "no-root", "host", "no-upstream", "another-page", "redirect", "password"],
)
def test_who_does_not_answer_as_a_panel_is_told_from_it(shared_panel: Panel, faults: Faults, said: str) -> None:
    """R135 (the password)."""
    with proxying(shared_panel.origin, faults) as proxy:
        found = list(through(target_of(f"{proxy}/plans", None), 0))
    assert [one.level for one in found] == ["wrong"]
    assert re.search(said, wrong(found)["address"]), found


def test_a_name_that_the_panel_does_not_know_is_to_be_allowed(below: Panel) -> None:
    found = wrong(through(target_of(below.url.replace("127.0.0.1", "0.0.0.0"), TOKEN), 0))
    assert found["address"].endswith("; start the panel with --allowed-hosts 0.0.0.0 (and a token)")


@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_proxy_that_compresses_for_everybody_is_told_from_what_is_no_panel(shared_panel: Panel, coding: str) -> None:
    faults = Faults(compresses_all=coding == "gzip", sets={"Content-Encoding": coding})
    with proxying(shared_panel.origin, faults) as proxy:
        found = list(through(target_of(proxy, None), 0))
    assert [one.level for one in found] == ["wrong"]
    assert f"compressed ({coding})" in wrong(found)["compression"]


def test_where_nothing_listens_it_says_so(unused_port: int) -> None:
    found = wrong(through(target_of(f"http://127.0.0.1:{unused_port}", None), 0))
    assert "nothing answers" in found["address"]


@pytest.mark.parametrize(
    ("token", "faults", "said"),
    [
        (None, Faults(), "needs its token; set PLANSTRIP_TOKEN"),
        ("wrong", Faults(), "is not its own"),
        (TOKEN, Faults(drops=("Authorization",)), "hand on Authorization"),
    ],
)
def test_a_token_that_does_not_arrive_ends_the_questions(
    below: Panel, token: str | None, faults: Faults, said: str
) -> None:
    with proxying(below.origin, faults) as proxy:
        found = list(through(target_of(f"{proxy}/plans", token), 0))
    assert [one.name for one in found] == ["address", "token"]
    assert said in wrong(found)["token"]


def test_a_panel_that_a_proxy_opens_to_everybody_is_told(shared_panel: Panel) -> None:
    """The proxy's Host hides from the panel that it is not on loopback alone."""
    with proxying(shared_panel.origin, Faults(host="127.0.0.1")) as proxy:
        found = door.token(target_of(proxy.replace("127.0.0.1", "0.0.0.0"), None))
    assert (found.level, "--token" in (found.change or "")) == ("wrong", True)


def test_a_host_that_is_not_handed_on_refuses_what_pages_write(below: Panel) -> None:
    with proxying(below.origin, Faults(host="localhost")) as proxy:
        found = wrong(door.writes(target_of(f"{proxy}/plans", TOKEN)))
    assert "hand on Host" in found["writes"]


def cookie(value: str | None, scheme: str = "https") -> Finding:
    headers: Message = HTTPMessage()
    if value is not None:
        headers["Set-Cookie"] = value
    answer = Answer(303, headers, b"", 11, 0.0)  # type: ignore[arg-type]
    return door._cookie(Target(scheme, "h.example", "/plans", TOKEN), answer)


@pytest.mark.parametrize(
    ("value", "change"),
    [
        ("planstrip=x; HttpOnly; SameSite=strict; Path=/plans; Secure", None),
        ("planstrip=x; HttpOnly; SameSite=strict; Path=/plans", "X-Forwarded-Proto"),
        ("planstrip=x; HttpOnly; SameSite=strict; Path=/; Secure", "--root-path /plans"),
        ("planstrip=x; SameSite=strict; Path=/plans; Secure", "leave Set-Cookie as it is"),
        (None, "hand on Set-Cookie"),
    ],
)
def test_a_cookie_is_kept_as_it_was_sent(value: str | None, change: str | None) -> None:
    found = cookie(value)
    assert found.level == ("ok" if change is None else "wrong")
    assert change is None or change in (found.change or "")


# Pages


@pytest.mark.parametrize(
    ("sets", "name", "said"),
    [
        ({"Cache-Control": "public"}, "headers", "Cache-Control is public; the panel sent no-store"),
        ({"Content-Security-Policy": "default-src *"}, "headers", "leave Content-Security-Policy as it is"),
        ({"X-Frame-Options": "DENY"}, "embed", "add no X-Frame-Options below /embed"),
    ],
)
def test_headers_that_a_proxy_alters_are_named(below: Panel, sets: Mapping[str, str], name: str, said: str) -> None:
    with proxying(below.origin, Faults(root="/plans", sets=dict(sets))) as proxy:
        found = wrong(pages.pages(target_of(f"{proxy}/plans", TOKEN)))
    assert said in found[name]


def test_a_prefix_that_the_panel_does_not_know_is_told(shared_panel: Panel) -> None:
    with proxying(shared_panel.origin, Faults(root="/plans", strips=True)) as proxy:
        found = wrong(pages.pages(target_of(f"{proxy}/plans", None)))
    assert "start the panel with --root-path /plans" in found["prefix"]
    assert "/static too" in found["files"]


# The command


@pytest.mark.parametrize(
    "url",
    [
        "",
        "h.example",
        "ftp://h",
        "http://",
        "http://user:secret@h",
        "http://h:port",
        "http://[h",
        "http://h/\n",
        "http://ü",
    ],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UnusableSettings, match="expected an address such as"):
        target_of(url, None)


@pytest.fixture
def doctor(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Doctor:
    """Exit code, output and errors of `planstrip doctor …`, in this process."""

    def run(*arguments: str) -> tuple[object, str, str]:
        monkeypatch.setattr("sys.argv", ["planstrip", "doctor", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code, *capsys.readouterr()

    return run


@pytest.mark.parametrize("idle", ["-1", "nan", "inf", "soon"])
def test_a_time_that_is_none_ends_with_2(doctor: Doctor, idle: str) -> None:
    code, out, err = doctor("--url", "http://127.0.0.1:1", "--idle", idle)
    assert (code, out) == (2, "")
    assert "idle" in err


def test_what_is_piped_is_plain_and_what_a_server_says_is_only_text(doctor: Doctor, shared_panel: Panel) -> None:
    faults = Faults(answers=(301, "text/html", ("Location", "https://x/\x1b[31m\x9b")))
    with proxying(shared_panel.origin, faults) as proxy:
        code, out, err = doctor("--url", proxy)
    assert (code, err) == (1, "")
    assert out.startswith(f"wrong  address     {proxy}/healthz answers 301: it leads to https://x/\\x1b[31m")
    assert out.endswith("\n                   change: use the address that it leads to\n")
    assert "\x1b" not in out


def test_where_nothing_stands_before_a_panel_all_is_well(doctor: Doctor, shared_panel: Panel) -> None:
    code, out, err = doctor("--url", shared_panel.url, "--idle", "0.2")
    assert (code, err) == (0, "")
    said = {line[7:18].strip(): line[:5].strip() for line in out.splitlines() if not line.startswith(" ")}
    assert [name for name, level in said.items() if level != "ok"] == ["HTTP"]
    assert {"address", "token", "writes", "prefix", "buffering", "compression", "first frame", "idle"} < set(said)


def test_the_probe_is_behind_the_token_and_ends_by_itself(below: Panel) -> None:
    assert below.client.get("/probe/stream").status_code == 401
    answer: Any = below.client.get("/probe/stream", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.text.count("event: tick\n") == 5
    assert answer.headers["cache-control"] == "no-cache, no-transform"
