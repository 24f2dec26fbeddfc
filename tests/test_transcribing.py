"""`watch` without a path, and `serve --watch`: every known agent's transcripts on this machine."""

import shutil
import time
from pathlib import Path

import httpx
import pytest

from planstrip.errors import UnusableSettings
from planstrip.paths import fixtures_dir
from planstrip.transcribing import folders_of
from planstrip.transcripts.places import PLACES
from tests.running import TIMEOUT_S, run, serving

SAMPLE = fixtures_dir() / "deepseek-harness/real-parallel-multi-turn.jsonl"


def test_every_agent_has_a_place_and_its_own_variable_moves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("CODEX_HOME", "/elsewhere")
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    assert len(folders_of([])) == len(PLACES)
    assert folders_of(["claude", "codex"]) == [Path("/home/ada/.claude/projects"), Path("/elsewhere/sessions")]


def test_an_agent_that_is_not_known_is_named() -> None:
    with pytest.raises(UnusableSettings, match="--agent is 'cursor'; expected one of claude-code, codex"):
        folders_of(["cursor"])
    code, _, said = run("watch", "--agent", "cursor")
    assert code == 2
    assert "cursor" in said


def test_a_server_that_watches_takes_in_what_is_there_and_what_comes(database: Path, tmp_path: Path) -> None:
    sessions = tmp_path / ".dsh/sessions/--project--/one"
    sessions.mkdir(parents=True)
    shutil.copy(SAMPLE, sessions / "session.jsonl")
    with (
        serving(database, "--watch", env={"HOME": str(tmp_path), "DSH_HOME": str(tmp_path / ".dsh")}) as program,
        httpx.Client(base_url=program.url, trust_env=False) as client,
    ):
        assert _appears(client, "sess-parallel_multi_turn")
        other = sessions.parent / "two"
        other.mkdir()
        text = SAMPLE.read_text(encoding="utf-8").replace("sess-parallel_multi_turn", "sess-two")
        (other / "session.jsonl").write_text(text, encoding="utf-8")
        assert _appears(client, "sess-two")
        assert program.stop() == 0


def _appears(client: httpx.Client, session: str) -> bool:
    end = time.monotonic() + TIMEOUT_S
    while time.monotonic() < end:
        if client.get(f"/api/sessions/{session}/plan").status_code == 200:
            return True
        time.sleep(0.05)
    return False
