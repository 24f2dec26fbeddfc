"""What a person may call an agent, and where the panel is. Standard library only: it is on a hook's path."""

from collections.abc import Mapping
from typing import Final

AGENTS: Final = frozenset(
    {"claude-code", "codex", "deepseek-harness", "gemini-cli", "kimi", "langchain", "opencode", "qwen-code"}
)
ALIASES: Final = {"claude": "claude-code", "dsh": "deepseek-harness", "gemini": "gemini-cli", "qwen": "qwen-code"}


DEFAULT_URL: Final = "http://127.0.0.1:8765"


def panel_url(environment: Mapping[str, str]) -> str | None:
    """Where the panel is, by the environment; `PLANSTRIP_SERVER` is the older name."""
    return environment.get("PLANSTRIP_URL") or environment.get("PLANSTRIP_SERVER") or None


def agent_of(name: str) -> str | None:
    """The agent's own name, the one of its folder under `samples/`; None for one that is not known."""
    name = ALIASES.get(name, name)
    return name if name in AGENTS else None
