"""Internal topics: clients read them, and neither make, change nor remove them."""

from __future__ import annotations

import asyncio

import pytest
from tests.client.real_cluster import ADDRESSES, encoded, started
from tests.node.group_calls import GroupCalls

from tidelog.core.errors import ClusterAuthorizationFailedError, code_name
from tidelog.core.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from tidelog.net.internal_calls import check_request
from tidelog.net.listeners import CLIENT, Listener
from tidelog.v1.admin_pb2 import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    NewTopic,
)
from tidelog.v1.data_pb2 import (
    DeleteRecordsRequest,
    MetadataRequest,
    PartitionProduceData,
    ProduceRequest,
)
from tidelog.v1.methods import (
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DELETE_RECORDS,
    DELETE_TOPICS,
    METADATA,
    PRODUCE,
)


@pytest.mark.asyncio
@pytest.mark.parametrize("name", [OFFSETS_TOPIC, TRANSACTIONS_TOPIC])
async def test_clients_do_not_create_them(name: str) -> None:
    cluster = await started()
    request = CreateTopicsRequest(topics=[NewTopic(name=name), NewTopic(name="other")])
    response = await cluster.ask(1, CREATE_TOPICS, request)
    assert [code_name(one.error.code) for one in response.topics] == ["INVALID_TOPIC", "NONE"]
    asked = MetadataRequest(topics=[name], allow_auto_topic_creation=True)
    metadata = await cluster.ask(1, METADATA, asked)
    assert code_name(metadata.topics[0].error.code) == "INVALID_TOPIC"
    records = [PartitionProduceData(topic=name, records=encoded([b"x"]))]
    await cluster.ask(1, PRODUCE, ProduceRequest(acks=-1, partitions=records))
    assert list(cluster.image.topics) == ["other"]


@pytest.mark.asyncio
async def test_clients_neither_write_nor_remove_what_is_in_them() -> None:
    cluster = await started()
    await cluster.create("orders")
    calls = GroupCalls(cluster)
    await calls.commit({("orders", 0): 7})
    leader = await calls.coordinator()
    data = [PartitionProduceData(topic=OFFSETS_TOPIC, records=encoded([b"x"]))]
    produced = await cluster.ask(leader, PRODUCE, ProduceRequest(acks=-1, partitions=data))
    deletion = DeleteTopicsRequest(names=[OFFSETS_TOPIC, "orders"])
    deleted = await cluster.ask(leader, DELETE_TOPICS, deletion)
    growth = CreatePartitionsRequest(
        topics=[CreatePartitionsRequest.Topic(name=OFFSETS_TOPIC, count=60)]
    )
    grown = await cluster.ask(leader, CREATE_PARTITIONS, growth)
    cut = DeleteRecordsRequest()
    cut.partitions.add(topic=OFFSETS_TOPIC, offset=-1)
    emptied = await cluster.ask(leader, DELETE_RECORDS, cut)
    codes = [
        produced.partitions[0].error.code,
        deleted.topics[0].error.code,
        grown.topics[0].error.code,
        emptied.partitions[0].error.code,
    ]
    assert [code_name(code) for code in codes] == ["INVALID_TOPIC"] * 4
    assert OFFSETS_TOPIC in cluster.image.topics
    assert not deleted.topics[1].error.code


@pytest.mark.asyncio
async def test_first_members_that_come_at_once_create_one_topic() -> None:
    cluster = await started()
    found = await asyncio.gather(
        *(GroupCalls(cluster, f"g{number}").coordinator() for number in range(20))
    )
    assert set(found) <= set(ADDRESSES)
    assert list(cluster.image.topics) == [OFFSETS_TOPIC]


def test_a_client_at_its_own_listener_does_not_pass_for_a_coordinator() -> None:
    listener = Listener("CLIENTS", "h:1", "h:1", services=frozenset({CLIENT}))
    with pytest.raises(ClusterAuthorizationFailedError, match="internal topic"):
        check_request(CreateTopicsRequest(internal_topic=True), listener)
