"""Pages, styles and scripts come compressed to who takes them so, and streams never do (spec.md §8)."""

import gzip

import httpx
import pytest

from tests.running import Panel, new_session, todos


def asked(panel: Panel, path: str, accepted: str) -> httpx.Response:
    return panel.client.get(path, headers={"Accept-Encoding": accepted})


def filled(panel: Panel) -> str:
    session = new_session()
    panel.write(session, todos("a=i b=p c=c"))
    return session


@pytest.mark.parametrize("path", ["/", "/sessions/{}", "/embed/{}", "/sessions/{}?at=2"])
def test_a_page_comes_compressed_to_who_takes_it_and_is_the_same(panel: Panel, path: str) -> None:
    address = path.format(filled(panel))
    plain, packed = (asked(panel, address, accepted) for accepted in ("identity", "br, gzip;q=0.8"))
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["content-type"] == plain.headers["content-type"]
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) / 2
    assert packed.text == plain.text
    for answer in (plain, packed):
        assert {"Accept-Encoding", "Accept-Language"} <= set(answer.headers["vary"].split(", "))


@pytest.mark.parametrize("accepted", ["", "br", "gzip;q=0", "identity, gzip; q=0.0"])
def test_nothing_comes_compressed_to_who_does_not_take_it(shared_panel: Panel, accepted: str) -> None:
    page = asked(shared_panel, f"/sessions/{filled(shared_panel)}", accepted)
    script = page.text.split('<script src="')[1].split('"')[0]
    assert "content-encoding" not in page.headers
    assert "content-encoding" not in asked(shared_panel, script, accepted).headers


def test_a_page_whose_address_has_a_token_stays_as_it_is(shared_panel: Panel) -> None:
    answer = asked(shared_panel, f"/embed/{filled(shared_panel)}?token=guess", "gzip")
    assert answer.status_code == 200
    assert "content-encoding" not in answer.headers


def test_a_head_says_what_a_get_would(shared_panel: Panel) -> None:
    path = f"/sessions/{filled(shared_panel)}"
    head = shared_panel.client.head(path, headers={"Accept-Encoding": "gzip"})
    assert head.content == b""
    assert head.headers["content-encoding"] == "gzip"


def test_styles_and_scripts_come_compressed_and_last(shared_panel: Panel) -> None:
    page = asked(shared_panel, f"/sessions/{filled(shared_panel)}", "gzip").text
    for mark in ('<script src="', 'rel="stylesheet" href="'):
        path = page.split(mark)[1].split('"')[0]
        with shared_panel.client.stream("GET", path, headers={"Accept-Encoding": "gzip"}) as answer:
            raw = b"".join(answer.iter_raw())
        assert answer.headers["content-encoding"] == "gzip"
        assert answer.headers["vary"] == "Accept-Encoding"
        assert "immutable" in answer.headers["cache-control"]
        assert gzip.decompress(raw).decode() == asked(shared_panel, path, "identity").text


@pytest.mark.parametrize("path", ["/stream", "/sessions/{}/stream", "/embed/{}/stream", "/api/sessions/{}/stream"])
def test_a_stream_comes_as_it_is(shared_panel: Panel, path: str) -> None:
    address = path.format(filled(shared_panel))
    with shared_panel.stream(address, Accept_Encoding="gzip, deflate, br, zstd, *") as stream:
        assert "content-encoding" not in stream.headers
        assert stream.next().data
