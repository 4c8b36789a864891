"""A few nodes, built by the same function as the real ones, and clients, in one process.

Owns each node's machine (clock, disk, randomness), which outlives its processes, and does to it
what faults do. Decides nothing about when.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextvars import Context
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeVar

from tidelog.core.chance import SeededRandom
from tidelog.core.errors import StorageError
from tidelog.metadata.config import ControllerConfig
from tidelog.net.listeners import Listener, kafka_listeners, one_listener
from tidelog.node.config import NodeConfig
from tidelog.node.data_directory import format_or_check
from tidelog.node.ports import Ports
from tidelog.node.server import Node, build_node
from tidelog.simulation.engine.byte_streams import SimDialer
from tidelog.simulation.engine.clock import SimClock
from tidelog.simulation.engine.disk import SimDisk
from tidelog.simulation.engine.loop import NodeLoop
from tidelog.simulation.engine.network import Host, NetworkConfig, SimNetwork
from tidelog.simulation.engine.peers import SimPeers
from tidelog.simulation.engine.raft_transport import SimRaftTransport
from tidelog.simulation.engine.scheduler import Scheduler, SchedulerLimits
from tidelog.simulation.engine.trace import Trace

CLUSTER_ID = "simulated"
DATA_DIRECTORY = "/data"
CLIENT_NAME = "client"
SYNC_LATENCY_S = 0.001
STOP_POLL_S = 0.001
STOP_S_MAX = 60.0
CLOCK_OFFSET_S_MAX = 10_000.0
WALL_SKEW_S_MAX = 1.0
"""Error that the wall clock of a machine whose time is kept by the network may have."""

T = TypeVar("T")


def one_grpc_listener(name: str) -> tuple[Listener, ...]:
    """Listeners of a node with a name that speaks gRPC alone."""
    return one_listener(f"{name}:9192")


@dataclass(slots=True)
class Machine:
    """Machine of a node; `host` is its present process, None while it is down."""

    node_id: int
    clock: SimClock
    disk: SimDisk
    random: SeededRandom
    listeners: tuple[Listener, ...]
    host: Host | None = None
    node: Node | None = None
    starts: int = 0
    boots: int = 1
    """Starts of the machine itself."""
    cut_by: Literal["", "power", "kill"] = ""
    """The process ended within an operation of its disk, which has not been cleared since."""

    @property
    def name(self) -> str:
        """The node's name in traces and reports."""
        return _name(self.node_id)

    @property
    def address(self) -> str:
        """Address for clients: that of the node's first listener."""
        return self.listeners[0].advertised


@dataclass(slots=True)
class ClientPorts:
    """Ports of `Producer`, `Consumer` and `Admin`, on virtual time."""

    transport: SimPeers
    clock: SimClock
    random: SeededRandom
    dialer: SimDialer
    """The way to listeners of Kafka's protocol."""


@dataclass(frozen=True, slots=True)
class SimClusterConfig:
    """Configuration of a simulated cluster, beside its seed."""

    node_ids: Sequence[int] = (1, 2, 3)
    controller_ids: Sequence[int] = ()
    """Voters; empty: every node."""
    broker_ids: Sequence[int] = ()
    """Nodes that hold partitions; empty: every node."""
    listeners: Callable[[str], tuple[Listener, ...]] = one_grpc_listener
    """Listeners of the node with a name; clients call the first."""
    configure: Callable[[NodeConfig], NodeConfig] = lambda config: config
    """Settings of every node."""
    on_built: Callable[[Machine], None] = lambda _: None
    """Called with the machine of each process when its node is built, and does nothing yet."""
    is_expected: Callable[[BaseException], bool] = lambda _: False
    """True if an error is what faults do to a node: it fails no run, and may end a process."""
    node_context: Context = field(default_factory=Context)
    """Context of all that nodes do."""
    client_loop: type[NodeLoop] = NodeLoop  # type: ignore[type-abstract]
    """Kind of the loops that clients run on."""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    limits: SchedulerLimits = field(default_factory=SchedulerLimits)

    def __post_init__(self) -> None:
        for name in ("controller_ids", "broker_ids"):
            object.__setattr__(self, name, tuple(getattr(self, name) or self.node_ids))


