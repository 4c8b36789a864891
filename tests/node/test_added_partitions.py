"""Three brokers: one leads the partition, another coordinates, and calls between may be lost."""

from __future__ import annotations

import asyncio

import pytest
from tests.broker.replica_stage import TOPIC, ReplicaStage
from tests.broker.test_transactional_produce import part

from tidelog.broker.replica_manager import ReplicaManager
from tidelog.core.background import Background
from tidelog.core.chance import SeededRandom
from tidelog.core.internal_topics import TRANSACTIONS_TOPIC
from tidelog.net.own_cluster import OwnCluster
from tidelog.node.handlers.produce_codec import decode_produce, encode_produce
from tidelog.node.partition_additions import build_partition_additions
from tidelog.simulation.engine.peers import SimPeers
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import PartitionProduceData, PartitionProduceResult, ProduceRequest
from tidelog.v1.metadata_records_pb2 import MetadataRecord, PartitionRecord, TopicRecord
from tidelog.v1.transactions_pb2 import (
    AddPartitionsToTransactionsRequest,
    AddPartitionsToTransactionsResponse,
)

pytestmark = pytest.mark.sim

LEADER, COORDINATOR = 1, 2


class Coordinator:
    """The service of the coordinating broker."""

    def __init__(self) -> None:
        self.added: list[str] = []

    async def add_partitions_to_transactions(
        self, request: AddPartitionsToTransactionsRequest
    ) -> AddPartitionsToTransactionsResponse:
        response = AddPartitionsToTransactionsResponse(cluster_id=request.cluster_id)
        for one in request.transactions:
            self.added.append(one.transactional_id)
            response.transactions.add(transactional_id=one.transactional_id)
        return response


def coordinate(stage: ReplicaStage) -> Coordinator:
    """Make the internal topic, led by the coordinator, which serves from now on."""
    topic_id = b"t" * 16
    record = PartitionRecord(
        topic_id=topic_id,
        partition=0,
        replicas=(COORDINATOR,),
        isr=(COORDINATOR,),
        leader_id=COORDINATOR,
        leader_epoch=0,
    )
    topic = TopicRecord(name=TRANSACTIONS_TOPIC, topic_id=topic_id)
    stage.commit(MetadataRecord(topic=topic), MetadataRecord(partition=record))
    coordinator, host = Coordinator(), stage._machines[COORDINATOR].host
    assert host is not None
    host.services = {**(host.services or {}), "tidelog.v1.TransactionCoordinator": coordinator}
    return coordinator


def connect(stage: ReplicaStage, manager: ReplicaManager) -> None:
    host = stage._machines[LEADER].host
    assert host is not None
    own = Coordinator()  # never called: another broker coordinates
    manager.appender.transactional.adder = build_partition_additions(
        LEADER,
        image=lambda: stage.image,
        peers=SimPeers(network=stage.network, host=host),
        own=OwnCluster("cluster"),
        own_coordinator=own.add_partitions_to_transactions,
        random=SeededRandom(1),
        background=Background(stage.fatal.append),
    )


async def send(manager: ReplicaManager, records: bytes) -> PartitionProduceResult:
    data = PartitionProduceData(topic=TOPIC, partition=0, records=records)
    request = ProduceRequest(timeout_ms=5_000, partitions=[data], transactional_id="app")
    return encode_produce(await manager.appender.produce(decode_produce(request))).partitions[0]


def test_a_leader_asks_another_broker_and_a_lost_call_only_delays_the_append() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.until(lambda: stage.hosted(LEADER).replica.leader is not None)
        coordinator = coordinate(stage)
        stage.network.cut(f"broker-{LEADER}", f"broker-{COORDINATOR}")

        async def produce(manager: ReplicaManager) -> None:
            connect(stage, manager)
            first = asyncio.create_task(send(manager, part()))
            await asyncio.sleep(0.5)
            assert (first.done(), stage.hosted(LEADER).log.log_end_offset) == (False, 0)
            stage.heal()
            assert (await first).base_offset == 0
            assert (await send(manager, part(sequence=1))).base_offset == 1

        await stage.on(LEADER, produce)
        assert set(coordinator.added) == {"app"}

    ReplicaStage().run(story)


def test_without_its_coordinator_a_producer_hears_that_nothing_was_appended() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.until(lambda: stage.hosted(LEADER).replica.leader is not None)
        coordinate(stage)
        stage.network.cut(f"broker-{COORDINATOR}", f"broker-{LEADER}")  # answers are lost

        async def produce(manager: ReplicaManager) -> PartitionProduceResult:
            connect(stage, manager)
            return await send(manager, part())

        result = await stage.on(LEADER, produce)
        assert result.error.code == common_pb2.COORDINATOR_NOT_AVAILABLE
        assert "nothing was appended" in result.error.message
        assert stage.hosted(LEADER).log.log_end_offset == 0

    ReplicaStage().run(story)
