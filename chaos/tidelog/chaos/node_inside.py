"""Inside of a node, for code in the same process.

It changes nothing; no node knows of it.
"""

from __future__ import annotations

from tidelog.broker.partition.partition import Partition
from tidelog.broker.replica.isr import FollowerState
from tidelog.broker.replica.leader import Leader
from tidelog.log.epochs import EpochEntry
from tidelog.log.partition_log import PartitionLog
from tidelog.metadata.quorum_controller import QuorumController
from tidelog.node.server import BrokerParts, Node

Held = dict[tuple[str, int], Partition]
NOTHING_HELD: Held = {}


def quorum_of(node: Node) -> QuorumController | None:
    """Its controller, if it is one."""
    return node._quorum  # noqa: SLF001


def broker_of(node: Node) -> BrokerParts | None:
    """The parts of its broker, if it is one."""
    return node._broker  # noqa: SLF001


def held_by(node: Node) -> Held:
    """The partitions its broker holds, by topic and number."""
    broker = node._broker  # noqa: SLF001
    if broker is None:
        return NOTHING_HELD
    return broker.replica_manager._partitions.held  # noqa: SLF001


def log_of(hosted: Partition) -> PartitionLog | None:
    """Its log; None until it is open."""
    return hosted._log  # noqa: SLF001


def epochs_of(log: PartitionLog) -> tuple[EpochEntry, ...]:
    """The entries of its epoch cache."""
    return log._epochs.entries  # noqa: SLF001


def followers_of(leader: Leader) -> dict[int, FollowerState]:
    """The leader's knowledge of each follower."""
    return leader._followers  # noqa: SLF001


def is_listed_incarnation(broker_epoch: int, node: Node) -> bool:
    """True if the running process is the one registered with this broker epoch."""
    broker = node._broker  # noqa: SLF001
    return broker is not None and broker.lifecycle.broker_epoch == broker_epoch
