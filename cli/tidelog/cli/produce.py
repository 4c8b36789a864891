"""`tidelog produce`: a record per line of standard input or of a file."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import click

from tidelog.cli.bootstrap import bootstrap_option, topic_option
from tidelog.cli.connection import API_TIMEOUT_MS, run
from tidelog.cli.counts import pluralize
from tidelog.cli.input_lines import read_lines
from tidelog.cli.input_records import InputForm, parse_headers
from tidelog.cli.record_format import InvalidFormatError, unescape

if TYPE_CHECKING:
    from tidelog.client.producing.producer import Producer
    from tidelog.client.records import BulkMetadata, RecordMetadata

MAX_LINE_BYTES = 1 << 20
MAX_JSON_LINE_BYTES = 8 << 20
"""A character of a value may take six in JSON."""
LINGER_MS = 5
SILENCE_S = 1.0
"""The time without an answer of a broker after which the command says so."""
RETRY_S = 0.2
COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
_ACKS: dict[str, Literal["all", 0, 1]] = {"all": "all", "1": 1, "0": 0}


class Tally:
    """The number of records acknowledged and failed, and the first error."""

    def __init__(self) -> None:
        self.acknowledged = 0
        self.failed = 0
        self.committed: int | None = None
        """Records in committed transactions; None: they are sent in none."""
        self.transactions = 0
        self.error: BaseException | None = None
        self.on_change: Callable[[], None] = lambda: None

    def add(self, future: asyncio.Future[BulkMetadata]) -> None:
        """Count the outcome of a bulk send."""
        outcome = future.result()
        self._count(outcome.acknowledged, outcome.failed, outcome.error)

    def add_one(self, future: asyncio.Future[RecordMetadata]) -> None:
        """Count the outcome of one record."""
        error = future.exception()
        self._count(int(error is None), int(error is not None), error)

    def raise_error(self) -> None:
        """Raise a click error if a record failed."""
        if self.error is not None:
            were = "was" if self.failed == 1 else "were"
            raise click.ClickException(
                f"{pluralize(self.failed, 'record')} {were} not acknowledged: {self.error}"
            )

    @property
    def summary(self) -> str:
        """The command's last line."""
        if self.committed is None:
            return f"{pluralize(self.acknowledged, 'record')} acknowledged"
        transactions = pluralize(self.transactions, "transaction")
        return f"{pluralize(self.committed, 'record')} committed in {transactions}"

    def _count(self, acknowledged: int, failed: int, error: BaseException | None) -> None:
        self.acknowledged += acknowledged
        self.failed += failed
        self.error = self.error or error
        self.on_change()


