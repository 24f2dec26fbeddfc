"""Runs a hook as an agent does: a process with the payload on its standard input."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from planstrip.hooks.post import Panel
from planstrip.hooks.send import deliver
from planstrip.hooks.spool import Spool, spool_of

SESSION = "5f0c8e51-0000-4000-8000-000000000001"


@dataclass(frozen=True, slots=True)
class Home:
    """A user's data folder, and the panel that their hooks are set to."""

    folder: Path
    url: str
    token: str = ""
    is_there: bool = False  # the panel: what a slow machine left in the spool is then delivered, as a server does
    url_name: str = "PLANSTRIP_URL"

    @property
    def env(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PLANSTRIP_")}
        told = {"XDG_DATA_HOME": str(self.folder), self.url_name: self.url, "PLANSTRIP_TOKEN": self.token}
        return kept | told

    @property
    def spool(self) -> Spool:
        return Spool(self.folder / "planstrip" / "spool" / spool_of(self.url).folder.name)

    def hook(self, payload: bytes | Mapping[str, object], agent: str = "claude-code") -> float:
        """How long it took, in seconds. It must succeed in silence, whatever it is given."""
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        started = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "planstrip", "hook", agent],
            input=data,
            env=self.env,
            capture_output=True,
            timeout=60,
            check=False,
        )
        took = time.monotonic() - started
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        if self.is_there:
            deliver(self.spool, Panel(self.url, self.token), time.monotonic() + 20, 20)
        return took


def prompt(text: str, number: int = 1) -> dict[str, object]:
    return {
        "session_id": SESSION,
        "cwd": "/project",
        "prompt_id": f"p{number}",
        "hook_event_name": "UserPromptSubmit",
        "prompt": text,
    }


def ran(command: str, output: str, number: int = 1) -> dict[str, object]:
    return {
        "session_id": SESSION,
        "prompt_id": "p1",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_response": {"stdout": output, "stderr": ""},
        "tool_use_id": f"toolu_{number}",
    }
