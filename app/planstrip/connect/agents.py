"""Each agent's configuration: which files, what goes into them, how its own plan tool is switched on (agents.md)."""

import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from planstrip.connect.merging import JsonMerge, Merge, OwnFile, TomlMerge, YamlMerge
from planstrip.hooks import templates

TOOLS: Final = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "BeforeTool", "AfterTool")  # those with a matcher
EVENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "claude-code": (
        *("UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Notification"),
        *("SubagentStart", "SubagentStop", "Stop", "SessionEnd"),
    ),
    "codex": ("UserPromptSubmit", "PreToolUse", "PostToolUse", "PermissionRequest", "Stop", "Interrupt", "SessionEnd"),
    "gemini-cli": ("BeforeAgent", "AfterTool", "AfterAgent", "Notification", "SessionEnd"),
    "qwen-code": (
        *("UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Notification", "Stop", "SessionEnd"),
    ),
}
TIMEOUTS: Final[Mapping[str, int]] = {"codex": 3, "gemini-cli": 10_000}  # gemini counts milliseconds
TIMEOUT_S: Final = 10


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked for. `program` starts planstrip; `url`: over HTTP instead of stdio."""

    program: Sequence[str]
    arguments: Sequence[str] = ("mcp",)
    url: str | None = None
    has_mcp: bool = True
    has_hooks: bool = True

    @property
    def command(self) -> list[str]:
        return [*self.program, *self.arguments]


@dataclass(frozen=True, slots=True)
class Change:
    path: Path
    merge: Merge


@dataclass(frozen=True, slots=True)
class Places:
    """Where configurations lie. `cwd`: the project, for agents that take servers from there."""

    home: Path
    cwd: Path
    environment: Mapping[str, str]

    def of(self, variable: str, *default: str) -> Path:
        given = self.environment.get(variable)
        return Path(given) if given else self.home.joinpath(*default)


def changes(agent: str, plan: Plan, places: Places) -> list[Change]:
    return _CHANGES[agent](plan, places)


def _claude(plan: Plan, places: Places) -> list[Change]:
    url = f"{plan.url}?{urlencode({'cwd': places.cwd})}"  # else all projects were one to the panel
    entry = {"type": "http", "url": url} if plan.url else {"type": "stdio"} | _stdio(plan)
    settings = places.of("CLAUDE_CONFIG_DIR", ".claude") / "settings.json"
    return [*_servers(plan, places.cwd / ".mcp.json", entry), *_hooks("claude-code", plan, settings)]


def _codex(plan: Plan, places: Places) -> list[Change]:
    home = places.of("CODEX_HOME", ".codex")
    entry: dict[str, Any] = {"url": plan.url} if plan.url else _stdio(plan)
    entry["default_tools_approval_mode"] = "approve"
    servers = [Change(home / "config.toml", TomlMerge("mcp_servers", entry))] if plan.has_mcp else []
    return servers + _hooks("codex", plan, home / "hooks.json")


def _opencode(plan: Plan, places: Places) -> list[Change]:
    folder = places.of("XDG_CONFIG_HOME", ".config") / "opencode"
    where = {"type": "remote", "url": plan.url} if plan.url else {"type": "local", "command": plan.command}
    config = next((path for name in ("opencode.jsonc",) if (path := folder / name).exists()), folder / "opencode.json")
    found = [Change(config, JsonMerge(("mcp",), where | {"enabled": True}))] if plan.has_mcp else []
    if plan.has_hooks:
        plugin = OwnFile(templates.opencode_plugin(plan.program))
        found.append(Change(folder / "plugin" / "planstrip.js", plugin))
    return found


def _gemini(plan: Plan, places: Places) -> list[Change]:
    return _gemini_like("gemini-cli", plan, places.home / ".gemini" / "settings.json")


def _qwen(plan: Plan, places: Places) -> list[Change]:
    return _gemini_like("qwen-code", plan, places.home / ".qwen" / "settings.json")


def _gemini_like(agent: str, plan: Plan, path: Path) -> list[Change]:
    entry = ({"httpUrl": plan.url} if plan.url else _stdio(plan)) | {"trust": True}
    server = entry if plan.has_mcp else None
    hooks = _groups(agent, plan) if plan.has_hooks else {}
    return [Change(path, JsonMerge(("mcpServers",), server, hooks))]


def _kimi(plan: Plan, places: Places) -> list[Change]:
    entry = {"url": plan.url} if plan.url else _stdio(plan)
    return _servers(plan, places.of("KIMI_CODE_HOME", ".kimi-code") / "mcp.json", entry)


def _dsh(plan: Plan, places: Places) -> list[Change]:
    """JSON is YAML: nothing needs a quote of another kind."""
    home = places.of("DSH_HOME", ".dsh")
    where = {"transport": "streamable-http", "url": plan.url} if plan.url else {"transport": "stdio"} | _stdio(plan)
    plugin = (home / "planstrip.mjs").absolute()
    lines = ["# planstrip\n- insert:\n"]
    found: list[Change] = []
    if plan.has_mcp:
        config = json.dumps({"serverName": "plan"} | where, ensure_ascii=False)
        lines.append(f"    - id: mcp-plan\n      name: '@deepseek-ai/dsh-mcp-client'\n      config: {config}\n")
    if plan.has_hooks:
        lines.append(f"    - id: planstrip\n      name: {json.dumps(str(plugin), ensure_ascii=False)}\n")
        found.append(Change(plugin, OwnFile(templates.dsh_plugin(plan.program))))
    if len(lines) > 1:
        found.append(Change(home / "cordis.patch.yml", YamlMerge("".join(lines))))
    return found


def _stdio(plan: Plan) -> dict[str, Any]:
    first, *rest = plan.command
    return {"command": first, "args": rest}


def _servers(plan: Plan, path: Path, entry: Mapping[str, Any]) -> list[Change]:
    return [Change(path, JsonMerge(("mcpServers",), entry))] if plan.has_mcp else []


def _hooks(agent: str, plan: Plan, path: Path) -> list[Change]:
    return [Change(path, JsonMerge(hooks=_groups(agent, plan)))] if plan.has_hooks else []


def _groups(agent: str, plan: Plan) -> dict[str, dict[str, Any]]:
    command = shlex.join([*plan.program, "hook", agent])
    hook = {"type": "command", "command": command, "timeout": TIMEOUTS.get(agent, TIMEOUT_S)}
    return {event: {"matcher": "*" if event in TOOLS else "", "hooks": [hook]} for event in EVENTS[agent]}


def home_places() -> Places:
    return Places(Path.home(), Path.cwd(), os.environ)


_CHANGES: Final[Mapping[str, Callable[[Plan, Places], list[Change]]]] = {
    "claude-code": _claude,
    "codex": _codex,
    "opencode": _opencode,
    "gemini-cli": _gemini,
    "qwen-code": _qwen,
    "kimi": _kimi,
    "deepseek-harness": _dsh,
}
AGENTS: Final = tuple(_CHANGES)
WITHOUT_HOOKS: Final = frozenset({"kimi"})
