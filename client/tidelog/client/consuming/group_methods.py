"""Methods of a consumer about its group: commits, committed offsets, membership."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeAlias

from tidelog.client.consuming.group_reader import GroupReader
from tidelog.client.consuming.position_methods import PositionMethods
from tidelog.client.errors import ClientClosedError, InvalidGroupIdError, TidelogError
from tidelog.client.groups.listener import GroupMetadata, OffsetAndMetadata
from tidelog.client.partition_arguments import Partitions, partition_of, partitions_of
from tidelog.client.records import K, TopicPartition, V

Offsets: TypeAlias = Mapping[tuple[str, int], OffsetAndMetadata | int]
"""Offset of the next record to read, by partition."""


class GroupMethods(PositionMethods[K, V]):
    """Part of `Consumer`. Without `group_id` its methods raise `InvalidGroupIdError`."""

    _group: GroupReader | None = None
    _is_closed: bool = False

    async def commit(self, offsets: Offsets | None = None) -> None:
        """Commit offsets; None: of all records that were handed out, the latest ones included.

        Returns when the in-sync replicas of the coordinator have them. Asks again under a newer
        epoch while the partitions are this member's. Raises CommitFailedError when they are not any
        more; the error of the first partition that was refused; after `api_timeout_ms` the last
        error.
        """
        await self._grouped().commit(None if offsets is None else _named(offsets))

    def commit_soon(
        self,
        offsets: Offsets | None = None,
        on_done: Callable[[TidelogError | None], None] | None = None,
    ) -> None:
        """Commit in the background, in the order of the calls; `on_done` gets the error, or None.

        Without `on_done` an error is logged.
        """
        self._grouped().commit_soon(None if offsets is None else _named(offsets), on_done)

    async def committed(
        self, partitions: Partitions
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Look up committed offsets; None where nothing is committed. Raises KafkaError."""
        return await self._grouped().committed(partitions_of(partitions, method="committed"))

    async def seek_to_committed(self, *partitions: Partitions) -> None:
        """Read these partitions (none named: all) from their committed offsets again.

        For records whose transaction was aborted. A partition without a committed offset is read
        from `auto_offset_reset`. Waits for open transactions that have offsets of them. Raises
        ValueError for one that is not assigned, KafkaError; then no position has changed.
        """
        named = [p.tp for p in self._all_assigned(*partitions, method="seek_to_committed")]
        found = await self.committed(named or [one.tp for one in self._assignment.all()])
        for tp, committed in found.items():
            position = self._assignment.get(tp)
            if position is not None and committed is None:
                position.seek_to(self._grouped().reset)
            elif position is not None and committed is not None:
                position.seek(committed.offset)
        self._positions_changed()

    def group_metadata(self) -> GroupMetadata:
        """Return the membership in which the last records were read, to commit them with it.

        For `Producer.send_offsets_to_transaction`, which raises CommitFailedError when the member
        has lost its partitions since, though it may have them again: it reads them again then.
        """
        return self._grouped().metadata

    def membership_error(self) -> TidelogError | None:
        """Return the reason for which the consumer is no member of its group.

        As of the last attempt; None: it is one, or just begins. What lasts for good is raised by
        the next read, too.
        """
        return self._grouped().membership_error

    def extend_poll(self, duration_ms: int) -> None:
        """Have `max_poll_interval_ms` begin that much later: the work on records takes longer."""
        self._grouped().extend_poll(duration_ms)

    def _grouped(self) -> GroupReader:
        if self._is_closed:
            raise ClientClosedError("the consumer is closed")
        if self._group is None:
            raise InvalidGroupIdError("the consumer has no group: make it with group_id=")
        return self._group

    @contextmanager
    def _polling(self) -> Iterator[None]:
        """Enclose a read: the application is done with what it has."""
        group = self._group
        if group is None or not group.is_subscribed:
            yield
            return
        group.ask()
        try:
            yield
        finally:
            group.end_poll()

    def _is_subscribed(self) -> bool:
        return self._group is not None and self._group.is_subscribed

    def _look_at_membership(self) -> None:
        """Own nothing from now on if the session is over."""
        group = self._group
        if group is not None and group.is_subscribed:
            group.look()

    def _raise_failure(self) -> None:
        if self._group is not None:
            self._group.raise_failure()

    def _hand(self, taken: Iterable[tuple[TopicPartition, int]]) -> None:
        """Note offsets of what is handed out."""
        group = self._group
        if group is not None and group.is_subscribed:
            for tp, offset in taken:
                group.hand(tp, offset)


def _named(offsets: Offsets) -> dict[TopicPartition, OffsetAndMetadata]:
    return {
        partition_of(tp, method="commit"): one
        if isinstance(one, OffsetAndMetadata)
        else OffsetAndMetadata(one)
        for tp, one in offsets.items()
    }
