"""The outside world of one node: time, disk, randomness, other nodes; real, or simulated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tidelog.core.env import Clock, Disk, Random
from tidelog.core.workers import InPlace, Workers
from tidelog.net.peers import Peers
from tidelog.net.strangers import Strangers
from tidelog.raft.transport import RaftTransport


@dataclass(frozen=True, slots=True)
class Ports:
    """Outside world of one node. `on_fatal` ends the node: nothing leaves it afterwards."""

    clock: Clock
    disk: Disk
    random: Random
    peers: Peers
    raft_transport: RaftTransport | None
    on_fatal: Callable[[BaseException], None]
    process_id: int = 0
    workers: Workers = field(default_factory=InPlace)
    """Workers that inflate batches to validate their records."""
    boot_id: str = ""
    """Id of the machine's boot; empty: unknown, so a reboot must be assumed."""
    strangers: Strangers = field(default_factory=Strangers)
    """Shared with the raft transport."""