class SimCluster:
    """Whole nodes, a network and disks on virtual time, and ways to start, crash and slow nodes."""

    def __init__(
        self,
        *,
        seed: int,
        config: SimClusterConfig | None = None,
        trace_sink: Callable[[str], None] | None = None,
    ) -> None:
        self._config = config or SimClusterConfig()
        random = SeededRandom(seed)
        self.trace = Trace(sink=trace_sink)
        self.scheduler = Scheduler(trace=self.trace, limits=self._config.limits)
        self.network = SimNetwork(
            scheduler=self.scheduler, random=random.fork("network"), config=self._config.network
        )
        self.network.is_expected = self._config.is_expected
        self._random = random
        self.on_power_lost: Callable[[int], None] = lambda _: None
        """Called with the node's id when its power goes."""
        self.on_process_end: Callable[[Machine], None] = lambda _: None
        """Called before a process is discarded, whatever ends it."""
        self.machines = {
            node_id: self._new_machine(node_id, random.fork(f"node-{node_id}"))
            for node_id in self._config.node_ids
        }
        self._voters: dict[int, SimRaftTransport] = {}
        self.client_host = self._new_host(CLIENT_NAME, CLIENT_NAME, None, is_client=True)
        """Host of the scenario."""
        self.client = self._client_ports(self.client_host)

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Start all nodes and run `main` as a client beside them; its result.

        Errors: what `main` raised, or a `SimulationError`.
        """
        for node_id in self._config.node_ids:
            self.start(node_id)
        return self.scheduler.run(self.client_host.loop, main)

    def close(self) -> None:
        """Drop everything; what dying tasks still do is done to no machine."""
        for machine in self.machines.values():
            machine.host = machine.node = None
        self.scheduler.close()

    # Machines

    @property
    def node_ids(self) -> Sequence[int]:
        """Every node, up or down."""
        return self._config.node_ids

    @property
    def broker_ids(self) -> Sequence[int]:
        """The nodes that hold partitions, up or down."""
        return self._config.broker_ids

    @property
    def controller_ids(self) -> Sequence[int]:
        """The nodes that vote, up or down."""
        return self._config.controller_ids

    def new_client(self, name: str) -> ClientPorts:
        """A client on a host of its own, whose links can be cut; it runs on the scenario's loop."""
        host = Host(name=name, loop=self.client_host.loop, address=name)
        self.network.attach(host)
        return self._client_ports(host)

    def new_client_process(
        self, name: str, *, clock: SimClock | None = None, start: int = 1
    ) -> tuple[Host, ClientPorts]:
        """A client in a process of its own, which can be paused and killed.

        Names repeat only with another number of the `start` of a machine, which keeps its clock.
        """
        host = self._new_host(name, name, clock, is_client=True)
        return host, self._client_ports(host, start=start)

    def end_client_process(self, host: Host) -> None:
        """End such a process at once (SIGKILL): its connections break, nothing of it runs on."""
        self.trace.record(self.scheduler.now_s, "kill", host.name)
        self.network.crash(host)
        host.loop.kill()

    def address(self, node_id: int) -> str:
        """Address of a node for clients."""
        return self.machines[node_id].address

    def start(self, node_id: int) -> None:
        """Start a node's process on what its disk holds."""
        machine = self.machines[node_id]
        if machine.host is not None:
            raise ValueError(f"{machine.name} is up")
        self._clear_cut(machine)
        machine.starts += 1
        self._record("start", machine)
        machine.host = self._new_host(
            machine.name, machine.address, machine.clock, machine.listeners
        )
        loop = machine.host.loop
        loop.create_task(
            self._boot(machine, machine.host), name="boot", context=loop.context.copy()
        )

    def crash(self, node_id: int) -> None:
        """Cut a node's power, up or down: un-synced writes are lost or torn."""
        machine = self.machines[node_id]
        self._record("crash", machine)
        self.on_power_lost(node_id)
        if machine.host is not None:
            self._end_process(machine, is_power_cut=True)
        self._lose_power(machine)

    def kill(self, node_id: int) -> None:
        """Kill a node's process (SIGKILL); its machine, and so its page cache, lives on."""
        machine = self.machines[node_id]
        self._record("kill", machine)
        self._end_process(machine)

    async def stop(self, node_id: int, *, within_s: float = STOP_S_MAX) -> bool:
        """Let a node stop in order (SIGTERM); whether its process ended so, and was not killed."""
        machine = self.machines[node_id]
        host, node = self._host(machine), machine.node
        self._record("stop", machine)
        if node is not None:
            deadline_s = self.scheduler.now_s + within_s
            stopping = host.loop.create_task(
                node.stop(), name="stop", context=host.loop.context.copy()
            )
            while not stopping.done():
                await asyncio.sleep(STOP_POLL_S)  # on another loop
                if machine.host is not host:
                    return False
                if self.scheduler.now_s > deadline_s:
                    self.kill(node_id)
                    return False
        self._end_process(machine)
        return True

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

    def _client_ports(self, host: Host, *, start: int = 1) -> ClientPorts:
        seed = host.name if start == 1 else f"{host.name} {start}"
        return ClientPorts(
            transport=SimPeers(network=self.network, host=host),
            clock=host.loop.clock,
            random=self._random.fork(seed),
            dialer=SimDialer(network=self.network, host=host),
        )

    def _new_machine(self, node_id: int, random: SeededRandom) -> Machine:
        offset_s = random.uniform(0, CLOCK_OFFSET_S_MAX)
        machine = Machine(
            node_id=node_id,
            clock=SimClock(
                lambda: self.scheduler.now_s,
                offset_s=offset_s,
                wall_skew_s=(2 * offset_s / CLOCK_OFFSET_S_MAX - 1) * WALL_SKEW_S_MAX,
            ),
            disk=SimDisk(random.fork("disk"), sync_latency_s=SYNC_LATENCY_S),
            random=random,
            listeners=self._config.listeners(_name(node_id)),
        )
        machine.disk.faults.on_cut = partial(self._on_cut, machine)
        return machine

    def _new_host(
        self,
        name: str,
        address: str,
        clock: SimClock | None,
        listeners: tuple[Listener, ...] = (),
        *,
        is_client: bool = False,
    ) -> Host:
        kind = self._config.client_loop if is_client else NodeLoop
        loop = self.scheduler.new_loop(name, clock, kind=kind)
        if not is_client:
            loop.context = self._config.node_context.copy()
        host = Host(name=name, loop=loop, address=address, listeners=listeners)
        self.network.attach(host)
        return host

    async def _boot(self, machine: Machine, host: Host) -> None:
        config = self._node_config(machine)
        try:
            await format_or_check(machine.disk, config)
            node = machine.node = self._build(machine, host, config)
            self._config.on_built(machine)
            host.services = node.services
            if node.kafka is not None:
                of_kafka = kafka_listeners(machine.listeners)
                host.acceptors = {one.advertised: node.kafka.acceptor(one) for one in of_kafka}
            await node.start()
        except StorageError as error:
            self._on_fatal(machine, host, error)

    def _on_fatal(self, machine: Machine, host: Host, error: BaseException) -> None:
        is_expected = self._config.is_expected(error)
        if not is_expected:
            self.scheduler.record_failure(machine.name, f"fatal: {error!r}")
        if machine.host is host:
            (self.kill if is_expected else self.crash)(machine.node_id)

    def _on_cut(self, machine: Machine, is_power: bool) -> None:  # noqa: FBT001  # DiskFaults' call
        """The process ends within an operation of its disk; what it does yet reaches nobody."""
        machine.cut_by = "power" if is_power else "kill"
        self._record(f"cut ({machine.cut_by})", machine)
        if is_power:
            self.on_power_lost(machine.node_id)
        if machine.host is not None:
            self._end_process(machine, is_power_cut=is_power)
        loop = self.client_host.loop
        self.scheduler.deliver(loop, partial(self._clear_cut, machine), delay_s=0)

    def _clear_cut(self, machine: Machine) -> None:
        cut_by, machine.cut_by = machine.cut_by, ""
        if cut_by == "power":
            self._lose_power(machine)
        elif cut_by:
            machine.disk.faults.heal()

    def _lose_power(self, machine: Machine) -> None:
        machine.cut_by = ""
        machine.disk.crash()
        machine.boots += 1

    def _build(self, machine: Machine, host: Host, config: NodeConfig) -> Node:
        return build_node(
            config,
            Ports(
                clock=machine.clock,
                disk=machine.disk,
                random=machine.random.fork(f"start-{machine.starts}"),
                peers=SimPeers(network=self.network, host=host),
                raft_transport=self._raft_transport(machine, host),
                on_fatal=partial(self._on_fatal, machine, host),
                boot_id=f"{machine.name}-boot-{machine.boots}",
            ),
        )

    def _raft_transport(self, machine: Machine, host: Host) -> SimRaftTransport | None:
        if machine.node_id not in self.controller_ids:
            return None
        return SimRaftTransport(
            network=self.network,
            host=host,
            node_id=machine.node_id,
            voter_ids=self.controller_ids,
            directory=self._voters,
            config=self._node_config(machine).raft,
        )

    def _node_config(self, machine: Machine) -> NodeConfig:
        roles = {"broker": self.broker_ids, "controller": self.controller_ids}
        config = NodeConfig(
            node_id=machine.node_id,
            cluster_id=CLUSTER_ID,
            listeners=machine.listeners,
            data_dir=DATA_DIRECTORY,
            controller_voters={one: self._internal_address(one) for one in self.controller_ids},
            process_roles=tuple(role for role, ids in roles.items() if machine.node_id in ids),
            controller=ControllerConfig(cluster_id=CLUSTER_ID),
        )
        config = self._config.configure(config)
        return replace(config, raft=replace(config.raft, cluster_id=CLUSTER_ID))

    def _internal_address(self, node_id: int) -> str:
        machine = self.machines[node_id]
        return next(one.advertised for one in machine.listeners if one.is_internal)

    def _end_process(self, machine: Machine, *, is_power_cut: bool = False) -> None:
        host = self._host(machine)
        self.on_process_end(machine)
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


def _name(node_id: int) -> str:
    return f"node-{node_id}"
