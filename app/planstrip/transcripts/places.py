"""Where each agent keeps its transcripts on a machine (agents.md §1)."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class Place:
    """`variable` moves the agent's own folder, which is `folder` below the home directory; `inside` it they lie."""

    folder: str
    inside: str
    variable: str | None = None

    def path(self, home: Path, environment: Mapping[str, str]) -> Path:
        moved = environment.get(self.variable) if self.variable else None
        return (Path(moved) if moved else home / self.folder) / self.inside


PLACES: Final[Mapping[str, Place]] = {
    "claude-code": Place(".claude", "projects", "CLAUDE_CONFIG_DIR"),
    "codex": Place(".codex", "sessions", "CODEX_HOME"),
    "deepseek-harness": Place(".dsh", "sessions", "DSH_HOME"),
    "gemini-cli": Place(".gemini", "tmp"),
    "kimi": Place(".kimi-code", "sessions", "KIMI_CODE_HOME"),
    "opencode": Place(".local/share", "opencode", "XDG_DATA_HOME"),
    "qwen-code": Place(".qwen", "projects"),
}


def transcript_folders(home: Path, environment: Mapping[str, str], agents: frozenset[str]) -> list[Path]:
    """The folders of `agents`, whether they exist yet or not."""
    return [place.path(home, environment) for agent, place in PLACES.items() if agent in agents]
