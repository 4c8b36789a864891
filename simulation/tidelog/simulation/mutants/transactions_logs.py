"""Mutants of logs, readers and group offsets of transactions."""
# they take the place of methods

from __future__ import annotations

from typing import Any

from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.broker.coordinator.pending_offsets import PendingOffsets
from tidelog.broker.partition.transactional_appends import Added, TransactionalAppends
from tidelog.core.errors import TransactionCoordinatorFencedError
from tidelog.log.aborted_index import AbortedIndex
from tidelog.log.partition_log import PartitionLog
from tidelog.log.producers import ProducerStates
from tidelog.log.stable_storage import StableStorage
from tidelog.simulation.mutants.mutant import replaces

_check_marker = ProducerStates.check_marker


@replaces(TransactionalAppends, "_add")
async def partitions_not_verified(
    _self: TransactionalAppends, _partition: Any, _transactional_id: str, _producer: Any
) -> None:
    """A leader appends a transactional batch without asking the coordinator."""


@replaces(TransactionalAppends, "check")
def older_leaderships_verified(
    _self: TransactionalAppends, _added: Added | None, _now: Added, _producer: Any
) -> None:
    """An answer of the coordinator to the leader before counts for a new one, too."""


@replaces(ProducerStates, "check_marker")
def coordinator_epochs_not_compared(
    self: ProducerStates, *, producer_id: int, producer_epoch: int, coordinator_epoch: int
) -> bool:
    """A leader appends the markers of a coordinator that was deposed."""
    try:
        return _check_marker(
            self,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            coordinator_epoch=coordinator_epoch,
        )
    except TransactionCoordinatorFencedError:
        return False


@replaces(StableStorage, "last_stable_offset")
def stable_up_to_the_high_watermark(self: StableStorage) -> int:
    """The last stable offset is the high watermark."""
    return self.high_watermark


@replaces(StableStorage, "last_stable_offset")
def stable_past_uncommitted_markers(self: StableStorage) -> int:
    """The last stable offset passes a transaction when its marker is appended."""
    first = self.producers.transactions.first_open_offset
    if first is None:
        return self.high_watermark
    return min(self.high_watermark, max(first, self.log_start_offset))


@replaces(PartitionLog, "aborted_transactions")
def aborted_left_out(_self: PartitionLog, _offset: int, _upper_bound: int) -> list[tuple[int, int]]:
    """A reader of committed records is not told what was aborted."""
    return []


@replaces(AbortedIndex, "truncate_to")
def aborted_index_not_truncated(_self: AbortedIndex, _offset: int) -> None:
    """A truncated log keeps the index entries of markers that are gone."""


@replaces(PendingOffsets, "has")
def pending_offsets_ignored(_self: PendingOffsets, _group_id: str, _held: Any) -> bool:
    """A look-up does not wait for transactions that may change what it sees."""
    return False


@replaces(GroupShard, "check_committer")
def members_not_compared(
    _self: GroupShard, _group_id: str, _committer: Any, _now: Any, *, is_transactional: bool
) -> None:
    """A commit in a transaction is taken from any member, under any epoch."""
    del is_transactional
