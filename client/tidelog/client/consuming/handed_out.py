"""Offsets that an application is done with, by what it was handed and has asked for since. Pure.

Records that were handed out are done when the application asks for more. Until then a commit names
the offset of the first of them.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from tidelog.client.consuming.assignment import Assignment, Position
from tidelog.client.groups.listener import OffsetAndMetadata
from tidelog.client.records import TopicPartition


class HandedOut:
    """Records in the application's hands, and offsets that were committed."""

    def __init__(self) -> None:
        self._first: dict[TopicPartition, int] = {}
        """Offset of the first record in hand."""
        self._committed: dict[TopicPartition, int] = {}

    def ask(self) -> None:
        """Note that the application asks for more."""
        self._first.clear()

    def hand(self, tp: TopicPartition, offset: int) -> None:
        """Note that a record is handed out."""
        self._first.setdefault(tp, offset)

    def has_any(self, partitions: Iterable[TopicPartition]) -> bool:
        """True if records of one of these are in hand."""
        return any(tp in self._first for tp in partitions)

    def done(
        self, positions: Iterable[Position], *, is_all: bool = False
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Return offsets to commit that differ from the committed ones.

        `is_all`: as if the application were done with what is in its hands.
        """
        found: dict[TopicPartition, OffsetAndMetadata] = {}
        for position in positions:
            offset = position.position
            if offset is None:
                continue
            if not is_all:
                offset = min(offset, self._first.get(position.tp, offset))
            if self._committed.get(position.tp) != offset:
                found[position.tp] = OffsetAndMetadata(offset)
        return found

    def note_committed(self, tp: TopicPartition, offset: int) -> None:
        """Note an offset that the coordinator has."""
        self._committed[tp] = offset

    def retain(self, partitions: Container[TopicPartition]) -> None:
        """Forget other partitions."""
        self._first = {tp: one for tp, one in self._first.items() if tp in partitions}
        self._committed = {tp: one for tp, one in self._committed.items() if tp in partitions}


def with_epochs(
    offsets: Mapping[TopicPartition, OffsetAndMetadata], assignment: Assignment
) -> dict[TopicPartition, OffsetAndMetadata]:
    """Add the leader epochs in which partitions were read, for those who begin at the offsets.

    Metadata may show them a leader of before, whose log ends earlier (KIP-320).
    """
    found = dict(offsets)
    for tp, offset in offsets.items():
        position = assignment.get(tp)
        if offset.leader_epoch is None and position is not None and position.least_epoch >= 0:
            found[tp] = offset._replace(leader_epoch=position.least_epoch)
    return found
