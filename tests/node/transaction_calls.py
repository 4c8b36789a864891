"""Calls of transactions on real nodes, as producers, leaders and tools make them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from tests.client.patience import PATIENCE_MS, POLL_S, until
from tests.client.real_cluster import ADDRESSES, CLUSTER_ID, RealCluster
from tests.log.partition_logs import Producer as LogProducer
from tests.log.transaction_logs import transactional

from tidelog.broker.transactions.transaction import Producer
from tidelog.core.errors import code_name
from tidelog.log.partition_log import PartitionLog
from tidelog.records.batch import CONTROL_FLAG, BatchHeader, iter_batches
from tidelog.records.records import read_marker
from tidelog.v1.common_pb2 import ErrorCode
from tidelog.v1.coordinator_pb2 import FindCoordinatorRequest
from tidelog.v1.methods import (
    ADD_PARTITIONS_TO_TRANSACTIONS,
    DESCRIBE_TRANSACTIONS,
    END_TRANSACTION,
    FIND_COORDINATOR,
    INIT_TRANSACTIONAL_PRODUCER,
    Method,
)
from tidelog.v1.transactions_pb2 import (
    AddPartitionsToTransactionsRequest,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    EndTransactionRequest,
    InitTransactionalProducerRequest,
)

_RETRIED = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
Partitions = Sequence[tuple[str, int]]


class TransactionCalls:
    """Asks the coordinator of an id, wherever it is."""

    def __init__(self, cluster: RealCluster, transactional_id: str = "pay") -> None:
        self.cluster = cluster
        self.transactional_id = transactional_id

    async def coordinator(self) -> int:
        """Broker id of the coordinator, once there is one."""
        live = next(one for one in ADDRESSES if self.cluster.machines[one].is_up)
        request = FindCoordinatorRequest(transactional_ids=[self.transactional_id])
        async with asyncio.timeout(PATIENCE_MS / 1000):
            while True:
                found = await self.cluster.ask(live, FIND_COORDINATOR, request)
                if not found.error.code and not found.coordinators[0].error.code:
                    node_id: int = found.coordinators[0].broker.node_id
                    if self.cluster.machines[node_id].is_up:
                        return node_id
                await asyncio.sleep(POLL_S)

    async def ask(self, method: Method[Any, Any], request: Any) -> Any:
        """Ask the coordinator until it is one that has loaded the id."""
        async with asyncio.timeout(PATIENCE_MS / 1000):
            while True:
                response = await self.cluster.ask(await self.coordinator(), method, request)
                errors = [response.error]
                if method in (ADD_PARTITIONS_TO_TRANSACTIONS, DESCRIBE_TRANSACTIONS):
                    errors += [one.error for one in response.transactions]
                if not any(one.code in _RETRIED for one in errors):
                    return response
                await asyncio.sleep(POLL_S)

    async def init(self, timeout_ms: int = 60_000, **fields: Any) -> Producer | str:
        """Initialise a producer; the error's name where it was refused."""
        request = InitTransactionalProducerRequest(
            transactional_id=self.transactional_id, transaction_timeout_ms=timeout_ms, **fields
        )
        response = await self.ask(INIT_TRANSACTIONAL_PRODUCER, request)
        if response.error.code:
            assert (response.producer_id, response.producer_epoch) == (-1, -1)
            return code_name(response.error.code)
        return Producer(response.producer_id, response.producer_epoch)

    async def producer(self) -> Producer:
        """Initialise a producer, which must succeed."""
        producer = await self.init()
        assert isinstance(producer, Producer), producer
        return producer

    async def add(self, producer: Producer, partitions: Partitions) -> str:
        """Add partitions as their leaders do; the error's name."""
        request = AddPartitionsToTransactionsRequest(cluster_id=CLUSTER_ID)
        asked = request.transactions.add(
            transactional_id=self.transactional_id,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
        )
        for topic, number in partitions:
            topic_id = self.cluster.image.topics[topic].topic_id
            asked.topics.add(topic=topic, topic_id=topic_id, partitions=[number])
        response = await self.ask(ADD_PARTITIONS_TO_TRANSACTIONS, request)
        assert not response.error.code, response.error
        assert response.cluster_id == CLUSTER_ID
        return code_name(response.transactions[0].error.code)

    async def end(self, producer: Producer, *, commit: bool = True) -> Producer | str:
        """End the transaction; the producer of the next one, or the error's name."""
        request = EndTransactionRequest(
            transactional_id=self.transactional_id,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            commit=commit,
        )
        response = await self.ask(END_TRANSACTION, request)
        if response.error.code:
            return code_name(response.error.code)
        return Producer(response.producer_id, response.producer_epoch)

    async def describe(self) -> DescribeTransactionsResponse.Transaction:
        """Describe the id."""
        request = DescribeTransactionsRequest(transactional_ids=[self.transactional_id])
        response = await self.ask(DESCRIBE_TRANSACTIONS, request)
        described: DescribeTransactionsResponse.Transaction = response.transactions[0]
        return described

    async def until_state(self, state: str) -> None:
        """Wait until the id is in a state."""
        async with asyncio.timeout(PATIENCE_MS / 1000):
            while True:
                if (await self.describe()).state == state:
                    return
                await asyncio.sleep(POLL_S)

    # Logs

    def append(self, producer: Producer, topic: str, number: int, *, sequence: int = 0) -> int:
        """Append a batch of a transaction to the leader's log; return its offset."""
        log = self.leaders_log(topic, number)
        sender = LogProducer(producer.id, producer.epoch, sequence)
        batch = transactional(b"x", producer=sender)
        epoch = self._state(topic, number).leader_epoch
        return log.append_as_leader(batch, leader_epoch=epoch, transactional=True).base_offset

    def leaders_log(self, topic: str, number: int) -> PartitionLog:
        """The log of the partition's leader."""
        leader_id = self._state(topic, number).leader_id
        assert leader_id is not None
        return self.cluster.log(leader_id, topic, number)

    def markers(self, topic: str, number: int, node_id: int | None = None) -> list[Any]:
        """Markers in the leader's or another replica's log: producer, kind, coordinator epoch."""
        log = self.leaders_log(topic, number)
        if node_id is not None:
            log = self.cluster.log(node_id, topic, number)
        return [
            (
                Producer(header.producer_id, header.producer_epoch),
                marker.is_commit,
                marker.coordinator_epoch,
            )
            for header, batch in _batches(log)
            if header.attributes & CONTROL_FLAG and (marker := read_marker(batch))
        ]

    async def until_marked(self, topic: str, number: int, count: int = 1) -> None:
        """Wait until all replicas have so many markers."""
        await until(
            lambda: all(len(self.markers(topic, number, one)) == count for one in ADDRESSES)
        )

    def _state(self, topic: str, number: int) -> Any:
        state = self.cluster.image.partition(topic, number)
        assert state is not None
        return state


def _batches(log: PartitionLog) -> Iterator[tuple[BatchHeader, Any]]:
    offset = 0
    while offset < log.log_end_offset:  # a read ends with its segment
        found = log.read(offset, max_bytes=1 << 20, upper_bound=log.log_end_offset)
        yield from iter_batches(found.records)
        offset = found.next_offset
