"""The command line: parses arguments, nothing else; each command imports what it needs when it runs."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from planstrip import __version__, cli_operation, cli_tokens
from planstrip.errors import PlanstripError

app = typer.Typer(
    name="planstrip",
    help="The live plan panel for coding agents.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(cli_tokens.app)

Policy = Annotated[
    bool | None,
    typer.Option(
        "--allow-parallel-in-progress/--no-allow-parallel-in-progress",
        help="Whether several to-dos may be in progress at once. Required: there is no default.",
        show_default=False,
    ),
]
ServerPolicy = Annotated[
    bool | None,
    typer.Option(
        "--allow-parallel-in-progress/--no-allow-parallel-in-progress",
        help="Whether several to-dos may be in progress at once. The running server's; required without one.",
        show_default=False,
    ),
]
Database = Annotated[str | None, typer.Option(help="Where the log is kept, such as sqlite:///plans.sqlite3.")]
Paths = Annotated[list[Path], typer.Argument(help="Transcript files, or folders of them.")]
Port = Annotated[int | None, typer.Option(help="The port to listen on; 0 takes a free one.", show_default=False)]
Open = Annotated[bool, typer.Option("--open", help="Open the browser.")]


@app.command()
def demo(
    port: Port = None,
    open_browser: Open = False,
    speed: Annotated[float, typer.Option(help="How fast it replays; 2 is twice as fast.")] = 1.0,
) -> None:
    """Show a parallel plan moving: recorded sessions, replayed into a temporary database."""
    from planstrip.demo import run_demo

    raise typer.Exit(run_demo(port=port, open_browser=open_browser, speed=speed))


@app.command()
def serve(
    context: typer.Context,
    allow_parallel_in_progress: Policy = None,
    database_url: Database = None,
    host: Annotated[str | None, typer.Option(help="The address to listen on.", show_default=False)] = None,
    port: Port = None,
    token: Annotated[str | None, typer.Option(help="What readers and writers must show.", show_default=False)] = None,
    allowed_hosts: Annotated[
        str | None, typer.Option(help="Further Host names to answer, separated by commas.", show_default=False)
    ] = None,
    frame_ancestors: Annotated[
        str | None, typer.Option(help="Who may frame /embed: CSP sources.", show_default=False)
    ] = None,
    root_path: Annotated[str | None, typer.Option(help="The prefix it is mounted below.", show_default=False)] = None,
    access_log: Annotated[
        bool | None, typer.Option("--access-log", help="Log each request, by its route.", show_default=False)
    ] = None,
    log_format: Annotated[str | None, typer.Option(help="text, or json: an object a line.", show_default=False)] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.", show_default=False)] = None,
    drain_s: Annotated[
        int | None, typer.Option(help="How long a shutdown waits for requests.", show_default=False)
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Server processes; more than one need PostgreSQL.", show_default=False)
    ] = None,
    keep_days: Annotated[
        int | None, typer.Option(help="Archive sessions whose last event is older.", show_default=False)
    ] = None,
    archive_to: Annotated[Path | None, typer.Option(help="Into this folder.", show_default=False)] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Read this machine's transcripts as well, live.")] = False,
    open_browser: Open = False,
) -> None:
    """Serve the panel."""
    from planstrip.serving import run_server
    from planstrip.settings import load

    beside = ("watch", "open_browser")
    settings = load(**{name: value for name, value in context.params.items() if name not in beside})
    raise typer.Exit(run_server(settings, open_browser=open_browser, is_watching=watch))


@app.command(name="import")
def import_(paths: Paths, database_url: Database = None) -> None:
    """Import agents' transcripts; twice is once."""
    from planstrip.progress import run_import

    raise typer.Exit(run_import(_database(database_url), paths))


@app.command()
def watch(
    paths: Annotated[list[Path] | None, typer.Argument(help="Transcript files, or folders of them.")] = None,
    agent: Annotated[list[str] | None, typer.Option(help="Only this agent's; may be given several times.")] = None,
    path: Annotated[list[Path] | None, typer.Option(help="As PATHS; may be given several times.")] = None,
    database_url: Database = None,
) -> None:
    """Import agents' transcripts and follow them as they grow: those named, or every known agent's on this machine."""
    from planstrip.progress import run_watch
    from planstrip.transcribing import folders_of

    named = [*(paths or []), *(path or [])]
    raise typer.Exit(run_watch(_database(database_url), named or folders_of(agent or [])))


@app.command()
def mcp(
    session: Annotated[str | None, typer.Option(help="The session that is written.", show_default=False)] = None,
    server: Annotated[
        str | None,
        typer.Option(help="The panel to write through; http://127.0.0.1:8765 if not told.", show_default=False),
    ] = None,
    allow_parallel_in_progress: ServerPolicy = None,
    database_url: Database = None,
) -> None:
    """Offer todo_write to one agent over MCP on standard input and output."""
    from planstrip.intake.mcp_stdio import McpOptions, run_mcp

    options = McpOptions(_database(database_url), session, server, allow_parallel_in_progress)
    raise typer.Exit(run_mcp(options))


