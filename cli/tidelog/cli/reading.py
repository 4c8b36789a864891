"""The reading of `tidelog consume`: which partitions, from where, and when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from tidelog.cli.connection import API_TIMEOUT_MS
from tidelog.cli.pipes import write_all

if TYPE_CHECKING:
    from tidelog.cli.start_offset import StartOffset
    from tidelog.client.consuming.consumer import Consumer
    from tidelog.client.consuming.isolation import Isolation
    from tidelog.client.records import Record, TopicPartition

POLL_MS = 60_000
AT_END_POLL_MS = 200
"""The interval at which positions are compared with the ends."""
NEW_PARTITIONS_MS = 5_000
"""The interval at which new partitions and topics are looked for."""
TERMINATED = 128 + signal.SIGTERM
"""Exit code of a command that SIGTERM ended."""
MAX_RECORDS = 5_000
"""The maximum number of records written at once."""


class Topics(NamedTuple):
    """Topics by name, and regular expressions."""

    names: Sequence[str]
    beginnings: Sequence[str]
    """Expressions, with a ^, that match the beginning of a name."""
    whole: str | None
    """Expression that matches a whole name."""

    @classmethod
    def of(cls, topics: Sequence[str], whole: str | None) -> Topics:
        """Tell names from expressions, which begin with ^."""
        beginnings = [one for one in topics if one.startswith("^")]
        return cls([one for one in topics if one not in beginnings], beginnings, whole)

    @property
    def pattern(self) -> str | None:
        """Expression for all of them, names aside, that matches whole names; None: none."""
        whole = [one if one.endswith("$") else f"(?:{one}).*" for one in self.beginnings]
        if self.whole is not None:
            if not whole:
                return self.whole
            whole.append(self.whole)
        return "|".join(map(scoped, whole)) or None

    def __str__(self) -> str:
        whole = () if self.whole is None else (f"--pattern {self.whole}",)
        return " ".join([*self.names, *self.beginnings, *whole])


class Reading(NamedTuple):
    """The records that are wanted."""

    topics: Topics
    partitions: Sequence[int] | None
    """None: all, those added later too."""
    start: StartOffset
    max_records: int | None
    timeout_s: float | None
    is_to_end: bool
    """True: ends with the records that are there at the start."""
    group: str | None = None
    """Consumer group to join."""
    isolation_level: Isolation = "read_uncommitted"


async def consume_records(
    bootstrap: str, reading: Reading, shown: Callable[[Record], bytes]
) -> None:
    """Write what is `shown` of each record to standard output."""
    from tidelog.client.consuming.consumer import Consumer

    if reading.group is not None:
        await _consume_in_group(bootstrap, reading, reading.group, shown)
        return
    async with Consumer(
        bootstrap,
        isolation_level=reading.isolation_level,
        auto_offset_reset=reading.start.reset,
        api_timeout_ms=API_TIMEOUT_MS,
        metadata_max_age_ms=NEW_PARTITIONS_MS,
    ) as consumer:
        assigned = await _assign(consumer, reading.topics, reading.partitions)
        if not assigned:
            what = f"no topic matches {reading.topics}"
            if reading.is_to_end:
                raise click.ClickException(what)
            click.echo(f"{what} yet", err=True)
        await reading.start.apply(consumer, assigned)
        ends = await _ends(consumer, assigned) if reading.is_to_end else None
        await _copy(consumer, reading, ends, shown, {})


async def _consume_in_group(
    bootstrap: str, reading: Reading, group: str, shown: Callable[[Record], bytes]
) -> None:
    """Write records as a member of a group; what was written is committed, however it ends."""
    from tidelog.client.consuming.consumer import Consumer
    from tidelog.client.errors import CommitFailedError

    copying = asyncio.current_task()
    is_terminated = False

    def terminate() -> None:
        nonlocal is_terminated
        is_terminated = True
        if copying is not None:
            copying.cancel()

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, terminate)
    async with Consumer(
        bootstrap,
        group_id=group,
        isolation_level=reading.isolation_level,
        auto_offset_reset=reading.start.reset,
        enable_auto_commit=False,
        api_timeout_ms=API_TIMEOUT_MS,
        metadata_max_age_ms=NEW_PARTITIONS_MS,
    ) as consumer:
        await consumer.subscribe(reading.topics.names, pattern=reading.topics.pattern)
        unwritten: dict[tuple[str, int], int] = {}
        try:
            await _copy(consumer, reading, None, shown, unwritten)
            if (error := consumer.membership_error()) is not None:
                raise click.ClickException(f"no member of the group {group}: {error}")
        except asyncio.CancelledError:
            if not is_terminated:
                raise
        finally:
            with contextlib.suppress(CommitFailedError):  # others print it again
                await consumer.commit(unwritten or None)
    if is_terminated:
        raise SystemExit(TERMINATED)


async def _assign(
    consumer: Consumer, topics: Topics, partitions: Sequence[int] | None
) -> list[TopicPartition]:
    """Subscribe, or assign the partitions named; the partitions of now."""
    if partitions is not None:
        if topics.pattern is not None:
            raise click.UsageError("--partitions needs topics by name")
        for topic in topics.names:
            _check_numbers(topic, partitions, await consumer.partitions_for(topic))
        consumer.assign([(topic, number) for topic in topics.names for number in partitions])
    elif topics.pattern is not None:
        whole = [topics.pattern, *map(re.escape, topics.names)]
        await consumer.subscribe(pattern=compiled("|".join(map(scoped, whole))))
    else:
        await consumer.subscribe(topics.names)
    return sorted(consumer.assignment())


def _check_numbers(topic: str, wanted: Sequence[int], existing: Sequence[int]) -> None:
    """Refuse a partition that does not exist before `--timeout` is taken for the end of it."""
    for number in wanted:
        if number not in existing:
            last = len(existing) - 1
            raise click.ClickException(f"topic {topic!r} has partitions 0 to {last}, not {number}")


def scoped(pattern: str) -> str:
    """Put an expression in a group, where its flag counts for it alone."""
    insensitive = "(?i)"
    if pattern.startswith(insensitive):
        return f"(?i:{pattern.removeprefix(insensitive)})"
    return f"(?:{pattern})"


def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern that matches whole names. Raises click.UsageError."""
    try:
        return re.compile(rf"(?:{pattern})\Z")
    except re.error as error:
        raise click.UsageError(f"--pattern {pattern}: {error}") from error


