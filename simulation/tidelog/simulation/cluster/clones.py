"""Nodes of a clone of this cluster, with a cluster id of their own, that call this one's addresses.

Folders were copied: their broker epochs, topic ids and leader epochs are this cluster's, their
replicas are ahead or behind. Only the cluster's id tells them apart, and a node that does not
compare it takes a clone's fetch for its follower's. Three of ten seeds have them, beside all
faults and with chance of their own. They speak; whether anybody hears them is the invariants' to
notice.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tidelog.chaos.faults.drawer import Span, strike_repeatedly
from tidelog.chaos.node_inside import held_by, log_of, quorum_of
from tidelog.core import chance
from tidelog.core.chance import SeededRandom
from tidelog.core.errors import TidelogError
from tidelog.metadata.image import PartitionImage, TopicImage
from tidelog.net.transport import Transport
from tidelog.simulation.cluster.fault_actions import FaultActions
from tidelog.simulation.cluster.inside import active_controller
from tidelog.v1.controller_pb2 import AlterPartitionRequest, BrokerHeartbeatRequest
from tidelog.v1.data_pb2 import FetchPartition, FetchRequest
from tidelog.v1.methods import ALTER_PARTITION, BROKER_HEARTBEAT, FETCH, Method, Request, Response

CLUSTER_ID = "clone"
USED_PROBABILITY = 0.3
"""Share of the seeds."""
GAP_S = Span(0.02, 0.3)
CALL_TIMEOUT_MS = 1_000
FIRST_ATTEMPT = 1_000_000
"""A clone may have asked its controller more often than any broker here."""
FETCH_BYTES = 1 << 20


class Clones:
    """Calls from a clone's nodes until stopped; there is nothing to heal."""

    def __init__(self, actions: FaultActions, random: SeededRandom) -> None:
        self._actions = actions
        self._simulation = actions.simulation
        self._random = random
        self._are_there = random.random() < USED_PROBABILITY
        self._attempts = FIRST_ATTEMPT
        self._kinds: Mapping[str, Callable[[Transport], Awaitable[None]]] = {
            "clone_heartbeat": self._heartbeat,
            "clone_isr": self._alter_isr,
            "clone_fetch": self._fetch,
        }

    async def speak_until(self, end_s: float) -> None:
        """Call in a loop."""
        if not self._are_there:
            return
        transport = self._simulation.cluster.new_client("clone").transport

        async def speak(kind: str) -> None:
            try:
                await self._kinds[kind](transport)
            except TidelogError as error:
                self._simulation.note("clone", f"{kind}: {error}")

        await strike_repeatedly(
            self._random,
            list(self._kinds),
            speak,
            gap=GAP_S,
            is_over=lambda: self._simulation.is_storm_over(end_s),
        )

    async def _heartbeat(self, transport: Transport) -> None:
        """A broker of the clone stops in order."""
        alive = [
            one
            for one in self._simulation.config.broker_ids
            if self._simulation.image.is_alive(one)
        ]
        if not alive:
            return
        broker_id = chance.one_of(self._random, alive)
        request = BrokerHeartbeatRequest(
            broker_id=broker_id,
            broker_epoch=self._broker_epoch(broker_id),
            metadata_offset=self._simulation.image.offset,
            want_shut_down=True,
        )
        self._actions.count("clone_heartbeat", f"node {broker_id}")
        await self._ask_controller(transport, BROKER_HEARTBEAT, request)

    async def _alter_isr(self, transport: Transport) -> None:
        """In the clone all replicas are in sync."""
        found = self._a_led_partition()
        if found is None:
            return
        topic, state, leader_id = found
        request = AlterPartitionRequest(
            broker_id=leader_id, broker_epoch=self._broker_epoch(leader_id)
        )
        change = request.partitions.add(
            topic=topic.name,
            topic_id=topic.topic_id,
            partition=state.partition,
            leader_epoch=state.leader_epoch,
            partition_epoch=state.partition_epoch,
            cause="a clone's",
        )
        for replica in state.replicas:
            change.new_isr.add(broker_id=replica, broker_epoch=self._broker_epoch(replica))
        self._actions.count("clone_isr", f"node {leader_id} of {topic.name}-{state.partition}")
        await self._ask_controller(transport, ALTER_PARTITION, request)

    async def _fetch(self, transport: Transport) -> None:
        """In the clone a follower has all that the leader here has."""
        found = self._a_led_partition()
        if found is None:
            return
        topic, state, leader_id = found
        node = self._simulation.machine(leader_id).node
        hosted = None if node is None else held_by(node).get((topic.name, state.partition))
        log = None if hosted is None else log_of(hosted)
        followers = [one for one in state.replicas if one != leader_id]
        if log is None or not followers:
            return
        follower = chance.one_of(self._random, followers)
        asked = FetchPartition(
            topic=topic.name,
            topic_id=topic.topic_id,
            partition=state.partition,
            fetch_offset=log.log_end_offset,
            current_leader_epoch=state.leader_epoch,
        )
        request = FetchRequest(
            replica_id=follower,
            replica_epoch=self._broker_epoch(follower),
            max_bytes=FETCH_BYTES,
            partitions=[asked],
            cluster_id=CLUSTER_ID,
        )
        self._actions.count("clone_fetch", f"node {follower} of node {leader_id}")
        await self._ask(transport, leader_id, FETCH, request)

    async def _ask_controller(
        self, transport: Transport, method: Method[Request, Response], request: Request
    ) -> None:
        """As the broker it names would, and later than it."""
        controller_id = active_controller(self._simulation.cluster)
        node = None if controller_id is None else self._simulation.machine(controller_id).node
        quorum = None if node is None else quorum_of(node)
        if controller_id is None or quorum is None:
            return
        self._attempts += 1
        numbered: Any = request  # both methods' requests have these fields
        numbered.cluster_id = CLUSTER_ID
        numbered.controller_epoch, numbered.attempt = quorum.term, self._attempts
        await self._ask(transport, controller_id, method, request)

    async def _ask(
        self,
        transport: Transport,
        node_id: int,
        method: Method[Request, Response],
        request: Request,
    ) -> None:
        address = self._simulation.cluster.address(node_id)
        answer = await transport.call(address, method, request, timeout_ms=CALL_TIMEOUT_MS)
        self._simulation.note("clone", f"{method.name}: {answer}")

    def _broker_epoch(self, broker_id: int) -> int:
        broker = self._simulation.image.brokers.get(broker_id)
        return 0 if broker is None else broker.broker_epoch

    def _a_led_partition(self) -> tuple[TopicImage, PartitionImage, int] | None:
        found = [
            (topic, state, state.leader_id)
            for topic, state in self._simulation.image.partitions()
            if state.leader_id is not None
        ]
        return chance.one_of(self._random, found) if found else None
