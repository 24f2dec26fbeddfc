"""A secret that masks know leaves by no door, in no page and no stream, while the log keeps it (README, "Masks")."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from planstrip.tables import events
from tests.databases import url_of
from tests.running import JSON, Panel, run, running
from tests.web.test_access import ACCESS, VALUES

SECRET = "ghp_" + "S3cr" * 9
OTHER = "sk-ant-" + "0ther" * 5
SAID = f"use {SECRET} now"
SHOWN = "use [masked: tokens] now"
MARK = re.compile(r'<mark class="masked" title="[^"<>]+">\[masked: tokens\]</mark>')


def of(type_: str, **data: object) -> dict[str, object]:
    return {"type": type_, "data": data}


def todo(content: str, status: str = "pending") -> dict[str, str]:
    return {"content": content, "status": status}


# Every text that an agent or a person can write, with a secret in it.
LOG = (
    of("session/start", agent="codex", title=SAID, cwd=f"/{SECRET}"),
    of("turn/start", turn=1, prompt=SAID),
    of("turn/wait", turn=1, **{"for": SAID}),
    of("turn/resume", turn=1),
    of("tool/call", call_id="1", name=f"tool_{OTHER}", arguments=json.dumps({"command": SAID, SECRET: [SAID]})),
    of("tool/result", call_id="1", is_error=True, text=SAID, error={"name": SAID, "code": SAID}),
    of("tool/call", call_id="2", name="bash", arguments=f'{{"command": "{SAID}'),
    of("tool/call", call_id="t", name="todo_write", arguments=json.dumps({"todos": [todo(SAID, "in_progress")]})),
    of("todo/write", todos=[todo(SAID, "in_progress"), todo(f"use {OTHER} now"), todo("drop " + OTHER)], call_id="t"),
    of("tool/result", call_id="t", is_error=False, text=SAID),
    of("viewer/retire", by=SAID),
    of("viewer/restore", by=SAID),
    of("todo/write", todos=[todo(SAID, "completed"), todo(f"then {OTHER}", "in_progress")], omitted=[todo(SAID, SAID)]),
    of("x/unknown", key=SECRET, id=SECRET, nested={SECRET: [SECRET]}),
)


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory, empty_log: bytes) -> Iterator[Panel]:
    path = tmp_path_factory.mktemp("masked") / "log.sqlite3"
    path.write_bytes(empty_log)
    with running(path, mask="tokens") as panel:
        assert panel.append("mine", *LOG).status_code == 201
        child = of("session/start", agent="codex", title=SAID, parent="mine")
        assert panel.append("child", child, of("todo/write", todos=[todo(SAID, "in_progress")])).status_code == 201
        yield panel


def ways() -> list[str]:
    found = []
    for method, path in ACCESS:
        for name, value in VALUES.items():
            path = path.replace(f"{{{name}}}", value)
        if method == "GET":
            found.append(path + {"/embed": "?session=mine", "/embed/sessions/streams": "?session=mine"}.get(path, ""))
    rows = "/sessions/mine/rows"
    found.remove(rows)
    asked = ["?at=9", "?lang=zh", "?at=13"]
    return [*found, f"{rows}?before=99", *(f"/sessions/mine{more}" for more in asked), "/embed/mine?rows=9", "/?q=use"]


@pytest.mark.parametrize("path", ways())
def test_no_answer_has_the_secret(masked: Panel, path: str) -> None:
    if path.partition("?")[0].endswith(("/stream", "/streams")):
        with masked.stream(path) as stream:
            text = stream.raw().decode()
            told = str(stream.headers)
    else:
        answer = masked.client.get(path)
        text, told = answer.text, str(answer.headers)
    found = [secret for secret in (SECRET, OTHER, SECRET[:12], OTHER[:12]) if secret in text + told]
    assert found == []
    is_shown = "mine" in path and "stream" not in path and not path.endswith(".svg")
    assert "masked: tokens" in text or not is_shown


@pytest.fixture(scope="module", params=["all=(?s:.+)", "x=open|mine|o"])
def overdone(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, empty_log: bytes
) -> Iterator[Panel]:
    """Masks that match words of ours as well."""
    path = tmp_path_factory.mktemp("overdone") / "log.sqlite3"
    path.write_bytes(empty_log)
    with running(path, mask=request.param) as panel:
        assert panel.append("mine", *LOG, of("turn/end", turn=1, reason={"kind": "completed"})).status_code == 201
        child = of("session/start", agent="codex", title=SAID, parent="mine")
        assert panel.append("child", child, of("todo/write", todos=[todo(SAID, "in_progress")])).status_code == 201
        yield panel


def test_whatever_a_mask_matches_every_page_and_stream_answers(overdone: Panel, masked: Panel) -> None:
    for path in ways():
        if path.partition("?")[0].endswith(("/stream", "/streams")):
            with overdone.stream(path) as stream:
                assert (stream.status, bool(stream.raw())) == (200, True), path
        else:
            answers = [panel.client.get(path) for panel in (overdone, masked)]
            assert answers[0].status_code == answers[1].status_code, path
    for path in ("/stream", "/sessions/child/stream", "/api/sessions/child/stream"):
        with overdone.stream(path) as stream:
            stream.next()
            assert overdone.write("child", [todo(f"{SAID} {path}", "in_progress")]).status_code == 200
            assert "masked" in stream.next().data
    board = overdone.client.get("/api/sessions").json()["sessions"]
    assert {one["id"]: one["state"] for one in board} == {"mine": "open", "child": "open"}
    assert overdone.plan("mine")["counts"] == {"completed": 1, "in_progress": 1, "pending": 0}


@pytest.mark.parametrize("path", ["/sessions/mine", "/embed/mine?rows=9", "/"])
def test_a_page_and_its_stream_mark_the_same(masked: Panel, path: str) -> None:
    page = masked.client.get(path).text
    with masked.stream("/stream" if path == "/" else path.replace("mine", "mine/stream")) as stream:
        frame = stream.next().data
    assert MARK.search(page)
    assert set(MARK.findall(frame)) <= set(MARK.findall(page))
    for strip in re.findall(r'<bdi class="(?:content|row-summary)"[^<]*(?:<mark.*?</mark>)?.*?</bdi>', frame):
        assert strip in page


def test_texts_of_a_page_stay_whole_and_no_attribute_has_an_element(masked: Panel) -> None:
    page = masked.client.get("/sessions/mine").text
    assert re.search(r'<bdi[^>]* title="use \[masked: tokens\] now">use <mark', page)
    assert not re.search(r'="[^"]*<mark', page)
    assert not re.search(r"<title>[^<]*<mark", page)
    assert "由遮罩 tokens 隐藏" in masked.client.get("/sessions/mine?lang=zh").text


def test_the_api_says_what_is_masked_and_the_log_has_it_all(masked: Panel) -> None:
    plan = masked.plan("mine", at=9)
    assert [item["content"] for item in plan["todos"]] == [SHOWN, SHOWN, "drop [masked: tokens]"]
    told = masked.events("mine")
    assert json.loads(told[4]["data"]["arguments"]) == {"command": SHOWN, "[masked: tokens]": [SHOWN]}
    assert told[13]["data"] == {
        "key": "[masked: tokens]",
        "id": "[masked: tokens]",
        "nested": {"[masked: tokens]": ["[masked: tokens]"]},
    }
    with masked.parts.engine.connect() as connection:
        stored = connection.execute(select(events.c.data).where(events.c.session == "mine")).scalars().all()
    assert [json.loads(text) for text in stored if SECRET in text or OTHER in text] != []
    assert json.loads(stored[8])["todos"][0]["content"] == SAID


@pytest.mark.parametrize("way", ["/api/sessions?q={}", "/?q={}"])
def test_a_search_finds_what_is_shown_and_nothing_by_the_secret(masked: Panel, way: str) -> None:
    def finds(q: str) -> bool:
        return "masked: tokens" in masked.client.get(way.format(q)).text

    assert finds("use")
    assert finds("mine")
    for q in (SECRET, SECRET[:8], SECRET[4:10], OTHER.casefold()[3:11], "ghp"):
        assert not finds(q), q


def test_an_agent_that_reads_its_plan_back_reads_it_masked(masked: Panel) -> None:
    params = {"uri": "planstrip://sessions/mine/plan"}
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {**params, "_meta": meta}}
    headers = {
        **JSON,
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "resources/read",
        "mcp-name": params["uri"],
    }
    answer = masked.client.post("/mcp", json=body, headers=headers).json()
    plan: dict[str, Any] = json.loads(answer["result"]["contents"][0]["text"])
    assert [item["content"] for item in plan["todos"]] == [SHOWN, "then [masked: tokens]"]


def test_a_person_can_dismiss_what_is_masked(masked: Panel) -> None:
    page = masked.client.get("/sessions/mine").text
    key = re.search(r'name="item" value="([^"]+)"', page)
    assert key
    answer = masked.client.post("/sessions/mine/dismiss", data={"item": key[1]})
    assert answer.status_code in (200, 204, 303)
    told = masked.client.get("/api/sessions/mine/events?after=14").json()["events"]
    shown = [event["data"]["content"] for event in told]
    assert "[masked: tokens]" in shown[0]
    with masked.parts.engine.connect() as connection:
        stored = connection.execute(select(events.c.data).where(events.c.session == "mine", events.c.position == 15))
        assert json.loads(stored.scalar_one())["content"] == shown[0].replace("[masked: tokens]", OTHER)


def test_a_live_page_goes_on_from_what_the_log_has(database: Path) -> None:
    """The view is advanced unmasked: two secrets that look alike are two to-dos."""
    with running(database, mask="tokens") as panel:
        panel.write("a", [todo(SAID), todo(f"use {OTHER} now")])
        with panel.stream("/api/sessions/a/stream") as stream:
            stream.next()
            panel.write("a", [todo(f"use {OTHER} now", "completed")])
            assert json.loads(stream.next().data)["todos"] == [todo(SHOWN, "completed")]
        assert SHOWN in panel.client.get("/sessions/a").text


@pytest.mark.sqlite
def test_a_snapshot_and_a_status_line_are_masked_by_the_environment(tmp_path: Path, database: Path) -> None:
    file = tmp_path / "log.ndjson"
    file.write_text("".join(json.dumps(event) + "\n" for event in LOG[:10]))
    environment = {"PLANSTRIP_MASK": "tokens", "NO_COLOR": "1"}
    code, told, _ = run("snapshot", str(file), "--all", env=environment)
    assert (code, SECRET in told, SHOWN in told) == (0, False, True)
    with running(database) as panel:
        panel.write("a", [todo(SAID, "in_progress")])
    code, told, _ = run("status", "--session", "a", "--database-url", url_of(database), env=environment)
    assert (code, told.strip()) == (0, f"0/1 · {SHOWN}")
