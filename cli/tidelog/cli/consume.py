"""`tidelog consume`: records to standard output, raw, in a format, or as JSON lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import click

from tidelog.cli.bootstrap import bootstrap_option, topic_option
from tidelog.cli.connection import run
from tidelog.cli.pipes import ends_with_its_reader
from tidelog.cli.reading import Reading, Topics, consume_records
from tidelog.cli.record_format import NULL, InvalidFormatError, compiled_format, unescape
from tidelog.cli.record_json import record_as_json
from tidelog.cli.start_offset import StartOffset, StartOffsetType, parse_time
from tidelog.cli.units import Seconds

if TYPE_CHECKING:
    from tidelog.client.consuming.isolation import Isolation
    from tidelog.client.records import Record


class PartitionList(click.ParamType[list[int]]):
    """Partitions, comma-separated: `0,2`."""

    name = "0,2,…"

    def convert(
        self, value: str | list[int], param: click.Parameter | None, ctx: click.Context | None
    ) -> list[int]:
        """See `click.ParamType.convert`."""
        if isinstance(value, list):
            return value
        parts = value.split(",")
        if not all(part.isdecimal() for part in parts):
            self.fail(f"{value!r} is no list of partitions such as 0,2", param, ctx)
        return sorted({int(part) for part in parts})


@click.command()
@click.argument("topics", nargs=-1, metavar="TOPIC…")
@topic_option
@click.option(
    "--pattern",
    metavar="RE",
    help="Read every topic whose whole name this regular expression matches, new ones too.",
)
@click.option(
    *("-o", "--offset"),
    type=StartOffsetType(),
    metavar="WHERE",
    help="Start: earliest, latest (the default), N (that offset), -N (so many before the end), "
    "time:2026-11-21T07:00 (local time without an offset).",
)
@click.option("--from-beginning", is_flag=True, help="The same as --offset earliest.")
@click.option("--from-time", metavar="TIME", help="The same as --offset time:TIME.")
@click.option("--tail", metavar="N", type=click.IntRange(min=0), help="The same as --offset -N.")
@click.option(
    *("-p", "--partitions", "--partition"), type=PartitionList(), help="Default: all, new ones too."
)
@click.option(
    *("-c", "--max-records"), type=click.IntRange(min=0), help="Exit after this many records."
)
@click.option(
    *("-e", "--exit-at-end"),
    is_flag=True,
    help="Exit after the records that are there when it starts.",
)
@click.option(
    "--timeout", type=Seconds(), metavar="SPAN", help="Exit after this silence: 5 (seconds), 1m."
)
@click.option(
    *("-G", "--group"),
    metavar="GROUP",
    help="Join this consumer group: share the partitions, begin where it committed.",
)
@click.option(
    "--isolation-level",
    type=click.Choice(["read_uncommitted", "read_committed"]),
    default="read_uncommitted",
    show_default=True,
    help="read_committed: no records of aborted transactions, none from the first open one on.",
)
@click.option(*("-J", "--json"), "as_json", is_flag=True, help="One JSON object per line.")
@click.option(
    *("-f", "--format"),
    "format_text",
    metavar="FORMAT",
    help=r"Print each record so: '%t %p %o %T %k %v\n'; see below.",
)
@click.option("--print-key", is_flag=True, help="Print the key and a tab before each value.")
@click.option(
    *("-K", "--key-delimiter", "--key-separator"),
    metavar="TEXT",
    help="Print the key and TEXT before each value.",
)
@click.option(*("-Z", "--null"), is_flag=True, help="Print NULL for null keys and values.")
@click.option(
    *("-D", "--delimiter"),
    default=r"\n",
    show_default=True,
    metavar="TEXT",
    help=r"Print TEXT after each record; '\0' for xargs -0.",
)
@bootstrap_option
def consume(
    *,
    topics: tuple[str, ...],
    named_topics: tuple[str, ...],
    pattern: str | None,
    offset: StartOffset | None,
    from_beginning: bool,
    from_time: str | None,
    tail: int | None,
    partitions: list[int] | None,
    max_records: int | None,
    exit_at_end: bool,
    timeout: float | None,
    group: str | None,
    isolation_level: Isolation,
    as_json: bool,
    format_text: str | None,
    print_key: bool,
    key_delimiter: str | None,
    null: bool,
    delimiter: str,
    bootstrap: str,
) -> None:
    r"""Print the value of every record of each TOPIC as bytes, followed by a newline.

    A TOPIC that begins with ^ is a regular expression: every topic whose name begins so is read,
    those created later too; --pattern matches whole names. Partitions added later are read from
    their first record.

    With --group every record that was printed is committed; --from-beginning counts where nothing
    is committed yet. The coordinator matches patterns. Ctrl-C and SIGTERM commit and leave.

    A format has %t topic, %p partition, %o offset, %T timestamp (milliseconds), %h headers, %k key,
    %K its length, %v or %s value, %S its length, %% and the escapes \n \t \r \0 \\ \x1f.

    The fields with --json: topic, partition, offset, timestamp (milliseconds), key, value, headers
    (a list of key and value). Keys and values are text; one that is not UTF-8 is base64, and
    "key_encoding" or "value_encoding" is then "base64". A null is null. produce --json reads them.
    """
    wanted = _wanted([*topics, *named_topics], pattern)
    given = [from_beginning, from_time is not None, tail is not None, offset is not None]
    if sum(given) > 1:
        raise click.UsageError("only one of --offset, --from-beginning, --from-time and --tail")
    if group is not None and (sum(given) > from_beginning or partitions or exit_at_end):
        raise click.UsageError(
            "--group begins where the group committed: of --offset, --from-time, --tail, "
            "--partitions and --exit-at-end none goes with it"
        )
    start = offset or StartOffset(
        "earliest" if from_beginning else "latest",
        time=None if from_time is None else parse_time(from_time, "--from-time"),
        before_end=tail,
    )
    if key_delimiter is None and print_key:
        key_delimiter = r"\t"
    shown = _formatter(as_json, format_text, key_delimiter, delimiter, null=NULL if null else b"")
    ends = (max_records, timeout, exit_at_end)
    reading = Reading(wanted, partitions, start, *ends, group, isolation_level)
    with ends_with_its_reader():
        run(consume_records(bootstrap, reading, shown))


def _wanted(topics: Sequence[str], pattern: str | None) -> Topics:
    if not topics and not pattern:
        raise click.UsageError("name a TOPIC, or give a --pattern")
    return Topics.of(topics, pattern)


def _formatter(
    as_json: bool,  # noqa: FBT001  # the options, in their order
    format_text: str | None,
    key_delimiter: str | None,
    delimiter: str,
    *,
    null: bytes,
) -> Callable[[Record], bytes]:
    """A function from a record to what is printed of it."""
    if as_json + (format_text is not None) + (key_delimiter is not None) > 1:
        raise click.UsageError("only one of --json, --format and --print-key")
    try:
        end = unescape(delimiter)
        if as_json:
            return lambda record: record_as_json(record) + end
        if format_text is not None:
            return compiled_format(format_text, null=null)
        between = None if key_delimiter is None else unescape(key_delimiter)
    except InvalidFormatError as error:
        raise click.UsageError(str(error)) from error

    def plain(record: Record) -> bytes:
        value = null if record.value is None else record.value
        if between is None:
            return value + end
        return (null if record.key is None else record.key) + between + value + end

    return plain
