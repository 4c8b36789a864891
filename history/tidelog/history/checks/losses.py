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
            if (
                offset not in partition.final
                and not _is_uncommitted(partition, value)
                and not partition.may_be_gone(offset, partition.final_s)
            ):
                what = f"{value!r} was read at {partition.name}/{offset}, and is gone"
                shown = partition.first_polls[offset]
                yield Complaint("vanished", what, (shown, partition.last_final))


def undeleted_records(evidence: Evidence) -> Iterator[Complaint]:
    """A deletion that was acknowledged is for good: nothing below the log start is served."""
    for partition in evidence.partitions.values():
        removals = partition.removals
        if removals is None or partition.is_lossy or not partition.deletions:
            continue
        for poll in partition.polls:
            deletion = removals.deleted_before(poll.invoked_s)
            if deletion is None or not poll.records:
                continue
            offset, value = poll.records[0]
            if offset < (deletion.offset or 0):
                what = f"{value!r} was read at {partition.name}/{offset}, which was deleted"
                yield Complaint("undeleted", what, (deletion, poll))


def resurrected_records(evidence: Evidence) -> Iterator[Complaint]:
    """A record is not there at the end when a tombstone of its key had gone before.

    That tombstone had gone when the first final polls were made that read past its offset.
    """
    for partition in evidence.partitions.values():
        if partition.keeping is None or not partition.keeping.is_compacted or partition.is_lossy:
            continue
        gone = _gone_tombstones(partition)
        for poll in partition.polls if gone else ():
            for (offset, value), parts in zip(poll.records, poll.parts, strict=False):
                tombstone = gone.get(parts.key)
                if poll.is_final and tombstone is not None and offset < (tombstone.offset or 0):
                    what = f"{value!r} is read at {partition.name}/{offset}, its key was removed"
                    yield Complaint("resurrected", what, (tombstone, poll))


def _gone_tombstones(partition: Partition) -> dict[bytes | None, Send]:
    """By key, the last record that is known of it, if it is a tombstone that was passed by."""
    last: dict[bytes | None, Send] = {}
    for send in partition.by_offset:
        if send.parts is not None:
            last[send.parts.key] = send
    begun_s = min((one.invoked_s for one in partition.polls if one.is_final), default=0.0)
    passing = [one for one in partition.polls if one.ended_s <= begun_s]
    return {
        key: send
        for key, send in last.items()
        if send.parts is not None
        and send.parts.is_null
        and any(
            poll.position <= (send.offset or 0) < poll.next_position
            and poll.invoked_s > (send.ended_s or 0.0)
            and send.offset not in dict(poll.records)
            for poll in passing
        )
    }


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
