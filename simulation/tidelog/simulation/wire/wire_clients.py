"""Makers of a workload's clients that speak Kafka's protocol, each from a host of its own."""

from __future__ import annotations

from tidelog.chaos.workloads.plans import CHURNED, ProducerPlan, TopicPlan
from tidelog.chaos.workloads.record_parts import Carried
from tidelog.core.chance import SeededRandom
from tidelog.net.listeners import CLIENT, KAFKA, Listener, one_listener
from tidelog.simulation.cluster.simulation import ClusterSimulation
from tidelog.simulation.groups.simulation_config import ClassicTimes
from tidelog.simulation.wire.leader_claims import ClaimChecks
from tidelog.simulation.wire.producer_habits import draw_habits
from tidelog.simulation.wire.versions import draw_versions
from tidelog.simulation.wire.wire_client import WireClient
from tidelog.simulation.wire.wire_group import WireGroup
from tidelog.simulation.wire.wire_producer import WireProducer
from tidelog.simulation.wire.wire_reader import WireReader

KAFKA_PORT, GRPC_PORT = 9092, 9192


def listeners(name: str) -> tuple[Listener, ...]:
    """Listeners of a node: one of gRPC for nodes and admins, one of Kafka's protocol."""
    address = f"{name}:{KAFKA_PORT}"
    of_kafka = Listener("KAFKA", address, address, protocol=KAFKA, services=frozenset({CLIENT}))
    return (*one_listener(f"{name}:{GRPC_PORT}"), of_kafka)


class WireClients:
    """See `Clients`."""

    def __init__(
        self, simulation: ClusterSimulation, random: SeededRandom, *, is_storm: bool
    ) -> None:
        """Begin; `is_storm`: clients have foreign habits, and limits below what a batch has."""
        self._is_storm = is_storm
        self._simulation = simulation
        self._random = random
        self._made = 0
        self.bootstrap = [f"node-{one}:{KAFKA_PORT}" for one in simulation.config.broker_ids]
        self.checks = ClaimChecks(simulation.findings.report, simulation.count_event)

    def carried(self, plan: ProducerPlan) -> Carried:
        """See `Clients.carried`."""
        del plan
        return Carried(may_omit_timestamp=True)

    def producer(self, plan: ProducerPlan) -> WireProducer:
        """See `Clients.producer`."""
        topic = self._simulation.config.plan(plan.topic)
        client, random = self._client(plan.name, plan.topic)
        clock = self._simulation.client_ports(plan.name)["clock"]
        habits = draw_habits(random, topic, clock.wall_ms, is_storm=self._is_storm)
        return WireProducer(client, plan, habits, is_lossy=topic.is_lossy)

    def reader(self, name: str, topic: TopicPlan) -> WireReader:
        """See `Clients.reader`."""
        client, random = self._client(name, topic.name)
        return WireReader(client, random, is_lossy=topic.is_lossy, is_foreign=self._is_storm)

    def group(self, times: ClassicTimes) -> WireGroup:
        """Make the members of a group."""
        random = self._random.fork("group")
        return WireGroup(
            *(self._simulation, times, self.checks, random),
            bootstrap=self.bootstrap,
            is_foreign=self._is_storm,
        )

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
