"""Kafka's own clients, unmodified, against nodes in processes of their own.

Each produces in all codecs, with idempotence and without it, and reads what it wrote by position
and by time; one reads what the others and ours wrote.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import aiokafka
import confluent_kafka
import pytest
from tests.doc_blocks import ROOT, blocks_of
from tests.integration.local_cluster import LocalCluster

from tidelog.client import Consumer, Producer

pytestmark = pytest.mark.process

kafka: Any = import_module("kafka")  # to type checkers the folders of this name are it

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
WAYS = [(codec, is_idempotent) for codec in CODECS for is_idempotent in (False, True)]
PER_WAY = 10
DEADLINE_S = 60
REFUSED_S_MAX = 5
VALUES = [f"{codec}-{n}".encode() * 20 for codec in CODECS for n in range(2 * PER_WAY)]
Reads = tuple[list[bytes], int]
"""Values from the beginning, and the offset of the first record that is not older than a time."""


class Kind(NamedTuple):
    """A client library: what it writes, and what it reads of a topic's partition 0."""

    produce: Callable[[str, str], None]
    read: Callable[[str, str, int, int], Reads]
    begin_transactions: Callable[[str], object]


def parts() -> Sequence[tuple[str, bool, list[bytes]]]:
    return [(*way, VALUES[PER_WAY * n : PER_WAY * (n + 1)]) for n, way in enumerate(WAYS)]


# confluent-kafka


def confluent_produce(bootstrap: str, topic: str) -> None:
    failed: list[object] = []
    for codec, is_idempotent, values in parts():
        producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": is_idempotent,
                "compression.type": codec,
            }
        )
        for value in values:
            producer.produce(
                topic,
                value=value,
                partition=0,
                on_delivery=lambda error, _: failed.append(error) if error else None,
            )
        assert producer.flush(DEADLINE_S) == 0
    assert failed == []


def confluent_read(bootstrap: str, topic: str, count: int, at_ms: int) -> Reads:
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False}
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    values: list[bytes] = []
    end_s = time.monotonic() + DEADLINE_S
    while len(values) < count and time.monotonic() < end_s:
        message = consumer.poll(1)
        if message is not None:
            assert message.error() is None
            values.append(message.value() or b"")
    at = confluent_kafka.TopicPartition(topic, 0, at_ms)
    (found,) = consumer.offsets_for_times([at], timeout=DEADLINE_S)
    consumer.close()
    return values, found.offset


def confluent_transactions(bootstrap: str) -> None:
    config = {"bootstrap.servers": bootstrap, "transactional.id": "mine"}
    confluent_kafka.Producer(config).init_transactions(DEADLINE_S)


# kafka-python


def python_produce(bootstrap: str, topic: str) -> None:
    for codec, is_idempotent, values in parts():
        producer = kafka.KafkaProducer(
            bootstrap_servers=bootstrap,
            enable_idempotence=is_idempotent,
            compression_type=None if codec == "none" else codec,
        )
        sent = [producer.send(topic, value, partition=0) for value in values]
        for one in sent:
            one.get(DEADLINE_S)
        producer.close()


def python_read(bootstrap: str, topic: str, count: int, at_ms: int) -> Reads:
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=bootstrap, consumer_timeout_ms=DEADLINE_S * 1000
    )
    partition = kafka.TopicPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning()
    values = [next(consumer).value for _ in range(count)]
    found = consumer.offsets_for_times({partition: at_ms})[partition]
    assert consumer.end_offsets([partition]) == {partition: count}
    consumer.close()
    return values, found.offset


def python_transactions(bootstrap: str) -> None:
    kafka.KafkaProducer(bootstrap_servers=bootstrap, transactional_id="mine").init_transactions()


# aiokafka


def aio_produce(bootstrap: str, topic: str) -> None:
    async def main() -> None:
        for codec, is_idempotent, values in parts():
            async with aiokafka.AIOKafkaProducer(
                bootstrap_servers=bootstrap,
                enable_idempotence=is_idempotent,
                compression_type=None if codec == "none" else codec,
            ) as producer:
                sent = [await producer.send(topic, value, partition=0) for value in values]
                await asyncio.gather(*sent)

    asyncio.run(main())


