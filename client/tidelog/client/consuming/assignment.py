"""The partitions that a consumer reads, and its position in each. Pure.

There are two positions: `position` is the next offset for the application, `fetch_offset` the next
one to fetch, ahead by the records fetched but not yet returned. A seek gives the partition a new
generation; records fetched under an older generation are discarded.

Each request carries the leader epoch of the last fetched record, so that a leader whose log has
diverged reports that instead of serving other records (KIP-320).
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidelog.client.offsets import Spec
from tidelog.client.partition_arguments import Partition, in_order, is_partition, partition_of
from tidelog.client.records import TopicPartition


@dataclass(slots=True, eq=False)
class Position:
    """The position in a partition; `position` is None until a reset has been looked up."""

    tp: TopicPartition
    reset: Spec | None
    position: int | None = None
    fetch_offset: int | None = None
    topic_id: bytes = b""
    """The incarnation of the topic that the offsets belong to; empty: that of the next fetch."""
    generation: int = 0
    failures: int = 0
    retry_at_ms: int = 0
    has_failed: bool = False
    """True if the application must get an error before the partition is fetched again."""
    is_paused: bool = False
    """True if the application has paused the partition; a seek does not end the pause."""
    is_new: bool = True
    """True until a first offset is known: a group's committed one comes before `reset`."""
    is_held: bool = False
    """True while the consumer's group has it neither read nor handed out."""
    fixed_id: bytes = b""
    """Incarnation of the topic that the group has assigned, and no other; empty: any."""
    end_offset: int | None = None
    """The end of what may be read, in the newest answer; None: none yet in this incarnation."""
    last_fetched_epoch: int | None = None
    """The epoch of the record before `fetch_offset`; None if none was read since a seek."""
    committed_epoch: int = -1
    """Leader epoch that came with the committed offset: older leaders' logs may end before it."""
    epoch_offset: int = 0
    """The first offset read in that epoch."""

    @property
    def is_still(self) -> bool:
        """True if none of its records are to be handed out now."""
        return self.is_paused or self.is_held

    @property
    def is_fixed(self) -> bool:
        """True if only one incarnation of the topic is read."""
        return bool(self.fixed_id)

    @property
    def least_epoch(self) -> int:
        """Smallest leader epoch of a leader that has all that was read; -1: any."""
        read = -1 if self.last_fetched_epoch is None else self.last_fetched_epoch
        return max(read, self.committed_epoch)

    def epoch_to_ask(self, leader_epoch: int | None) -> int | None:
        """Leader epoch to ask a leader with, of which metadata say that it has `leader_epoch`.

        They may come from a broker that was cut off, and name one that leads no more.
        """
        return None if leader_epoch is None else max(leader_epoch, self.least_epoch)

    def is_of(self, topic_id: bytes) -> bool:
        """True unless offsets of this incarnation of the topic mean other records."""
        return topic_id == self.fixed_id or not self.fixed_id

    def seek(self, offset: int, *, topic_id: bytes = b"") -> None:
        """Read from `offset` on; discard fetched records.

        An offset of another incarnation than the one that is assigned is none: read from the reset.
        """
        if topic_id and not self.is_of(topic_id):
            self.seek_to(self.reset)
            return
        self.position = offset
        self.topic_id = topic_id or self.fixed_id
        self.is_new = False
        self.rewind()

    def seek_to(self, spec: Spec | None) -> None:
        """Read from the start or the end of the log, looked up later."""
        self.position = self.end_offset = None
        self.is_new = False
        self.topic_id = self.fixed_id
        self.reset = spec
        self.rewind()

    def rewind(self) -> None:
        """Fetch again from the application's position."""
        self.fetch_offset = self.position
        self.last_fetched_epoch = None
        self.generation += 1
        self.failures = self.retry_at_ms = 0
        self.has_failed = False

    def pause_until(self, retry_at_ms: int) -> None:
        """Do not fetch before `retry_at_ms`, since the last attempt failed."""
        self.failures += 1
        self.retry_at_ms = retry_at_ms

    def note_fetch(self, *, leader_epoch: int, base_offset: int, end_offset: int) -> None:
        """Note a fetched batch, with which all records below its end are fetched."""
        if leader_epoch != self.last_fetched_epoch:
            self.last_fetched_epoch = leader_epoch if leader_epoch >= 0 else None
            self.epoch_offset = max(base_offset, self.fetch_offset or 0)
        self.fetch_offset = end_offset
        self.failures = self.retry_at_ms = 0

    def divergent_offset(self, *, leader_epoch: int, end_offset: int) -> int:
        """The first offset at which the leader's log diverges from the records read.

        The leader's largest epoch up to the requested one is `leader_epoch` and ends at
        `end_offset`. Records read in an epoch that the leader does not know are gone.
        """
        is_known = leader_epoch == self.last_fetched_epoch
        return end_offset if is_known else min(end_offset, self.epoch_offset)


def names_and_partitions(
    wanted: Partition | Iterable[Partition | str],
) -> tuple[list[str], list[TopicPartition]]:
    """The topics' names among what is to be assigned, and the partitions. Errors: TypeError."""
    names: list[str] = []
    partitions: list[TopicPartition] = []
    is_alone = isinstance(wanted, str) or is_partition(wanted)
    given: Iterable[object] = [wanted] if is_alone else in_order(wanted)
    for one in given:
        if isinstance(one, str):
            names.append(one)
        elif is_partition(one):
            partitions.append(partition_of(one, method="assign"))
        else:
            raise TypeError(
                "assign() takes topics' names and partitions, alone or in a list, "
                f"not {one!r:.80} in one"
            )
    return list(dict.fromkeys(names)), partitions


class Assignment:
    """The assigned partitions of a consumer, in the order in which they are fetched."""

    def __init__(self) -> None:
        self._positions: dict[TopicPartition, Position] = {}

    def assign(self, partitions: Iterable[TopicPartition], *, reset: Spec | None) -> None:
        """Read these partitions and no others; those read before keep their positions."""
        known = self._positions
        self._positions = {tp: known.get(tp) or Position(tp, reset) for tp in partitions}

    def get(self, tp: TopicPartition) -> Position | None:
        """The partition's position; None when it is not assigned."""
        return self._positions.get(tp)

    def all(self) -> list[Position]:
        """The positions, the least recently served first."""
        return list(self._positions.values())

    def is_current(self, position: Position, generation: int) -> bool:
        """True if a request made under this generation is still valid."""
        is_assigned = self._positions.get(position.tp) is position
        return is_assigned and position.generation == generation

    def note_served(self, tp: TopicPartition) -> None:
        """Move the partition to the end, so that the size limit of answers starves no other."""
        position = self._positions.pop(tp, None)
        if position is not None:
            self._positions[tp] = position
