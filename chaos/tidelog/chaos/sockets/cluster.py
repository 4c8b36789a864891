"""A cluster of real processes, every link of which goes through a proxy of its own.

    FOLDER/node-4.toml        the node's configuration, true addresses only
    FOLDER/node-4.setup.json  its proxies, and the mutant it is
    FOLDER/node-4.sync-ms     while its disk is slow: how much longer a sync takes
    FOLDER/node-4.log         what it said; toxiproxy.log and guardian.log beside it
    FOLDER/node-4/data/       its data
    FOLDER/foreign-4*         the same of a node of another cluster in its place

Whatever ends the run, the guardian leaves nothing behind: it does the cleaning when all goes well,
too, so that there is one way to do it.
"""

from __future__ import annotations

import asyncio
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from tidelog.chaos.faults.proxies import Proxies
from tidelog.chaos.sockets import guardian
from tidelog.chaos.sockets.child import Child
from tidelog.chaos.sockets.disks import NodeDisk
from tidelog.chaos.sockets.foreign_data import FOREIGN, make_foreign_data
from tidelog.chaos.sockets.inspector import Inspector
from tidelog.chaos.sockets.node_processes import NodeProcess
from tidelog.chaos.sockets.node_setup import NodeSetup
from tidelog.chaos.sockets.proxies import ToxiproxyProxies
from tidelog.chaos.sockets.routed_peers import RoutedTransport, Routes, Tap
from tidelog.chaos.sockets.sync_latency import SyncLatency
from tidelog.chaos.sockets.toxiproxy import ProxyError, Toxiproxy
from tidelog.chaos.sockets.wiring import Wiring
from tidelog.chaos.story.samples import NodeSample
from tidelog.chaos.topology import CLIENTS, Topology, node_name
from tidelog.core.errors import TidelogError
from tidelog.net.quiet_ports import HOST, quiet_ports
from tidelog.node.config import parse_config
from tidelog.node.config_text import config_text

SETTINGS: Mapping[str, object] = {
    "broker.session.timeout.ms": 2000,
    "broker.heartbeat.interval.ms": 400,
    "replica.lag.time.max.ms": 2000,
    "auto.create.topics.enable": False,
    "leader.imbalance.check.interval.seconds": 5,
    "log.retention.check.interval.ms": 1000,
    "log.scrub.interval.ms": 2000,
}
"""Configuration of every node: failures are noticed within seconds, so that a run is short."""
READY_S_MAX = 60.0
CLOSE_S_MAX = 15.0
INSPECT_S_MAX = 1.0
POLL_S = 0.1


class ClusterError(TidelogError):
    """The cluster did not come up; the text says which node, and why."""


