# pyright: strict
"""The whole asyncio client in one program: every class, method and option of `tidelog.client`.

    python docs/examples/whole_client.py [127.0.0.1:9192]

Tide gauges report water levels; each part stands alone. `whole_group.py`: consumer groups.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from tidelog.client import (
    Admin,
    At,
    BrokerDescription,
    BulkMetadata,
    ClusterDescription,
    ClusterEvent,
    Codec,
    ConfigDescription,
    Consumer,
    ConsumerInterceptor,
    CreatedTopic,
    Deserializer,
    EventFilter,
    ListedOffset,
    NewTopic,
    NodeDescription,
    OnDelivery,
    PartitionDescription,
    Partitioner,
    PartitionerName,
    PartitionLeader,
    PeerDescription,
    Producer,
    ProducerInterceptor,
    ProducerRecord,
    QuorumDescription,
    Record,
    RecordBatch,
    RecordMetadata,
    RefusedRecord,
    Serializer,
    Story,
    TopicDescription,
    TopicPartition,
    VoterDescription,
    VoterStatus,
    __version__,
    errors,
    require_all,
)


@dataclass(frozen=True)
class Level:
    """Values of a gauge."""

    gauge: str
    centimetres: int


# Serializers get the topic and never None; deserializers get None for a null.


def gauge_to_bytes(_topic: str, gauge: str) -> bytes:
    """A key, as UTF-8."""
    return gauge.encode()


def level_to_bytes(_topic: str, level: Level) -> bytes:
    """A value, as JSON."""
    return json.dumps([level.gauge, level.centimetres]).encode()


def gauge_of_bytes(_topic: str, data: bytes | None) -> str:
    """The key again."""
    return (data or b"").decode()


def level_of_bytes(_topic: str, data: bytes | None) -> Level | None:
    """The value again; a null stays None."""
    return None if data is None else Level(*json.loads(data))


KEYS: Serializer[str] = gauge_to_bytes
VALUES: Serializer[Level] = level_to_bytes
READ_KEYS: Deserializer[str] = gauge_of_bytes
READ_VALUES: Deserializer[Level | None] = level_of_bytes


def by_first_letter(
    _topic: str,
    key: bytes | None,
    _value: bytes | None,
    partitions: Sequence[int],
    available: Sequence[int],
    _leaders: Mapping[int, PartitionLeader],
) -> int:
    """A partitioner of one's own: gauges of the same first letter lie together."""
    return partitions[key[0] % len(partitions)] if key else available[0]


CHOOSE: Partitioner = by_first_letter
KAFKAS: PartitionerName = "murmur2"


class Counting:
    """A producer's interceptor: adds a header, counts outcomes."""

    def __init__(self) -> None:
        self.stored = self.given_up = 0

    def on_send(self, record: ProducerRecord[str, Level], /) -> ProducerRecord[str, Level]:
        """Add the header before the record is serialized."""
        return record._replace(headers=(*record.headers, ("source", b"example")))

    def on_acknowledgement(
        self, metadata: RecordMetadata | None, error: Exception | None, /
    ) -> None:
        """Count the record's outcome."""
        self.stored += metadata is not None
        self.given_up += error is not None


class OnlyFloods:
    """A consumer's interceptor: hands on what is above a level."""

    def __init__(self, centimetres: int) -> None:
        self._centimetres = centimetres

    def on_consume(
        self, records: list[Record[str, Level | None]]
    ) -> list[Record[str, Level | None]]:
        """Filter the records before the application gets them."""
        return [r for r in records if r.value and r.value.centimetres > self._centimetres]


def print_outcome(metadata: RecordMetadata | None, error: Exception | None) -> None:
    """A callback of one record: one of the two is None."""
    if metadata is not None:
        print(f"stored in partition {metadata.partition} at offset {metadata.offset}")
    else:
        print(f"given up: {error}")


CALLBACK: OnDelivery = print_outcome


async def make_topics(admin: Admin, name: str) -> None:
    """Topics: made, listed, described, configured."""
    await admin.create_topic(
        name,
        partitions=2,
        replication_factor=3,
        configs={"min.insync.replicas": "2"},
        assignments=(),
    )
    by_hand = NewTopic(f"{name}-by-hand", assignments=[[1, 2, 3]])
    await admin.create_topics([by_hand], validate_only=True)
    results = await admin.create_topics([by_hand, NewTopic(name)])
    assert isinstance(results[name], errors.TopicAlreadyExistsError)  # the other one is made
    created: dict[str, CreatedTopic] = require_all({by_hand.name: results[by_hand.name]})
    print([f"{one.name}: {one.partitions} partitions" for one in created.values()])
    await admin.create_partitions(name, 3, validate_only=True)
    await admin.create_partitions(name, 3, assignments=[[3, 1, 2]])
    assert name in await admin.list_topics(list_internal=True)
    await admin.alter_configs(name, {"retention.ms": "86400000"}, validate_only=True)
    await admin.alter_configs(name, {"retention.ms": "86400000"})
    retention: ConfigDescription = (await admin.describe_configs(name))["retention.ms"]
    assert not retention.is_default
    print(about_topic(await admin.describe_topic(name)))
    print([topic.name for topic in require_all(await admin.describe_topics()).values()])


