"""What the simulation reads of a node from inside. It changes nothing; no node knows of it."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.broker.hosted_partition import HostedPartition
from tidelog.broker.server import Node
from tidelog.chaos.sim_stage.cluster import Machine, SimCluster
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage
from tidelog.metadata.quorum import Quorum


def quorum_of(machine: Machine) -> Quorum | None:
    """A controller's, while it runs."""
    return None if machine.node is None else machine.node._quorum  # noqa: SLF001


def newest_image(cluster: SimCluster) -> MetadataImage:
    """The newest committed image any running controller has; the empty one if none runs."""
    quorums = (quorum_of(machine) for machine in cluster.machines.values())
    images = [quorum.image for quorum in quorums if quorum is not None]
    return max(images, key=lambda image: image.offset, default=EMPTY_IMAGE)


def active_controller(cluster: SimCluster) -> int | None:
    """Who believes to be it, in the newest term; None: nobody."""
    active = [
        (quorum.image.controller_epoch, node_id)
        for node_id, machine in cluster.machines.items()
        if (quorum := quorum_of(machine)) is not None and quorum.is_active
    ]
    return max(active)[1] if active else None


def broker_epoch(machine: Machine) -> int | None:
    """Of the running process's registration; None while it has none."""
    node = machine.node
    if node is None or node._broker is None:  # noqa: SLF001
        return None
    epoch = node._broker.lifecycle.broker_epoch  # noqa: SLF001
    return None if epoch < 0 else epoch


def partitions_of(node: Node) -> Iterator[HostedPartition]:
    """What a broker holds."""
    if node._broker is not None:  # noqa: SLF001
        manager = node._broker.replica_manager  # noqa: SLF001
        yield from manager._partitions.held.values()  # noqa: SLF001


def has_failed_log(machine: Machine) -> bool:
    """Whether a log is out of service until the node starts again."""
    node = machine.node
    return node is not None and any(one.is_failed for one in partitions_of(node))
