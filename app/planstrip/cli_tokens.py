"""`planstrip token create|revoke|list`: parses arguments, nothing else."""

from typing import Annotated

import typer

app = typer.Typer(name="token", help="Links that show one session, or one view of the board, to somebody.")

Database = Annotated[str | None, typer.Option(help="Where the log is kept, such as sqlite:///plans.sqlite3.")]


@app.command()
def create(
    session: Annotated[str | None, typer.Argument(help="The session that it shows.", show_default=False)] = None,
    board: Annotated[bool, typer.Option("--board", help="Show the board in place of a session.")] = False,
    q: Annotated[str | None, typer.Option(help="Of the board what this search finds.", show_default=False)] = None,
    agent: Annotated[str | None, typer.Option(help="Of the board this agent's.", show_default=False)] = None,
    state: Annotated[str | None, typer.Option(help="Of the board what is in this state.", show_default=False)] = None,
    cwd: Annotated[str | None, typer.Option(help="Of the board what works in this folder.", show_default=False)] = None,
    expires: Annotated[str, typer.Option(help="How long it is good for: 30m, 12h, 7d.")] = "7d",
    label: Annotated[str | None, typer.Option(help="Whom it is for.", show_default=False)] = None,
    server: Annotated[
        str | None,
        typer.Option(help="The panel's address; http://127.0.0.1:8765 if not told.", show_default=False),
    ] = None,
    database_url: Database = None,
) -> None:
    """Print a link that shows one session, or the board held to a filter, and lets nobody do anything."""
    from planstrip.issuing import create_link
    from planstrip.settings import database_url_or_default

    held = {name: value for name, value in (("q", q), ("agent", agent), ("state", state), ("cwd", cwd)) if value}
    shown = session if session is not None else (held if board or held else None)
    if session is not None and (board or held):
        raise typer.BadParameter("name a session, or --board with its filter, not both")
    create_link(database_url_or_default(database_url), shown, expires=expires, label=label, server=server)


@app.command()
def revoke(
    ids: Annotated[list[str], typer.Argument(metavar="ID…", help="As `planstrip token list` has them.")],
    database_url: Database = None,
) -> None:
    """Shut what these tokens opened, for good."""
    from planstrip.issuing import revoke_tokens
    from planstrip.settings import database_url_or_default

    revoke_tokens(database_url_or_default(database_url), ids)


@app.command(name="list")
def list_(
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False, database_url: Database = None
) -> None:
    """Show every token: what it opens, for whom, until when. The tokens themselves are not stored."""
    from planstrip.issuing import list_tokens
    from planstrip.settings import database_url_or_default

    list_tokens(database_url_or_default(database_url), as_json=as_json)