def about_topic(topic: TopicDescription) -> str:
    """A topic in a line."""
    first: PartitionDescription = topic.partitions[0]
    return (
        f"{topic.name}: {len(topic.partitions)} partitions, broker {first.leader} leads the first"
    )


async def look_at_the_cluster(admin: Admin, name: str) -> None:
    """Brokers, controllers, and what happened to a topic."""
    cluster: ClusterDescription = await admin.describe_cluster()
    for broker in cluster.brokers:
        print(about_broker(broker, await admin.describe_node(broker.address)))
    quorum: QuorumDescription = await admin.describe_quorum()
    print(f"node {quorum.leader_id} leads {[about_voter(voter) for voter in quorum.voters]}")
    story: Story = await admin.list_events(EventFilter(topic=name))
    news: Sequence[ClusterEvent] = (await admin.list_events(after=story.position)).events
    print(f"{len(story.events)} events of the topic, {len(news)} since")


def about_broker(broker: BrokerDescription, node: NodeDescription) -> str:
    """A broker as the controllers know it, and as it says itself."""
    differs = "" if node.version == __version__ else f", not {__version__} as this client"
    return f"broker {broker.broker_id}: pid {node.pid}, version {node.version}{differs}"


def about_voter(voter: VoterDescription) -> str:
    """A controller; the leader also knows how far the others are."""
    status: VoterStatus | None = voter.status
    if status is None:
        return f"{voter.node_id}: no answer"
    peers: Sequence[PeerDescription] = status.peers
    return f"{voter.node_id}: {status.role}, {[one.match_index for one in peers]}"


async def write(bootstrap: str, topic: str) -> None:
    """A producer with every option, and every way to send."""
    counting = Counting()
    interceptor: ProducerInterceptor[str, Level] = counting
    async with Producer(
        bootstrap_servers=bootstrap,  # or the first argument
        client_id="whole-client",
        connections_max_idle_ms=540_000,
        bootstrap_timeout_ms=10_000,
        retries=2**31 - 1,
        acks="all",
        enable_idempotence=True,
        linger_ms=5,
        batch_size=64 << 10,
        compression="zstd",
        compression_level=3,
        max_request_size=1 << 20,
        max_in_flight=5,
        buffer_memory=8 << 20,
        max_block_ms=10_000,
        request_timeout_ms=5_000,
        delivery_timeout_ms=60_000,
        close_timeout_ms=10_000,
        partitioner=CHOOSE if topic else KAFKAS,
        key_serializer=KEYS,
        value_serializer=VALUES,
        interceptors=[interceptor],
        retry_backoff_ms=20,
        retry_backoff_max_ms=500,
    ) as producer:
        assert await producer.partitions_for(topic) == [0, 1, 2]
        await send_one_by_one(producer, topic)
        await send_many(producer, topic)
        await producer.flush()
    assert (counting.stored, counting.given_up) == (106, 0)


async def send_one_by_one(producer: Producer[str, Level], topic: str) -> None:
    """`send` waits for the outcome; `submit` hands it back to wait for later."""
    stored = await producer.send(
        topic,
        key="cuxhaven",
        value=Level("cuxhaven", 512),
        headers=[("unit", b"cm"), ("quality", None)],
        partition=0,
        timestamp_ms=1_700_000_000_000,
        on_delivery=CALLBACK,
    )
    assert (stored.topic, stored.partition, stored.offset) == (topic, 0, 0)
    outcome = await producer.submit(
        topic,
        key="emden",
        value=Level("emden", 498),
        headers=(),
        partition=None,
        timestamp_ms=None,
        on_delivery=CALLBACK,
    )
    deleted = await producer.submit(topic, None, "emden")  # a null for this key: "it is gone"
    print(f"from {(await outcome).offset} to {(await deleted).offset}")


async def send_many(producer: Producer[str, Level], topic: str) -> None:
    """Lists are much cheaper than records one by one; `keys` is as long as the values."""
    levels = [Level("husum", 400 + number) for number in range(100)]
    done: BulkMetadata = await producer.send_many(
        topic, levels, keys=["husum"] * 100, partition=1, timestamp_ms=1_700_000_060_000
    )
    assert (done.acknowledged, done.failed, done.error) == (100, 0, None)
    later = await producer.submit_many(topic, levels[:3], keys=None, partition=2, timestamp_ms=None)
    assert (await later).acknowledged == 3


