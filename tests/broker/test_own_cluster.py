"""Calls between nodes of two clusters: refused before a handler looks at them, and not believed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tidelog.broker.controller_link.channel import ControllerChannel
from tidelog.broker.controller_link.epoch import ControllerEpoch
from tidelog.broker.controller_link.metadata_follower import MetadataFollower
from tidelog.broker.partition.fetch import Fetch, FetchResult
from tidelog.core.errors import KafkaError
from tidelog.core.system import SystemClock
from tidelog.metadata.image import EMPTY_IMAGE
from tidelog.net.call import Call
from tidelog.net.own_cluster import OwnCluster
from tidelog.node.handlers.admin import AdminHandler
from tidelog.node.handlers.broker import BrokerHandler
from tidelog.node.handlers.controller import ControllerHandler
from tidelog.v1 import methods
from tidelog.v1.common_pb2 import INCONSISTENT_CLUSTER_ID
from tidelog.v1.controller_pb2 import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    FollowMetadataRequest,
    FollowMetadataResponse,
)
from tidelog.v1.data_pb2 import FetchRequest
from tidelog.v1.methods import BROKER_HEARTBEAT

NOT_COMPARED = {"DescribeQuorum", "FollowMetadata"} | {
    *("DescribeTopics", "DescribeCluster", "DescribeConfigs")
}
"""Clients and operators' tools ask all but the second, which has tests of its own."""
CALLS = [
    method
    for method in methods.rpcs_of("tidelog.v1.Controller") + methods.rpcs_of("tidelog.v1.Admin")
    if method.name not in NOT_COMPARED
]
FOREIGN = ["other", ""]


class Parts:
    """Fails the test when a handler comes as far as its node's parts."""

    def __getattr__(self, name: str) -> Any:
        def called(*_: Any, **__: Any) -> None:
            pytest.fail(f"a stranger's request came as far as {name}")

        return called


class Answers:
    """Implements `Peers`: each address answers with its cluster's id."""

    def __init__(self, clusters: dict[str, str]) -> None:
        self.asked: list[tuple[str, str]] = []
        self._clusters = clusters

    async def call(self, address: str, _method: Any, request: Any, *, timeout_ms: int) -> Any:
        del timeout_ms
        self.asked.append((address, request.cluster_id))
        return BrokerHeartbeatResponse(cluster_id=self._clusters[address], is_fenced=True)

    async def stream(
        self, address: str, _method: Any, request: FollowMetadataRequest
    ) -> AsyncIterator[FollowMetadataResponse]:
        self.asked.append((address, request.cluster_id))
        yield FollowMetadataResponse(
            cluster_id=self._clusters[address], leader_id=int(address), controller_epoch=3
        )


def channel(peers: Any, *addresses: str) -> ControllerChannel:
    return ControllerChannel(
        peers=peers,
        addresses=addresses,
        clock=SystemClock(),
        epoch=ControllerEpoch(),
        own=OwnCluster("own"),
    )


def controller_handler() -> ControllerHandler:
    parts: Any = Parts()
    return ControllerHandler(
        node_id=1, own=OwnCluster("own"), quorum=parts, peers=parts, voters={}, reports=parts
    )


def admin_handler() -> AdminHandler:
    parts: Any = Parts()
    return AdminHandler(
        config=parts,
        voters={},
        peers=parts,
        image=parts,
        controller_id=parts,
        forwarder=parts,
        controller=controller_handler(),
    )


@pytest.mark.parametrize("cluster_id", FOREIGN)
@pytest.mark.parametrize("method", CALLS, ids=lambda method: method.name)
async def test_a_controller_decides_nothing_for_a_node_of_another_cluster(
    method: methods.Method[Any, Any], cluster_id: str
) -> None:
    request: Any = method.request_type()
    request.cluster_id = cluster_id
    served = {**controller_handler().rpcs()}
    if "from_broker" in method.request_type.DESCRIPTOR.fields_by_name:
        request.from_broker = True
        served = {**admin_handler().rpcs()}

    response = await served[method.name](request)

    assert response.error.code == INCONSISTENT_CLUSTER_ID
    assert response.cluster_id == "own"


@pytest.mark.parametrize("cluster_id", FOREIGN)
async def test_a_controller_tells_a_node_of_another_cluster_no_metadata(cluster_id: str) -> None:
    request = FollowMetadataRequest(broker_id=1, cluster_id=cluster_id)
    with pytest.raises(KafkaError) as caught:
        await anext(controller_handler().follow_metadata(request))
    assert caught.value.code == INCONSISTENT_CLUSTER_ID


