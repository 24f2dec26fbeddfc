"""The access log tells of requests, and of no token (spec.md §10)."""

import re
from pathlib import Path

import httpx
import pytest

from planstrip.web.access_log import without_tokens
from tests.running import Stream, run, serving, todos

HIDDEN = "[hidden]"


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("/sessions/a", "/sessions/a"),
        ("/sessions/a?at=3&lang=en", "/sessions/a?at=3&lang=en"),
        ("/embed/a?token=s3cret", f"/embed/a?token={HIDDEN}"),
        ("/embed/a?lang=en&token=s3&at=1&token=s4", f"/embed/a?lang=en&token={HIDDEN}&at=1&token={HIDDEN}"),
        ("/sessions/view_0123456789abcdef.a-B_c", f"/sessions/{HIDDEN}"),
        (
            "/?access_token=view_0123456789abcdef.aB&lang=view_0123456789abcdef%2EaB",
            f"/?access_token={HIDDEN}&lang={HIDDEN}",
        ),
        ("/?TOKEN=s3", f"/?TOKEN={HIDDEN}"),
        ("/?%74oken=s3", f"/?%74oken={HIDDEN}"),
        ("/?+token=s3", f"/?+token={HIDDEN}"),
        ("/?token=a=b", f"/?token={HIDDEN}"),
        ("/?token=", f"/?token={HIDDEN}"),
        ("/?token", "/?token"),
        ("/sign-in?next=%2Fembed%2Fa%3Ftoken%3Ds3", f"/sign-in?next={HIDDEN}"),
        ("/sign-in?next=%252Fa%253Ftoken%253Ds3", f"/sign-in?next={HIDDEN}"),
        ("/?tokens=3&mytoken=4", "/?tokens=3&mytoken=4"),
        ("/a?b?token=s3", f"/a?b?token={HIDDEN}"),
        ("", ""),
    ],
)
def test_a_token_is_hidden_wherever_it_stands(target: str, told: str) -> None:
    assert without_tokens(target) == told


def test_the_program_logs_each_request_and_no_token(database: Path) -> None:
    """The real program: the panel's own token, a view token, a wrong one, on a page, an embed and a stream."""
    url = f"sqlite:///{database}"
    code, link, _ = run("token", "create", "a", "--database-url", url)
    assert code == 0
    view = link.strip().partition("token=")[2]
    secrets = ["s3cret-token", view, "view_guess.of-it", "n0ne"]
    with serving(database, "--token", secrets[0], "--access-log") as program:
        headers = {"Authorization": f"Bearer {secrets[0]}"}
        body = {"todos": todos("x=i")}
        httpx.post(f"{program.url}/api/sessions/a/todo_write", json=body, headers=headers, trust_env=False)
        for path in ("/sessions/a", "/embed/a", "/api/sessions/a/plan", "/nothing"):
            for token in secrets:
                accepted = {"Accept": "text/html"}
                httpx.get(f"{program.url}{path}?lang=en&token={token}", headers=accepted, trust_env=False)
        with Stream(program.url, f"/sessions/a/stream?token={view}", {}) as stream:
            assert stream.status == 200
            stream.frame()
        assert program.stop() == 0
        said = "".join(program.said)
    assert re.search(r'"GET /sessions/a\?lang=en&token=\[hidden\] HTTP/1.1" 200', said)
    assert re.search(r'"GET /embed/a\?lang=en&token=\[hidden\] HTTP/1.1" 401', said)
    assert re.search(r'"GET /sessions/a/stream\?token=\[hidden\] HTTP/1.1" 200', said)
    assert '"POST /api/sessions/a/todo_write HTTP/1.1" 200' in said
    for secret in secrets:
        assert secret not in said


def test_the_program_logs_no_request_unasked(database: Path) -> None:
    with serving(database) as program:
        httpx.get(f"{program.url}/?token=s3cret", trust_env=False)
        program.stop()
        assert len(program.said) == 1, program.said
