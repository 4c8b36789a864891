"""Groups under the admin clients of Kafka's own libraries: list, describe, offsets, delete."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import aiokafka
import confluent_kafka
import pytest
from aiokafka.admin import AIOKafkaAdminClient
from confluent_kafka.admin import AdminClient
from tests.integration.local_cluster import LocalCluster
from tests.kafka.group_members import (
    DEADLINE_S,
    ConfluentMember,
    Joining,
    PythonMember,
    until_shared,
)

pytestmark = pytest.mark.process

kafka: Any = import_module("kafka")  # to type checkers the folders of this name are it
kafka_errors: Any = import_module("kafka.errors")

TOPIC = "administered"
CLASSIC, CONSUMER = "old-members", "new-members"


@pytest.fixture(scope="module")
def bootstrap(brokers: LocalCluster) -> Iterator[str]:
    """A group of each protocol, with one member, at these addresses."""
    told = brokers.run("topics", "create", TOPIC, "--partitions", "2")
    assert told.returncode == 0, told.stderr
    address = brokers.kafka_bootstrap
    members = [
        PythonMember(Joining(address, CLASSIC, TOPIC)),
        ConfluentMember(Joining(address, CONSUMER, TOPIC, "consumer")),
    ]
    try:
        for member in members:
            until_shared([member], TOPIC, 2)
        yield address
    finally:
        for member in members:
            member.close()


def test_kafka_python_lists_describes_and_deletes_groups_and_offsets(bootstrap: str) -> None:
    admin = kafka.KafkaAdminClient(bootstrap_servers=bootstrap)
    listed = {one["group_id"]: one["group_type"] for one in admin.list_groups()}
    assert listed.items() >= {CLASSIC: "classic", CONSUMER: "consumer"}.items()
    (only,) = admin.list_groups(types_filter=["consumer"])
    assert (only["group_id"], only["group_state"]) == (CONSUMER, "Stable")
    described = admin.describe_groups([CLASSIC, CONSUMER, "nosuch"])
    group = described[CLASSIC]
    assert (group["group_state"], group["protocol_data"]) == ("Stable", "range")
    (member,) = group["members"]
    (assigned,) = member["member_assignment"]["assigned_partitions"]
    assert (assigned["topic"], assigned["partitions"]) == (TOPIC, [0, 1])
    for name in (CONSUMER, "nosuch"):
        assert "GroupIdNotFoundError" in described[name]["error"]

    one, two = (kafka.TopicPartition(TOPIC, number) for number in (0, 1))
    offset = kafka.structs.OffsetAndMetadata(0, "by hand", -1)
    altered = admin.alter_group_offsets("by-python", {one: offset, two: offset})
    assert set(altered.values()) == {kafka_errors.NoError}
    assert admin.list_group_offsets(["by-python"]) == {"by-python": {one: offset, two: offset}}
    assert admin.delete_group_offsets("by-python", [two]) == {two: kafka_errors.NoError}
    assert admin.list_group_offsets(["by-python"]) == {"by-python": {one: offset}}
    assert admin.delete_groups(["by-python", CLASSIC, "nosuch"]) == {
        "by-python": "OK",
        CLASSIC: "NonEmptyGroupError",
        "nosuch": "GroupIdNotFoundError",
    }
    admin.close()


def test_confluent_kafka_lists_describes_and_deletes_groups_and_offsets(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    found = admin.list_consumer_groups(request_timeout=DEADLINE_S).result()
    assert not found.errors
    types = {one.group_id: one.type.name for one in found.valid}
    assert types.items() >= {CLASSIC: "CLASSIC", CONSUMER: "CONSUMER"}.items()
    described = admin.describe_consumer_groups(
        [CLASSIC, CONSUMER], include_authorized_operations=True
    )
    for name, assignor in ((CLASSIC, "range"), (CONSUMER, "uniform")):
        group = described[name].result()
        assert (group.state.name, group.partition_assignor) == ("STABLE", assignor)
        (member,) = group.members
        assert member.host == "127.0.0.1"
        owned = [(one.topic, one.partition) for one in member.assignment.topic_partitions]
        assert owned == [(TOPIC, 0), (TOPIC, 1)]
        assert len(group.authorized_operations) == 5

    def offsets(*wanted: tuple[int, int]) -> list[confluent_kafka.TopicPartition]:
        return [confluent_kafka.TopicPartition(TOPIC, *one) for one in wanted]

    def of(group_id: str, some: Any = None) -> list[Any]:
        return [confluent_kafka.ConsumerGroupTopicPartitions(group_id, some)]

    altered = admin.alter_consumer_group_offsets(of("by-confluent", offsets((0, 0), (1, 0))))
    assert [one.error for one in altered["by-confluent"].result().topic_partitions] == [None] * 2
    told = admin.list_consumer_group_offsets(of("by-confluent"))["by-confluent"].result()
    assert [(one.partition, one.offset) for one in told.topic_partitions] == [(0, 0), (1, 0)]
    refused = admin.alter_consumer_group_offsets(of(CONSUMER, offsets((0, 0))))
    (result,) = refused[CONSUMER].result().topic_partitions
    assert result.error.name() == "UNKNOWN_MEMBER_ID", "its members are there"
    deleted = admin.delete_consumer_groups(["by-confluent", CLASSIC, CONSUMER])
    assert deleted["by-confluent"].result() is None
    for name in (CLASSIC, CONSUMER):
        with pytest.raises(confluent_kafka.KafkaException, match="NON_EMPTY_GROUP"):
            deleted[name].result()


def test_aiokafka_lists_and_describes_groups_and_their_offsets(bootstrap: str) -> None:
    async def main() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=bootstrap, group_id="by-aiokafka", enable_auto_commit=False
        )
        await admin.start()
        await consumer.start()
        try:
            listed = dict(await admin.list_consumer_groups())
            assert listed.items() >= {CLASSIC: "consumer", CONSUMER: "consumer"}.items()
            (answer,) = await admin.describe_consumer_groups([CLASSIC])
            ((code, name, state, *_),) = answer.groups
            assert (code, name, state) == (0, CLASSIC, "Stable")
            partition = aiokafka.TopicPartition(TOPIC, 1)
            consumer.assign([partition])
            await consumer.commit({partition: (0, "by hand")})
            offsets = await admin.list_consumer_group_offsets("by-aiokafka")
            assert {(one, found.metadata) for one, found in offsets.items()} == {
                (partition, "by hand")
            }
        finally:
            await consumer.stop()
            await admin.close()

    asyncio.run(main())


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_one_that_assigns_its_partitions_itself_commits_too(bootstrap: str, protocol: str) -> None:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"assigned-{protocol}",
            "group.protocol": protocol,
            "enable.auto.commit": False,
        }
    )
    partition = confluent_kafka.TopicPartition(TOPIC, 0, 0)
    consumer.assign([partition])
    consumer.poll(1)
    end_s = time.monotonic() + DEADLINE_S
    while True:
        try:
            consumer.commit(offsets=[partition], asynchronous=False)
            break
        except confluent_kafka.KafkaException:
            assert time.monotonic() < end_s
    (found,) = consumer.committed([partition], timeout=DEADLINE_S)
    assert found.offset == 0
    consumer.close()
