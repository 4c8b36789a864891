"""Nodes on the loop of the test: the processes of each machine, and the disk that outlives them."""

from __future__ import annotations

from tests.client.loop_peers import Host, MachinePeers
from tests.client.loop_raft import LoopRaft

from tidelog.core.chance import SeededRandom
from tidelog.core.system import SystemClock
from tidelog.node.config import NodeConfig
from tidelog.node.data_directory import format_or_check
from tidelog.node.ports import Ports
from tidelog.node.server import Node, build_node
from tidelog.raft.transport import RaftReceiver
from tidelog.simulation.engine.disk import SimDisk


class Machine:
    """A node's disk, which outlives its processes, and the present process."""

    def __init__(self, node_id: int, address: str) -> None:
        self.node_id = node_id
        self.address = address
        self.disk = SimDisk(SeededRandom(node_id), sync_latency_s=0)
        self.host = Host(self.address)
        self.peers = MachinePeers({})
        self.raft: LoopRaft | None = None
        """A controller's way to the others."""
        self.starts = 0
        self.boots = 1
        self._node: Node | None = None

    @property
    def node(self) -> Node:
        """The present process, or the last one."""
        assert self._node is not None, "never started"
        return self._node

    async def start(
        self, config: NodeConfig, hosts: dict[str, Host], voters: dict[int, RaftReceiver]
    ) -> None:
        """Start a process on what the disk holds; `voters` are the controllers that run."""
        self.starts += 1
        self.raft = LoopRaft(self.node_id, voters) if config.is_controller else None
        host = self.host = hosts[self.address] = Host(self.address)
        self.peers = MachinePeers(hosts)
        self._node = build_node(config, self._ports())
        await host.begin(self._format_and_start(config, host))

    def end(self) -> None:
        """End the process."""
        self.host.end()
        if self.raft is not None:
            self.raft.cut()

    def isolate(self) -> None:
        """Have the process reach no other node, nor hear of one."""
        self.peers.has_news.clear()
        self.peers.is_cut_off = True
        if self.raft is not None:
            self.raft.cut()

    def rejoin(self) -> None:
        """End the isolation of a broker's process."""
        assert self.raft is None, "a controller's connections do not come back"
        self.peers.has_news.set()
        self.peers.is_cut_off = False

    @property
    def is_up(self) -> bool:
        """Whether the process serves."""
        return self.host.services is not None

    async def _format_and_start(self, config: NodeConfig, host: Host) -> None:
        await format_or_check(self.disk, config)
        host.services = self.node.services
        await self.node.start()

    def _ports(self) -> Ports:
        host = self.host

        def on_fatal(error: BaseException) -> None:
            if host.services is not None:
                raise error

        return Ports(
            clock=SystemClock(),
            disk=self.disk,
            random=SeededRandom(1_000 * self.starts + self.node_id),
            peers=self.peers,
            raft_transport=self.raft,
            on_fatal=on_fatal,
            boot_id=f"boot-{self.boots}",
        )