async def read(bootstrap: str, topic: str) -> None:
    """A consumer with every option, and every way to read."""
    floods: ConsumerInterceptor[str, Level | None] = OnlyFloods(450)
    async with Consumer(
        bootstrap_servers=bootstrap,
        client_id="whole-client",
        connections_max_idle_ms=540_000,
        bootstrap_timeout_ms=10_000,
        auto_offset_reset="earliest",
        on_truncation="raise",
        isolation_level="read_committed",
        fetch_min_bytes=1,
        fetch_max_wait_ms=100,
        fetch_max_bytes=4 << 20,
        max_partition_fetch_bytes=1 << 20,
        check_crcs=True,
        max_poll_records=1_000,
        key_deserializer=READ_KEYS,
        value_deserializer=READ_VALUES,
        interceptors=[floods],
        request_timeout_ms=5_000,
        api_timeout_ms=30_000,
        metadata_max_age_ms=60_000,
        retry_backoff_ms=20,
        retry_backoff_max_ms=500,
    ) as consumer:
        partitions = [TopicPartition(topic, p) for p in await consumer.partitions_for(topic)]
        await consumer.subscribe(pattern=f"{topic}$")  # or topics=[topic]: those added later, too
        assert consumer.assignment() == set(partitions)
        consumer.assign(partitions)
        await read_lists(consumer)
        await move_about(consumer, partitions)
        await read_batches(consumer, partitions)
        await read_one_by_one(consumer, partitions)


async def read_lists(consumer: Consumer[str, Level | None]) -> None:
    """Lists of records, until there are no more."""
    floods: list[Record[str, Level | None]] = []
    while any((await consumer.lag()).values()):
        floods += await consumer.getmany(timeout_ms=1_000, max_records=50)
    levels = [record.value.centimetres for record in floods if record.value is not None]
    print(f"{len(levels)} floods, the highest {max(levels)} cm")


async def move_about(
    consumer: Consumer[str, Level | None], partitions: Sequence[TopicPartition]
) -> None:
    """Read and change the consumer's positions; no record is read here."""
    beginnings = await consumer.beginning_offsets(partitions)
    ends = await consumer.end_offsets(partitions)
    assert [await consumer.position(one) for one in partitions] == [ends[p] for p in partitions]
    consumer.seek(partitions[1], beginnings[partitions[1]] + 10)
    consumer.seek_to_beginning(partitions[0])
    consumer.seek_to_end(partitions[2])
    last_hour = datetime.now(UTC) - timedelta(hours=1)
    found: dict[TopicPartition, ListedOffset] = await consumer.offsets_for_times(
        {partitions[0]: last_hour, partitions[1]: 1_700_000_060_000}
    )
    assert found[partitions[1]].offset == 0
    await consumer.seek_to_time({partitions[0]: last_hour})
    await consumer.tail([partitions[1]], 5)
    assert await consumer.lag([partitions[1]]) == {partitions[1]: 5}
    consumer.pause(partitions[0])
    assert consumer.paused() == {partitions[0]}
    consumer.resume(partitions[0])


async def read_batches(
    consumer: Consumer[str, Level | None], partitions: Sequence[TopicPartition]
) -> None:
    """Whole batches: their headers say much before any record is decoded."""
    consumer.assign([partitions[1]])
    consumer.seek_to_beginning()
    batches: list[RecordBatch[str, Level | None]] = []
    while await consumer.position(partitions[1]) < 100:
        batches += await consumer.getbatches(timeout_ms=1_000, max_records=1_000)
    for batch in batches:
        codec: Codec = batch.codec
        print(
            f"{batch.topic}-{batch.partition}, offsets {batch.base_offset} to {batch.next_offset}, "
            f"read from {batch.start_offset}: "
            f"{batch.record_count} records, {batch.size_in_bytes} bytes by {codec.name}, "
            f"times {batch.base_timestamp_ms} to {batch.max_timestamp_ms}, "
            f"written under leader epoch {batch.leader_epoch}"
        )
        assert [record.key for record in batch] == ["husum"] * len(batch)
        assert batch.values() == [record.value for record in batch]


async def read_one_by_one(
    consumer: Consumer[str, Level | None], partitions: Sequence[TopicPartition]
) -> None:
    """An endless iteration, left when it has been enough."""
    consumer.assign([partitions[0]])
    consumer.seek(partitions[0], 0)
    async for record in consumer:
        assert record.key == "cuxhaven"
        assert record.headers[-1] == ("source", b"example")
        print(f"{record.topic}-{record.partition}@{record.offset}: {record.value}")
        break


