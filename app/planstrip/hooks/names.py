"""Agents by the names that a person may type. Standard library only: it is on a hook's path."""

from typing import Final

AGENTS: Final = frozenset(
    {"claude-code", "codex", "deepseek-harness", "gemini-cli", "kimi", "langchain", "opencode", "qwen-code"}
)
ALIASES: Final = {"claude": "claude-code", "dsh": "deepseek-harness", "gemini": "gemini-cli", "qwen": "qwen-code"}


def agent_of(name: str) -> str | None:
    """The agent's own name, the one of its folder under `samples/`; None for one that is not known."""
    name = ALIASES.get(name, name)
    return name if name in AGENTS else None
