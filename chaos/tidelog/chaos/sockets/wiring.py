"""Addresses of listeners and proxies, and the routes of each source of links. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tidelog.chaos.sockets.routed_peers import Routes
from tidelog.chaos.topology import Link, Topology, node_name


@dataclass(frozen=True, slots=True)
class Wiring:
    """A topology on addresses of one host; `ports` has `ports_needed` of them."""

    topology: Topology
    host: str
    ports: Sequence[int]

    @staticmethod
    def ports_needed(topology: Topology) -> int:
        """Ports for the nodes, the links, and listeners of Kafka's protocol, one each."""
        listeners = len(topology.node_ids) + len(topology.kafka_links())
        return listeners + len(topology.links())

    def address(self, node_id: int) -> str:
        """The listening address of a node."""
        return self._at(self.topology.node_ids.index(node_id))

    def proxies(self) -> dict[Link, str]:
        """The listening address of each link's proxy."""
        first = len(self.topology.node_ids)
        links = self.topology.links()
        return {link: self._at(first + number) for number, link in enumerate(links)}

    def iterate_proxies(self) -> Iterator[tuple[str, str, str]]:
        """Each proxy's name, where it listens, and where it dials."""
        for link, proxy in self.proxies().items():
            at = self._kafka_listener(link) if link.role == "kafka" else self.address(link.target)
            yield link.name, proxy, at

    def listeners(self, node_id: int) -> dict[str, str]:
        """Values of a node's `listeners` and `advertised.listeners`, by their names.

        A listener of Kafka's protocol advertises its link's proxy: its clients dial nothing else.
        """
        proxies = self.proxies()
        links = [one for one in self.topology.kafka_links() if one.target == node_id]
        if not links:
            return {"listeners": self.address(node_id)}
        bound = [f"{_kafka_name(one)}://{self._kafka_listener(one)}" for one in links]
        advertised = [f"{_kafka_name(one)}://{proxies[one]}" for one in links]
        return {
            "listeners": ",".join([self.address(node_id), *bound]),
            "advertised.listeners": ",".join(advertised),
        }

    def kafka_listeners(self) -> list[str]:
        """Addresses of listeners of Kafka's protocol, past every proxy; one of each broker."""
        found = {one.target: self._kafka_listener(one) for one in self.topology.kafka_links()}
        return list(found.values())

    def kafka_bootstrap(self, group: str) -> list[str]:
        """The proxies by which a group of clients reaches listeners of Kafka's protocol."""
        proxies = self.proxies()
        return [proxies[one] for one in self.topology.kafka_links() if one.source == group]

    def routes(self, source: str) -> Routes:
        """The proxies by which a node or a group of clients reaches each address and role."""
        return {
            (self.address(link.target), link.role): proxy
            for link, proxy in self.proxies().items()
            if link.source == source and link.role != "kafka"
        }

    def voters(self) -> dict[int, str]:
        """The listening addresses of voters."""
        return {node_id: self.address(node_id) for node_id in self.topology.controller_ids}

    def raft_voters(self, node_id: int) -> dict[int, str]:
        """Addresses by which a voter reaches every voter, itself directly; empty for no voter."""
        if node_id not in self.topology.controller_ids:
            return {}
        routes = self.routes(node_name(node_id))
        return {
            voter: address if voter == node_id else routes[address, "raft"]
            for voter, address in self.voters().items()
        }

    def _kafka_listener(self, link: Link) -> str:
        first = len(self.topology.node_ids) + len(self.topology.links())
        return self._at(first + self.topology.kafka_links().index(link))

    def _at(self, number: int) -> str:
        return f"{self.host}:{self.ports[number]}"


def _kafka_name(link: Link) -> str:
    return f"KAFKA_{link.source.upper()}"
