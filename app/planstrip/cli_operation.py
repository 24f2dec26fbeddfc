"""The commands for who keeps a database: parses arguments, nothing else."""

from pathlib import Path
from typing import Annotated

import typer

Database = Annotated[str | None, typer.Option(help="Where the log is kept, such as sqlite:///plans.sqlite3.")]


def add_to(app: typer.Typer) -> None:
    for command in (migrate, copy, backup, restore, archive, forget):
        app.command()(command)


def backup(
    file: Annotated[Path, typer.Argument(help="The SQLite file to write.")],
    database_url: Database = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write the whole database into one file, while the server runs on, and read it back before it counts."""
    from planstrip.operation import run_backup
    from planstrip.settings import database_url_or_default

    raise typer.Exit(run_backup(database_url_or_default(database_url), file, is_forced=force))


def restore(
    file: Annotated[Path, typer.Argument(help="What `planstrip backup` wrote.")],
    database_url: Database = None,
    force: Annotated[bool, typer.Option("--force", help="Replace what the database holds; it is kept beside.")] = False,
) -> None:
    """Bring a backup into a database that nobody uses, of either kind."""
    from planstrip.operation import run_restore
    from planstrip.settings import database_url_or_default

    raise typer.Exit(run_restore(database_url_or_default(database_url), file, is_forced=force))


def archive(
    keep_days: Annotated[
        int, typer.Option(min=1, max=36_500, help="Sessions whose last event is older than this are moved.")
    ],
    to: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the archives lie: a file a session.")],
    database_url: Database = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say which are due.")] = False,
) -> None:
    """Move old sessions out of the database, into compressed files that `planstrip import` reads back."""
    from planstrip.operation import run_archive
    from planstrip.settings import database_url_or_default

    raise typer.Exit(run_archive(database_url_or_default(database_url), to, keep_days=keep_days, is_trial=dry_run))


def migrate(database_url: Database = None) -> None:
    """Bring the database's schema to this program's (serve does it by itself)."""
    from planstrip.db import open_engine, prepare
    from planstrip.settings import database_url_or_default

    prepare(open_engine(database_url_or_default(database_url)))


def copy(
    source: Annotated[str, typer.Option("--from", help="The database whose log is copied.")],
    target: Annotated[str, typer.Option("--to", help="An empty one, such as postgresql://user@host/plans.")],
) -> None:
    """Copy a log into another database, of either kind, and prove the copy equal."""
    from planstrip.progress import run_copy

    raise typer.Exit(run_copy(source, target))


def forget(
    session: Annotated[str, typer.Argument(help="The session's id.")],
    database_url: Database = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete a session's events for good, for secrets that leaked into them."""
    from planstrip.forgetting import forget_session
    from planstrip.settings import database_url_or_default

    if not yes:
        typer.confirm(f"Delete every event of session {session!r}? This cannot be undone", abort=True)
    deleted = forget_session(database_url_or_default(database_url), session)
    typer.echo(f"{deleted} events deleted")