async def _ends(
    consumer: Consumer, assigned: Sequence[TopicPartition]
) -> dict[TopicPartition, int]:
    """The ends of the partitions now, with every position settled before."""
    for tp in assigned:
        await consumer.position(tp)
    return await consumer.end_offsets(assigned)


async def _copy(
    consumer: Consumer,
    reading: Reading,
    ends: dict[TopicPartition, int] | None,
    shown: Callable[[Record], bytes],
    unwritten: dict[tuple[str, int], int],
) -> None:
    """Write records until a limit is met.

    `unwritten` is filled while they are being written: the first offset of each partition.
    """
    from tidelog.client.records import TopicPartition

    left = reading.max_records
    poll_ms = POLL_MS if reading.timeout_s is None else round(reading.timeout_s * 1000)
    silent_ms = 0
    while left is None or left > 0:
        if ends is not None and await _is_at(consumer, ends):
            return
        wait_ms = poll_ms if ends is None else min(poll_ms - silent_ms, AT_END_POLL_MS)
        limit = MAX_RECORDS if left is None else min(left, MAX_RECORDS)
        records = await consumer.getmany(timeout_ms=wait_ms, max_records=limit)
        silent_ms = 0 if records else silent_ms + wait_ms
        if reading.timeout_s is not None and silent_ms >= poll_ms:
            return
        if ends is not None:
            records = [
                r for r in records if r.offset < ends.get(TopicPartition(r.topic, r.partition), 0)
            ]
        if records:
            for record in reversed(records):
                unwritten[record.topic, record.partition] = record.offset
            write_all(b"".join(map(shown, records)))
            unwritten.clear()
            if reading.group is not None:
                consumer.commit_soon()
        if left is not None:
            left -= len(records)


async def _is_at(consumer: Consumer, ends: dict[TopicPartition, int]) -> bool:
    """True if every partition was read up to its end."""
    return all([await consumer.position(tp) >= end for tp, end in ends.items()])
