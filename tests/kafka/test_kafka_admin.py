"""Administration by Kafka's own clients, unmodified: topics, configs, partitions, the cluster.

Each creates a topic, changes it, looks at it and deletes it; what one did our own client sees.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from tests.integration.local_cluster import LocalCluster

from tidelog.client import Admin, Producer

pytestmark = pytest.mark.process

kafka_admin: Any = import_module("kafka.admin")  # to type checkers the folders of this name are it
kafka_errors: Any = import_module("kafka.errors")
aio_admin: Any = import_module("aiokafka.admin")
# Without annotations of what it exports.
confluent: Any = import_module("confluent_kafka.admin")
POLL_S = 0.05
DEADLINE_S = 60
RECORDS = 10


def write(bootstrap: str, topic: str) -> None:
    """Write records to partition 0 by our own client."""

    async def main() -> None:
        async with asyncio.timeout(DEADLINE_S), Producer(bootstrap) as producer:
            for _ in range(RECORDS):
                await producer.send(topic, value=b"v", key=b"k", partition=0)

    asyncio.run(main())


def until_ours(bootstrap: str, topic: str, *, configs: dict[str, str], partitions: int) -> None:
    """Wait until our own client sees a topic so; the broker that it asks hears of it later."""

    async def main() -> None:
        seen: object = None
        try:
            async with asyncio.timeout(DEADLINE_S), Admin(bootstrap) as admin:
                while seen != (configs, partitions):
                    found = await admin.describe_topic(topic)
                    seen = dict(found.configs), len(found.partitions)
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            assert seen == (configs, partitions)

    asyncio.run(main())


def test_confluent_kafka_administers_a_cluster(brokers: LocalCluster) -> None:
    admin = confluent.AdminClient({"bootstrap.servers": brokers.kafka_bootstrap})
    name = "admin-confluent"
    new = confluent.NewTopic(
        name, num_partitions=2, replication_factor=3, config={"retention.ms": "1000000"}
    )
    admin.create_topics([new])[name].result(DEADLINE_S)
    with pytest.raises(KafkaException) as refused:
        admin.create_topics([new])[name].result(DEADLINE_S)
    assert refused.value.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
    admin.create_partitions([confluent.NewPartitions(name, 4)])[name].result(DEADLINE_S)
    change = confluent.ConfigEntry(
        "cleanup.policy", "compact", incremental_operation=confluent.AlterConfigOpType.APPEND
    )
    resource = confluent.ConfigResource(
        confluent.ResourceType.TOPIC, name, incremental_configs=[change]
    )
    admin.incremental_alter_configs([resource])[resource].result(DEADLINE_S)
    expected = {"retention.ms": "1000000", "cleanup.policy": "delete,compact"}
    until_ours(brokers.bootstrap, name, configs=expected, partitions=4)
    told = admin.describe_configs([resource])[resource].result(DEADLINE_S)
    assert {key: told[key].value for key in expected} == expected
    broker = confluent.ConfigResource(confluent.ResourceType.BROKER, "2")
    own = admin.describe_configs([broker])[broker].result(DEADLINE_S)
    assert (own["node.id"].value, own["node.id"].is_read_only) == ("2", True)
    cluster = admin.describe_cluster(include_authorized_operations=True).result(DEADLINE_S)
    assert {node.id for node in cluster.nodes} == {1, 2, 3}
    topics = admin.describe_topics(TopicCollection([name]))[name].result(DEADLINE_S)
    assert len(topics.partitions) == 4
    write(brokers.bootstrap, name)
    at = TopicPartition(name, 0, 4)
    assert admin.delete_records([at])[at].result(DEADLINE_S).low_watermark == 4
    start = admin.list_offsets({TopicPartition(name, 0): confluent.OffsetSpec.earliest()})
    assert next(iter(start.values())).result(DEADLINE_S).offset == 4
    admin.delete_topics([name])[name].result(DEADLINE_S)
    with pytest.raises(KafkaException) as gone:
        admin.delete_topics([name])[name].result(DEADLINE_S)
    assert gone.value.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_kafka_python_administers_a_cluster(brokers: LocalCluster) -> None:
    admin = kafka_admin.KafkaAdminClient(bootstrap_servers=brokers.kafka_bootstrap)
    name = "admin-python"
    new = kafka_admin.NewTopic(name, 2, 3, topic_configs={"retention.ms": "1000000"})
    admin.create_topics([new])
    with pytest.raises(kafka_errors.TopicAlreadyExistsError):
        admin.create_topics([new])
    admin.create_partitions({name: kafka_admin.NewPartitions(3)})
    topic = kafka_admin.ConfigResource(
        kafka_admin.ConfigResourceType.TOPIC, name, configs={"cleanup.policy": "compact"}
    )
    admin.alter_configs([topic])
    expected = {"retention.ms": "1000000", "cleanup.policy": "compact"}
    until_ours(brokers.bootstrap, name, configs=expected, partitions=3)
    told = admin.describe_configs([kafka_admin.ConfigResource("TOPIC", name)])
    assert "compact" in str(told)
    (described,) = admin.describe_topics([name])
    assert len(described["partitions"]) == 3
    assert len(admin.describe_cluster()["brokers"]) == 3
    quorum = admin.describe_metadata_quorum()
    assert "current_voters" in str(quorum)
    folders = admin.describe_log_dirs()
    assert name in str(folders)
    admin.elect_leaders(0, raise_errors=False)
    admin.delete_topics([name])
    with pytest.raises(kafka_errors.UnknownTopicOrPartitionError):
        admin.delete_topics([name])
    admin.close()


def test_aiokafka_administers_a_cluster(brokers: LocalCluster) -> None:
    name = "admin-aio"

    async def main() -> None:
        admin = aio_admin.AIOKafkaAdminClient(bootstrap_servers=brokers.kafka_bootstrap)
        await admin.start()
        try:
            new = aio_admin.NewTopic(name, 2, 3, topic_configs={"retention.ms": "1000000"})
            created = await admin.create_topics([new])
            assert created.topic_errors[0][1] == 0
            assert (await admin.create_topics([new])).topic_errors[0][1] == 36
            await admin.create_partitions({name: aio_admin.NewPartitions(3)})
            kind = aio_admin.config_resource.ConfigResourceType.TOPIC
            resource = aio_admin.config_resource.ConfigResource(
                kind, name, configs={"cleanup.policy": "compact"}
            )
            await admin.alter_configs([resource])
            (told,) = await admin.describe_configs(
                [aio_admin.config_resource.ConfigResource(kind, name)]
            )
            assert "compact" in str(told)
            # As at Kafka, a broker may not have heard of the newest metadata when it is asked.
            (described,) = await admin.describe_topics([name])
            while len(described["partitions"]) < 3:
                (described,) = await admin.describe_topics([name])
            assert len(described["partitions"]) == 3
            assert len((await admin.describe_cluster())["brokers"]) == 3
        finally:
            await admin.close()

    asyncio.run(asyncio.wait_for(main(), DEADLINE_S))
    # Kafka's AlterConfigs replaces them all.
    until_ours(brokers.bootstrap, name, configs={"cleanup.policy": "compact"}, partitions=3)
    write(brokers.bootstrap, "aio-records")

    async def end() -> None:
        admin = aio_admin.AIOKafkaAdminClient(bootstrap_servers=brokers.kafka_bootstrap)
        await admin.start()
        try:
            at = import_module("aiokafka").TopicPartition("aio-records", 0)
            before = aio_admin.RecordsToDelete(before_offset=4)
            assert await admin.delete_records({at: before}) == {at: 4}
            deleted = await admin.delete_topics([name, name + "-unknown"])
            assert [code for _, code, *_ in deleted.topic_error_codes] == [0, 3]
        finally:
            await admin.close()

    asyncio.run(asyncio.wait_for(end(), DEADLINE_S))
