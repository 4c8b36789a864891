"""Who knows the newest of a simulated cluster, and which nodes are in order, seen from inside."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.chaos.sim_cluster.invariants_inside import (
    Cursor,
    broker_of,
    held_by,
    log_of,
    quorum_of,
    walk,
)
from tidelog.chaos.sim_stage.cluster import Machine, SimCluster
from tidelog.chaos.sim_stage.disk import SimDisk
from tidelog.log.batch import HEADER_BYTES, parse_header
from tidelog.log.errors import CorruptMessageError
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage
from tidelog.metadata.quorum import Quorum

_UNGUARDED = range(8, 16)
"""Of a batch: behind the base offset, which must continue the log, before the magic byte."""


def newest_image(cluster: SimCluster) -> MetadataImage:
    """The newest committed image any running controller has; the empty one if none runs."""
    images = (quorum.image for _, quorum in _quorums(cluster))
    return max(images, key=lambda image: image.offset, default=EMPTY_IMAGE)


def active_controller(cluster: SimCluster) -> int | None:
    """Who believes to be it, in the newest term; None: nobody."""
    active = [
        (quorum.image.controller_epoch, node_id)
        for node_id, quorum in _quorums(cluster)
        if quorum.is_active
    ]
    return max(active)[1] if active else None


def broker_epoch(machine: Machine) -> int | None:
    """Of the running process's registration; None while it has none."""
    broker = None if machine.node is None else broker_of(machine.node)
    if broker is None or broker.lifecycle.broker_epoch < 0:
        return None
    return broker.lifecycle.broker_epoch


def has_failed_log(machine: Machine) -> bool:
    """Whether a log is out of service until the node starts again."""
    node = machine.node
    return node is not None and any(one.is_failed for one in held_by(node).values())


def _quorums(cluster: SimCluster) -> Iterator[tuple[int, Quorum]]:
    for node_id, machine in cluster.machines.items():
        quorum = None if machine.node is None else quorum_of(machine.node)
        if quorum is not None:
            yield node_id, quorum


def vouched_bytes(machine: Machine, topic: str, partition: int, path: str) -> int:
    """How much of a log's file lies below the recovery point that a start would find."""
    hosted = None if machine.node is None else held_by(machine.node).get((topic, partition))
    log = None if hosted is None else log_of(hosted)
    saved = None if log is None else log._stable._saved  # noqa: SLF001
    if log is None or saved is None:
        return 0
    batches = walk(log, machine.disk, Cursor(), end=saved.recovery_point)
    ends = (
        one.position + one.header.size_in_bytes
        for one in batches
        if one.path == path and one.header
    )
    return max(ends, default=0)


def is_unguarded(disk: SimDisk, path: str, byte: int) -> bool:
    """Whether this byte of a segment is a batch's length or epoch, which its CRC does not cover.

    A last batch whose length changed looks like one that a kill cut short, and is cut at a start
    (decision 0009); a changed epoch above the recovery point is believed, and truncation with it.
    """
    at = 0
    while at <= byte:
        try:
            size = parse_header(disk.look(path, at, HEADER_BYTES)).size_in_bytes
        except CorruptMessageError:
            return True  # An earlier flip hides where batches begin.
        if byte < at + size:
            return byte - at in _UNGUARDED
        at += size
    return False
