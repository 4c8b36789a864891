"""A small compacted topic as a map from keys to values that the brokers keep.

Creates and reads the topic. To find the last value of a key it reads the topic from its start,
which stays short by compaction. For a few short values; their meaning is the caller's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

import pyarrow as pa
import pyarrow.compute as pc

from tidelog.client.admin import Admin
from tidelog.client.arrow import decode_batches
from tidelog.client.consuming.offset_ranges import OffsetBounds, OffsetRange, TopicPartitions
from tidelog.client.consuming.range_reader import RangeReader
from tidelog.client.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError
from tidelog.client.producing.producer import Producer
from tidelog.client.records import TopicPartition
from tidelog.net.transport import Transport

REPLICAS_MAX = 3
CONFIGS = {
    "cleanup.policy": "compact",
    "min.insync.replicas": "2",
    # Only closed segments are compacted: small ones keep short what has to be read.
    "segment.bytes": str(4 << 20),
    "segment.ms": str(24 * 60 * 60 * 1000),
}
"""The configs of the topic; on a cluster of one broker that one in-sync replica is enough."""
_PARTITION = 0
WRITER_TIMEOUT_MS = 60_000
"""Timeout of transactions that put a value here: readers of other keys wait for them."""
DECIDED_WITHIN_S = 90
_LOOK_S = 0.05


class UndecidedError(RuntimeError):
    """A transaction stays open in the topic; the message says what to do."""


class CompactedTopic:
    """Asynchronous calls on one topic; without `transport` each opens its own connections."""

    def __init__(self, name: str, bootstrap: str, *, transport: Transport | None = None) -> None:
        self.name = name
        self._bootstrap = bootstrap
        self._transport = transport

    async def last(self, key: bytes) -> bytes | None:
        """The value of the newest record with `key`; None without a record or a topic.

        Sees every `put` that returned before, and every one in a transaction that was committed
        before. Raises the errors of RangeReader; UndecidedError when some transaction stays open.
        """
        found: bytes | None = None
        async with RangeReader(self._bootstrap, transport=self._transport) as reader:
            topic = (await reader.topics([self.name])).get(self.name)
            if topic is None:
                return None
            wanted = _whole(self.name, topic, await self._decided(reader))
            async for rows in _read(reader, wanted):
                values = rows.filter(pc.equal(rows.column(0), key)).column(1)
                if len(values):
                    found = values[-1].as_py()
        return found

    async def _decided(self, reader: RangeReader) -> OffsetBounds:
        """Wait until no transaction is open below what is the end now: others' hide the own one."""
        tp = TopicPartition(self.name, _PARTITION)
        end = (await reader.bounds([tp], isolation_level="read_uncommitted"))[tp].latest
        for _ in range(int(DECIDED_WITHIN_S / _LOOK_S)):
            decided = (await reader.bounds([tp]))[tp]
            if decided.latest >= end:
                return decided
            await asyncio.sleep(_LOOK_S)
        raise UndecidedError(
            f"a transaction in {self.name} was open for {DECIDED_WITHIN_S} s: see it by `tidelog "
            "transactions list --state Ongoing`; a time-out or `abort` ends it"
        )

    async def put(self, key: bytes, value: bytes) -> None:
        """Store the value; return once all in-sync replicas have it.

        Creates the topic if it does not exist. Raises the errors of Admin and Producer; the value
        may be stored nevertheless.
        """
        await self.make_sure_it_exists()
        async with Producer(self._bootstrap, acks="all", transport=self._transport) as producer:
            await self.put_by(producer, key, value)

    async def put_by(self, producer: Producer, key: bytes, value: bytes) -> None:
        """Store the value by a producer, perhaps in its transaction; the topic must be there."""
        await producer.send(self.name, key=key, value=value, partition=_PARTITION)

    async def make_sure_it_exists(self) -> None:
        """Create the topic unless it exists. Raises the errors of Admin."""
        async with Admin(self._bootstrap, transport=self._transport) as admin:
            try:
                await admin.describe_topic(self.name)
            except UnknownTopicOrPartitionError:
                await make_topic(admin, self.name)


async def read_all(reader: RangeReader, name: str) -> AsyncGenerator[pa.RecordBatch, None]:
    """Yield columns `key` and `value` of all records in offset order; nothing without a topic.

    Includes every record acknowledged before. Raises the errors of RangeReader and
    `decode_batches`.
    """
    topic = (await reader.topics([name])).get(name)
    if topic is None:
        return
    tp = TopicPartition(name, _PARTITION)
    wanted = _whole(name, topic, (await reader.bounds([tp]))[tp])
    async with aclosing(_read(reader, wanted)) as pieces:
        async for rows in pieces:
            yield rows


def _whole(name: str, topic: TopicPartitions, bounds: OffsetBounds) -> OffsetRange:
    return OffsetRange(name, topic.topic_id, _PARTITION, *bounds)


async def _read(reader: RangeReader, wanted: OffsetRange) -> AsyncGenerator[pa.RecordBatch, None]:
    async with aclosing(reader.chunks(wanted, fail_on_data_loss=False)) as chunks:
        async for data in chunks:
            yield decode_batches(
                data,
                topic=wanted.topic,
                partition=wanted.partition,
                start_offset=wanted.start_offset,
                end_offset=wanted.end_offset,
                columns=("key", "value"),
            )


async def make_topic(admin: Admin, name: str) -> None:
    """Create a compacted topic of one partition on up to three brokers, unless it exists."""
    brokers = (await admin.describe_cluster()).brokers
    replicas = min(REPLICAS_MAX, sum(not broker.is_fenced for broker in brokers))
    with suppress(TopicAlreadyExistsError):  # another was faster
        await admin.create_topic(name, partitions=1, replication_factor=replicas, configs=CONFIGS)