async def clear_up(admin: Admin, topic: str) -> None:
    """Offsets, elections, and deleting: some records, then all of it."""
    partition = TopicPartition(topic, 1)
    end: At = "latest"
    newest = require_all(await admin.list_offsets([partition], at=end))
    assert await admin.delete_records({partition: newest[partition].offset - 1}) == {partition: 99}
    for one, refusal in (await admin.elect_leaders([topic])).items():
        print(f"{one.topic}-{one.partition}: {refusal or 'its preferred replica leads again'}")
    await admin.elect_leaders([topic], unclean=True)  # nothing to do: every partition has a leader
    for name, error in (await admin.delete_topics([f"{topic}-by-hand", "nosuch"])).items():
        print(f"{name}: {error or 'deleted'}")
    await admin.delete_topic(topic)


async def about_to_stop(admin: Admin) -> None:
    """Announce a stop of the whole cluster to every broker: for `hold_ms` they take no writes."""
    for broker in (await admin.describe_cluster()).brokers:
        await admin.prepare_stop(broker.address, hold_ms=1)


def advice(error: errors.TidelogError) -> str:
    """Every error is a TidelogError: a broker's answer, or one of the client's own."""
    match error:
        case errors.KafkaError():
            return advice_on_answer(error)
        case errors.DeserializationError():
            return f"seek to {error.offset + 1} to pass over the {error.part}"
        case errors.SerializationError() | errors.PartitionerError():
            return f"the program's own function failed for topic {error.topic}"
        case errors.DeliveryTimeoutError():
            return (
                "it may be stored" if error.is_outcome_unknown else "it is not stored: send again"
            )
        case errors.BufferExhaustedError():
            return "slow down: brokers do not keep up"
        case errors.BootstrapRefusedError():
            return "nobody listens there: start the cluster"
        case errors.ClientConfigError():
            return "give the option another value"
        case errors.UnreachableError() | errors.CallFailedError():
            return "is the cluster running?"
        case errors.CommitFailedError():
            return "others have the partitions: their records are handed out again"
        case errors.NothingAssignedError():
            return "assign partitions first"
        case errors.ClientClosedError():
            return "make a new object"
        case _:
            return "try again" if error.is_retriable else "give up"


def advice_on_answer(error: errors.KafkaError) -> str:
    """A class for each error code, by Kafka's names; `code` is Kafka's number."""
    match error:
        case errors.LogTruncationError():
            return f"records that were read are gone: seek to {error.divergent_offset}"
        case errors.OffsetOutOfRangeError():
            return f"seek to {error.log_start_offset} or later"
        case errors.InvalidRecordError() | errors.InvalidTimestampError():
            blamed: tuple[RefusedRecord, ...] = error.record_errors
            return f"mend these of the batch: {[record.batch_index for record in blamed]}"
        case errors.MessageTooLargeError():
            return "send smaller records, or raise max.message.bytes"
        case errors.CorruptMessageError() | errors.UnsupportedCompressionTypeError():
            return "seek past the batch"
        case _:
            again = "may have happened, try again" if error.is_outcome_unknown else "try again"
            return f"error {error.code}: {again if error.is_retriable else 'give up'}"


async def close_by_hand(bootstrap: str) -> None:
    """`async with` closes; without it, close whatever was made. Both end in time."""
    producer, consumer, admin = Producer(bootstrap), Consumer(bootstrap), Admin(bootstrap)
    await asyncio.gather(producer.start(), consumer.start(), admin.start())  # as `async with`
    await asyncio.gather(producer.stop(), consumer.stop(), admin.stop())
    await producer.close(timeout_ms=1_000)
    await consumer.close()
    await admin.close()
    try:
        await producer.send("anything", value=b"")
    except errors.TidelogError as error:
        print(f"{error}: {advice(error)}")


async def main(bootstrap: str) -> None:
    """Run every example."""
    topic = f"levels-{uuid4().hex[:8]}"
    async with Admin(
        bootstrap_servers=bootstrap,
        client_id="whole-client",
        connections_max_idle_ms=540_000,
        bootstrap_timeout_ms=10_000,
        retries=2**31 - 1,
        request_timeout_ms=15_000,
        api_timeout_ms=60_000,
    ) as admin:
        await make_topics(admin, topic)
        await look_at_the_cluster(admin, topic)
        await write(bootstrap, topic)
        await read(bootstrap, topic)
        await clear_up(admin, topic)
        await about_to_stop(admin)
    await close_by_hand(bootstrap)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9192"))