async def test_a_strangers_answer_counts_for_nothing_and_the_next_controller_is_asked() -> None:
    peers = Answers({"1": "other", "2": "own"})
    controllers = channel(peers, "1", "2")

    for _ in range(2):
        response = await controllers.call(
            BROKER_HEARTBEAT, BrokerHeartbeatRequest(), timeout_ms=5000
        )
        assert response.cluster_id == "own"

    assert peers.asked == [("1", "own"), ("2", "own"), ("2", "own")]
    assert controllers.own.strangers.refused == 1


async def test_a_broker_whose_controllers_are_all_of_another_cluster_is_told_at_once() -> None:
    peers = Answers({"1": "other", "2": "other"})
    with pytest.raises(KafkaError, match="is of cluster 'other', this node of 'own'") as caught:
        await channel(peers, "1", "2").call(
            BROKER_HEARTBEAT, BrokerHeartbeatRequest(), timeout_ms=60_000
        )
    assert caught.value.code == INCONSISTENT_CLUSTER_ID
    assert len(peers.asked) == 2


async def test_a_brokers_metadata_never_comes_from_another_cluster() -> None:
    peers: Any = Answers({"1": "other", "2": "own"})
    source = channel(peers, "1", "2")
    fatal: list[BaseException] = []
    follower = MetadataFollower(
        broker_id=7,
        peers=peers,
        source=source,
        clock=SystemClock(),
        listener=lambda _: None,
        on_fatal=fatal.append,
    )
    with pytest.raises(KafkaError) as caught:
        await follower._follow_one_source()  # one source, without the pause after
    assert caught.value.code == INCONSISTENT_CLUSTER_ID
    assert follower.leader_id is None

    source.rotate()
    await follower._follow_one_source()  # as above
    assert follower.leader_id == 2
    assert follower.image is EMPTY_IMAGE
    assert fatal == []


class Replicas:
    """Implements what of `ReplicaManager` fetches."""

    def session(self, _call: Call) -> Replicas:
        return self

    async def fetch(self, _request: Fetch) -> list[FetchResult]:
        return []

    async def answers(self, requests: AsyncIterator[Fetch]) -> AsyncIterator[list[FetchResult]]:
        async for _ in requests:
            yield []


class Reports:
    """Implements what of `UnreachableReports` hears of brokers."""

    def __init__(self) -> None:
        self.heard_of: list[int] = []

    def note_request(self, broker_id: int) -> None:
        self.heard_of.append(broker_id)


def broker_handler(reports: Reports) -> BrokerHandler:
    parts: Any = Parts()
    replicas: Any = Replicas()
    heard: Any = reports
    return BrokerHandler(
        own=OwnCluster("own"),
        replica_manager=replicas,
        image=lambda: EMPTY_IMAGE,
        controller_id=parts,
        forwarder=parts,
        producer_ids=parts,
        reports=heard,
    )


async def one_by_one(*requests: FetchRequest) -> AsyncIterator[FetchRequest]:
    for request in requests:
        yield request


@pytest.mark.parametrize("cluster_id", FOREIGN)
async def test_a_replica_of_another_cluster_gets_no_records(cluster_id: str) -> None:
    request, reports = FetchRequest(replica_id=3, cluster_id=cluster_id), Reports()
    with pytest.raises(KafkaError) as unary:
        await broker_handler(reports).fetch(request)
    with pytest.raises(KafkaError) as stream:
        await anext(broker_handler(reports).fetch_stream(one_by_one(request)))
    assert {unary.value.code, stream.value.code} == {INCONSISTENT_CLUSTER_ID}
    assert reports.heard_of == []


async def test_own_replicas_are_answered_by_name_and_consumers_name_no_cluster() -> None:
    replica = FetchRequest(replica_id=3, cluster_id="own")
    served = broker_handler(Reports())
    for request, named in ((replica, "own"), (FetchRequest(), "")):
        assert (await served.fetch(request)).cluster_id == named
        assert (await anext(served.fetch_stream(one_by_one(request)))).cluster_id == named


def test_a_refusal_says_which_cluster_is_which() -> None:
    with pytest.raises(KafkaError) as caught:
        OwnCluster("own").check(FollowMetadataRequest(cluster_id="other"), who="broker 3")
    assert caught.value.code == INCONSISTENT_CLUSTER_ID
    assert "broker 3 is of cluster 'other', this node of 'own'" in caught.value.message