class SocketCluster:
    """Starts all in `async with`; leaves nothing behind, not even the folder unless it is kept.

    `folder` must not exist, or be empty. `settings` are keys of a node's configuration file, over
    `SETTINGS`; `mutant` names one that every node is; `disk_bytes` has nodes whose data lies on a
    tmpfs of that size. Errors of the start: `ClusterError`, `ProxyError`, `DiskUnavailableError`.
    """

    def __init__(
        self,
        *,
        folder: Path,
        topology: Topology | None = None,
        settings: Mapping[str, object] | None = None,
        mutant: str | None = None,
        disk_bytes: Mapping[int, int] | None = None,
        keep: bool = False,
    ) -> None:
        self.folder = folder.resolve()
        self.topology = topology or Topology()
        self._settings = {**SETTINGS, **(settings or {})}
        self._mutant = mutant
        self._keep = keep
        self._token = secrets.token_hex(8)
        self._environment = {guardian.MARK: str(self.folder)}
        sizes = disk_bytes or {}
        self._disks = {
            node_id: NodeDisk(self.folder / f"node-{node_id}", size_bytes=sizes.get(node_id))
            for node_id in self.topology.node_ids
        }
        self._nodes = {
            node_id: NodeProcess(self.folder, node_id, self._environment)
            for node_id in self.topology.node_ids
        }
        self._foreign: dict[int, NodeProcess] = {}
        self._inspectors = {
            node_id: Inspector(self._socket(node_id)) for node_id in self.topology.node_ids
        }
        self._guardian: Child | None = None
        self._wiring = Wiring(self.topology, HOST, ())
        self._server: Toxiproxy | None = None

    async def __aenter__(self) -> Self:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(self.folder.iterdir()):
            raise ClusterError(f"{self.folder} is not empty: name another folder")
        self._start_guardian()
        try:
            for disk in self._disks.values():
                disk.prepare()
            await self._start()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End everything, and the folder unless it is kept. Errors: `ClusterError`."""
        child, self._guardian = self._guardian, None
        if child is None:
            return
        child.close_stdin(guardian.KEEP if self._keep else b"")
        if not await child.wait_ended(within_s=CLOSE_S_MAX) or child.exit_code:
            raise ClusterError(f"something of {self.folder} outlives its run")
        for node in self._nodes.values():
            await node.wait_ended()
        if self._server is not None:
            await self._server.child.wait_ended(within_s=CLOSE_S_MAX)

    def keep(self) -> None:
        """Leave the folder there at the end; what lay on a tmpfs is gone all the same."""
        self._keep = True

    # What it is made of

    @property
    def proxies(self) -> Proxies:
        """Proxies of every link."""
        if self._server is None:
            raise ClusterError("the cluster has not started")
        return ToxiproxyProxies(self._server, self.topology.links())

    @property
    def now_s(self) -> float:
        """The machine's CLOCK_MONOTONIC, as in every sample."""
        return time.monotonic()

    def address(self, node_id: int) -> str:
        """The node's listening address, as clients and other nodes know it."""
        return self._wiring.address(node_id)

    def client_transport(self, group: str = CLIENTS, *, tap: Tap | None = None) -> RoutedTransport:
        """A transport with channels of its own through the group's proxies. `close` it."""
        return RoutedTransport(self._wiring.routes(group), tap=tap)

    def client_routes(self, group: str) -> Routes:
        """The group's proxies, for a client in another process."""
        return self._wiring.routes(group)

    def kafka_bootstrap(self, group: str) -> Sequence[str]:
        """The group's proxies of listeners of Kafka's protocol; empty: there are none."""
        return self._wiring.kafka_bootstrap(group)

    @property
    def kafka_listeners(self) -> Sequence[str]:
        """A listener of Kafka's protocol of each broker, past its proxy; empty: there are none."""
        return self._wiring.kafka_listeners()

    def spawn(self, name: str, command: Sequence[str]) -> Child:
        """Start another process of the run, which ends with it; its output is in `name`.log."""
        return Child.spawn(
            [sys.executable, *command],
            folder=self.folder,
            log_path=self.folder / f"{name}.log",
            environment=self._environment,
        )

    def data_dir(self, node_id: int) -> Path:
        """Its log.dirs."""
        return self._disks[node_id].data_dir

    def log_path(self, node_id: int) -> Path:
        """The output of its processes."""
        return self._nodes[node_id].log_path

    # Processes

    async def start(self, node_id: int) -> None:
        """Start what is down; returns before it listens."""
        self._nodes[node_id].start()

    async def kill(self, node_id: int) -> bool:
        """SIGKILL; returns when it has ended. False: it was down."""
        return await self._nodes[node_id].kill()

    async def stop(self, node_id: int) -> bool:
        """SIGTERM; returns when it has ended. False: it had to be killed, or was down."""
        return await self._nodes[node_id].stop()

    async def pause(self, node_id: int) -> None:
        """SIGSTOP; nothing happens when it is down."""
        self._nodes[node_id].pause()

    async def resume(self, node_id: int) -> None:
        """SIGCONT; nothing happens when it is down."""
        self._nodes[node_id].resume()

    def is_up(self, node_id: int) -> bool:
        """True if its process runs, or is paused."""
        return self._nodes[node_id].is_up

    def is_paused(self, node_id: int) -> bool:
        """True if its process is paused."""
        return self._nodes[node_id].is_paused

    def pid(self, node_id: int) -> int | None:
        """The pid of its process; None: it is down."""
        return self._nodes[node_id].pid

    def ended_by_themselves(self) -> dict[int, str]:
        """The nodes whose process ended unasked, and its last words."""
        ends = {node_id: node.end for node_id, node in self._nodes.items()}
        return {node_id: words for node_id, words in ends.items() if words is not None}

    async def start_foreign(self, node_id: int) -> None:
        """Start a node of another cluster at the address of a node that is down.

        Its metadata log is alike to the node's, and ahead of it.
        """
        if self.is_up(node_id):
            raise ValueError(f"node {node_id} is up")
        node = NodeProcess(self.folder, node_id, self._environment, stem=FOREIGN)
        data_dir = self.folder / f"{FOREIGN}-{node_id}"
        config = self._config(node_id, cluster_id=FOREIGN, data_dir=data_dir)
        setup = replace(self._setup(node_id), socket=self._socket(node_id) + FOREIGN, mutant=None)
        node.config_path.write_text(config, encoding="utf-8")
        node.setup_path.write_text(setup.to_json(), encoding="utf-8")
        await make_foreign_data(parse_config(config), own_data=self.data_dir(node_id))
        self._foreign[node_id] = node
        node.start()

    async def stop_foreign(self, node_id: int) -> bool:
        """Kill it; False: it had ended by itself."""
        return await self._foreign.pop(node_id).kill()

    # Disks

    async def wipe(self, node_id: int) -> None:
        """Give a node that is down an empty disk."""
        if self.is_up(node_id):
            raise ValueError(f"node {node_id} is up")
        self._disks[node_id].wipe()

    async def fill(self, node_id: int, *, room_bytes: int) -> None:
        """See `NodeDisk.fill`."""
        self._disks[node_id].fill(room_bytes=room_bytes)

    async def make_room(self, node_id: int) -> None:
        """Take `fill` back."""
        self._disks[node_id].make_room()

    async def slow_disk(self, node_id: int, sync_s: float | None) -> None:
        """Let each sync of its disk take so much longer; None: as usual."""
        self._latency(node_id).set(sync_s)

    # Eyes

    async def inspect(self, node_id: int, *, timeout_s: float = INSPECT_S_MAX) -> NodeSample | None:
        """A sample of the node; None: it is down, paused, or did not answer in time."""
        return await self._inspectors[node_id].ask(timeout_s=timeout_s)

    async def until_ready(self) -> None:
        """Every broker is unfenced, and a controller leads.

        Errors: `ClusterError` when that takes more than a minute, or a node ends.
        """

        def is_ready(samples: Mapping[int, NodeSample]) -> bool:
            brokers = (samples[node_id].is_ready for node_id in self.topology.broker_ids)
            return all(brokers) and any(one.is_active_controller for one in samples.values())

        await self._until(is_ready, "ready")

    async def _until(self, is_so: Callable[[Mapping[int, NodeSample]], bool], what: str) -> None:
        """Wait until every node answers with samples that meet the condition."""
        try:
            async with asyncio.timeout(READY_S_MAX):
                while True:
                    if ended := self.ended_by_themselves():
                        raise ClusterError(f"nodes ended: {ended}")
                    samples = {
                        node_id: await inspector.peek(timeout_s=INSPECT_S_MAX)
                        for node_id, inspector in self._inspectors.items()
                    }
                    answered = {node_id: one for node_id, one in samples.items() if one is not None}
                    if len(answered) == len(samples) and is_so(answered):
                        return
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            raise ClusterError(f"not {what} within {READY_S_MAX:g} s") from None

    # Its start

    def _start_guardian(self) -> None:
        self._guardian = Child.spawn(
            [sys.executable, "-m", guardian.__name__, str(self.folder)],
            folder=self.folder.parent,
            log_path=self.folder / "guardian.log",
            environment={},
            stdin=subprocess.PIPE,
        )

    async def _start(self) -> None:
        """Start proxies and nodes; once more when a port was taken between choice and use."""
        try:
            await self._start_on_free_ports()
        except (ClusterError, ProxyError):
            guardian.kill_all(self.folder)
            for node_id, node in self._nodes.items():
                await node.kill()
                self._disks[node_id].wipe()
            await self._start_on_free_ports()

    async def _start_on_free_ports(self) -> None:
        ports = quiet_ports(Wiring.ports_needed(self.topology))
        self._wiring = wiring = Wiring(self.topology, HOST, ports)
        self._server = await Toxiproxy.start(self.folder, self._environment)
        await self._server.populate(wiring.iterate_proxies())
        for node_id, node in self._nodes.items():
            node.config_path.write_text(self._config(node_id), encoding="utf-8")
            node.setup_path.write_text(self._setup(node_id).to_json(), encoding="utf-8")
            node.start()
        await self._until(lambda _: True, "up")

    @property
    def cluster_id(self) -> str:
        """As its nodes are configured."""
        return f"chaos-{self._token}"

    def _config(
        self, node_id: int, *, cluster_id: str | None = None, data_dir: Path | None = None
    ) -> str:
        topology = self.topology
        roles = {"broker": topology.broker_ids, "controller": topology.controller_ids}
        voters = {str(voter): address for voter, address in self._wiring.voters().items()}
        return config_text(
            {
                "node.id": node_id,
                "cluster.id": cluster_id or self.cluster_id,
                "process.roles": [role for role, ids in roles.items() if node_id in ids],
                **self._wiring.listeners(node_id),
                "log.dirs": str(data_dir or self.data_dir(node_id)),
                "controller.quorum.voters": voters,
                **self._settings,
            }
        )

    def _setup(self, node_id: int) -> NodeSetup:
        return NodeSetup(
            routes=self._wiring.routes(node_name(node_id)),
            raft_voters=self._wiring.raft_voters(node_id),
            socket=self._socket(node_id),
            sync_latency=str(self._latency(node_id).path),
            mutant=self._mutant,
        )

    def _latency(self, node_id: int) -> SyncLatency:
        return SyncLatency(self.folder / f"node-{node_id}.sync-ms")

    def _socket(self, node_id: int) -> str:
        return f"tidelog-{self._token}-{node_id}"
