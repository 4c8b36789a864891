"""`tidelog consume`: records to standard output, raw or as JSON lines."""

from __future__ import annotations

import json
import os
import sys
from datetime import datetime

import click

from tidelog.cli.connection import API_TIMEOUT_MS, bootstrap_option, run
from tidelog.cli.record_text import text_fields
from tidelog.client.consuming.consumer import DEFAULT_MAX_RECORDS, Consumer
from tidelog.client.records import Record

POLL_MS = 60_000


@click.command()
@click.argument("topic")
@click.option(
    "--from-beginning",
    is_flag=True,
    help="Start at the first record. Default: only records produced from now on.",
)
@click.option(
    "--from-time",
    metavar="TIME",
    help="Start at this time: ISO 8601 such as 2026-11-21T07:00, local time without an offset.",
)
@click.option(
    "--tail",
    metavar="N",
    type=click.IntRange(min=0),
    help="Start this many records before the end of each partition.",
)
@click.option("--partition", type=click.IntRange(min=0), help="Default: all.")
@click.option("--max-records", type=click.IntRange(min=0), help="Exit after this many records.")
@click.option("--timeout", type=float, help="Exit after this many seconds of silence.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
@bootstrap_option
def consume(
    *,
    topic: str,
    from_beginning: bool,
    from_time: str | None,
    tail: int | None,
    partition: int | None,
    max_records: int | None,
    timeout: float | None,
    as_json: bool,
    bootstrap: str,
) -> None:
    """Print the value of every record of TOPIC as bytes, followed by a newline.

    The fields with --json: partition, offset, timestamp (milliseconds), key, value, headers (a list
    of key and value). Keys and values are text; one that is not UTF-8 is base64, and "key_encoding"
    or "value_encoding" is then "base64". A null key or value is null.
    """
    if from_beginning + (from_time is not None) + (tail is not None) > 1:
        raise click.UsageError("only one of --from-beginning, --from-time and --tail")
    start = None if from_time is None else _parse_time(from_time)

    async def work() -> None:
        async with Consumer(
            bootstrap,
            auto_offset_reset="earliest" if from_beginning else "latest",
            api_timeout_ms=API_TIMEOUT_MS,
        ) as consumer:
            partitions = await consumer.partitions_for(topic)
            if partition is not None:
                partitions = [partition]
            assigned = [(topic, number) for number in partitions]
            consumer.assign(assigned)
            if start is not None:
                await consumer.seek_to_time(dict.fromkeys(assigned, start))
            if tail is not None:
                await consumer.tail(assigned, tail)
            await _copy(consumer, max_records=max_records, timeout_s=timeout, as_json=as_json)

    try:
        run(work())
    except BrokenPipeError:
        # The reader has closed the pipe. Python would complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parse_time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError as error:
        raise click.UsageError(f"--from-time {text!r} is not a time: {error}") from error


async def _copy(
    consumer: Consumer, *, max_records: int | None, timeout_s: float | None, as_json: bool
) -> None:
    """Write records up to `max_records`, or until none arrived for `timeout_s`."""
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
        **text_fields("key", record.key),
        **text_fields("value", record.value),
        "headers": [{"key": name, **text_fields("value", value)} for name, value in record.headers],
    }
