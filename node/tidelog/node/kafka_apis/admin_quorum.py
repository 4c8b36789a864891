"""DescribeQuorum: the voters as their leader knows them, and the brokers that follow them.

Any broker answers: it asks the active controller, and for their offsets the brokers that are no
voters, which Kafka calls observers. One that does not answer is left out.
"""

from __future__ import annotations

import asyncio

from tidelog.core.errors import TidelogError
from tidelog.core.turns import PER_PIECE, Turns
from tidelog.kafka.messages.describe_quorum_request import DescribeQuorumRequest
from tidelog.kafka.messages.describe_quorum_response import (
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionData,
    ReplicaState,
    TopicData,
)
from tidelog.metadata.image import MetadataImage
from tidelog.node.kafka_apis.broker_ports import BrokerPorts
from tidelog.node.kafka_apis.served import ApiCall
from tidelog.v1 import common_pb2, controller_pb2
from tidelog.v1.admin_pb2 import DescribeClusterRequest
from tidelog.v1.methods import DESCRIBE_CLUSTER, DESCRIBE_QUORUM

METADATA_TOPIC = "__cluster_metadata"
ASK_TIMEOUT_MS = 2_000
"""Time that the active controller, and then each observer, has to answer."""
SHARED_MS = 100
"""Age up to which a look at the quorum answers others, too: each asks every broker."""
_NEVER = -1
_Quorum = controller_pb2.DescribeQuorumResponse


class DescribeQuorumHandler:
    """Handler of DescribeQuorum."""

    def __init__(self, ports: BrokerPorts) -> None:
        self._ports = ports
        self._looking = asyncio.Lock()
        self._seen: PartitionData | None = None
        """The last look, for all that ask within `SHARED_MS`; None: there was no leader."""
        self._seen_ms: int | None = None

    async def __call__(
        self, request: DescribeQuorumRequest, call: ApiCall
    ) -> DescribeQuorumResponse:
        """See `ApiHandler`."""
        del call
        turns = Turns(PER_PIECE)
        asked = [
            (topic.topic_name, one.partition_index)
            async for topic in turns.of(request.topics)
            async for one in turns.of(topic.partitions)
        ]
        known = (METADATA_TOPIC, 0)
        described: PartitionData | None = None
        if known in asked:
            described = await self._look()
            if described is None:
                return _no_leader()
        topics: dict[str, TopicData] = {}
        async for name, number in turns.of(dict.fromkeys(asked)):
            of_topic = topics.setdefault(name, TopicData(name, []))
            is_known = described is not None and (name, number) == known
            of_topic.partitions.append(
                described if is_known and described is not None else _unknown(number)
            )
        nodes = [] if described is None else self._nodes()
        return DescribeQuorumResponse(error_message=None, topics=list(topics.values()), nodes=nodes)

    async def _look(self) -> PartitionData | None:
        """Ask leader and observers, once for all that ask within `SHARED_MS`; None: no leader."""
        now_ms = self._ports.clock.monotonic_ms
        async with self._looking:
            if self._seen_ms is None or now_ms() - self._seen_ms >= SHARED_MS:
                self._seen, self._seen_ms = await self._ask(), now_ms()
            return self._seen

    async def _ask(self) -> PartitionData | None:
        quorum = await self._ask_leader()
        if quorum is None:
            return None
        return self._describe(quorum, await self._observers(self._ports.image()))

    async def _ask_leader(self) -> _Quorum | None:
        leader_id = self._ports.controller_id()
        address = self._ports.config.controller_voters.get(leader_id or 0)
        if address is None:
            return None
        try:
            answer = await self._ports.peers.call(
                address,
                DESCRIBE_QUORUM,
                controller_pb2.DescribeQuorumRequest(),
                timeout_ms=ASK_TIMEOUT_MS,
            )
        except TidelogError:
            return None
        return answer if answer.leader_id == answer.node_id == leader_id else None

    async def _observers(self, image: MetadataImage) -> list[ReplicaState]:
        ids = [one for one in image.live_brokers() if one not in self._voters]
        found = await asyncio.gather(
            *(self._observer(one, image.brokers[one].address) for one in ids)
        )
        return [one for one in found if one is not None]

    async def _observer(self, broker_id: int, address: str) -> ReplicaState | None:
        try:
            answer = await self._ports.peers.call(
                address, DESCRIBE_CLUSTER, DescribeClusterRequest(), timeout_ms=ASK_TIMEOUT_MS
            )
        except TidelogError:
            return None
        now_ms = self._ports.clock.wall_ms()
        return ReplicaState(
            replica_id=broker_id,
            log_end_offset=answer.metadata_offset + 1,
            last_fetch_timestamp=now_ms,
            last_caught_up_timestamp=_NEVER,
        )

    def _describe(self, quorum: _Quorum, observers: list[ReplicaState]) -> PartitionData:
        now_ms = self._ports.clock.wall_ms()
        leader = ReplicaState(
            replica_id=quorum.node_id,
            log_end_offset=quorum.last_index + 1,
            last_fetch_timestamp=now_ms,
            last_caught_up_timestamp=now_ms,
        )
        others = [_voter(one, quorum.last_index, now_ms) for one in quorum.peers]
        return PartitionData(
            partition_index=0,
            error_message=None,
            leader_id=quorum.node_id,
            leader_epoch=quorum.term,
            high_watermark=quorum.commit_index + 1,
            current_voters=sorted([leader, *others], key=lambda one: one.replica_id),
            observers=observers,
        )

    def _nodes(self) -> list[Node]:
        """The voters where other nodes call them, which is over gRPC."""
        name = self._ports.config.internal_listener.name
        nodes = []
        for node_id, address in sorted(self._voters.items()):
            host, _, port = address.rpartition(":")
            nodes.append(Node(node_id, [Listener(name, host.strip("[]"), int(port))]))
        return nodes

    @property
    def _voters(self) -> dict[int, str]:
        return dict(self._ports.config.controller_voters)


def _voter(peer: _Quorum.Peer, last_index: int, now_ms: int) -> ReplicaState:
    is_heard = peer.HasField("last_contact_ms")
    heard_ms = now_ms - peer.last_contact_ms if is_heard else _NEVER
    return ReplicaState(
        replica_id=peer.node_id,
        log_end_offset=peer.match_index + 1,
        last_fetch_timestamp=heard_ms,
        last_caught_up_timestamp=heard_ms if peer.match_index >= last_index else _NEVER,
    )


def _unknown(partition: int) -> PartitionData:
    return PartitionData(
        partition_index=partition,
        error_code=common_pb2.UNKNOWN_TOPIC_OR_PARTITION,
        error_message=f"the controllers' log alone is described: {METADATA_TOPIC}, partition 0",
        leader_id=_NEVER,
        leader_epoch=_NEVER,
        high_watermark=_NEVER,
    )


def _no_leader() -> DescribeQuorumResponse:
    return DescribeQuorumResponse(
        error_code=common_pb2.NOT_LEADER_OR_FOLLOWER,
        error_message="no active controller answered: try again",
    )
