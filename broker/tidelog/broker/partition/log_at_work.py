"""Work on a log whose disk may refuse.

No generator does it: each append and each read of a partition makes one of these.
"""

from __future__ import annotations

from types import TracebackType
from typing import Protocol

from tidelog.core.errors import StorageError
from tidelog.log.partition_log import PartitionLog


class LogHolder(Protocol):
    """Whose log it is."""

    @property
    def log(self) -> PartitionLog:
        """The log; `KafkaError` while it is not open."""

    def fail(self, error: StorageError) -> None:
        """Take the log out of use."""


class LogAtWork:
    """A context manager that gives the log; a `StorageError` is told to its holder on its way."""

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