@app.command()
def hook(agent: Annotated[str, typer.Argument(help="Whose hook it is, such as claude-code.")]) -> None:
    """Hand on what an agent's hook says on standard input; never fails, never waits."""
    from planstrip.hooks.send import run

    raise typer.Exit(run([agent]))  # a hook itself does not come here: __main__ takes the short way


@app.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})
def acp(
    command: Annotated[list[str], typer.Argument(help="The agent and its arguments, after --.")],
    server: Annotated[str | None, typer.Option(help="The panel to write through.", show_default=False)] = None,
    database_url: Database = None,
) -> None:
    """Stand between an editor and an ACP agent: pass every byte on, and record plans, turns and tool calls."""
    from planstrip.acp import run_acp
    from planstrip.intake.acp import Recorder, Sink, server_of

    raise typer.Exit(run_acp(command, Recorder(Sink(server_of(server), _database(database_url)))))


@app.command()
def connect(
    agent: Annotated[str, typer.Argument(help="claude-code, codex, opencode, gemini-cli, qwen-code, kimi or dsh.")],
    print_only: Annotated[bool, typer.Option("--print", help="Only show what would be written.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Put the files back as they were.")] = False,
    http: Annotated[bool, typer.Option("--http", help="MCP from the running server, not over stdio.")] = False,
    has_mcp: Annotated[bool, typer.Option("--mcp/--no-mcp", help="The MCP entry.")] = True,
    has_hooks: Annotated[bool, typer.Option("--hooks/--no-hooks", help="The hooks.")] = True,
    server: Annotated[
        str | None, typer.Option(help="The panel; http://127.0.0.1:8765 if not told.", show_default=False)
    ] = None,
    allow_parallel_in_progress: ServerPolicy = None,
) -> None:
    """Put planstrip into an agent's own configuration: its MCP entry and its hooks."""
    from planstrip.connect.run import Options, run_connect
    from planstrip.intake.mcp_remote import Panel

    told = (print_only, undo, http, server, allow_parallel_in_progress, has_mcp, has_hooks)
    options = Options(*told, ask_policy=lambda address: Panel(address).policy())
    raise typer.Exit(run_connect(agent, options))


@app.command()
def status(
    session: Annotated[str | None, typer.Option(help="The session's id.", show_default=False)] = None,
    cwd: Annotated[
        str | None, typer.Option(help="The folder whose newest session it is; this one if not told.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    width: Annotated[int, typer.Option(help="How many characters the line may have.")] = 80,
    server: Annotated[str | None, typer.Option(help="The panel to ask.", show_default=False)] = None,
    database_url: Database = None,
) -> None:
    """One line for a terminal's status bar: 1/4 · Implement the fixture sample +1."""
    from planstrip.status import run

    named = {"session": session, "cwd": cwd, "width": str(width), "server": server, "database-url": database_url}
    given = [part for name, value in named.items() if value is not None for part in (f"--{name}", value)]
    raise typer.Exit(run(given + ["--json"] * as_json))  # a bar itself does not come here: see __main__


@app.command()
def snapshot(
    source: Annotated[str, typer.Argument(help="A transcript, a folder of them, or a session's page: http://….")],
    all_rows: Annotated[bool, typer.Option("--all", help="Every tool row, not the newest plan row alone.")] = False,
    steps: Annotated[
        bool, typer.Option("--steps", help="After every write, and at the end; with --all the rows in between.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    lang: Annotated[str, typer.Option(help="The panel's language, such as zh; never the machine's own.")] = "en",
    name: Annotated[
        str | None, typer.Option(help="The record's name, in place of the file's.", show_default=False)
    ] = None,
    check: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Compare with the records in this folder.", show_default=False)
    ] = None,
    update: Annotated[bool, typer.Option("--update", help="Rewrite the records in --check DIR.")] = False,
) -> None:
    """Print what the panel shows of a session, as a text record to keep and compare."""
    from planstrip.snapshot.run import run_snapshot
    from planstrip.snapshot.taking import Look

    look = Look(lang, all_rows, steps, as_json)
    raise typer.Exit(run_snapshot(source, look, name=name, folder=check, is_update=update))


@app.command()
def doctor(
    url: Annotated[
        str | None, typer.Option(help="Measure what stands before the panel at this address.", show_default=False)
    ] = None,
    idle: Annotated[float, typer.Option(help="With --url: how long a silent stream is watched, in seconds.")] = 20,
    database_url: Database = None,
) -> None:
    """Say what keeps the panel from working, on this machine or at an address, and what to change."""
    from planstrip.doctor.run import run_doctor

    raise typer.Exit(run_doctor(url, idle_s=idle, database_url=database_url))


cli_operation.add_to(app)


@app.callback(invoke_without_command=True)
def options(version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False) -> None:
    if version:
        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Exit codes: 0 done, 1 found something wrong, 2 unusable arguments or settings."""
    try:
        app()
    except PlanstripError as error:
        print(f"planstrip: {error.detail}", file=sys.stderr)
        sys.exit(2)


def _database(given: str | None) -> str:
    from planstrip.settings import database_url_or_default

    return database_url_or_default(given)
