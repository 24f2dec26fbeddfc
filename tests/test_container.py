"""The Dockerfile and compose.yaml: what can be known of them without Docker."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from planstrip.errors import UnusableSettings
from planstrip.settings import Settings, database_url_or_default, load
from tests.running import Panel

ROOT = Path(__file__).parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
_, BUILD, RUN = DOCKERFILE.split("\nFROM ")


def copied() -> set[str]:
    """What the build takes from the checkout."""
    lines = re.findall(r"^COPY (?!--from)(.+)$", BUILD, re.MULTILINE)
    return {name for line in lines for name in line.split()[:-1]}


def test_the_build_has_all_that_the_wheel_is_made_of() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    needed = set(wheel["wheel"]["force-include"]) | {"app", "pyproject.toml", "uv.lock", "README.md", "LICENSE"}
    assert needed <= copied()
    assert [name for name in copied() if not (ROOT / name).exists()] == []
    let_in = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert "*" in let_in
    assert {line[1:] for line in let_in if line.startswith("!")} == copied()


def test_the_image_has_what_the_lock_says_and_nothing_for_developers() -> None:
    syncs = re.findall(r"uv sync (.+)", BUILD)
    assert len(syncs) == 2
    assert all({"--locked", "--no-dev"} <= set(sync.split()) for sync in syncs)
    assert "--no-editable" in syncs[1]  # or the image would need the sources


def test_the_program_runs_as_nobody_in_particular() -> None:
    user = re.findall(r"^USER (\d+)$", RUN, re.MULTILINE)
    assert user
    assert user[-1] != "0"
    assert RUN.index("USER") < RUN.index("ENTRYPOINT")


@pytest.mark.parametrize("is_there", [True, False])
def test_the_check_of_health_tells_a_panel_from_none(shared_panel: Panel, unused_port: int, is_there: bool) -> None:
    found = re.search(r"HEALTHCHECK .*?CMD (\[.*\])", RUN)
    assert found
    command = json.loads(found[1])
    assert command[0] == "python"
    port = shared_panel.url.split(":")[2].partition("/")[0] if is_there else str(unused_port)
    done = subprocess.run(
        [sys.executable, *command[1:]], env=os.environ | {"PLANSTRIP_PORT": port}, capture_output=True, check=False
    )
    assert (done.returncode == 0) == is_there


def test_every_setting_that_is_named_exists() -> None:
    named = set(re.findall(r"PLANSTRIP_(\w+)=", RUN)) | {
        name.removeprefix("PLANSTRIP_") for name in COMPOSE["services"]["planstrip"]["environment"]
    }
    assert {name.lower() for name in named} <= {*Settings.model_fields, "secrets_dir", "forwarded_allow_ips"}


def test_every_setting_can_reach_the_panel() -> None:
    service = COMPOSE["services"]["planstrip"]
    image = {name.lower() for name in re.findall(r"(PLANSTRIP_\w+)=", RUN)}
    told = {name.lower() for name in service["environment"]} | {*service["secrets"]} | image
    (port,) = service["ports"]
    assert port.endswith(":8765")  # inside it is fixed: PLANSTRIP_LISTEN says which one the host listens on
    assert {f"planstrip_{name}" for name in Settings.model_fields} - told == {"planstrip_port"}
    assert "FORWARDED_ALLOW_IPS" in service["environment"]  # uvicorn's own


def test_the_image_has_what_a_setting_may_ask_for() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for sync in re.findall(r"uv sync (.+)", BUILD):
        assert set(re.findall(r"--extra (\w+)", sync)) == set(extras)


def test_no_secret_stands_in_the_file() -> None:
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()
    assert "secrets/" in ignored
    for secret in COMPOSE["secrets"].values():
        assert secret["file"].startswith("./secrets/")
    for service in COMPOSE["services"].values():
        assert set(service["secrets"]) <= set(COMPOSE["secrets"])
        for name, value in service["environment"].items():
            is_secret = re.search(r"PASSWORD|TOKEN|URL", name)
            assert not is_secret or str(value).startswith("/run/secrets/"), name


def test_the_panel_waits_for_a_database_that_answers() -> None:
    panel, database = COMPOSE["services"]["planstrip"], COMPOSE["services"]["database"]
    assert panel["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert database["healthcheck"]["test"][:2] == ["CMD", "pg_isready"]
    assert panel["read_only"] is True
    volumes = [volume.partition(":")[0] for service in (panel, database) for volume in service["volumes"]]
    assert set(volumes) == set(COMPOSE["volumes"])
    assert ":?" in panel["environment"]["PLANSTRIP_ALLOW_PARALLEL_IN_PROGRESS"]  # there is no default here either


# Secrets as files


@pytest.fixture
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("PLANSTRIP_")]:
        monkeypatch.delenv(name)
    (tmp_path / "planstrip_token").write_text("of-the-file\n", encoding="utf-8")
    (tmp_path / "planstrip_database_url").write_text("postgresql://p:s@db/plans\n", encoding="utf-8")
    monkeypatch.setenv("PLANSTRIP_SECRETS_DIR", str(tmp_path))
    return tmp_path


def test_settings_are_read_from_files_of_secrets(secrets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load(allow_parallel_in_progress=True, host="192.0.2.1")
    assert (settings.secret, settings.database_url) == ("of-the-file", "postgresql://p:s@db/plans")
    assert database_url_or_default(None) == "postgresql://p:s@db/plans"
    monkeypatch.setenv("PLANSTRIP_TOKEN", "of-the-environment")
    assert load(allow_parallel_in_progress=True).secret == "of-the-environment"


@pytest.mark.parametrize(("name", "said"), [("nowhere", "does not exist"), ("planstrip_token", "is a file")])
def test_a_folder_of_secrets_that_is_none_is_told(
    secrets: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    monkeypatch.setenv("PLANSTRIP_SECRETS_DIR", str(secrets / name))
    for asks in (lambda: load(allow_parallel_in_progress=True), lambda: database_url_or_default(None)):
        with pytest.raises(UnusableSettings, match=f"secrets_dir: '.*/{name}' {said}; expected a folder"):
            asks()


def test_a_secret_that_is_no_text_is_told(secrets: Path) -> None:
    (secrets / "planstrip_database_url").write_bytes(b"\xff\xfe")
    for asks in (lambda: load(allow_parallel_in_progress=True), lambda: database_url_or_default(None)):
        with pytest.raises(UnusableSettings, match="no text in UTF-8"):
            asks()
