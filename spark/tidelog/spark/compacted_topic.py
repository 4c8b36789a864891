"""A small compacted topic as a map from keys to values that the brokers keep.

Owns how the topic is made, and how a key's last value is found: the topic is read from its start,
which compaction keeps near. For a few short values; what they mean is their user's.
"""

from __future__ import annotations

import pyarrow.compute as pc

from tidelog.client.admin import Admin
from tidelog.client.arrow import decode_batches
from tidelog.client.errors import KafkaError
from tidelog.client.producer import Producer
from tidelog.client.range_reader import OffsetRange, RangeReader
from tidelog.client.records import TopicPartition
from tidelog.log.transport import Transport
from tidelog.v1 import common_pb2

REPLICAS_MAX = 3
CONFIGS = {
    "cleanup.policy": "compact",
    "min.insync.replicas": "2",
    # Only closed segments are compacted: small ones keep short what has to be read.
    "segment.bytes": str(4 << 20),
    "segment.ms": str(24 * 60 * 60 * 1000),
}
"""What the topic is made with; a cluster of one broker needs that one alone."""
_PARTITION = 0


class CompactedTopic:
    """`async` calls on one topic; each makes its own connection, for they are rare."""

    def __init__(self, name: str, bootstrap: str, *, transport: Transport | None = None) -> None:
        self.name = name
        self._bootstrap = bootstrap
        self._transport = transport

    async def last(self, key: bytes) -> bytes | None:
        """The value of the newest record with that key; None for no record, or no topic.

        Sees every `put` that returned before. Raises as RangeReader does.
        """
        found: bytes | None = None
        async with RangeReader(self._bootstrap, transport=self._transport) as reader:
            wanted = await self._everything(reader)
            if wanted is None:
                return None
            async for data in reader.chunks(wanted, fail_on_data_loss=False):
                rows = decode_batches(
                    data,
                    topic=self.name,
                    partition=_PARTITION,
                    start_offset=wanted.start_offset,
                    end_offset=wanted.end_offset,
                    columns=("key", "value"),
                )
                values = rows.filter(pc.equal(rows.column(0), key)).column(1)
                if len(values):
                    found = values[-1].as_py()
        return found

    async def put(self, key: bytes, value: bytes) -> None:
        """Store the value; returns once all in-sync replicas have it.

        Makes the topic first where there is none. Raises as Admin and Producer do; it may be stored
        all the same then.
        """
        await self._make_sure_it_exists()
        async with Producer(self._bootstrap, acks="all", transport=self._transport) as producer:
            await producer.send(self.name, key=key, value=value, partition=_PARTITION)

    async def _everything(self, reader: RangeReader) -> OffsetRange | None:
        topic = (await reader.topics([self.name])).get(self.name)
        if topic is None:
            return None
        tp = TopicPartition(self.name, _PARTITION)
        bounds = (await reader.bounds([tp]))[tp]
        return OffsetRange(self.name, topic.topic_id, _PARTITION, bounds.earliest, bounds.latest)

    async def _make_sure_it_exists(self) -> None:
        async with Admin(self._bootstrap, transport=self._transport) as admin:
            try:
                await admin.describe_topics([self.name])
            except KafkaError as error:
                if error.code != common_pb2.UNKNOWN_TOPIC_OR_PARTITION:
                    raise
                await make_topic(admin, self.name)


async def make_topic(admin: Admin, name: str) -> None:
    """A compacted topic of one partition on up to three brokers; one that is there is fine."""
    brokers = (await admin.describe_cluster()).brokers
    replicas = min(REPLICAS_MAX, sum(not broker.is_fenced for broker in brokers))
    try:
        await admin.create_topic(name, partitions=1, replication_factor=replicas, configs=CONFIGS)
    except KafkaError as error:
        if error.code != common_pb2.TOPIC_ALREADY_EXISTS:  # another was faster
            raise
