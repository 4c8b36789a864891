"""Nodes on the loop of the test: the processes of each machine, and the disk that outlives them."""

from __future__ import annotations

from tests.client.loop_peers import Host, MachinePeers

from tidelog.core.chance import SeededRandom
from tidelog.core.system import SystemClock
from tidelog.node.config import NodeConfig
from tidelog.node.data_directory import format_or_check
from tidelog.node.server import Node, Ports, build_node
from tidelog.raft.transport import RaftReceiver
from tidelog.simulation.engine.disk import SimDisk
from tidelog.v1.raft_pb2 import RaftMessage


class SoleVoter:
    """The `RaftTransport` of a quorum of one."""

    async def start(self, receiver: RaftReceiver) -> None:
        """See `RaftTransport`."""

    async def stop(self) -> None:
        """See `RaftTransport`."""

    def send(self, peer_id: int, message: RaftMessage) -> bool:
        """See `RaftTransport`; there is nobody."""
        del peer_id, message
        return False


class Machine:
    """A node's disk, which outlives its processes, and the present process."""

    def __init__(self, node_id: int, address: str) -> None:
        self.node_id = node_id
        self.address = address
        self.disk = SimDisk(SeededRandom(node_id), sync_latency_s=0)
        self.host = Host(self.address)
        self.peers = MachinePeers({})
        self.starts = 0
        self.boots = 1
        self._node: Node | None = None

    @property
    def node(self) -> Node:
        """The present process, or the last one."""
        assert self._node is not None, "never started"
        return self._node

    async def start(self, config: NodeConfig, hosts: dict[str, Host]) -> None:
        """Start a process on what the disk holds."""
        self.starts += 1
        host = self.host = hosts[self.address] = Host(self.address)
        self.peers = MachinePeers(hosts)
        self._node = build_node(config, self._ports(is_controller=config.is_controller))
        await host.begin(self._format_and_start(config, host))

    async def _format_and_start(self, config: NodeConfig, host: Host) -> None:
        await format_or_check(self.disk, config)
        host.services = self.node.services
        await self.node.start()

    def _ports(self, *, is_controller: bool) -> Ports:
        host = self.host

        def on_fatal(error: BaseException) -> None:
            if host.services is not None:
                raise error

        return Ports(
            clock=SystemClock(),
            disk=self.disk,
            random=SeededRandom(1_000 * self.starts + self.node_id),
            peers=self.peers,
            raft_transport=SoleVoter() if is_controller else None,
            on_fatal=on_fatal,
            boot_id=f"boot-{self.boots}",
        )