@click.command()
@click.argument("words", nargs=-1, metavar="TOPIC [FILE]")
@topic_option
@click.option(
    *("-K", "--key-delimiter", "--key-separator"),
    metavar="TEXT",
    help="Split each line at the first TEXT into key and value.",
)
@click.option(*("-k", "--key"), metavar="KEY", help="The key of every record.")
@click.option(
    *("-H", "--header"),
    "headers",
    multiple=True,
    metavar="K=V",
    help="Of every record; repeatable.",
)
@click.option(
    *("-J", "--json"), "is_json", is_flag=True, help="Read the lines that consume --json prints."
)
@click.option(
    *("-Z", "--null"), is_flag=True, help="Send empty values and keys as null; a tombstone is k:"
)
@click.option(
    *("-D", "--delimiter"),
    default=r"\n",
    show_default=True,
    metavar="TEXT",
    help=r"The end of a record in the input; '\0' after find -print0.",
)
@click.option(
    *("-p", "--partition"),
    type=click.IntRange(min=0),
    help="Default: chosen by key, or spread evenly.",
)
@click.option("--acks", type=click.Choice(list(_ACKS)), default="all", show_default=True)
@click.option(
    *("-z", "--compression"),
    type=click.Choice(COMPRESSIONS),
    default="none",
    show_default=True,
)
@click.option("--transactional-id", metavar="ID", help="Send the lines in transactions.")
@click.option(
    "--transaction-records",
    type=click.IntRange(min=1),
    metavar="N",
    help="Commit each N lines, the rest at the end. Default: all in one transaction.",
)
@click.option(
    "--transaction-timeout-ms",
    type=click.IntRange(min=1, max=2**31 - 1),
    default=60_000,
    show_default=True,
    help="The brokers abort a transaction that is open for longer.",
)
@bootstrap_option
def produce(
    *,
    words: tuple[str, ...],
    named_topics: tuple[str, ...],
    key_delimiter: str | None,
    key: str | None,
    headers: tuple[str, ...],
    is_json: bool,
    null: bool,
    delimiter: str,
    partition: int | None,
    acks: str,
    compression: str,
    transactional_id: str | None,
    transaction_records: int | None,
    transaction_timeout_ms: int,
    bootstrap: str,
) -> None:
    """Send every line of FILE or standard input to TOPIC; an empty line is an empty record.

    Only a newline ends a line. Lines are sent while the input is still open. The last line on
    stderr gives the number of records acknowledged; the exit code is 1 if any was not. A topic that
    does not exist is created, if the cluster allows it, and stderr says so.

    With --json key, value, headers and timestamp are those of the line; topic, partition and offset
    in it are ignored.

    With --transactional-id lines become visible to readers of committed records when their
    transaction is committed; Ctrl-C and an error abort the open one.
    """
    if transactional_id is None and transaction_records is not None:
        raise click.UsageError("--transaction-records needs --transactional-id")
    topic, path = _topic_and_file(words, named_topics)
    form = _input_form(
        key_delimiter=key_delimiter,
        key=key,
        headers=headers,
        is_json=is_json,
        is_empty_null=null,
        delimiter=delimiter,
    )
    tally = Tally()

    options = {
        "acks": _ACKS[acks],
        "compression": compression,
        "transactional_id": transactional_id,
        "transaction_timeout_ms": transaction_timeout_ms,
    }
    sending = _Sending(topic, form, partition, tally, transaction_records)
    try:
        with _input(path) as fd, _progress(tally, fd):
            run(_produce(bootstrap, options, sending, fd))
        tally.raise_error()
    except click.ClickException as error:
        click.echo(f"tidelog: {error.format_message()}", err=True)
        raise click.exceptions.Exit(1) from error
    finally:
        click.echo(tally.summary, err=True)


def _input_form(
    *,
    key_delimiter: str | None,
    key: str | None,
    headers: tuple[str, ...],
    is_json: bool,
    is_empty_null: bool,
    delimiter: str,
) -> InputForm:
    """The form that the options name. Errors: click.UsageError."""
    if is_json and (key_delimiter is not None or key is not None or headers or is_empty_null):
        raise click.UsageError("--json lines name keys, headers and nulls themselves")
    if key is not None and key_delimiter is not None:
        raise click.UsageError("only one of --key and --key-delimiter")
    return InputForm(
        delimiter=_separator("--delimiter", delimiter),
        key_delimiter=_separator("--key-delimiter", key_delimiter)
        if key_delimiter is not None
        else None,
        key=None if key is None else key.encode(),
        headers=parse_headers(headers),
        is_json=is_json,
        is_empty_null=is_empty_null,
    )


def _topic_and_file(words: tuple[str, ...], named: tuple[str, ...]) -> tuple[str, Path | None]:
    topics, files = (named, words) if named else (words[:1], words[1:])
    if len(topics) != 1:
        raise click.UsageError("name one TOPIC")
    if len(files) > 1:
        raise click.UsageError("name one FILE at most")
    return topics[0], Path(files[0]) if files and files[0] != "-" else None


def _separator(option: str, text: str) -> bytes:
    if not text:
        raise click.UsageError(f"{option} must not be empty")
    try:
        return unescape(text)
    except InvalidFormatError as error:
        raise click.UsageError(f"{option}: {error}") from error


@contextmanager
def _input(path: Path | None) -> Iterator[int]:
    """The descriptor of the file, or of standard input."""
    if path is None:
        yield sys.stdin.fileno()
        return
    try:
        file = path.open("rb", buffering=0)
    except OSError as error:
        raise click.ClickException(f"{path}: {os.strerror(error.errno or 0)}") from error
    with closing(file):
        yield file.fileno()


@asynccontextmanager
async def _silence_said(bootstrap: str) -> AsyncIterator[None]:
    """Say on stderr that nobody answers, once the block takes longer than `SILENCE_S`."""
    text = f"no broker answers at {bootstrap} yet; trying for {API_TIMEOUT_MS // 1000} s"
    timer = asyncio.get_running_loop().call_later(SILENCE_S, lambda: click.echo(text, err=True))
    try:
        yield
    finally:
        timer.cancel()


