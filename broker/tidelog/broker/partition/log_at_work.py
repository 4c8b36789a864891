"""Context manager for work on a log whose disk may fail.

A class instead of a generator, for speed: each append and each read creates one.
"""

from __future__ import annotations

from types import TracebackType
from typing import Protocol

from tidelog.core.errors import DiskFullError, StorageError
from tidelog.log.partition_log import PartitionLog


def may_work_again(error: StorageError) -> bool:
    """True when the log may be reopened in this process, since no record can have been lost.

    After any other error it may not: a failed fsync may have dropped dirty pages, and the next
    fsync would succeed nevertheless.
    """
    is_unknown = error.is_outcome_unknown or error.is_sync_failure
    return isinstance(error, DiskFullError) and not is_unknown


class LogHolder(Protocol):
    """Owner of a log."""

    @property
    def log(self) -> PartitionLog:
        """Log of the owner; raises `KafkaError` while it is not open."""

    def fail(self, error: StorageError) -> None:
        """Take the log out of use."""


class LogAtWork:
    """Context manager that returns the log, and reports a passing `StorageError` to the owner."""

    __slots__ = ("_holder",)

    def __init__(self, holder: LogHolder) -> None:
        self._holder = holder

    def __enter__(self) -> PartitionLog:
        return self._holder.log

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        if isinstance(error, StorageError):
            self._holder.fail(error)
