"""Topology of a cluster behind proxies: nodes, directed links, one proxy a link. Pure.

    clients ──▶ brokers ◀──▶ brokers        a link is source ▶ target, by the target's role:
                   │  ▲                     broker, controller or raft; kafka: a broker, by
                   ▼  │                     clients of Kafka's protocol
                controllers ◀──▶ controllers (raft, and forwarded calls)

A link carries connections its source opened; data flows both ways on them. What `a` says to `b` is
the upstream of the links a ▶ b and the downstream of the links b ▶ a.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, product
from typing import Literal

Role = Literal["broker", "controller", "raft", "kafka"]
Direction = Literal["upstream", "downstream"]

CLIENTS = "clients"
"""The first group of clients; a group is cut from nodes as one."""
MEMBERS = "members"
"""The members of a story's consumer group."""


def node_name(node_id: int) -> str:
    """A node as the source of links, and in reports."""
    return f"node-{node_id}"


@dataclass(frozen=True, slots=True, order=True)
class Link:
    """Connections of one source to one role of one node."""

    source: str
    """`node-1`, or a group of clients."""
    target: int
    role: Role

    @property
    def name(self) -> str:
        """The name of its proxy."""
        return f"{self.source}.{node_name(self.target)}.{self.role}"


@dataclass(frozen=True, slots=True)
class Topology:
    """Nodes and groups of clients."""

    controller_ids: tuple[int, ...] = (1, 2, 3)
    broker_ids: tuple[int, ...] = (4, 5, 6)
    client_groups: tuple[str, ...] = (CLIENTS,)
    has_kafka: bool = False
    """Clients' groups have links to listeners of Kafka's protocol, too."""

    @property
    def node_ids(self) -> tuple[int, ...]:
        """Every node."""
        return tuple(sorted({*self.controller_ids, *self.broker_ids}))

    @property
    def is_combined(self) -> bool:
        """Every node is both."""
        return self.controller_ids == self.broker_ids

    def links(self) -> list[Link]:
        """Every directed link, in order."""
        return sorted(chain(self._to_brokers(), self._to_controllers(), self.kafka_links()))

    def kafka_links(self) -> list[Link]:
        """Those of clients of Kafka's protocol, in order; each has a listener of its own.

        Such a client dials what a broker advertises, so that only a listener per group of clients
        leads each group to proxies of its own.
        """
        if not self.has_kafka:
            return []
        ways = product(sorted(self.client_groups), self.broker_ids)
        return [Link(group, broker_id, "kafka") for group, broker_id in ways]

    def _to_brokers(self) -> Iterator[Link]:
        # Controllers look whether a broker they are told of still answers (decision 0014).
        sources = [*map(node_name, self.node_ids), *self.client_groups]
        return (
            Link(source, broker_id, "broker")
            for broker_id in self.broker_ids
            for source in sources
            if source != node_name(broker_id)
        )

    def _to_controllers(self) -> Iterator[Link]:
        for controller_id in self.controller_ids:
            for node_id in self.node_ids:
                if node_id == controller_id:
                    continue
                yield Link(node_name(node_id), controller_id, "controller")
                if node_id in self.controller_ids:
                    yield Link(node_name(node_id), controller_id, "raft")


COMBINED = Topology(broker_ids=(1, 2, 3))