async def _find_topic(producer: Producer, bootstrap: str, topic: str) -> None:
    """Wait for the topic's partitions; say on stderr if this created it."""
    is_known = await _exists(bootstrap, topic)
    partitions = await producer.partitions_for(topic)
    if not is_known:
        click.echo(f"created {topic}: {pluralize(len(partitions), 'partition')}", err=True)


async def _exists(bootstrap: str, topic: str) -> bool:
    """Ask until a broker answers. Errors: UnreachableError after `API_TIMEOUT_MS`."""
    from tidelog.client.admin import Admin
    from tidelog.client.errors import CallFailedError, TidelogError, UnreachableError

    loop = asyncio.get_running_loop()
    deadline_s = loop.time() + API_TIMEOUT_MS / 1000
    async with Admin(bootstrap, api_timeout_ms=API_TIMEOUT_MS) as admin:
        while True:
            try:
                described = await admin.describe_topics([topic])
            except (UnreachableError, CallFailedError):
                if loop.time() >= deadline_s:
                    raise
                await asyncio.sleep(RETRY_S)
            else:
                return not isinstance(described[topic], TidelogError)


async def _produce(bootstrap: str, options: Mapping[str, Any], sending: _Sending, fd: int) -> None:
    """Send the input by a producer with these options."""
    from tidelog.client.producing.producer import Producer

    async with Producer(
        bootstrap, linger_ms=LINGER_MS, max_block_ms=API_TIMEOUT_MS, **options
    ) as producer:
        async with _silence_said(bootstrap):
            await _find_topic(producer, bootstrap, sending.topic)
        if options["transactional_id"] is None:
            await _send(producer, sending, fd)
        else:
            await _send_in_transactions(producer, sending, fd)


class _Sending(NamedTuple):
    """Topic and form of the lines that are sent."""

    topic: str
    form: InputForm
    partition: int | None
    tally: Tally
    transaction_records: int | None

    def lines(self, fd: int) -> AsyncIterator[list[bytes]]:
        """Lines of the input, as they come."""
        limit = MAX_JSON_LINE_BYTES if self.form.is_json else MAX_LINE_BYTES
        return read_lines(fd, limit_bytes=limit, delimiter=self.form.delimiter)

    async def send(self, producer: Producer, lines: list[bytes], *, first: int) -> None:
        """Send lines, the first of which has the number `first`."""
        topic, partition = self.topic, self.partition
        if self.form.is_bulk:
            keys, values = self.form.pairs(lines)
            bulk = await producer.submit_many(topic, values, keys=keys, partition=partition)
            bulk.add_done_callback(self.tally.add)
            return
        for record in self.form.records(lines, first=first):
            future = await producer.submit(topic, **record._asdict(), partition=partition)
            future.add_done_callback(self.tally.add_one)


async def _send(producer: Producer, sending: _Sending, fd: int) -> None:
    """Send until the input ends or a record fails."""
    first = 1
    async for lines in sending.lines(fd):
        await sending.send(producer, lines, first=first)
        first += len(lines)
        if sending.tally.error is not None:
            return


async def _send_in_transactions(producer: Producer, sending: _Sending, fd: int) -> None:
    """Send in transactions of so many lines; the producer's close aborts an open one."""
    tally, records_max = sending.tally, sending.transaction_records
    tally.committed, first, count = 0, 1, 0

    async def commit() -> None:
        await producer.commit_transaction()
        tally.committed = (tally.committed or 0) + count
        tally.transactions += 1

    async for lines in sending.lines(fd):
        left = lines
        while left:
            if not count:
                await producer.begin_transaction()
            room = len(left) if records_max is None else records_max - count
            await sending.send(producer, left[:room], first=first)
            first, count = first + len(left[:room]), count + len(left[:room])
            left = left[room:]
            if count == records_max:
                await commit()
                count = 0
    if count:
        await commit()


@contextmanager
def _progress(tally: Tally, fd: int) -> Iterator[None]:
    """Show a running count on stderr, if that is a terminal and the input is not."""
    if not sys.stderr.isatty() or os.isatty(fd):
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), TextColumn("{task.completed:,} records acknowledged"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("produce", total=None)
        tally.on_change = lambda: progress.update(task, completed=tally.acknowledged)
        yield
