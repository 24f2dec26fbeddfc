"""`planstrip connect`: each agent's files as it reads them, with all that stood in them, and back again."""

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import yaml

from planstrip.connect import jsonc
from planstrip.connect.agents import AGENTS, Places
from planstrip.connect.run import BACKUP, Options, program, run_connect
from planstrip.errors import UnusableSettings
from tests.running import run

HTTP = "http://127.0.0.1:8765/mcp"


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    monkeypatch.delenv("PLANSTRIP_ALLOW_PARALLEL_IN_PROGRESS", raising=False)
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    return Places(tmp_path / "home", tmp_path / "project", {})


def files(places: Places) -> dict[str, bytes]:
    roots = (places.home, places.cwd)
    return {
        str(path.relative_to(root.parent)): path.read_bytes()
        for root in roots
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def loaded(path: Path) -> Any:
    if path.suffix == ".toml":
        return tomllib.loads(path.read_text())
    return yaml.safe_load(path.read_text()) if path.suffix == ".yml" else json.loads(path.read_text())


def command(*arguments: str) -> list[str]:
    return [*program(), *arguments]


def split(words: Sequence[str]) -> dict[str, Any]:
    return {"command": words[0], "args": list(words[1:])}


STDIO: dict[str, tuple[str, Any]] = {
    "claude-code": ("project/.mcp.json", {"mcpServers": {"plan": {"type": "stdio"} | split(command("mcp"))}}),
    "codex": (
        "home/.codex/config.toml",
        {"mcp_servers": {"plan": split(command("mcp")) | {"default_tools_approval_mode": "approve"}}},
    ),
    "opencode": (
        "home/.config/opencode/opencode.json",
        {"mcp": {"plan": {"type": "local", "command": command("mcp"), "enabled": True}}},
    ),
    "gemini-cli": ("home/.gemini/settings.json", {"mcpServers": {"plan": split(command("mcp")) | {"trust": True}}}),
    "qwen-code": ("home/.qwen/settings.json", {"mcpServers": {"plan": split(command("mcp")) | {"trust": True}}}),
    "kimi": ("home/.kimi-code/mcp.json", {"mcpServers": {"plan": split(command("mcp"))}}),
    "deepseek-harness": (
        "home/.dsh/cordis.patch.yml",
        [
            {
                "insert": [
                    {
                        "id": "mcp-plan",
                        "name": "@deepseek-ai/dsh-mcp-client",
                        "config": {"serverName": "plan", "transport": "stdio"} | split(command("mcp")),
                    }
                ]
            }
        ],
    ),
}
OVER_HTTP: dict[str, Any] = {
    "claude-code": {"type": "http", "url": HTTP},
    "codex": {"url": HTTP, "default_tools_approval_mode": "approve"},
    "opencode": {"type": "remote", "url": HTTP, "enabled": True},
    "gemini-cli": {"httpUrl": HTTP, "trust": True},
    "qwen-code": {"httpUrl": HTTP, "trust": True},
    "kimi": {"url": HTTP},
    "deepseek-harness": {"serverName": "plan", "transport": "streamable-http", "url": HTTP},
}


def test_every_agent_is_held_to_what_worked() -> None:
    assert set(AGENTS) == set(STDIO) == set(OVER_HTTP)


@pytest.mark.parametrize("agent", AGENTS)
def test_the_entry_is_the_one_that_worked(places: Places, agent: str) -> None:
    name, expected = STDIO[agent]
    assert run_connect(agent, Options(has_hooks=False), places) == 0
    assert loaded(places.home.parent / name) == expected


@pytest.mark.parametrize("agent", AGENTS)
def test_over_http_it_names_the_server(places: Places, agent: str) -> None:
    name, _ = STDIO[agent]
    run_connect(agent, Options(is_http=True, has_hooks=False), places)
    found = loaded(places.home.parent / name)
    entry = found[0]["insert"][0]["config"] if isinstance(found, list) else next(iter(found.values()))["plan"]
    if agent == "claude-code":  # whose entry is the project's: there the address says which
        project = urlencode({"cwd": str(places.cwd)})
        assert entry == {"type": "http", "url": f"{HTTP}?{project}"}
    else:
        assert entry == OVER_HTTP[agent]


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini-cli", "qwen-code"])
def test_hooks_run_the_agents_own(places: Places, agent: str) -> None:
    run_connect(agent, Options(has_mcp=False), places)
    (name,) = [name for name in files(places) if name.endswith(("settings.json", "hooks.json"))]
    hooks = loaded(places.home.parent / name)["hooks"]
    after = "AfterTool" if agent == "gemini-cli" else "PostToolUse"
    (group,) = hooks[after]
    (hook,) = group["hooks"]
    assert (group["matcher"], hook["type"], hook["command"].split()[-2:]) == ("*", "command", ["hook", agent])
    assert hook["timeout"] == {"gemini-cli": 10_000, "codex": 3}.get(agent, 10)


def test_plugins_are_files_of_their_own(places: Places) -> None:
    run_connect("opencode", Options(), places)
    run_connect("dsh", Options(), places)
    written = files(places)
    assert json.dumps(command("hook", "opencode")) in written["home/.config/opencode/plugin/planstrip.js"].decode()
    patch = loaded(places.home / ".dsh/cordis.patch.yml")
    assert patch[0]["insert"][1] == {"id": "planstrip", "name": str(places.home / ".dsh/planstrip.mjs")}


BEFORE = {
    "claude-code": {
        "project/.mcp.json": '{"mcpServers": {"other": {"command": "x"}}}',
        "home/.claude/settings.json": '{\n\t"hooks": {\n\t\t"Stop": [{"hooks": [{"type": "command"}]}]\n\t}\n}',
    },
    "codex": {
        "home/.codex/config.toml": '# mine\nmodel = "x" # good\n\n[mcp_servers.other] # his\nurl = "y"\n[tui]\na = 1',
        "home/.codex/hooks.json": '{"hooks": {}, "x": 1}\n',
    },
    "opencode": {"home/.config/opencode/opencode.jsonc": '{\n  // mine\n  "mcp": { /* none */ },\n  "x": 1,\n}\n'},
    "gemini-cli": {"home/.gemini/settings.json": '\ufeff{\r\n  "security": {}\r\n}\r\n'},
    "qwen-code": {"home/.qwen/settings.json": "{}"},
    "kimi": {"home/.kimi-code/mcp.json": ""},
    "deepseek-harness": {"home/.dsh/cordis.patch.yml": "# mine\n- remove: [x] # his\n"},
}


@pytest.mark.parametrize("agent", AGENTS)
def test_nothing_is_lost_and_undo_brings_all_back(places: Places, agent: str) -> None:
    for name, text in BEFORE[agent].items():
        path = places.home.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        path.chmod(0o600)
    before = files(places)
    assert run_connect(agent, Options(), places) == 0
    connected = files(places)
    for name, text in BEFORE[agent].items():
        after = connected[name].decode()
        assert "planstrip" in after
        assert connected[name + BACKUP] == text.encode()
        assert (places.home.parent / name).stat().st_mode & 0o777 == 0o600
        kept = iter(after)
        assert all(char in kept for char in text if not char.isspace()), "every character, in order"
    assert run_connect(agent, Options(), places) == 0
    assert files(places) == connected
    assert run_connect(agent, Options(is_http=True), places) == 0
    assert run_connect(agent, Options(is_undone=True), places) == 0
    assert files(places) == before


def test_a_changed_flag_replaces_our_entry_and_no_other(places: Places) -> None:
    for agent in ("codex", "claude-code", "opencode"):
        run_connect(agent, Options(has_hooks=False), places)
        run_connect(agent, Options(allow_parallel_in_progress=False, has_hooks=False), places)
        found = loaded(places.home.parent / STDIO[agent][0])
        assert list(next(iter(found.values()))) == ["plan"]
        assert "--no-allow-parallel-in-progress" in json.dumps(found)


def test_somebody_elses_server_of_our_name_is_left_alone(places: Places) -> None:
    path = places.cwd / ".mcp.json"
    path.write_text('{"mcpServers": {"plan": {"command": "theirs"}}}')
    run_connect("claude", Options(has_hooks=False), places)
    servers = loaded(path)["mcpServers"]
    assert (servers["plan"], servers["planstrip"]["args"][-1]) == ({"command": "theirs"}, "mcp")


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("had_before", [True, False])
def test_our_part_is_taken_out_of_files_that_were_changed_since(places: Places, agent: str, had_before: bool) -> None:
    """Agents write into their own settings as well."""
    for name, text in BEFORE[agent].items() if had_before else ():
        path = places.home.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    before = files(places)
    run_connect(agent, Options(), places)
    for name in files(places):
        path = places.home.parent / name
        if path.suffix == ".json" or path.suffix == ".jsonc":
            path.write_bytes(path.read_bytes().replace(b"{", b'{"theirs": {"a": []},', 1))
        elif path.suffix in (".toml", ".yml"):
            path.write_bytes(b"# theirs\n" + path.read_bytes())
    assert run_connect(agent, Options(is_undone=True), places) == 0
    after = files(places)
    assert not [name for name, content in after.items() if b"planstrip" in content or "planstrip" in name]
    for name, content in after.items():
        ours: Any = jsonc.parse(content.decode()).value if ".json" in name else None
        if ours is not None:
            assert ours.pop("theirs") == {"a": []}
            assert ours == (jsonc.parse(before[name].decode() or "{}").value if name in before else {})
        else:
            assert content.startswith(b"# theirs\n")
            kept = [line.strip() for line in content.splitlines()[1:] if line.strip()]
            assert kept == [line.strip() for line in before.get(name, b"").splitlines() if line.strip()]


def test_a_plugin_that_a_person_has_changed_is_left_alone(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    run_connect("opencode", Options(has_mcp=False), places)
    path = places.home / ".config/opencode/plugin/planstrip.js"
    path.write_text(path.read_text() + "// mine")
    assert run_connect("opencode", Options(has_mcp=False, is_undone=True), places) == 1
    assert "left alone" in capsys.readouterr().out
    assert path.read_text().endswith("// mine")


@pytest.mark.parametrize(
    ("agent", "name", "text"),
    [
        ("qwen-code", ".qwen/settings.json", '{"a": '),
        ("qwen-code", ".qwen/settings.json", '{"hooks": {"Stop": 5}}'),
        ("codex", ".codex/config.toml", "a = = 1"),
        ("codex", ".codex/config.toml", "mcp_servers = 1"),
        ("dsh", ".dsh/cordis.patch.yml", "a: 1"),
        ("dsh", ".dsh/cordis.patch.yml", "[{remove: x}]"),
        ("dsh", ".dsh/cordis.patch.yml", "- a: [\n"),
    ],
)
def test_what_cannot_be_added_to_is_left_as_it_is(places: Places, agent: str, name: str, text: str) -> None:
    path = places.home / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    before = files(places)
    with pytest.raises(UnusableSettings, match="nothing was added"):
        run_connect(agent, Options(), places)
    assert files(places) == before


def test_an_inline_table_and_tables_out_of_order_are_added_to(places: Places) -> None:
    path = places.home / ".codex/config.toml"
    path.parent.mkdir()
    for text in ('mcp_servers = {a = {command = "x"}} # c\n', "[mcp_servers.a]\nb = 1\n[x]\n[mcp_servers.c]\nd = 2\n"):
        path.write_text(text)
        run_connect("codex", Options(has_hooks=False), places)
        found = loaded(path)
        assert found.pop("mcp_servers") == tomllib.loads(text)["mcp_servers"] | STDIO["codex"][1]["mcp_servers"]
        assert "# c" in path.read_text() or "# c" not in text


def test_a_link_stays_one(places: Places) -> None:
    target = places.home / "dotfiles.json"
    target.write_text("{}")
    (places.home / ".qwen").mkdir()
    (places.home / ".qwen/settings.json").symlink_to(target)
    run_connect("qwen", Options(), places)
    assert (places.home / ".qwen/settings.json").is_symlink()
    assert "planstrip" in target.read_text()
    run_connect("qwen", Options(is_undone=True), places)
    assert ((places.home / ".qwen/settings.json").is_symlink(), target.read_text()) == (True, "{}")


@pytest.mark.parametrize("agent", AGENTS)
def test_print_writes_nothing_and_says_how_the_agents_own_tool_is_switched_on(tmp_path: Path, agent: str) -> None:
    code, out, err = run("connect", agent, "--print", env={"HOME": str(tmp_path)})
    assert (code, err, list(tmp_path.iterdir())) == (0, "", [])
    assert f"hook {agent}" in out or "mcp" in out
    assert "own" in out


def test_an_agent_that_is_not_known(tmp_path: Path) -> None:
    code, _, err = run("connect", "emacs", env={"HOME": str(tmp_path)})
    assert (code, "emacs" in err, "claude-code" in err) == (2, True, True)


@pytest.mark.parametrize(("given", "expected"), [(None, "--allow-"), (False, "--no-allow-")])
def test_a_panel_that_runs_says_the_policy_for_when_it_is_stopped(
    places: Places, capsys: pytest.CaptureFixture[str], given: bool | None, expected: str
) -> None:
    asked: list[str] = []

    def ask(address: str) -> bool:
        asked.append(address)
        return True

    options = Options(server="http://127.0.0.1:9000", allow_parallel_in_progress=given, ask_policy=ask)
    assert run_connect("kimi", options, places) == 0
    entry = loaded(places.home / ".kimi-code" / "mcp.json")["mcpServers"]["plan"]
    assert entry["args"][-3:] == ["--server", "http://127.0.0.1:9000", f"{expected}parallel-in-progress"]
    assert asked == ([] if given is not None else ["http://127.0.0.1:9000"])
    assert "connect again" not in capsys.readouterr().out


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("given", [True, False])
def test_who_connects_again_keeps_the_policy_that_was_told(
    places: Places, capsys: pytest.CaptureFixture[str], agent: str, given: bool
) -> None:
    assert run_connect(agent, Options(allow_parallel_in_progress=given), places) == 0
    first = files(places)
    capsys.readouterr()
    assert run_connect(agent, Options(), places) == 0
    assert files(places) == first
    assert "connect again" not in capsys.readouterr().out


def test_where_hooks_go_is_said_for_agents_that_have_hooks(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    for agent, is_said in (("kimi", False), ("codex", True)):
        assert run_connect(agent, Options(server="http://127.0.0.1:9000"), places) == 0
        assert ("PLANSTRIP_URL" in capsys.readouterr().out) == is_said
