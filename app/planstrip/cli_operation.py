"""`planstrip backup`, `restore` and `archive`: parses arguments, nothing else."""

from pathlib import Path
from typing import Annotated

import typer

Database = Annotated[str | None, typer.Option(help="Where the log is kept, such as sqlite:///plans.sqlite3.")]


def add_to(app: typer.Typer) -> None:
    for command in (backup, restore):
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
