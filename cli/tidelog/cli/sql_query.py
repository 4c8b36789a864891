"""Queries of `tidelog sql`: the topics they name, and their rows by DuckDB.

Owns DuckDB's settings: an in-memory database with a limit, without files, network, extensions from
elsewhere and Python's variables. Topics are read by `sql_tables`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

import click
import duckdb
import pyarrow as pa

from tidelog.cli.connection import one_line
from tidelog.cli.sql_tables import TopicTable

BATCH_ROWS = 1_000
"""The maximum number of rows that are converted and printed at once."""
SPILLED_BYTES_MAX = 16 << 30
"""The limit of the temporary files of a query."""
PARSER_BYTES = 64 << 20
"""The memory that finds the topics of a query."""
_PREPARATION = (
    # A table for each topic, named by hexadecimal digits: topics' names have dots.
    "CREATE MACRO topic(name) AS TABLE SELECT * FROM query_table('topic_' || lower(hex(name)))",
    "SET TimeZone = 'UTC'",
    "SET enable_external_access = false",  # nor variables of Python
    "SET lock_configuration = true",
)
_BARE_OFFSET = re.compile(r'(?<![\w"])offset(?![\w"])', re.IGNORECASE)


def topics_of(query: str) -> list[str]:
    """The topics that a query names, each once, in order.

    Errors: click.ClickException for wrong SQL, anything but one SELECT, and a `topic()` without the
    name of one topic.
    """
    with _database(PARSER_BYTES) as connection:
        found = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [query]).fetchone()
    tree = json.loads(found[0] if found else "{}")
    if tree.get("error_type") == "not implemented":
        raise click.ClickException("only a query is allowed: SELECT, WITH, FROM, DESCRIBE")
    if tree["error"]:
        raise click.ClickException(_with_hint(f"Parser Error: {tree['error_message']}", query))
    if len(tree["statements"]) != 1:
        raise click.ClickException(f"one query at a time, not {len(tree['statements'])}")
    return list(dict.fromkeys(_named(tree)))


def rows(
    query: str, tables: Mapping[str, TopicTable], *, memory_bytes: int
) -> Generator[pa.RecordBatch, None, None]:
    """The rows of a query, as they come; the first batch has none, and names the columns.

    Errors: click.ClickException, and those of the reader of topics.
    """
    with _typed_errors(query, tables), _database(memory_bytes) as connection:
        for name, table in tables.items():
            connection.register(f"topic_{name.encode().hex()}", table)
        with connection.sql(query).to_arrow_reader(BATCH_ROWS) as reader:
            yield pa.RecordBatch.from_pylist([], schema=reader.schema)
            yield from reader


def _named(node: Any) -> Iterator[str]:  # Any: what json.loads returns
    """The names in the calls of `topic` below a node of DuckDB's syntax tree."""
    if isinstance(node, list):
        for child in node:
            yield from _named(child)
    elif isinstance(node, dict):
        if str(node.get("function_name")).lower() == "topic":
            yield _name_in(node.get("arguments", []))
        for child in node.values():
            yield from _named(child)


def _name_in(arguments: Any) -> str:  # Any: what json.loads returns
    match arguments:
        case [{"expression": {"literal": {"kind": "STRING", "text": str(name)}}}]:
            return name
    raise click.ClickException("topic() takes the name of one topic in single quotes: topic('t')")


@contextmanager
def _database(memory_bytes: int) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database that reads nothing but what is registered."""
    with TemporaryDirectory(prefix="tidelog-sql-") as folder:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": f"{memory_bytes}B",
            "temp_directory": folder,
            "max_temp_directory_size": f"{SPILLED_BYTES_MAX}B",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "extension_directory": folder,
        }
        with duckdb.connect(":memory:", config=settings) as connection:
            for statement in _PREPARATION:
                connection.execute(statement)
            yield connection


@contextmanager
def _typed_errors(query: str, tables: Mapping[str, TopicTable]) -> Iterator[None]:
    """Raise the error of a topic's reader where there is one, or DuckDB's in one line."""
    try:
        yield
    except (duckdb.Error, OSError, pa.ArrowException) as error:
        for table in tables.values():
            if isinstance(table.error, KeyboardInterrupt):
                raise click.Abort from None
            if table.error is not None:
                raise click.ClickException(one_line(table.error)) from None
        raise click.ClickException(_with_hint(str(error), query)) from None


def _with_hint(message: str, query: str) -> str:
    """The first paragraph of DuckDB's message in one line, and what to do where that is known."""
    first = " ".join(message.partition("\n\n")[0].split())
    if first.startswith("Parser Error") and _BARE_OFFSET.search(query):
        return f'{first}; the column "offset" needs its double quotes'
    if first.startswith("Out of Memory"):
        return f"{first}; --memory gives a query more"
    return first
