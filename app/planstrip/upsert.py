"""Insert or replace whole rows, in the dialect at hand."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.sql.dml import Insert


def upsert(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Every row names all columns of `table`; a row with the same primary key is replaced."""
    if rows:
        connection.execute(_statement(connection.dialect.name, table), rows)


@cache
def _statement(dialect: str, table: Table) -> Insert:
    module: Any = import_module(f"sqlalchemy.dialects.{dialect}")  # the other one is 50 ms of start time
    insert = module.insert(table)
    keys = [column.name for column in table.primary_key]
    others = {column.name: insert.excluded[column.name] for column in table.columns if column.name not in keys}
    statement: Insert = insert.on_conflict_do_update(index_elements=keys, set_=others)
    return statement
