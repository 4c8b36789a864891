"""Invariants of replicas' files in the calm, on simulated disks.

`chaos.invariants.replica_logs` compares them with each other; here with the book: nothing of it is
missing (I6).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from tidelog.broker.partition.partition import Partition
from tidelog.chaos.invariants.invariant import Report
from tidelog.chaos.invariants.replica_logs import ReplicaLogChecks, StoredLog, stored_batches
from tidelog.chaos.node_inside import epochs_of, held_by, log_of
from tidelog.log.file_names import SWAP
from tidelog.metadata.image import MetadataImage
from tidelog.simulation.cluster.cluster import Machine
from tidelog.simulation.cluster.invariants_book import Book


class QuietChecks:
    """Checks of every replica of every topic, once."""

    def __init__(self, *, book: Book, report: Report) -> None:
        self._book = book
        self._report = report
        self._logs = ReplicaLogChecks(report)

    def check(self, image: MetadataImage, machines: Mapping[int, Machine]) -> None:
        """Every partition of the image."""
        for topic, state in image.partitions():
            logs: list[StoredLog] = []
            for node_id in state.replicas:
                machine = machines[node_id]
                hosted = (
                    None
                    if machine.node is None
                    else held_by(machine.node).get((topic.name, state.partition))
                )
                stored = None if hosted is None else _stored(hosted, machine)
                if hosted is None or stored is None:
                    continue
                self._logs.check(stored)
                if node_id == state.leader_id:
                    self._check_book(hosted, stored)
                logs.append(stored)
            for one, other in pairwise(logs):
                self._logs.check_pair(one, other)

    def _check_book(self, hosted: Partition, stored: StoredLog) -> None:
        page = self._book.page(hosted)
        if page is None:
            return
        there = {header.base_offset: header for header, _ in stored.batches}
        for offset, header in page.batches.items():
            if header.last_offset < stored.log.log_start_offset:
                continue
            if there.get(offset) != header:
                found = there.get(offset)
                self._report("I6", f"{stored.name}: {header} was committed, {found} is there")


def _stored(hosted: Partition, machine: Machine) -> StoredLog | None:
    """None unless it can be held to what it holds; compaction may be giving files their names."""
    log, disk = log_of(hosted), machine.disk
    if log is None or not hosted.is_sound:
        return None
    if any(name.endswith(SWAP) for name in disk.names(log.directory)):
        return None
    batches = list(stored_batches(log, lambda path, size: disk.look(path, 0, size)))
    return StoredLog(f"{hosted.name} on {machine.name}", log, batches, epochs_of(log))
