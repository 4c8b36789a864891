"""An answer to a fetch in progress, and the partitions of a session that it answers with.

Containers only: `fetch_session` decides what is read and when an answer leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tidelog.broker.partition.fetch import FetchPosition, FetchResult
from tidelog.broker.partition.late_loads import Load
from tidelog.broker.partition.partition import Partition
from tidelog.core.memory_reads import Loaded
from tidelog.net.unread_responses import UnreadResponse

NOTHING_SENT = (-1, -1)
"""High watermark and log start offset of a partition that was not answered."""


class FetchSlotOwner(Protocol):
    """The session that a partition notifies of its news."""

    def wake(self, slot: FetchSlot) -> None:
        """Note that a partition may have more to read, and wake the session."""

    def note(self, slot: FetchSlot) -> None:
        """Note that a partition has news for the next answer."""


@dataclass(slots=True, eq=False)
class FetchSlot:
    """A partition of a session, notified of its news."""

    session: FetchSlotOwner
    asked: FetchPosition
    partition: Partition
    sent: tuple[int, int] = NOTHING_SENT
    """High watermark and log start offset last sent to the fetcher since its last request."""
    is_armed: bool = True
    """True while it may be read: the fetcher waits for records from its requested offset on."""
    load: Load | None = None
    """Disk load of records that were not in memory at the last read."""

    def wake(self) -> None:
        """Wake the session; see `FetchWaiter`."""
        self.session.wake(self)

    def note(self) -> None:
        """Note news; see `FetchWaiter`."""
        self.session.note(self)

    def loaded(self) -> Loaded:
        """Bytes loaded for the next read. Raises the error of a load that failed."""
        load = self.load
        if load is None:
            return Loaded()
        if load.task is not None and load.task.done():
            load.task.result()
            load.task = None
        return load.loaded


class FetchAnswer:
    """An answer in progress: its contents so far, and whether it may leave."""

    def __init__(self, unread: UnreadResponse, *, is_whole: bool) -> None:
        self.unread = unread
        self.is_whole = is_whole
        """True: it contains every partition, not only those with news."""
        self.results: list[FetchResult] = []
        self.max_bytes = 0
        self.room_bytes = 0
        """Bytes of records there is room for; 0: none may be added yet."""
        self.min_bytes = 1
        self.must_leave = False
        """True: it contains something the fetcher must act on."""
        self.size_bytes = 0
        """Bytes of all records."""
        self.sizes: dict[FetchSlot, int] = {}
        """Bytes of records of each partition answered with records or a diverging epoch."""
        self.failed: dict[FetchSlot, None] = {}
        self._places: dict[FetchSlot, int] = {}

    @property
    def is_complete(self) -> bool:
        """True when it may leave early; once out of room, it does not wait for more bytes."""
        enough = self.min_bytes if self.room_bytes == self.max_bytes else 1
        return self.must_leave or self.size_bytes >= enough

    @property
    def is_full(self) -> bool:
        """True when there are records and no room for more."""
        return 0 < self.room_bytes <= self.size_bytes

    def add(self, asked: FetchPosition) -> FetchResult:
        """Append an empty result."""
        result = FetchResult(asked.topic, asked.partition)
        self.results.append(result)
        return result

    def begin(self, slot: FetchSlot) -> FetchResult:
        """Return an empty result of the partition, in the place of an earlier one."""
        self.size_bytes -= self.sizes.pop(slot, 0)
        place = self._places.get(slot)
        if place is None:
            self._places[slot] = len(self.results)
            return self.add(slot.asked)
        result = FetchResult(slot.asked.topic, slot.asked.partition)
        self.results[place] = result
        return result

    def take_results(self) -> list[FetchResult]:
        """Hand the results over: not kept until the answer was received, they may be freed."""
        results, self.results = self.results, []
        return results

    def drop(self, slot: FetchSlot) -> None:
        """Remove a result without news, where allowed, if no other follows it."""
        if not self.is_whole and self._places[slot] == len(self.results) - 1:
            del self.results[-1]
            del self._places[slot]
