"""Internal topics that want more brokers than there are: who waits hears why, operators too."""

from __future__ import annotations

from typing import Any

import pytest
from tests.client.group_consumers import consumer, read
from tests.client.loop_peers import keep_tasks_of_hosts
from tests.client.real_cluster import BOOTSTRAP, RealCluster, encoded, started

from tidelog.broker.coordinator.group_config import GroupConfig
from tidelog.broker.coordinator.internal_topic import REFUSED_FOR_MS
from tidelog.broker.transactions.transaction_config import TransactionConfig
from tidelog.client import Admin, Producer
from tidelog.client.errors import InvalidReplicationFactorError
from tidelog.core.internal_topics import OFFSETS_TOPIC
from tidelog.kafka.messages.find_coordinator_request import FindCoordinatorRequest
from tidelog.net.call import LOCAL_CALL
from tidelog.node.kafka_apis.groups_find import FindCoordinatorHandler
from tidelog.node.kafka_apis.served import ApiCall
from tidelog.v1.admin_pb2 import ListEventsRequest
from tidelog.v1.methods import LIST_EVENTS


async def wanting(replicas: int) -> RealCluster:
    return await started(
        groups=GroupConfig(offsets_topic_replication_factor=replicas),
        transactions=TransactionConfig(transaction_state_log_replication_factor=replicas),
    )


async def test_a_member_reads_why_its_group_has_no_coordinator_and_health_says_so() -> None:
    cluster = await wanting(4)
    await cluster.create("orders")
    async with consumer(cluster) as reader, Admin(BOOTSTRAP, transport=cluster) as admin:
        await reader.subscribe(["orders"])
        assert await reader.getmany(timeout_ms=REFUSED_FOR_MS // 2) == []
        assert "4: it must be at least 1" in str(reader.membership_error())
        with pytest.raises(InvalidReplicationFactorError, match=r"registered brokers, which is 3"):
            await reader.getmany(timeout_ms=2 * REFUSED_FOR_MS)
        (obstacle,) = (await admin.describe_cluster()).obstacles
        assert OFFSETS_TOPIC in obstacle
        events = await cluster.ask(1, LIST_EVENTS, ListEventsRequest(topic=OFFSETS_TOPIC))
        assert {(one.kind, one.cause) for one in events.events} == {("refusal", obstacle)}


async def test_a_member_joins_once_the_cluster_has_grown() -> None:
    cluster = RealCluster()
    keep_tasks_of_hosts()
    for node_id in (*cluster.voters, 1, 2):
        await cluster.start(node_id)
    async with consumer(cluster, auto_offset_reset="earliest") as reader:
        await cluster.create("orders", replicas=1)
        await cluster.topics["orders"].partitions[0].append(encoded([b"x"]))
        await reader.subscribe(["orders"])
        assert await reader.getmany(timeout_ms=10_000) == []
        assert "registered brokers, which is 2" in str(reader.membership_error())
        await cluster.start(3)
        assert [one.value for one in await read(reader, 1)] == [b"x"]
        assert reader.membership_error() is None


async def test_a_producer_hears_why_no_transaction_begins() -> None:
    cluster = await wanting(4)
    async with Admin(BOOTSTRAP, transport=cluster) as admin:
        sender = Producer(BOOTSTRAP, transport=cluster, transactional_id="id")
        with pytest.raises(InvalidReplicationFactorError, match=r"transaction\.state\.log"):
            await sender.start()
        await sender.close()
        assert "__transaction_state" in (await admin.describe_cluster()).obstacles[0]


async def test_kafkas_clients_are_told_for_good_after_a_while() -> None:
    cluster = await wanting(4)
    node: Any = cluster.machines[1].node
    find = FindCoordinatorHandler(node.services["tidelog.v1.Coordinator"])
    topic = node._broker.internal_topics.offsets
    codes = []
    for age_ms in (0, REFUSED_FOR_MS):
        topic._failed_ms = topic._first_failed_ms - age_ms
        topic._first_failed_ms -= age_ms
        answer = await find(FindCoordinatorRequest(key="g"), ApiCall(LOCAL_CALL, 3))
        codes.append(answer.error_code)
        assert "registered brokers, which is 3" in str(answer.error_message)
    assert codes == [15, 38]
