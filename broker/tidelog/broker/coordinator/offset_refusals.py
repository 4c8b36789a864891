"""Refusals of single offsets for want of room, and of reads that an open transaction may change."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.core.errors import (
    InvalidCommitOffsetSizeError,
    InvalidRequestError,
    ThrottlingQuotaExceededError,
    UnstableOffsetCommitError,
)


def check_room(group_id: str, room: int, offsets_max: int) -> None:
    """Raise `InvalidRequestError` when the group has too many offsets."""
    if room <= 0:
        raise InvalidRequestError(
            f"group {group_id!r} has {offsets_max} committed offsets, its maximum: delete some"
        )


def check_bytes(group_id: str, growth: int, room: int) -> None:
    """Raise `InvalidCommitOffsetSizeError` when the partition is full."""
    if growth > max(0, room):
        raise InvalidCommitOffsetSizeError(
            f"the coordinator of group {group_id!r} has as many bytes of groups as "
            "group.partition.state.bytes allows: delete groups and offsets that are not needed"
        )


def check_pending(group_id: str, pending: int, pending_max: int) -> None:
    """Raise `ThrottlingQuotaExceededError` when too many offsets await their transactions' ends."""
    if pending >= pending_max:
        raise ThrottlingQuotaExceededError(
            f"the coordinator of group {group_id!r} has {pending_max} offsets of open "
            "transactions: end some, then commit again"
        )


def unstable(topic: str, partition: int) -> UnstableOffsetCommitError:
    """Say that an offset may change with a transaction."""
    return UnstableOffsetCommitError(
        f"an open transaction has an offset of {topic}-{partition}: ask again when it has ended"
    )
