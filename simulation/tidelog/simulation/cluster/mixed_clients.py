"""Clients of the cluster suite's storms: our own, and a share of others at the same topics.

    tables    a writer and a reader of Arrow tables, as Spark's sink and source
    HTTP      `POST /topics/TOPIC` of a node

Owns who is which; each has ports of its own name.
"""

from __future__ import annotations

from tidelog.chaos.workloads.clients import GrpcClients, LoadProducer, LoadReader
from tidelog.chaos.workloads.plans import CHURNED, ProducerPlan, TopicPlan
from tidelog.chaos.workloads.record_parts import CARRIES_ALL, Carried
from tidelog.core.chance import SeededRandom
from tidelog.history.history import ACKS_ALL
from tidelog.simulation.cluster.http_producer import HttpProducer
from tidelog.simulation.cluster.simulation import ClusterSimulation
from tidelog.simulation.cluster.table_clients import TableProducer, TableReader

TABLES_SHARE, HTTP_SHARE = 0.15, 0.1
"""Shares of the producers with acks=all; the first also of the readers."""
OF_HTTP = Carried(has_timestamps=False, has_headers=False, is_key_text=True)


class MixedClients(GrpcClients):
    """See `Clients`."""

    def __init__(self, simulation: ClusterSimulation, random: SeededRandom) -> None:
        super().__init__(simulation)
        self._simulation = simulation
        self._draws = {
            name: random.random()
            for name in sorted(one.name for one in simulation.config.producers)
        }
        self._random = random

    def carried(self, plan: ProducerPlan) -> Carried:
        """See `Clients.carried`."""
        return OF_HTTP if self._is_http(plan) else CARRIES_ALL

    def producer(self, plan: ProducerPlan) -> LoadProducer:
        """See `Clients.producer`."""
        simulation = self._simulation
        ports = simulation.client_ports(plan.name)
        if self._is_http(plan):
            simulation.count_event("http_producers")
            return HttpProducer(simulation.bootstrap, plan, ports)
        if plan.acks == ACKS_ALL and self._draws[plan.name] < TABLES_SHARE:
            simulation.count_event("table_producers")
            return TableProducer(simulation.bootstrap, plan, ports)
        return super().producer(plan)

    def reader(self, name: str, topic: TopicPlan) -> LoadReader:
        """See `Clients.reader`."""
        simulation = self._simulation
        if self._random.fork(name).random() >= TABLES_SHARE:
            return super().reader(name, topic)
        simulation.count_event("table_readers")
        return TableReader(simulation.bootstrap, topic.name, simulation.client_ports(name))

    def _is_http(self, plan: ProducerPlan) -> bool:
        """Posts of a value as it came have no time of their own, and no null."""
        topic = self._simulation.config.plan(plan.topic)
        # To a topic that is deleted a post waits for a quarter of its time.
        if plan.acks != ACKS_ALL or topic.keeping is not None or topic.name == CHURNED:
            return False
        return TABLES_SHARE <= self._draws[plan.name] < TABLES_SHARE + HTTP_SHARE
