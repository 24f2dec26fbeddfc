"""Every setting, with its default and its reason; read from the environment (`PLANSTRIP_…`) and from flags."""

import ipaddress
import os
import re
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict, SettingsError

from planstrip.errors import UnusableSettings
from planstrip.masks import entries_of, masks_of

POLICY_MISSING: Final = (
    "allow_parallel_in_progress is not set: --allow-parallel-in-progress lets several to-dos be in progress at once,"
    " --no-allow-parallel-in-progress at most one (or PLANSTRIP_ALLOW_PARALLEL_IN_PROGRESS=true|false)"
)

MAX_KEEP_DAYS: Final = 36_500
MAX_COUNT: Final = 1_000_000_000
MAX_FILES: Final = 1_000_000  # that a system lets a process open, at most

_HOST_LIST: Final = re.compile(r"[\s,]+")
_SOURCE: Final = re.compile(
    r"'self'|'none'|\*|[a-z][a-z0-9+.-]*:|([a-z][a-z0-9+.-]*://)?[a-z0-9*.\-\[\]:]+", re.IGNORECASE
)
_OWN: Final = re.compile(r"/(sessions|embed|static|mcp|docs|stream|probe)(/.*)?|/api(/(sessions|hooks|tokens)(/.*)?)?")


def default_database_url() -> str:
    from platformdirs import user_data_path  # only where no database was named

    return f"sqlite:///{user_data_path('planstrip', appauthor=False) / 'planstrip.sqlite3'}"


def database_url_or_default(given: str | None) -> str:
    """For a command that reads no other setting."""
    return given or os.environ.get("PLANSTRIP_DATABASE_URL") or _secret_url() or default_database_url()


def secrets_dir() -> Path | None:
    """A folder of files named as settings are, such as `planstrip_token`: how containers are handed secrets.

    Raises UnusableSettings for one that is none.
    """
    folder = os.environ.get("PLANSTRIP_SECRETS_DIR")
    if not folder:
        return None
    if not os.path.isdir(folder):
        what = "is a file" if os.path.exists(folder) else "does not exist"
        raise UnusableSettings(
            f"secrets_dir: {folder!r:.200} {what}; expected a folder of files such as planstrip_token"
        )
    return Path(folder)


def _secret_url() -> str | None:
    folder = secrets_dir()
    file = folder / "planstrip_database_url" if folder else None
    try:
        return file.read_text(encoding="utf-8").strip() if file and file.is_file() else None
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(error, file) from None


