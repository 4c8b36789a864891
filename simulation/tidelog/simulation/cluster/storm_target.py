"""Target of a storm: nodes, what was found, and what faults may still do to it.

What `Faults`, `FaultActions` and the port of stories need, and no workload: a suite adds its own,
the simulation of somebody's test (`tidelog.testing`) has the test's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from tidelog.chaos.faults.budget import Budget
from tidelog.core.chance import SeededRandom
from tidelog.core.errors import StorageError
from tidelog.history.history import History
from tidelog.metadata.image import MetadataImage
from tidelog.simulation.cluster.budget_view import SimBudgetView
from tidelog.simulation.cluster.cluster import ClientPorts, Machine, SimCluster, SimClusterConfig
from tidelog.simulation.cluster.inside import has_failed_log, newest_image
from tidelog.simulation.cluster.simulation_config import ClusterSimulationConfig
from tidelog.simulation.engine.byte_streams import SimDialer
from tidelog.simulation.engine.clock import WALL_EPOCH_S
from tidelog.simulation.suites.findings import Findings
from tidelog.simulation.suites.timeline import Timeline

LOOK_EVERY_S = 0.1
RESTART_AFTER_S = 0.5


class StormTarget:
    """Nodes are held down only by faults (`held`); other nodes that are down start again soon.

    `nodes`: what a cluster of these nodes is beside `config`.
    """

    def __init__(
        self,
        *,
        seed: int,
        config: ClusterSimulationConfig,
        nodes: SimClusterConfig,
        findings: Findings,
        timeline_sink: Callable[[str], None] | None,
        trace_sink: Callable[[str], None] | None = None,
    ) -> None:
        self.seed = seed
        self.config = config
        self.findings = findings
        self.cluster = SimCluster(
            seed=seed,
            config=replace(
                nodes,
                node_ids=config.node_ids,
                controller_ids=config.controller_ids,
                broker_ids=config.broker_ids,
                is_expected=_is_expected,
            ),
            trace_sink=trace_sink,
        )
        self.timeline = Timeline(lambda: self.now_s, timeline_sink)
        self.history = History(
            lossy_topics=config.lossy_topics, keeping=config.keeping, wall_s=WALL_EPOCH_S
        )
        self.budget = Budget(self.budget_view())
        self.cluster.on_power_lost = self.budget.note_cut
        self._clients: dict[str, ClientPorts] = {}
        self.client_processes: list[str] = []
        """Hosts of clients that have a process of their own."""
        self.held: set[int] = set()
        """Nodes that a fault keeps down; only asked, never gone through."""
        self.dead: set[int] = set()  # only compared and asked
        """Nodes that never start again."""
        self.exempt: set[int] = set()  # only compared and asked
        """Nodes of which nothing is asked at the end: a fault stays on them."""
        self.random = SeededRandom(seed)

    @property
    def now_s(self) -> float:
        """Virtual time."""
        return self.cluster.scheduler.now_s

    @property
    def image(self) -> MetadataImage:
        """The newest that is committed, as far as a running controller knows."""
        return newest_image(self.cluster)

    @property
    def bootstrap(self) -> list[str]:
        """Addresses that clients start from."""
        return [self.cluster.address(one) for one in self.config.broker_ids]

    # Clients

    @property
    def client_hosts(self) -> Sequence[str]:
        """Hosts of every client so far."""
        return [*self._clients, *self.client_processes]

    def client_ports(self, name: str) -> dict[str, Any]:  # keyword arguments of every client
        """A client's way to the cluster, from a host of its own."""
        ports = self._clients.get(name)
        if ports is None:
            ports = self._clients[name] = self.cluster.new_client(name)
        return {"transport": ports.transport, "clock": ports.clock, "random": ports.random}

    def dialer(self, name: str) -> SimDialer:
        """Way of a client, which has its ports, to listeners of Kafka's protocol."""
        return self._clients[name].dialer

    def note(self, who: str, what: str) -> None:
        """For people."""
        self.timeline.note(who, what)

    def count_event(self, what: str) -> None:
        """Count it."""
        self.findings.coverage[what] += 1

    # Nodes

    def is_storm_over(self, end_s: float) -> bool:
        """True if no fault of the storm that ends then begins any more."""
        return self.now_s >= end_s or bool(self.findings.violations)

    def machine(self, node_id: int) -> Machine:
        """A node's machine."""
        return self.cluster.machines[node_id]

    def is_up(self, node_id: int) -> bool:
        """True if its process runs, or is paused."""
        return self.machine(node_id).host is not None

    def start(self, node_id: int) -> None:
        """Start what is down, unless it is dead."""
        self.held.discard(node_id)
        if not self.is_up(node_id) and node_id not in self.dead:
            self.timeline.note(f"node-{node_id}", "starts")
            self.cluster.start(node_id)

    async def watch(self) -> None:
        """Look at the image often, and do what an operator's supervisor does: start what ended."""
        down_since: dict[int, float] = {}
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self.look()
            for node_id in self.config.node_ids:
                if self.is_up(node_id) or node_id in self.held or node_id in self.dead:
                    down_since.pop(node_id, None)
                elif self.now_s - down_since.setdefault(node_id, self.now_s) >= RESTART_AFTER_S:
                    self.start(node_id)

    def budget_view(self) -> SimBudgetView:
        """Create the fault budget's view of the cluster."""
        return SimBudgetView(self.cluster, self.config, self.count_event)

    def look(self) -> None:
        """See what has healed; a suite sees more."""
        self.budget.look()

    def restart_failed(self) -> None:
        """Restart nodes whose disk failed a log."""
        for node_id in self.config.node_ids:
            if has_failed_log(self.machine(node_id)):
                self.timeline.note(f"node-{node_id}", "is restarted: a log is out of service")
                self.cluster.kill(node_id)
                self.start(node_id)

    def find_unsettled(self) -> Iterable[str]:
        """Yield what is not as it must be a while after the last fault."""
        image = self.image
        for node_id in self.config.broker_ids:
            if not image.is_alive(node_id) and node_id not in self.exempt:
                yield f"broker {node_id} is fenced"
        for topic, partition in image.partitions():
            is_full = set(partition.isr) | self.exempt >= set(partition.replicas)
            is_whole = self.exempt.issuperset(partition.unhealed)
            if partition.leader_id is None or not (is_full and is_whole):
                yield f"{topic.name}-{partition.partition}: {partition}"
        yield from self.budget.outstanding()


def _is_expected(error: BaseException) -> bool:
    """Disks fail here; a process that cannot go on without one ends."""
    return isinstance(error, StorageError)
