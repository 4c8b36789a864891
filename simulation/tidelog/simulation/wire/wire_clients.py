"""Makers of a workload's clients that speak Kafka's protocol, each from a host of its own."""

from __future__ import annotations

from tidelog.chaos.workloads.plans import CHURNED, ProducerPlan, TopicPlan
from tidelog.core.chance import SeededRandom
from tidelog.net.listeners import CLIENT, KAFKA, Listener, one_listener
from tidelog.simulation.cluster.simulation import ClusterSimulation
from tidelog.simulation.groups.simulation_config import ClassicTimes
from tidelog.simulation.wire.leader_claims import ClaimChecks
from tidelog.simulation.wire.versions import draw_versions
from tidelog.simulation.wire.wire_client import WireClient
from tidelog.simulation.wire.wire_group import WireGroup
from tidelog.simulation.wire.wire_producer import WireProducer
from tidelog.simulation.wire.wire_reader import WireReader

KAFKA_PORT, GRPC_PORT = 9092, 9192
LYING_PROBABILITY = 0.3
"""Probability of a producer whose headers say something else about their records than these."""


def listeners(name: str) -> tuple[Listener, ...]:
    """Listeners of a node: one of gRPC for nodes and admins, one of Kafka's protocol."""
    address = f"{name}:{KAFKA_PORT}"
    of_kafka = Listener("KAFKA", address, address, protocol=KAFKA, services=frozenset({CLIENT}))
    return (*one_listener(f"{name}:{GRPC_PORT}"), of_kafka)


class WireClients:
    """See `Clients`."""

    may_omit_timestamp = True

    def __init__(
        self, simulation: ClusterSimulation, random: SeededRandom, *, has_limits: bool
    ) -> None:
        """Begin; `has_limits`: readers may ask for less than a batch has."""
        self._has_limits = has_limits
        self._simulation = simulation
        self._random = random
        self._made = 0
        self.bootstrap = [f"node-{one}:{KAFKA_PORT}" for one in simulation.config.broker_ids]
        self.checks = ClaimChecks(simulation.findings.report, simulation.count_event)

    def producer(self, plan: ProducerPlan) -> WireProducer:
        """See `Clients.producer`."""
        is_lossy = self._simulation.config.plan(plan.topic).is_lossy
        client, random = self._client(plan.name, plan.topic)
        is_lying = random.random() < LYING_PROBABILITY
        return WireProducer(client, plan, is_lossy=is_lossy, is_lying=is_lying)

    def reader(self, name: str, topic: TopicPlan) -> WireReader:
        """See `Clients.reader`."""
        client, random = self._client(name, topic.name)
        return WireReader(client, random, is_lossy=topic.is_lossy, has_limits=self._has_limits)

    def group(self, times: ClassicTimes) -> WireGroup:
        """Make the members of a group."""
        random = self._random.fork("group")
        return WireGroup(self._simulation, times, self.checks, random, bootstrap=self.bootstrap)

    def _client(self, name: str, topic: str) -> tuple[WireClient, SeededRandom]:
        self._made += 1
        random = self._random.fork(f"{name}-{self._made}")
        self._simulation.client_ports(name)
        client = WireClient(
            name,
            topic,
            self._simulation.dialer(name),
            self.bootstrap,
            draw_versions(random, needs_ids=topic == CHURNED),
            self.checks,
            random,
        )
        return client, random
