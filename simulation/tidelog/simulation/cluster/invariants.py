"""The invariants I1 to I15, I20, I21, I26 to I28 and I30, over the nodes of a simulated cluster.

Owns when each is checked; the checks are in the other modules `invariants_…`:

    after each step     images, replicas of the node that was stepped: what changed in them
    at each call        brokers' answers to producers and consumers
    in the calm         the files of all replicas, batch by batch

Reads the nodes' objects and disks, never changes anything; no node knows of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

from tidelog.chaos.invariants.images import ImageChecks
from tidelog.chaos.invariants.invariant import Report
from tidelog.chaos.invariants.sizes import Limits, Sizes, oversized
from tidelog.chaos.node_inside import broker_of, held_by, quorum_of
from tidelog.node.server import Node
from tidelog.simulation.cluster.cluster import Machine, SimCluster
from tidelog.simulation.cluster.invariants_book import Book
from tidelog.simulation.cluster.invariants_quiet import QuietChecks
from tidelog.simulation.cluster.invariants_replicas import ReplicaChecks
from tidelog.simulation.cluster.invariants_replies import ReplyChecks
from tidelog.simulation.engine.network import Host
from tidelog.v1.data_pb2 import (
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ProduceRequest,
    ProduceResponse,
)

SIZES_EVERY_STEPS = 1000
TASKS_MAX = 2000
"""Tasks of one node, beside those that open, move and delete its replicas: far above its need."""


class Invariants:
    """Calls `report` for each violation, with the invariant and the facts."""

    def __init__(self, cluster: SimCluster, report: Report) -> None:
        self._cluster = cluster
        self._report = report
        self.book = Book(report)
        self.images = ImageChecks(report)
        self.replicas = ReplicaChecks(cluster, book=self.book, images=self.images, report=report)
        self._replies = ReplyChecks(book=self.book, report=report)
        self._quiet = QuietChecks(book=self.book, report=report)
        self._steps = -1
        cluster.network.tap = self._on_call

    def after_step(self) -> None:
        """Check what changed. Call it after every step, or every so many.

        Then a few checks that need every step are left out (I12 by the ISR).
        """
        steps, before = self._cluster.scheduler.steps, self._steps
        self._steps = steps
        is_exact = steps == before + 1
        running = asyncio._get_running_loop() if is_exact else None  # noqa: SLF001
        for machine in self._cluster.machines.values():
            host, node = machine.host, machine.node
            if host is None or node is None or (is_exact and host.loop is not running):
                continue
            self._look(machine, node, is_exact=is_exact)
            if steps % SIZES_EVERY_STEPS == 0:
                self._check_sizes(machine, node)

    def at_quiet(self) -> None:
        """Compare all replicas. All nodes run, all faults are over, nothing is written."""
        for machine in self._cluster.machines.values():
            if machine.node is not None:
                self._look(machine, machine.node, is_exact=False, named=None)
                self._check_sizes(machine, machine.node)
        self._quiet.check(self.images.newest, self._cluster.machines)

    def _look(
        self,
        machine: Machine,
        node: Node,
        *,
        is_exact: bool,
        named: Collection[tuple[str, int]] | None = (),
    ) -> None:
        """See `ReplicaChecks.look`."""
        quorum, broker = quorum_of(node), broker_of(node)
        view, newest = (machine.node_id, machine.starts), self.images.newest
        if quorum is not None and self.images.look(
            (*view, "controller"), quorum.image, is_committed=True
        ):
            self.replicas.on_image(newest, self.images.newest)
        if broker is not None:
            self.images.look((*view, "broker"), broker.follower.image, is_committed=False)
            self.replicas.look(machine, node, is_exact=is_exact, named=named)

    def _on_call(self, server: Host, request: object, response: object) -> None:
        if not isinstance(request, ProduceRequest | FetchRequest | ListOffsetsRequest):
            return
        if response is None:
            if isinstance(request, ProduceRequest):
                self._replies.on_produce(request)
            return
        for machine in self._cluster.machines.values():
            if machine.host is server and machine.node is not None:
                self._on_answer(machine, machine.node, request, response)

    def _on_answer(self, machine: Machine, node: Node, request: Any, response: Any) -> None:
        """A request about partitions was answered."""
        named = [
            (one.topic, one.partition) for each in (request, response) for one in each.partitions
        ]
        is_exact = self._cluster.scheduler.steps == self._steps + 1
        self._look(machine, node, is_exact=is_exact, named=named)
        held = held_by(node)
        match request, response:
            case ProduceRequest(), ProduceResponse():
                self._replies.on_produced(machine.name, held, request, response)
            case FetchRequest(), FetchResponse():
                self._replies.on_fetched(machine, held, request, response)
            case ListOffsetsRequest(), ListOffsetsResponse():
                self._replies.on_listed(machine.name, held, request, response)

    def _check_sizes(self, machine: Machine, node: Node) -> None:
        """I30: what waits is bounded."""
        broker, config = broker_of(node), node.config.replica
        if broker is None or machine.host is None:
            return
        stats = broker.replica_manager.stats()
        sizes = Sizes(
            produce_in_flight_bytes=int(stats["produce_in_flight_bytes"]),
            waiting_fetches=int(stats["waiting_fetches"]),
            tasks=sum(not task.done() for task in machine.host.loop.tasks),
        )
        limits = Limits(
            produce_in_flight_bytes=config.produce_in_flight_bytes_max,
            waiting_fetches=config.waiting_fetches_max,
            tasks=TASKS_MAX + len(held_by(node)),
        )
        for broken in oversized(machine.name, sizes, limits):
            self._report(*broken)
