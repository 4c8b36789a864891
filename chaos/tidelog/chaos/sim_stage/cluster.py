"""Three nodes, built by the same function as the real ones, and clients, in one process.

Owns each node's machine (clock, disk, randomness), which outlives its processes, and does to it
what faults do. Decides nothing about when.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tidelog.broker.config import NodeConfig
from tidelog.broker.data_directory import format_or_check
from tidelog.broker.server import Node, Ports, build_node
from tidelog.chaos.sim_stage.clock import SimClock, SimRandom
from tidelog.chaos.sim_stage.disk import SimDisk
from tidelog.chaos.sim_stage.network import Host, NetworkConfig, SimNetwork
from tidelog.chaos.sim_stage.peers import SimPeers
from tidelog.chaos.sim_stage.raft_transport import SimRaftTransport
from tidelog.chaos.sim_stage.scheduler import Scheduler, SchedulerLimits
from tidelog.chaos.sim_stage.trace import Trace
from tidelog.metadata.config import ControllerConfig

CLUSTER_ID = "simulated"
DATA_DIRECTORY = "/data"
CLIENT_NAME = "client"
SYNC_LATENCY_S = 0.001
STOP_POLL_S = 0.001
CLOCK_OFFSET_S_MAX = 10_000.0

T = TypeVar("T")


@dataclass(slots=True)
class Machine:
    """What a node's process runs on; `host` is its present process, None while it is down."""

    node_id: int
    clock: SimClock
    disk: SimDisk
    random: SimRandom
    host: Host | None = None
    node: Node | None = None
    starts: int = 0
    boots: int = 1
    """How often the machine itself started."""

    @property
    def name(self) -> str:
        """The node's name in traces and reports."""
        return f"node-{self.node_id}"

    @property
    def address(self) -> str:
        """Where the node listens."""
        return f"{self.name}:9192"


@dataclass(slots=True)
class ClientPorts:
    """What `Producer`, `Consumer` and `Admin` take, on virtual time."""

    transport: SimPeers
    clock: SimClock
    random: SimRandom


@dataclass(frozen=True, slots=True)
class SimClusterConfig:
    """How the stage is set up, beside its seed."""

    node_ids: Sequence[int] = (1, 2, 3)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    limits: SchedulerLimits = field(default_factory=SchedulerLimits)


