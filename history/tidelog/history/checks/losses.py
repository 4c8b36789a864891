"""Losses: records promised to be there that are not. Each check yields complaints. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator

from tidelog.history.checks.complaint import Complaint
from tidelog.history.checks.evidence import Evidence
from tidelog.history.checks.partition_evidence import Partition
from tidelog.history.history import ACKS_ALL, Send


def lost_writes(evidence: Evidence) -> Iterator[Complaint]:
    """Records of acks=all lie at their offsets, as far as the final polls have read."""
    for partition, send in _missing_writes(evidence):
        if partition.last_final is None or not _is_read_past(partition, send):
            continue
        there = None if send.offset is None else partition.final_place(send.offset)
        instead = "nothing" if there is None else repr(there.value)
        yield Complaint(
            "lost-write",
            f"{send.value!r} was acknowledged at {partition.name}/{send.offset},"
            f" {instead} is read there",
            (send, partition.last_final if there is None else there.call),
        )


def unseen_writes(evidence: Evidence) -> Iterator[Complaint]:
    """The final polls, which there must be, read as far as what acks=all acknowledged."""
    for partition, send in _missing_writes(evidence):
        acknowledged = f"{send.value!r} was acknowledged at {partition.name}/{send.offset}"
        if partition.last_final is None:
            yield Complaint("unseen", f"{acknowledged}, and nobody read there at the end", (send,))
        elif not _is_read_past(partition, send):
            what = f"{acknowledged}, the final polls ended at {partition.final_end}"
            yield Complaint("unseen", what, (send, partition.last_final))


def vanished_reads(evidence: Evidence) -> Iterator[Complaint]:
    """Records that any poll showed are there at the end."""
    for partition in evidence.partitions.values():
        if not partition.is_kept or partition.last_final is None:
            continue
        for offset, value in partition.read.items():
            if offset not in partition.final and not _is_uncommitted(partition, value):
                what = f"{value!r} was read at {partition.name}/{offset}, and is gone"
                shown = partition.first_polls[offset]
                yield Complaint("vanished", what, (shown, partition.last_final))


def _is_uncommitted(partition: Partition, value: bytes) -> bool:
    """Whatever reads uncommitted records reads some that nobody else does."""
    writer = partition.writers.get(value)
    return writer is not None and writer.transaction in partition.uncommitted


def _missing_writes(evidence: Evidence) -> Iterator[tuple[Partition, Send]]:
    for partition in evidence.partitions.values():
        if partition.is_kept:
            for send in partition.missing:
                if send.acks == ACKS_ALL:
                    yield partition, send


def _is_read_past(partition: Partition, send: Send) -> bool:
    """Without an offset nobody can say: it should have been read."""
    end = partition.final_end
    return end is not None and (send.offset is None or send.offset < end)
