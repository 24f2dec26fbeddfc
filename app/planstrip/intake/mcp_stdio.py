"""`planstrip mcp`: the MCP server over standard input and output, for one agent."""

import asyncio
import logging
import os
import secrets
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from planstrip.errors import UnusableSettings
from planstrip.hooks.names import DEFAULT_URL, panel_url
from planstrip.intake.check import check_session_id
from planstrip.intake.mcp import Context, client_name, make_server, meta_of
from planstrip.intake.mcp_caller import Caller, Given, cwd_of, identify
from planstrip.intake.mcp_calls import new_call_id
from planstrip.intake.mcp_log import LoggedPlans
from planstrip.intake.mcp_remote import NearestPlans, Panel
from planstrip.masks import masks_from
from planstrip.settings import POLICY_MISSING


@dataclass(frozen=True, slots=True)
class McpOptions:
    """None: not given."""

    database_url: str
    session: str | None = None
    server: str | None = None
    allow_parallel_in_progress: bool | None = None


def run_mcp(options: McpOptions) -> int:
    """Serve until standard input ends. Raises UnusableSettings, in one line, for what can't work from the start."""
    logging.basicConfig(level=logging.WARNING, format="planstrip: %(levelname)s %(message)s", stream=sys.stderr)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # what was acknowledged is stored: no traceback is owed
    if options.session is not None:
        check_session_id(options.session, "--session")
    told = _told(options.allow_parallel_in_progress)
    panel = Panel(_address(options.server), os.environ.get("PLANSTRIP_TOKEN") or None)
    seen = panel.policy()
    if seen is None and told is None:
        raise UnusableSettings(f"{POLICY_MISSING}; no server at {panel.url} says it either")
    if seen is not None:
        if told not in (None, seen):
            raise UnusableSettings(
                f"allow_parallel_in_progress is {str(told).lower()} here, but {str(seen).lower()} at the server at"
                f" {panel.url}; say the same, or leave it out and take the server's"
            )
        panel.check_token()
    with _database(options.database_url) as open_log:
        if seen is None:
            open_log(bool(told))  # a database that can't be used is said now
        plans = NearestPlans(panel, open_log, told, seen)
        asyncio.run(_serve(plans, options.session))
    return 0


async def _serve(plans: NearestPlans, session: str | None) -> None:
    from mcp.server.stdio import stdio_server

    server = make_server(plans, _identifier(session), is_one_client=True)
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


def _identifier(session: str | None) -> Callable[[Context], Caller]:
    connection = secrets.token_hex(10)
    cwd = cwd_of(os.environ, os.getcwd())

    def identify_request(context: Context) -> Caller:
        given = Given(
            client=client_name(context),
            meta=meta_of(context),
            session=session,
            environment=os.environ,
            connection=connection,
            cwd=cwd,
        )
        caller = identify(given)
        if caller.call_id is None and context.method == "tools/call":
            return replace(caller, call_id=new_call_id())
        return caller

    return identify_request


def _told(given: bool | None) -> bool | None:
    """The policy by flag or environment."""
    from pydantic import TypeAdapter, ValidationError

    name = "PLANSTRIP_ALLOW_PARALLEL_IN_PROGRESS"
    said = os.environ.get(name)
    if given is not None or not said:
        return given
    try:
        return TypeAdapter(bool).validate_python(said)
    except ValidationError:
        raise UnusableSettings(f"{name} is {said[:60]!r}; expected true or false") from None


def _address(given: str | None) -> str:
    url = (given or panel_url(os.environ) or DEFAULT_URL).rstrip("/").removesuffix("/mcp")
    if not url.startswith(("http://", "https://")):
        raise UnusableSettings(
            f"--server (or PLANSTRIP_URL) is {url[:80]!r}; expected an address such as {DEFAULT_URL}"
        )
    return url


@contextmanager
def _database(url: str) -> Iterator[Callable[[bool], LoggedPlans]]:
    """Opens the log when it is first asked for, closes it at the end."""
    from planstrip.db import open_engine, prepare
    from planstrip.projection import StandingProjector
    from planstrip.writer import Writer

    writers: list[Writer] = []

    def open_log(policy: bool) -> LoggedPlans:
        if not writers:
            engine = open_engine(url)
            prepare(engine)
            writer = Writer(engine, StandingProjector(), lambda: time.time_ns() // 1_000_000)
            writer.start()
            writers.append(writer)
        return LoggedPlans(writers[0].engine, writers[0], policy, masks=masks_from(os.environ))

    try:
        yield open_log
    finally:
        for writer in writers:
            writer.stop()
            writer.engine.dispose()
