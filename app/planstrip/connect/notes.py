"""How each agent's own plan tool is switched on: for `planstrip connect`, and a page without a plan (agents.md)."""

from collections.abc import Mapping
from typing import Final


def _(text: str) -> str:
    """Marks a text for the catalogue; who shows it translates it."""
    return text


OWN_TOOL: Final[Mapping[str, str]] = {
    "claude-code": _(
        "Its own list: the Task tools are on by default, but for newer models, which need"
        " `CLAUDE_CODE_ENABLE_TODO_TOOLS=1`; `CLAUDE_CODE_ENABLE_TASKS=0` brings TodoWrite back."
    ),
    "codex": _(
        "Its own update_plan is off since 0.152: put `[tools.update_plan]` with `enabled = true` into its config.toml."
    ),
    "opencode": _("Its own todowrite is on."),
    "gemini-cli": _("Its own write_todos is on, with the models that have it."),
    "qwen-code": _(
        'Its own todo_write is off: put `"tools": {"todoWrite": {"enabled": true}}` into its settings.json.'
    ),
    "kimi": _("Its own TodoList is on."),
    "deepseek-harness": _("Its own todo_write is on."),
}

# What is known only to who has just connected it.
ONCE_CONNECTED: Final[Mapping[str, str]] = {
    "claude-code": "The MCP entry is this project's (.mcp.json), and Claude Code asks once whether it may use it.",
    "codex": "Codex asks once whether it may run these hooks.",
    "opencode": "`planstrip watch ~/.local/share/opencode` reads its database live.",
    "kimi": "It has no hooks of ours: `planstrip watch ~/.kimi-code/sessions` reads it live.",
    "deepseek-harness": "Ours stands beside it over MCP; --no-mcp leaves ours out.",
}


def note_of(agent: str) -> str:
    return " ".join(note for note in (OWN_TOOL[agent], ONCE_CONNECTED.get(agent)) if note)
