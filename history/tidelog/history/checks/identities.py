"""Identity of records: which value lies at which offset. Each check yields complaints. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator

from tidelog.history.checks.complaint import Complaint
from tidelog.history.checks.evidence import Evidence
from tidelog.history.checks.partition_evidence import Partition, Place
from tidelog.history.history import Poll, Send


def inconsistent_offsets(evidence: Evidence) -> Iterator[Complaint]:
    """No offset holds two values."""
    for partition in _contradictory(evidence):
        first: dict[int, Place] = {}
        for place in partition.places():
            known = first.setdefault(place.offset, place)
            if known.value != place.value:
                what = (
                    f"{partition.name}/{place.offset} holds {place.value!r},"
                    f" and held {known.value!r}"
                )
                yield Complaint("inconsistent-offsets", what, (known.call, place.call))


def duplicates(evidence: Evidence) -> Iterator[Complaint]:
    """No value of an idempotent producer lies at two offsets."""
    for known, place, send in stored_again(evidence):
        if send is not None and send.is_idempotent:
            what = f"{place.value!r} is at {place.offset} and at {known.offset} of {send.topic}"
            yield Complaint("duplicate", what, (known.call, place.call))


def stored_again(evidence: Evidence) -> Iterator[tuple[Place, Place, Send | None]]:
    """Every further place of a value that lies in its partition already, and who sent it."""
    for partition in _contradictory(evidence):
        first: dict[bytes, Place] = {}
        further: set[tuple[int, bytes]] = set()
        for place in partition.places():
            known = first.setdefault(place.value, place)
            if known.offset != place.offset and (place.offset, place.value) not in further:
                further.add((place.offset, place.value))
                yield known, place, evidence.writer(place.value)


def _contradictory(evidence: Evidence) -> Iterator[Partition]:
    """Partitions whose calls must be compared one by one."""
    return (one for one in evidence.partitions.values() if not one.is_one_to_one)


def failed_writes_read(evidence: Evidence) -> Iterator[Complaint]:
    """Nobody reads a record that was definitely refused."""
    for partition, place, send in evidence.strange_readings:
        if send is not None and send.outcome == "fail":
            what = (
                f"{place.value!r} was refused ({send.reason}),"
                f" and read at {partition.name}/{place.offset}"
            )
            yield Complaint("G1a", what, (send, place.call))


def unwritten_reads(evidence: Evidence) -> Iterator[Complaint]:
    """Every value read was sent to the partition it is read from, and before."""
    for partition, place, send in evidence.strange_readings:
        at = f"{place.value!r} was read at {partition.name}/{place.offset}"
        if send is None:
            yield Complaint("unwritten", f"{at}, nobody sent it", (place.call,))
        elif (send.topic, send.partition) != (partition.topic, partition.partition):
            what = f"{at}, it was sent to {send.topic}-{send.partition}"
            yield Complaint("unwritten", what, (send, place.call))
        elif isinstance(place.call, Poll) and send.invoked_s > place.call.ended_s:
            yield Complaint("unwritten", f"{at} before it was sent", (send, place.call))


def altered_records(evidence: Evidence) -> Iterator[Complaint]:
    """A record is read as it was sent: key, headers, timestamp and codec, where both are noted."""
    for partition in evidence.partitions.values():
        first: dict[tuple[int, str], Place] = {}
        for place, what in partition.altered:
            first.setdefault((place.offset, what), place)
        for (offset, what), place in first.items():
            send = partition.writers[place.value]
            altered = f"{place.value!r} was read at {partition.name}/{offset} altered: {what}"
            yield Complaint("altered-record", altered, (send, place.call))


def old_incarnations_read(evidence: Evidence) -> Iterator[Complaint]:
    """A topic that was created again holds nothing of the one before.

    A send that had not ended when the new one was first called may have reached it.
    """
    for partition, place, send in evidence.strange_readings:
        if send is not None and _is_of_another_life(evidence, partition, send):
            what = (
                f"{place.value!r} was sent to {send.topic} (incarnation {send.incarnation}),"
                f" and read at {partition.name}/{place.offset}"
            )
            yield Complaint("old-incarnation", what, (send, place.call))


def _is_of_another_life(evidence: Evidence, partition: Partition, send: Send) -> bool:
    if send.topic != partition.topic or send.incarnation == partition.incarnation:
        return False
    began_s = evidence.began_s[partition.topic, partition.incarnation]
    is_over = send.ended_s is not None and send.ended_s < began_s
    return send.incarnation > partition.incarnation or is_over
