"""A node's controller, composed: its replicated log, and how it identifies brokers."""

from __future__ import annotations

from tidelog.metadata.quorum_controller import QuorumController
from tidelog.net.transport import Dialled
from tidelog.node.config import NodeConfig
from tidelog.node.journal.node_journal import NodeJournal
from tidelog.node.ports import Ports
from tidelog.raft.factory import build_replicated_log

METADATA_DIRECTORY = "__cluster_metadata-0"


def build_quorum(config: NodeConfig, ports: Ports, journal: NodeJournal) -> QuorumController:
    """Build the controller; nothing runs before its start."""
    if ports.raft_transport is None:
        raise ValueError("a controller needs a raft_transport")
    replicated_log = build_replicated_log(
        node_id=config.node_id,
        voters=config.controller_voters,
        directory=f"{config.data_dir}/{METADATA_DIRECTORY}",
        # A pool of its own: the quorum's election timeouts must not wait behind flushes of records.
        disk=ports.disk.with_own_threads(),
        clock=ports.clock,
        random=ports.random,
        transport=ports.raft_transport,
        config=config.raft,
        on_fatal=ports.on_fatal,
    )

    async def dial(address: str, timeout_ms: int) -> Dialled:
        return await ports.peers.dial(address, timeout_ms=timeout_ms)

    return QuorumController(
        log=replicated_log,
        clock=ports.clock,
        random=ports.random,
        dial=dial,
        config=config.controller,
        on_fatal=ports.on_fatal,
        on_batch=journal.on_batch,
    )
