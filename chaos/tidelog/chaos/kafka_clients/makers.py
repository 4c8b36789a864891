"""Makers of a workload's clients of Kafka's protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tidelog.chaos.kafka_clients.producer import AioProducer
from tidelog.chaos.kafka_clients.reader import AioReader
from tidelog.chaos.workloads.plans import ProducerPlan, TopicPlan
from tidelog.chaos.workloads.record_parts import CARRIES_ALL, Carried


class KafkaPort(Protocol):
    """The way of clients of Kafka's protocol to a cluster, and what is noted of their calls."""

    def kafka_bootstrap(self, name: str) -> Sequence[str]:
        """Addresses from which the client of this name starts."""

    def note_answer(self, node_id: int, code: int, acks: int) -> None:
        """Note a broker's answer to a producer, of one partition."""


class KafkaClients:
    """See `Clients`; those of aiokafka."""

    def __init__(self, port: KafkaPort) -> None:
        self._port = port

    def carried(self, plan: ProducerPlan) -> Carried:
        """See `Clients.carried`."""
        del plan
        return CARRIES_ALL

    def producer(self, plan: ProducerPlan) -> AioProducer:
        """See `Clients.producer`."""
        bootstrap = list(self._port.kafka_bootstrap(plan.name))
        return AioProducer(plan, bootstrap, self._port.note_answer)

    def reader(self, name: str, topic: TopicPlan) -> AioReader:
        """See `Clients.reader`."""
        client = f"{name}-{topic.name}"
        return AioReader(client, list(self._port.kafka_bootstrap(client)))