class SimCluster:
    """The simulation stage of `tidelog.chaos.scenarios.stage.Stage`."""

    def __init__(
        self,
        *,
        seed: int,
        config: SimClusterConfig | None = None,
        trace_sink: Callable[[str], None] | None = None,
    ) -> None:
        self._config = config or SimClusterConfig()
        random = SimRandom(seed)
        self.trace = Trace(sink=trace_sink)
        self.scheduler = Scheduler(trace=self.trace, limits=self._config.limits)
        self.network = SimNetwork(
            scheduler=self.scheduler, random=random.fork("network"), config=self._config.network
        )
        self.machines = {
            node_id: self._new_machine(node_id, random.fork(f"node-{node_id}"))
            for node_id in self._config.node_ids
        }
        self._voters: dict[int, SimRaftTransport] = {}
        self._client_host = self._new_host(CLIENT_NAME, CLIENT_NAME, None)
        self.client = ClientPorts(
            transport=SimPeers(network=self.network, host=self._client_host),
            clock=self._client_host.loop.clock,
            random=random.fork(CLIENT_NAME),
        )

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Start all nodes and run `main` as a client beside them; its result.

        Errors: what `main` raised, or a `SimulationError`.
        """
        for node_id in self._config.node_ids:
            self.start(node_id)
        return self.scheduler.run(self._client_host.loop, main)

    def close(self) -> None:
        """Drop everything."""
        self.scheduler.close()

    # Stage

    @property
    def node_ids(self) -> Sequence[int]:
        """All nodes, up or down."""
        return self._config.node_ids

    def address(self, node_id: int) -> str:
        """Where a node listens."""
        return self.machines[node_id].address

    def start(self, node_id: int) -> None:
        """Start a node's process on what its disk holds."""
        machine = self.machines[node_id]
        if machine.host is not None:
            raise ValueError(f"{machine.name} is up")
        machine.starts += 1
        self._record("start", machine)
        machine.host = self._new_host(machine.name, machine.address, machine.clock)
        machine.host.loop.create_task(self._boot(machine, machine.host), name="boot")

    def crash(self, node_id: int) -> None:
        """Cut a node's power, up or down: un-synced writes are lost or torn."""
        machine = self.machines[node_id]
        self._record("crash", machine)
        if machine.host is not None:
            self._end_process(machine, is_power_cut=True)
        machine.disk.crash()
        machine.boots += 1

    def kill(self, node_id: int) -> None:
        """Kill a node's process (SIGKILL); its machine, and so its page cache, lives on."""
        machine = self.machines[node_id]
        self._record("kill", machine)
        self._end_process(machine)

    async def stop(self, node_id: int) -> None:
        """Let a node stop in order (SIGTERM); returns when its process has ended."""
        machine = self.machines[node_id]
        host, node = self._host(machine), machine.node
        self._record("stop", machine)
        if node is not None:
            stopping = host.loop.create_task(node.stop(), name="stop")
            while not stopping.done():  # noqa: ASYNC110  # on another loop
                await asyncio.sleep(STOP_POLL_S)
        self._end_process(machine)

    def disk(self, node_id: int) -> SimDisk:
        """A node's disk, for what faults do to it."""
        return self.machines[node_id].disk

    def pause(self, node_id: int) -> None:
        """Step a node no more (SIGSTOP)."""
        self._record("pause", self.machines[node_id])
        self._host(self.machines[node_id]).loop.pause()

    def resume(self, node_id: int) -> None:
        """Step it again (SIGCONT)."""
        self._record("resume", self.machines[node_id])
        self._host(self.machines[node_id]).loop.resume()

    def drift(self, node_id: int, *, rate: float) -> None:
        """Let a node's clock run at `rate` seconds per second from now on."""
        self._record(f"drift {rate:.6f}", self.machines[node_id])
        self.scheduler.change_rate(self._host(self.machines[node_id]).loop, rate)

    # Building

    def _new_machine(self, node_id: int, random: SimRandom) -> Machine:
        offset_s = random.uniform(0, CLOCK_OFFSET_S_MAX)
        return Machine(
            node_id=node_id,
            clock=SimClock(lambda: self.scheduler.now_s, offset_s=offset_s),
            disk=SimDisk(random.fork("disk"), sync_latency_s=SYNC_LATENCY_S),
            random=random,
        )

    def _new_host(self, name: str, address: str, clock: SimClock | None) -> Host:
        host = Host(name=name, loop=self.scheduler.new_loop(name, clock), address=address)
        self.network.attach(host)
        return host

    async def _boot(self, machine: Machine, host: Host) -> None:
        config = self._node_config(machine)
        await format_or_check(machine.disk, config)
        node = machine.node = self._build(machine, host, config)
        host.services = node.services
        await node.start()

    def _build(self, machine: Machine, host: Host, config: NodeConfig) -> Node:
        def on_fatal(error: BaseException) -> None:
            self.scheduler.record_failure(machine.name, f"fatal: {error!r}")
            if machine.host is host:
                self.crash(machine.node_id)

        return build_node(
            config,
            Ports(
                clock=machine.clock,
                disk=machine.disk,
                random=machine.random.fork(f"start-{machine.starts}"),
                peers=SimPeers(network=self.network, host=host),
                raft_transport=SimRaftTransport(
                    network=self.network,
                    host=host,
                    node_id=machine.node_id,
                    voter_ids=self.node_ids,
                    directory=self._voters,
                ),
                on_fatal=on_fatal,
                boot_id=f"{machine.name}-boot-{machine.boots}",
            ),
        )

    def _node_config(self, machine: Machine) -> NodeConfig:
        return NodeConfig(
            node_id=machine.node_id,
            cluster_id=CLUSTER_ID,
            address=machine.address,
            data_dir=DATA_DIRECTORY,
            controller_voters={node_id: self.address(node_id) for node_id in self.node_ids},
            controller=ControllerConfig(cluster_id=CLUSTER_ID),
        )

    def _end_process(self, machine: Machine, *, is_power_cut: bool = False) -> None:
        host = self._host(machine)
        machine.host = machine.node = None
        if is_power_cut:
            self.network.power_off(host)
        else:
            self.network.crash(host)
        host.loop.kill()

    def _host(self, machine: Machine) -> Host:
        if machine.host is None:
            raise ValueError(f"{machine.name} is down")
        return machine.host

    def _record(self, what: str, machine: Machine) -> None:
        self.trace.record(self.scheduler.now_s, what, machine.name)
