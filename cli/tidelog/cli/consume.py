"""`tidelog consume`: records to standard output, raw or as JSON lines."""

from __future__ import annotations

import base64
import json
import os
import sys

import click

from tidelog.cli.connection import API_TIMEOUT_MS, bootstrap_option, run
from tidelog.client.consumer import DEFAULT_MAX_RECORDS, Consumer
from tidelog.client.records import Record

POLL_MS = 60_000


@click.command()
@click.argument("topic")
@click.option("--from-beginning", is_flag=True, help="Default: only records that come from now on.")
@click.option("--partition", type=click.IntRange(min=0), help="Default: all.")
@click.option("--max-records", type=click.IntRange(min=0), help="Stop after so many.")
@click.option("--timeout", type=float, help="Stop after so many seconds without a record.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, see below.")
@bootstrap_option
def consume(
    *,
    topic: str,
    from_beginning: bool,
    partition: int | None,
    max_records: int | None,
    timeout: float | None,
    as_json: bool,
    bootstrap: str,
) -> None:
    """Print the value of every record of TOPIC and a newline, as bytes.

    With --json: partition, offset, timestamp (milliseconds), key, value, headers (a list of key and
    value). Keys and values are text; one that is not UTF-8 is base64, and "key_encoding" or
    "value_encoding" beside it then says "base64". What is null is null.
    """

    async def work() -> None:
        async with Consumer(
            bootstrap,
            auto_offset_reset="earliest" if from_beginning else "latest",
            api_timeout_ms=API_TIMEOUT_MS,
        ) as consumer:
            partitions = await consumer.partitions_for(topic)
            if partition is not None:
                partitions = [partition]
            consumer.assign((topic, number) for number in partitions)
            await _copy(consumer, max_records=max_records, timeout_s=timeout, as_json=as_json)

    try:
        run(work())
    except BrokenPipeError:
        # Whoever read has seen enough. Python would complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


async def _copy(
    consumer: Consumer, *, max_records: int | None, timeout_s: float | None, as_json: bool
) -> None:
    """Write records until there were enough, or none came for `timeout_s`."""
    left = max_records
    poll_ms = POLL_MS if timeout_s is None else round(timeout_s * 1000)
    while left is None or left > 0:
        limit = DEFAULT_MAX_RECORDS if left is None else min(left, DEFAULT_MAX_RECORDS)
        records = await consumer.getmany(timeout_ms=poll_ms, max_records=limit)
        if records:
            _write(records, as_json=as_json)
        elif timeout_s is not None:
            return
        if left is not None:
            left -= len(records)


def _write(records: list[Record], *, as_json: bool) -> None:
    output = sys.stdout.buffer
    if as_json:
        lines = [json.dumps(_as_json(record), ensure_ascii=False).encode() for record in records]
    else:
        lines = [record.value or b"" for record in records]
    output.write(b"\n".join(lines) + b"\n")
    output.flush()


def _as_json(record: Record) -> dict[str, object]:
    return {
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp_ms,
        **_text("key", record.key),
        **_text("value", record.value),
        "headers": [{"key": name, **_text("value", value)} for name, value in record.headers],
    }


def _text(name: str, content: bytes | None) -> dict[str, str | None]:
    """The field, as text where it is; see the command's help for what is not."""
    if content is None:
        return {name: None}
    try:
        return {name: content.decode()}
    except UnicodeDecodeError:
        encoded = base64.b64encode(content).decode()
        return {name: encoded, f"{name}_encoding": "base64"}
