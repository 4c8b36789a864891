"""`tidelog produce`: one record per line of standard input."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import click

from tidelog.cli.connection import API_TIMEOUT_MS, bootstrap_option, run
from tidelog.cli.stdin_lines import read_lines
from tidelog.client.producing.producer import Producer
from tidelog.client.records import BulkMetadata
from tidelog.records.compression import Codec

MAX_LINE_BYTES = 1 << 20
LINGER_MS = 5
_ACKS: dict[str, Literal["all", 0, 1]] = {"all": "all", "1": 1, "0": 0}


class Tally:
    """The number of records acknowledged and failed, and the first error."""

    def __init__(self) -> None:
        self.acknowledged = 0
        self.failed = 0
        self.error: Exception | None = None
        self.on_change: Callable[[], None] = lambda: None

    def add(self, future: asyncio.Future[BulkMetadata]) -> None:
        """Count the outcome of a bulk send."""
        outcome = future.result()
        self.acknowledged += outcome.acknowledged
        self.failed += outcome.failed
        self.error = self.error or outcome.error
        self.on_change()


@click.command()
@click.argument("topic")
@click.option("--acks", type=click.Choice(list(_ACKS)), default="all", show_default=True)
@click.option(
    "--compression",
    type=click.Choice([codec.name.lower() for codec in Codec]),
    default="none",
    show_default=True,
)
@click.option(
    "--key-separator", metavar="C", help="Split each line at the first C into key and value."
)
@click.option(
    "--partition", type=click.IntRange(min=0), help="Default: chosen by key, or spread evenly."
)
@bootstrap_option
def produce(
    *,
    topic: str,
    acks: str,
    compression: str,
    key_separator: str | None,
    partition: int | None,
    bootstrap: str,
) -> None:
    """Send every line of standard input to TOPIC; an empty line is an empty record.

    Only a newline ends a line. Lines are sent while standard input is still open. The last line on
    stderr gives the number of records acknowledged; the exit code is 1 if any was not.
    """
    if key_separator == "":
        raise click.UsageError("--key-separator must not be empty")
    tally = Tally()

    async def work() -> None:
        async with Producer(
            bootstrap,
            acks=_ACKS[acks],
            linger_ms=LINGER_MS,
            compression=compression,
            max_block_ms=API_TIMEOUT_MS,
        ) as producer:
            await _send_lines(
                producer, topic, separator=key_separator, partition=partition, tally=tally
            )

    try:
        with _progress(tally):
            run(work())
        if tally.error is not None:
            were = "was" if tally.failed == 1 else "were"
            raise click.ClickException(
                f"{_records(tally.failed)} {were} not acknowledged: {tally.error}"
            )
    except click.ClickException as error:
        click.echo(f"tidelog: {error.format_message()}", err=True)
        raise click.exceptions.Exit(1) from error
    finally:
        click.echo(f"{_records(tally.acknowledged)} acknowledged", err=True)


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count} records"


async def _send_lines(
    producer: Producer, topic: str, *, separator: str | None, partition: int | None, tally: Tally
) -> None:
    """Send until standard input ends or a record fails."""
    await producer.partitions_for(topic)
    async for lines in read_lines(sys.stdin.fileno(), limit_bytes=MAX_LINE_BYTES):
        keys = None
        if separator is not None:
            keys, lines = _split_keys(lines, separator.encode())
        future = await producer.submit_many(topic, lines, keys=keys, partition=partition)
        future.add_done_callback(tally.add)
        if tally.error is not None:
            return


def _split_keys(lines: list[bytes], separator: bytes) -> tuple[list[bytes | None], list[bytes]]:
    """Split lines into keys and values; a line without the separator has no key."""
    keys: list[bytes | None] = []
    values = []
    for line in lines:
        key, found, value = line.partition(separator)
        keys.append(key if found else None)
        values.append(value if found else line)
    return keys, values


@contextmanager
def _progress(tally: Tally) -> Iterator[None]:
    """Show a running count on stderr, if that is a terminal and standard input is not."""
    if not sys.stderr.isatty() or sys.stdin.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed:,} records acknowledged"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("produce", total=None)
        tally.on_change = lambda: progress.update(task, completed=tally.acknowledged)
        yield
