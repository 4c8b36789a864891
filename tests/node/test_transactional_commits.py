"""Offsets in transactions on real nodes: added first, pending, decided by markers, at failovers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio
from tests.client.group_consumers import ALL, consumer, orders_cluster, places, read
from tests.client.patience import until
from tests.client.real_cluster import ADDRESSES, RealCluster, started
from tests.node.group_calls import GroupCalls
from tests.node.transaction_calls import TransactionCalls

from tidelog.broker.coordinator import transactional_commits
from tidelog.broker.coordinator.group_coordinator import GroupCoordinator
from tidelog.broker.coordinator.group_key import partition_of
from tidelog.broker.partition.leader_io import TransactionEnd
from tidelog.broker.partition.partition_writer import PartitionWriter
from tidelog.broker.partition_adder import Producer, TransactionPartition
from tidelog.chaos.node_inside import held_by, log_of
from tidelog.client import TopicPartition
from tidelog.client.errors import UnstableOffsetCommitError
from tidelog.core.errors import (
    InvalidTxnStateError,
    ProducerFencedError,
    TidelogError,
    code_name,
)
from tidelog.core.internal_topics import OFFSETS_TOPIC
from tidelog.kafka.messages.offset_fetch_request import (
    OffsetFetchRequest as KafkaOffsetFetch,
)
from tidelog.kafka.messages.offset_fetch_request import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tidelog.log.partition_log import PartitionLog
from tidelog.node.kafka_apis.groups_fetched import OffsetFetchHandler
from tidelog.v1.common_pb2 import ErrorCode
from tidelog.v1.coordinator_pb2 import (
    OffsetCommitRequest,
    OffsetFetchRequest,
    TransactionalOffsetCommitRequest,
)
from tidelog.v1.methods import OFFSET_FETCH, TRANSACTIONAL_OFFSET_COMMIT

pytestmark = pytest.mark.asyncio
OFFSETS = {("orders", 0): 7, ("orders", 1): 8}


class Adder:
    """A transaction coordinator that knows every producer, or says what it is told to say."""

    def __init__(self) -> None:
        self.added: list[tuple[str, Producer, int]] = []
        self.refusal: TidelogError | None = None
        self.gate = asyncio.Event()
        self.gate.set()

    async def add(
        self, transactional_id: str, producer: Producer, partition: TransactionPartition
    ) -> None:
        await self.gate.wait()
        assert partition.topic.name == OFFSETS_TOPIC
        if self.refusal is not None:
            raise self.refusal
        self.added.append((transactional_id, producer, partition.number))


class Transactions(GroupCalls):
    """Commits of one group in transactions, and their ends."""

    def __init__(self, cluster: RealCluster, *, adopts: bool = True) -> None:
        """`adopts`: in place of the cluster's own coordinators of transactions."""
        super().__init__(cluster)
        self.adder = Adder()
        for node_id in ADDRESSES if adopts else ():
            self.adopt(node_id)

    def adopt(self, node_id: int) -> None:
        """Give a node, which started, its way to the coordinators of transactions."""
        self.coordinator_of(node_id).transactional.adder = self.adder

    def coordinator_of(self, node_id: int) -> GroupCoordinator:
        broker = self.cluster.machines[node_id].node._broker
        assert broker is not None
        found: GroupCoordinator = broker.groups
        return found

    async def commit_in(
        self, epoch: int = 0, *, producer_id: int = 5, offset: int = 7, name: str = "t"
    ) -> str:
        """Commit an offset of orders-0 in a transaction; the error's name, or the partition's."""
        request = TransactionalOffsetCommitRequest(
            transactional_id=name,
            producer_id=producer_id,
            producer_epoch=epoch,
            group_id=self.group_id,
            member_epoch=-1,
        )
        one = OffsetCommitRequest.Partition(partition=0, offset=offset)
        request.topics.add(topic="orders", partitions=[one])
        response = await self.ask(TRANSACTIONAL_OFFSET_COMMIT, request)
        if response.error.code:
            return code_name(response.error.code)
        return code_name(response.topics[0].partitions[0].error.code)

    async def end(self, epoch: int = 1, *, is_commit: bool, producer_id: int = 5) -> None:
        """Append the marker where the group's coordinator leads."""
        node_id = await self.coordinator()
        broker = self.cluster.machines[node_id].node._broker
        assert broker is not None
        writer: PartitionWriter = broker.replica_manager.writer
        topic = self.cluster.image.topics[OFFSETS_TOPIC]
        number = partition_of(self.group_id, len(topic.partitions))
        ended = TransactionEnd(producer_id, epoch, 0, is_commit)
        written = writer.append_marker(OFFSETS_TOPIC, number, topic.topic_id, ended)
        await written.committed(timeout_ms=5_000)

    def offsets_log(self, node_id: int) -> PartitionLog:
        """The log of the group's partition at a node."""
        node = self.cluster.machines[node_id].node
        assert node is not None
        partitions = len(self.cluster.image.topics[OFFSETS_TOPIC].partitions)
        log = log_of(held_by(node)[OFFSETS_TOPIC, partition_of(self.group_id, partitions)])
        assert log is not None
        return log

    async def fetched(self, *, require_stable: bool) -> int | str:
        """Fetch the offset of orders-0, or the error's name."""
        request = OffsetFetchRequest(
            group_id=self.group_id, member_epoch=-1, require_stable=require_stable
        )
        request.topics.add(topic="orders", partitions=[0])
        response = await self.ask(OFFSET_FETCH, request)
        one = response.topics[0].partitions[0]
        return code_name(one.error.code) if one.error.code else int(one.offset)


