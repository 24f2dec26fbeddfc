"""Alembic's entry: runs in the connection that the program hands over, or in one of its own from the command line."""

from alembic import context
from planstrip.tables import metadata


def run() -> None:
    connection = context.config.attributes.get("connection")
    if connection is not None:
        context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
        context.run_migrations()
        return
    from planstrip.db import SCHEMA_LOCK, for_writing, hold, open_engine
    from planstrip.settings import default_database_url

    url = context.get_x_argument(as_dictionary=True).get("url") or default_database_url()
    with for_writing(open_engine(url)).begin() as own:
        hold(own, [SCHEMA_LOCK])
        context.configure(connection=own, target_metadata=metadata, render_as_batch=True)
        context.run_migrations()


run()
