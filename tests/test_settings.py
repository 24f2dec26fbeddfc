"""Settings: read from the environment and from flags, and refused in one line (spec.md §10)."""

import pytest

from planstrip.errors import UnusableSettings
from planstrip.settings import POLICY_MISSING, Settings, bare_host, is_loopback, load

ABSURD = 10**18
NUMBERS = [name for name, field in Settings.model_fields.items() if field.annotation in (int, int | None)]


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ALLOW_PARALLEL_IN_PROGRESS", "DATABASE_URL", "HOST", "PORT", "TOKEN", "ALLOWED_HOSTS", "ROOT_PATH"):
        monkeypatch.delenv(f"PLANSTRIP_{name}", raising=False)


def refused(**given: object) -> str:
    with pytest.raises(UnusableSettings) as raised:
        load(**{"allow_parallel_in_progress": True, **given})
    assert "\n" not in raised.value.detail
    return raised.value.detail


def test_the_policy_has_no_default() -> None:
    with pytest.raises(UnusableSettings) as raised:
        load()
    assert raised.value.detail == POLICY_MISSING
    assert "--allow-parallel-in-progress" in POLICY_MISSING
    assert "--no-allow-parallel-in-progress" in POLICY_MISSING
    assert "\n" not in POLICY_MISSING


@pytest.mark.parametrize(("given", "policy"), [("true", True), ("false", False), ("1", True), ("0", False)])
def test_the_environment_gives_what_no_flag_does(monkeypatch: pytest.MonkeyPatch, given: str, policy: bool) -> None:
    monkeypatch.setenv("PLANSTRIP_ALLOW_PARALLEL_IN_PROGRESS", given)
    monkeypatch.setenv("PLANSTRIP_PORT", "1234")
    assert load().allow_parallel_in_progress is policy
    assert load(allow_parallel_in_progress=not policy).allow_parallel_in_progress is not policy
    assert (load().port, load(port=5).port) == (1234, 5)


def test_the_defaults_are_those_of_the_contract() -> None:
    settings = load(allow_parallel_in_progress=True)
    assert (settings.host, settings.port, settings.token, settings.root_path) == ("127.0.0.1", 8765, None, "")
    assert settings.frame_ancestors == "'self'"
    assert settings.hosts == {"localhost", "127.0.0.1", "::1"}
    assert settings.database_url.startswith("sqlite:///")
    assert "planstrip" in settings.database_url


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "plans.example", "localhost.example", "10.0.0.1"])
def test_an_exposed_panel_needs_a_token(host: str) -> None:
    assert "token is not set" in refused(host=host)
    assert "token is not set" in refused(allowed_hosts=host)
    assert "token is not set" in refused(host=host, token="  ")
    assert load(allow_parallel_in_progress=True, host=host, token="x").host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.0.0.5", "LOCALHOST"])
def test_a_loopback_panel_needs_none(host: str) -> None:
    assert load(allow_parallel_in_progress=True, host=host, allowed_hosts="localhost, 127.0.0.1:8765 [::1]")


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"port": -1}, "port"),
        ({"port": 65536}, "port"),
        ({"port": "x"}, "port"),
        ({"root_path": "plans"}, "root_path"),
        ({"root_path": "/pl ans"}, "root_path"),
        ({"root_path": '/"><script>'}, "root_path"),
        ({"root_path": "/api"}, "root_path"),
        ({"root_path": "/sessions/x"}, "root_path"),
        ({"frame_ancestors": "'self'; script-src *"}, "frame_ancestors"),
        ({"frame_ancestors": ""}, "frame_ancestors"),
        ({"frame_ancestors": "'none' https://dash.example"}, "frame_ancestors"),
        ({"frame_ancestors": "https://dash.example/app"}, "frame_ancestors"),
        ({"frame_ancestors": "https://dash.example\r\nset-cookie:x=1"}, "frame_ancestors"),
        ({"allow_parallel_in_progress": "maybe"}, "allow_parallel_in_progress"),
        ({"archive_to": __file__, "keep_days": 1}, "archive_to"),
        ({"archive_to": f"{__file__}/below", "keep_days": 1}, "archive_to"),
        *(({name: ABSURD, "archive_to": "."}, name) for name in NUMBERS),
        *(({name: 0, "archive_to": "."}, name) for name in NUMBERS if name != "port"),
    ],
)
def test_a_bad_setting_is_named(given: dict[str, object], name: str) -> None:
    assert name in refused(**given)


def test_a_refusal_tells_no_token() -> None:
    assert "hunter2" not in refused(token="hunter2", port=-1)
    assert "hunter2" not in repr(load(allow_parallel_in_progress=True, token="hunter2"))


@pytest.mark.parametrize(
    ("given", "kept"),
    [("/plans", "/plans"), ("/plans/", "/plans"), ("/a/b", "/a/b"), ("/api/plans", "/api/plans"), ("", ""), ("/", "")],
)
def test_a_prefix_is_kept_without_its_last_slash(given: str, kept: str) -> None:
    assert load(allow_parallel_in_progress=True, root_path=given).root_path == kept


@pytest.mark.parametrize(
    ("host", "bare"),
    [
        ("localhost", "localhost"),
        ("localhost:8765", "localhost"),
        ("[::1]:8765", "::1"),
        ("[::1]", "::1"),
        ("::1", "::1"),
        ("Plans.Example.", "plans.example"),
        ("plans.example.:80", "plans.example"),
        ("", ""),
    ],
)
def test_ports_are_ignored(host: str, bare: str) -> None:
    assert bare_host(host) == bare


def test_a_name_that_only_begins_as_loopback_is_none() -> None:
    assert not is_loopback("localhost.evil.example")
    assert not is_loopback("127.0.0.1.evil.example")
    assert is_loopback("[::1]:9")