def _unreadable(error: BaseException | None, place: Path | None) -> UnusableSettings:
    if isinstance(error, OSError):
        return UnusableSettings(f"{error.filename}: {error.strerror}")
    return UnusableSettings(f"{place}: what lies there is no text in UTF-8")


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="PLANSTRIP_", extra="ignore", frozen=True)

    allow_parallel_in_progress: bool
    """Whether several to-dos may be in progress. No default: only a deployment knows what its agents do."""

    database_url: str = Field(default_factory=default_database_url)
    """Where the log is kept; a SQLite file in the user's data directory serves one machine."""

    host: str = "127.0.0.1"
    """The address to listen on; any other than loopback needs a token."""

    port: int = Field(default=8765, ge=0, le=65535)
    """0 lets the system choose."""

    token: SecretStr | None = None
    """What every reader and writer must show."""

    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    """Host names that requests may carry beside the loopback names and `host`: a guard against DNS rebinding."""

    frame_ancestors: str = "'self'"
    """Who may frame `/embed`: CSP sources, separated by spaces."""

    root_path: str = ""
    """The prefix that the panel is mounted below, such as `/plans`."""

    access_log: bool = False
    """Whether each request is logged, by its route: no address, no query."""

    log_format: Literal["text", "json"] = "text"
    """A line a record: for a person, or for what gathers logs."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """What is logged at least; lines of requests do not depend on it."""

    drain_s: int = Field(default=5, ge=1, le=3600)
    """How long a shutdown waits for requests that run; with what comes after it below the 10 s of Docker."""

    workers: int = Field(default=1, ge=1, le=64)
    """Server processes; more than one need PostgreSQL."""

    keep_days: int | None = Field(default=None, ge=1, le=MAX_KEEP_DAYS)
    """Sessions whose last event is older are moved into archives; without it the log keeps everything."""

    archive_to: Path | None = None
    """The folder of those archives: there is no deleting without one."""

    writes_per_minute: int = Field(default=60_000, ge=1, le=MAX_COUNT)
    """Writes that one client may send: a thousand a second, five times what 200 agents behind one address do."""

    streams_per_minute: int = Field(default=12_000, ge=1, le=MAX_COUNT)
    """Streams that one client may open: 2,000 viewers behind one proxy come back at once after a restart."""

    max_client_streams: int = Field(default=4_000, ge=1, le=MAX_FILES)
    """Streams that one client holds open."""

    max_streams: int = Field(default=10_000, ge=1, le=MAX_FILES)
    """Streams that a process holds open; never more than its open files allow."""

    max_sessions: int = Field(default=1_000_000, ge=1, le=MAX_COUNT)
    """Sessions that the log holds; counted now and then, so that several processes may pass it by some."""

    max_session_events: int = Field(default=10_000_000, ge=1, le=MAX_COUNT)
    """Events of one session."""

    client_timeout_s: int = Field(default=60, ge=1, le=24 * 3600)
    """How long a request's head may take to arrive, and for how long a client may neither send nor read the rest."""

    mask: Annotated[tuple[str, ...], NoDecode] = ()
    """What of agents' text is not shown: the names of sets, or `NAME=PATTERN`, one a line."""

    @field_validator("archive_to")
    @classmethod
    def _folder(cls, value: Path | None) -> Path | None:
        stands = next((place for place in (value, *value.parents) if os.path.lexists(place)), None) if value else None
        if stands is not None and not stands.is_dir():
            raise ValueError(f"expected a folder, and {stands} is none")
        return value

    @field_validator("mask", mode="before")
    @classmethod
    def _lines(cls, value: Any) -> Any:
        return entries_of(value) if isinstance(value, str) else value

    @field_validator("mask")
    @classmethod
    def _readable(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        masks_of(value)
        return value

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        return tuple(part for part in _HOST_LIST.split(value) if part) if isinstance(value, str) else value

    @field_validator("root_path")
    @classmethod
    def _rooted(cls, value: str) -> str:
        value = value.rstrip("/")
        if value and not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+", value):
            raise ValueError("expected a path such as /plans")
        if _OWN.fullmatch(value):  # a request below it could not be told from one whose proxy took it off
            raise ValueError("expected a path such as /plans, that is none of the panel's own")
        return value

    @field_validator("frame_ancestors")
    @classmethod
    def _sources(cls, value: str) -> str:
        sources = value.split()
        if not sources or not all(_SOURCE.fullmatch(source) for source in sources):
            raise ValueError("expected CSP sources such as 'self' https://dash.example")
        if len(sources) > 1 and "'none'" in map(str.lower, sources):
            raise ValueError("expected 'none' alone, or the sources without it")
        return " ".join(sources)

    @field_validator("token")
    @classmethod
    def _not_blank(cls, value: SecretStr | None) -> SecretStr | None:
        return value if value is not None and value.get_secret_value().strip() else None

    @property
    def hosts(self) -> frozenset[str]:
        """Every Host that is answered, lower case, without a port."""
        names = {"localhost", "127.0.0.1", "::1", bare_host(self.host), *map(bare_host, self.allowed_hosts)}
        return frozenset(names - {"0.0.0.0", "::"})  # noqa: S104 - these are listened on, nobody is named so

    @property
    def secret(self) -> str | None:
        return self.token.get_secret_value().strip() if self.token else None

    @property
    def base_url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{self.root_path}"


def load(**given: object) -> Settings:
    """The settings, `given` (None: not given) over the environment over `secrets_dir`.

    Raises UnusableSettings, in one line.
    """
    told: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    try:
        settings = Settings(**told, _secrets_dir=secrets_dir())  # type: ignore[call-arg]
    except SettingsError as error:
        raise _unreadable(error.__cause__, secrets_dir()) from None
    except OSError as error:
        raise _unreadable(error, None) from None
    except ValidationError as error:
        raise UnusableSettings("; ".join(_fault(fault) for fault in error.errors(include_url=False))) from None
    exposed = [host for host in (settings.host, *settings.allowed_hosts) if not is_loopback(host)]
    if exposed and settings.token is None:
        raise UnusableSettings(
            f"token is not set, but {exposed[0]!r} is not a loopback name: set PLANSTRIP_TOKEN,"
            " or anybody who reaches this address reads and writes your plans"
        )
    if (settings.keep_days is None) != (settings.archive_to is None):
        raise UnusableSettings(
            "keep_days and archive_to go together: what is older than --keep-days is moved to --archive-to FOLDER"
        )
    return settings


def bare_host(host: str) -> str:
    """A Host without its port and brackets, lower case."""
    host = host.strip().lower()
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host if host.count(":") > 1 else host.partition(":")[0].rstrip(".")


def is_loopback(host: str) -> bool:
    name = bare_host(host)
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


def _fault(fault: Any) -> str:
    name = str(fault["loc"][0])
    if name == "allow_parallel_in_progress" and fault["type"] == "missing":
        return POLICY_MISSING
    return f"{name}: {fault['msg']} (got {str(fault['input'])[:60]!r})"