@pytest_asyncio.fixture
async def calls() -> AsyncIterator[Transactions]:
    cluster = await started()
    await cluster.create("orders", partitions=4)
    yield Transactions(cluster)


async def test_offsets_are_pending_until_the_marker_and_applied_by_a_commit(
    calls: Transactions,
) -> None:
    await calls.commit({("orders", 0): 3})
    assert await calls.commit_in() == "NONE"
    assert await calls.fetched(require_stable=False) == 3
    assert await calls.fetched(require_stable=True) == "UNSTABLE_OFFSET_COMMIT"
    assert await calls.committed() == {("orders", 0): 3}
    await calls.end(is_commit=True)
    assert await calls.fetched(require_stable=True) == 7
    assert await calls.commit_in(1, offset=9) == "NONE"
    await calls.end(2, is_commit=False)
    assert await calls.fetched(require_stable=True) == 7


async def test_the_partition_is_added_once_per_transaction_and_before_anything_is_appended(
    calls: Transactions,
) -> None:
    await calls.commit({("orders", 0): 3})
    calls.adder.refusal = InvalidTxnStateError("no transaction")
    assert await calls.commit_in() == "INVALID_TXN_STATE"
    assert await calls.fetched(require_stable=True) == 3
    calls.adder.refusal = None
    for offset in (4, 5):
        assert await calls.commit_in(offset=offset) == "NONE"
    number = partition_of("g", len(calls.cluster.image.topics[OFFSETS_TOPIC].partitions))
    assert calls.adder.added == [("t", Producer(5, 0), number)]
    await calls.end(is_commit=True)
    assert await calls.commit_in() == "INVALID_PRODUCER_EPOCH"
    assert await calls.fetched(require_stable=True) == 5
    assert await calls.commit_in(1) == "NONE"
    assert calls.adder.added[-1] == ("t", Producer(5, 1), number)


async def test_what_is_pending_stays_so_when_the_coordinator_moves_and_is_decided_there(
    calls: Transactions,
) -> None:
    await calls.commit({("orders", 0): 3})
    await calls.commit_in()
    await calls.commit_in(producer_id=6, offset=8)
    await calls.end(is_commit=False, producer_id=6)
    former = await calls.coordinator()
    calls.cluster.kill(former)
    assert await calls.fetched(require_stable=False) == 3
    assert await calls.fetched(require_stable=True) == "UNSTABLE_OFFSET_COMMIT"
    assert await calls.coordinator() != former
    await calls.end(is_commit=True)
    assert await calls.fetched(require_stable=True) == 7
    await calls.cluster.start(former)
    calls.cluster.kill(await calls.coordinator())
    assert await calls.fetched(require_stable=True) == 7


async def test_only_so_many_commits_wait(
    calls: Transactions, monkeypatch: pytest.MonkeyPatch
) -> None:
    await calls.commit({("orders", 0): 3})
    monkeypatch.setattr(transactional_commits, "WAITING_MAX", 2)
    calls.adder.gate.clear()
    waiting = [asyncio.create_task(calls.commit_in(producer_id=one)) for one in (5, 6)]
    await until(
        lambda: sum(calls.coordinator_of(one).transactional.waiting for one in ADDRESSES) == 2
    )
    assert await calls.commit_in(producer_id=7) == "THROTTLING_QUOTA_EXCEEDED"
    calls.adder.gate.set()
    assert await asyncio.gather(*waiting) == ["NONE", "NONE"]
    assert await calls.commit_in(producer_id=7) == "NONE"


async def test_a_late_commit_is_refused_though_the_log_forgot_that_its_transaction_ended(
    calls: Transactions,
) -> None:
    await calls.commit({("orders", 0): 3})
    calls.adder.gate.clear()
    late = asyncio.create_task(calls.commit_in())
    node_id = await calls.coordinator()
    await until(lambda: calls.coordinator_of(node_id).transactional.waiting == 1)
    await calls.end(is_commit=False)
    calls.offsets_log(node_id).producers.expire(1 << 60, expiration_ms=0)
    calls.adder.gate.set()
    await until(lambda: bool(calls.adder.added))
    calls.adder.refusal = ProducerFencedError("as it is asked for again")
    assert await late == "PRODUCER_FENCED"
    assert await calls.fetched(require_stable=True) == 3