def aio_read(bootstrap: str, topic: str, count: int, at_ms: int) -> Reads:
    async def main() -> Reads:
        async with (
            asyncio.timeout(DEADLINE_S),
            aiokafka.AIOKafkaConsumer(bootstrap_servers=bootstrap) as consumer,
        ):
            partition = aiokafka.TopicPartition(topic, 0)
            consumer.assign([partition])
            await consumer.seek_to_beginning(partition)
            values = [(await consumer.getone()).value for _ in range(count)]
            found = (await consumer.offsets_for_times({partition: at_ms}))[partition]
            return values, found.offset

    return asyncio.run(main())


def aio_transactions(bootstrap: str) -> None:
    async def main() -> None:
        producer = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id="mine")
        try:
            await producer.start()
        finally:
            await producer.client.close()

    asyncio.run(main())


KINDS = {
    "confluent": Kind(confluent_produce, confluent_read, confluent_transactions),
    "kafka-python": Kind(python_produce, python_read, python_transactions),
    "aiokafka": Kind(aio_produce, aio_read, aio_transactions),
}
REFUSAL = "(?i)transactional.?id.?authorization.?failed"


@pytest.mark.parametrize("name", KINDS)
def test_a_client_writes_in_all_codecs_and_reads_by_position_and_time(
    brokers: LocalCluster, name: str
) -> None:
    kind, topic = KINDS[name], f"of-{name}"
    began_ms = int(time.time() * 1000)
    kind.produce(brokers.kafka_bootstrap, topic)  # which creates it
    assert kind.read(brokers.kafka_bootstrap, topic, len(VALUES), began_ms) == (VALUES, 0)
    told = brokers.run("topics", "describe", topic)
    assert told.returncode == 0, told.stderr


async def ours_read(bootstrap: str, topic: str, count: int) -> list[bytes | None]:
    async with (
        asyncio.timeout(DEADLINE_S),
        Consumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer,
    ):
        consumer.assign([(topic, 0)])
        records = aiter(consumer)
        return [(await anext(records)).value for _ in range(count)]


async def ours_write(bootstrap: str, topic: str) -> None:
    for codec, is_idempotent, values in parts():
        async with Producer(
            bootstrap_servers=bootstrap, compression=codec, enable_idempotence=is_idempotent
        ) as producer:
            for value in values:
                await producer.send(topic, value, partition=0)


def test_what_one_protocol_writes_the_other_reads(brokers: LocalCluster) -> None:
    KINDS["kafka-python"].produce(brokers.kafka_bootstrap, "theirs")
    assert asyncio.run(ours_read(brokers.bootstrap, "theirs", len(VALUES))) == VALUES
    asyncio.run(ours_write(brokers.bootstrap, "ours"))
    for kind in KINDS.values():
        assert kind.read(brokers.kafka_bootstrap, "ours", len(VALUES), 1)[0] == VALUES


@pytest.mark.parametrize("name", KINDS)
def test_transactions_are_refused_at_once(brokers: LocalCluster, name: str) -> None:
    kind = KINDS[name]
    began_s = time.monotonic()
    with pytest.raises(Exception, match=REFUSAL):
        kind.begin_transactions(brokers.kafka_bootstrap)
    assert time.monotonic() - began_s < REFUSED_S_MAX


PAGE = ROOT / "docs" / "KAFKA.md"
# Of Spark's, tests/spark/test_kafkas_connector.py.
SNIPPETS = [
    one.text for one in blocks_of(PAGE) if one.language == "python" and "spark." not in one.text
]


@pytest.mark.parametrize("text", SNIPPETS, ids=["confluent", "group", "kafka-python", "aiokafka"])
def test_the_snippets_of_the_page_run(brokers: LocalCluster, text: str) -> None:
    assert "127.0.0.1:9092" in text
    text = text.replace("127.0.0.1:9092", brokers.kafka_bootstrap)
    ran = subprocess.run(
        [sys.executable, "-"],
        input=text,
        capture_output=True,
        text=True,
        timeout=2 * DEADLINE_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
