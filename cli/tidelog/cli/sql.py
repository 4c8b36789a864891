"""`tidelog sql`: a query over topics, by DuckDB, with its rows on standard output."""

from __future__ import annotations

import sys
from contextlib import closing

import click

from tidelog.cli.bootstrap import bootstrap_option
from tidelog.cli.connection import run
from tidelog.cli.consume import PartitionList
from tidelog.cli.pipes import ends_with_its_reader
from tidelog.cli.start_offset import StartOffset, StartOffsetType
from tidelog.cli.units import Size

MEMORY = "1GiB"


@click.command()
@click.argument("query")
@click.option(
    *("-o", "--offset"),
    type=StartOffsetType(),
    default="earliest",
    show_default=True,
    metavar="WHERE",
    help="The start of every topic: earliest, N, -N (so many before the end of each partition), "
    "time:2026-11-21T07:00.",
)
@click.option(*("-p", "--partitions", "--partition"), type=PartitionList(), help="Default: all.")
@click.option(
    "--memory",
    "memory_bytes",
    type=Size(),
    default=MEMORY,
    show_default=True,
    metavar="SIZE",
    help="Memory for sorts, groups and joins; what exceeds it goes to a temporary folder.",
)
@click.option(*("-J", "--json"), "as_json", is_flag=True, help="One JSON object per row.")
@click.option(*("-Z", "--null"), is_flag=True, help="Print NULL for nulls in a table.")
@bootstrap_option
def sql(
    *,
    query: str,
    offset: StartOffset,
    partitions: list[int] | None,
    memory_bytes: int,
    as_json: bool,
    null: bool,
    bootstrap: str,
) -> None:
    r"""Run a SELECT over topics, in DuckDB's SQL; QUERY - reads it from standard input.

    topic('NAME') is a table: key, value, topic, partition, "offset", timestamp, timestampType,
    headers. It has the records that are there when the query begins. "offset" is a word of SQL and
    needs its quotes; decode(value) is text, decode(value)->>'$.id' a field of JSON.

    \b
    tidelog sql "select partition, count(*) from topic('orders') group by all order by all"

    Records are read while the query runs, and rows printed as they come. Bytes are printed as text;
    with \xff for those that are not UTF-8, or with --json as base64, as consume --json prints them.
    The query reaches no files, no network and nothing but topics.
    """
    from tidelog.cli.sql_output import print_rows
    from tidelog.cli.sql_query import rows, topics_of
    from tidelog.cli.sql_tables import topic_tables

    text = sys.stdin.read() if query == "-" else query
    names = topics_of(text)
    tables = run(topic_tables(bootstrap, names, partitions, offset)) if names else {}
    with ends_with_its_reader(), closing(rows(text, tables, memory_bytes=memory_bytes)) as found:
        print_rows(found, as_json=as_json, null="NULL" if null else "")
