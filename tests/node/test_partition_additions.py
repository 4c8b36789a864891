"""Additions of partitions go to the broker that the metadata names; to the own one directly."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from tidelog.broker.partition_adder import Producer, Topic, TransactionPartition
from tidelog.broker.transactions.transaction_key import partition_of
from tidelog.core.background import Background
from tidelog.core.chance import SeededRandom
from tidelog.core.errors import CoordinatorNotAvailableError
from tidelog.core.internal_topics import TRANSACTIONS_TOPIC
from tidelog.metadata.endpoints import endpoints_of, images_of
from tidelog.metadata.image import EMPTY_IMAGE, BrokerImage, MetadataImage, TopicImage
from tidelog.metadata.images.topics import PartitionImage
from tidelog.net.listeners import Listener
from tidelog.net.own_cluster import OwnCluster
from tidelog.node.partition_additions import build_partition_additions, coordinator_of
from tidelog.v1.methods import ADD_PARTITIONS_TO_TRANSACTIONS
from tidelog.v1.transactions_pb2 import (
    AddPartitionsToTransactionsRequest,
    AddPartitionsToTransactionsResponse,
)

pytestmark = pytest.mark.asyncio

OWN, OTHER, NOWHERE = 1, 2, 9
PARTITIONS = 3
LEADERS = (OWN, OTHER, None)
PLACE = TransactionPartition(Topic(b"i" * 16, "flights"), 4)


def id_in(partition: int) -> str:
    """An id whose coordinator leads this partition."""
    names = (f"app-{n}" for n in range(1_000))
    return next(name for name in names if partition_of(name, PARTITIONS) == partition)


def image_of(*leaders: int | None) -> MetadataImage:
    partitions = tuple(
        PartitionImage(n, (1, 2), (1, 2), leader_id=one, leader_epoch=0, partition_epoch=0)
        for n, one in enumerate(leaders)
    )
    endpoints = images_of(endpoints_of([Listener("INSIDE", "b2:1", "b2:1")]))
    return replace(
        EMPTY_IMAGE,
        brokers={OTHER: BrokerImage(OTHER, b"", 1, endpoints, "", is_fenced=False)},
        topics={TRANSACTIONS_TOPIC: TopicImage(TRANSACTIONS_TOPIC, b"t" * 16, partitions, {})},
    )


class Cluster:
    """What a broker calls: its own coordinator and, by address, others."""

    def __init__(self) -> None:
        self.image = image_of(*LEADERS)
        self.own_calls: list[AddPartitionsToTransactionsRequest] = []
        self.calls: list[tuple[str, AddPartitionsToTransactionsRequest]] = []
        self.answers_as = "cluster"
        self.fatal: list[BaseException] = []
        self.background = Background(self.fatal.append)
        self.additions = build_partition_additions(
            OWN,
            image=lambda: self.image,
            peers=self,  # type: ignore[arg-type]  # nothing but `call` is used
            own=OwnCluster("cluster"),
            own_coordinator=self.own_coordinator,
            random=SeededRandom(1),
            background=self.background,
        )

    async def own_coordinator(
        self, request: AddPartitionsToTransactionsRequest
    ) -> AddPartitionsToTransactionsResponse:
        self.own_calls.append(request)
        return self.answer(request)

    async def call(
        self, address: str, method: Any, request: AddPartitionsToTransactionsRequest, **_: Any
    ) -> AddPartitionsToTransactionsResponse:
        assert method is ADD_PARTITIONS_TO_TRANSACTIONS
        self.calls.append((address, request))
        return self.answer(request)

    def answer(
        self, request: AddPartitionsToTransactionsRequest
    ) -> AddPartitionsToTransactionsResponse:
        response = AddPartitionsToTransactionsResponse(cluster_id=self.answers_as)
        for one in request.transactions:
            response.transactions.add(transactional_id=one.transactional_id)
        return response


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[Cluster]:
    made = Cluster()
    yield made
    await made.background.stop()
    assert made.fatal == []


async def test_the_own_coordinator_is_called_without_the_network(cluster: Cluster) -> None:
    await cluster.additions.add(id_in(0), Producer(7, 3), PLACE)
    (request,), (one,) = cluster.own_calls, cluster.own_calls[0].transactions
    assert (request.cluster_id, cluster.calls) == ("cluster", [])
    assert (one.transactional_id, one.producer_id, one.producer_epoch) == (id_in(0), 7, 3)
    (topic,) = one.topics
    assert (topic.topic, topic.topic_id, list(topic.partitions)) == ("flights", b"i" * 16, [4])


async def test_another_coordinator_is_called_by_its_address(cluster: Cluster) -> None:
    await cluster.additions.add(id_in(1), Producer(7, 3), PLACE)
    assert [(one, request.cluster_id) for one, request in cluster.calls] == [("b2:1", "cluster")]
    assert cluster.own_calls == []


async def test_an_answer_of_another_cluster_adds_nothing(cluster: Cluster) -> None:
    cluster.answers_as = "another"
    with pytest.raises(CoordinatorNotAvailableError, match="cluster"):
        await cluster.additions.add(id_in(1), Producer(7, 3), PLACE)


@pytest.mark.parametrize(
    "image", [EMPTY_IMAGE, image_of(None, None, None), image_of(NOWHERE, NOWHERE, NOWHERE)]
)
async def test_without_a_coordinator_that_can_be_reached_the_producer_is_to_try_again(
    cluster: Cluster, image: MetadataImage
) -> None:
    cluster.image = image
    with pytest.raises(CoordinatorNotAvailableError, match="nothing was appended"):
        await cluster.additions.add(id_in(0), Producer(7, 3), PLACE)
    assert (cluster.calls, cluster.own_calls) == ([], [])


async def test_ids_of_a_prefix_have_one_coordinator() -> None:
    image = image_of(*LEADERS)
    for partition, leader_id in enumerate(LEADERS):
        name = id_in(partition)
        assert coordinator_of(image, name) == coordinator_of(image, f"{name}/4") == leader_id
