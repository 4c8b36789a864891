"""A simulated cluster seen from inside: what lies on its disks, and who knows the newest.

What faults and invariants read. It changes nothing; no node knows of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tidelog.chaos.node_inside import broker_of, held_by, log_of, quorum_of
from tidelog.core.errors import CorruptMessageError
from tidelog.log.file_names import LOG, file_name
from tidelog.log.partition_log import PartitionLog
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage
from tidelog.metadata.quorum_controller import QuorumController
from tidelog.records.batch import HEADER_BYTES, BatchHeader, parse_header
from tidelog.simulation.cluster.cluster import DATA_DIRECTORY, Machine, SimCluster
from tidelog.simulation.engine.disk import SimDisk

NOTHING_KNOWN: Mapping[int, BatchHeader] = {}
_UNGUARDED = range(8, 16)
"""Bytes of a batch behind the base offset, which must continue the log, before the magic byte."""


# A replica's folder


def folder_of(topic: str, partition: int) -> str:
    """The folder of a replica on its node's disk."""
    return f"{DATA_DIRECTORY}/{topic}-{partition}"


def partition_of(path: str) -> tuple[str, int]:
    """The topic and the partition of a file in a replica's folder."""
    topic, _, partition = path.split("/")[-2].rpartition("-")
    return topic, int(partition)


# A log's batches


@dataclass(slots=True)
class Cursor:
    """Position in a walk of a log: `offset` lies at `position` of the segment at `base_offset`."""

    base_offset: int = -1
    position: int = 0
    offset: int = -1


@dataclass(frozen=True, slots=True)
class Found:
    """A batch as it lies on a disk: None in place of a header that is none."""

    path: str
    position: int
    header: BatchHeader | None


def walk(
    log: PartitionLog,
    disk: SimDisk,
    cursor: Cursor,
    *,
    end: int,
    known: Mapping[int, BatchHeader] = NOTHING_KNOWN,
) -> Iterator[Found]:
    """The batches from the cursor's offset, or the log's start, up to `end`; moves the cursor.

    Reads the files themselves. Ends at the first that is no batch. In a file of which a bit was
    flipped the batches that are `known`, by base offset, are as that says: a flipped header must
    not hide what follows it.
    """
    for segment in log.segments:
        if segment.base_offset < cursor.base_offset or segment.base_offset >= end:
            continue
        if segment.base_offset != cursor.base_offset:
            cursor.base_offset, cursor.position = segment.base_offset, 0
            cursor.offset = max(cursor.offset, segment.base_offset)
        path = f"{log.directory}/{file_name(segment.base_offset, LOG)}"
        while cursor.position < segment.size:
            booked = known.get(cursor.offset) if path in disk.flipped else None
            header = booked or _header_at(disk, path, cursor.position)
            if header is None:
                yield Found(path, cursor.position, None)
                return
            if header.next_offset > end:
                return
            found = Found(path, cursor.position, header)
            cursor.position += header.size_in_bytes
            cursor.offset = header.next_offset
            yield found


def _header_at(disk: SimDisk, path: str, position: int) -> BatchHeader | None:
    try:
        return parse_header(disk.look(path, position, HEADER_BYTES))
    except CorruptMessageError:
        return None


# The cluster


def newest_image(cluster: SimCluster) -> MetadataImage:
    """The newest committed image any running controller has; the empty one if none runs."""
    images = (quorum.image for _, quorum in _quorums(cluster))
    return max(images, key=lambda image: image.offset, default=EMPTY_IMAGE)


def active_controller(cluster: SimCluster) -> int | None:
    """The node that believes to be active in the newest term; None: there is none."""
    active = [
        (quorum.image.controller_epoch, node_id)
        for node_id, quorum in _quorums(cluster)
        if quorum.is_active
    ]
    return max(active)[1] if active else None


def broker_epoch(machine: Machine) -> int | None:
    """Broker epoch of the running process; None while it has none."""
    broker = None if machine.node is None else broker_of(machine.node)
    if broker is None or broker.lifecycle.broker_epoch < 0:
        return None
    return broker.lifecycle.broker_epoch


def has_failed_log(machine: Machine) -> bool:
    """True if a log is out of service until the node starts again."""
    node = machine.node
    return node is not None and any(one.is_failed for one in held_by(node).values())


def _quorums(cluster: SimCluster) -> Iterator[tuple[int, QuorumController]]:
    for node_id, machine in cluster.machines.items():
        quorum = None if machine.node is None else quorum_of(machine.node)
        if quorum is not None:
            yield node_id, quorum


def vouched_bytes(machine: Machine, topic: str, partition: int, path: str) -> int:
    """Bytes of a log's file below the recovery point that a start would find."""
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
    """True if this byte of a segment is a batch's length or epoch, which its CRC does not cover.

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