@pytest.mark.parametrize(("producer_id", "epoch"), [(-1, 0), (5, -1)])
async def test_a_producer_without_id_or_epoch_is_refused(
    calls: Transactions, producer_id: int, epoch: int
) -> None:
    await calls.commit({("orders", 0): 3})
    assert await calls.commit_in(epoch, producer_id=producer_id) == "INVALID_REQUEST"
    assert not calls.adder.added


@pytest.mark.parametrize("version", [7, 8, 10])
@pytest.mark.parametrize("has_names", [True, False])
async def test_a_stable_fetch_over_kafkas_protocol_says_which_offsets_are_pending(
    calls: Transactions, version: int, has_names: bool
) -> None:
    await calls.commit({("orders", 0): 3, ("orders", 1): 4})
    await calls.commit_in()
    handler = OffsetFetchHandler(calls.coordinator_of(await calls.coordinator()))
    topic_id = calls.cluster.image.topics["orders"].topic_id
    asked = OffsetFetchRequestTopics("orders", topic_id, [0, 1])
    for stable in (True, False):
        request = KafkaOffsetFetch(require_stable=stable)
        if version < 8:
            request.group_id = "g"
            request.topics = [OffsetFetchRequestTopic("orders", [0, 1])] if has_names else None
        else:
            group = OffsetFetchRequestGroup("g", topics=[asked] if has_names else None)
            request.groups = [group]
        api: Any = SimpleNamespace(version=version)
        answer = await handler(request, api)
        topics = answer.topics if version < 8 else answer.groups[0].topics
        found = [(one.error_code, one.committed_offset) for one in topics[0].partitions]
        assert found == [(ErrorCode.UNSTABLE_OFFSET_COMMIT, -1) if stable else (0, 3), (0, 4)]


async def test_a_consumer_waits_for_the_end_of_the_transaction_before_it_begins_to_read() -> None:
    cluster = await orders_cluster()
    calls = Transactions(cluster)
    await calls.commit({("orders", 0): 1})
    await calls.commit_in(offset=3)
    async with consumer(cluster, enable_auto_commit=False) as reader:
        asked = asyncio.create_task(reader.committed([("orders", 0)]))
        await reader.subscribe(["orders"])
        reading = asyncio.create_task(read(reader, 17))
        await asyncio.sleep(1)
        assert not asked.done()
        await calls.end(is_commit=True)
        committed = (await asked)[TopicPartition("orders", 0)]
        assert committed is not None
        assert committed.offset == 3
        assert places(await reading) == ALL - {(0, 0), (0, 1), (0, 2)}


async def test_a_consumer_says_that_a_transaction_did_not_end_in_time() -> None:
    cluster = await orders_cluster()
    calls = Transactions(cluster)
    await calls.commit({("orders", 0): 1})
    await calls.commit_in(offset=3)
    async with consumer(cluster, enable_auto_commit=False) as reader:
        with pytest.raises(UnstableOffsetCommitError):
            await reader.committed([("orders", 0)])


async def test_offsets_are_decided_with_the_transaction_of_a_real_coordinator() -> None:
    cluster = await started()
    await cluster.create("orders", partitions=4)
    coordinator, calls = TransactionCalls(cluster), Transactions(cluster, adopts=False)
    await calls.commit({("orders", 0): 3})
    first = await coordinator.producer()
    name = coordinator.transactional_id
    assert await calls.commit_in(first.epoch, producer_id=first.id, name=name) == "NONE"
    assert await calls.fetched(require_stable=True) == "UNSTABLE_OFFSET_COMMIT"
    second = await coordinator.end(first)
    assert isinstance(second, Producer)
    async with asyncio.timeout(30):
        while (found := await calls.fetched(require_stable=True)) != 7:
            assert found == "UNSTABLE_OFFSET_COMMIT"
            await asyncio.sleep(0.1)
    refused = await calls.commit_in(first.epoch, producer_id=first.id, name=name)
    assert refused in ("INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED")
    stranger = await calls.commit_in(0, producer_id=first.id + 1_000, name=name)
    assert stranger == "INVALID_PRODUCER_ID_MAPPING"
    again = await calls.commit_in(second.epoch, producer_id=second.id, offset=9, name=name)
    assert again == "NONE"
    assert isinstance(await coordinator.end(second, commit=False), Producer)
    async with asyncio.timeout(30):
        while (found := await calls.fetched(require_stable=True)) != 7:
            assert found == "UNSTABLE_OFFSET_COMMIT"
            await asyncio.sleep(0.1)
