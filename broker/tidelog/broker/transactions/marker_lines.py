"""Markers that wait to be sent: a line for each partition, a lane of partitions for each broker.

A partition that refused its markers waits, longer each time, and goes to the end; it comes back in
a lane of its broker for such partitions alone. So what cannot be written now, however much, delays
no other partition: neither by its place, nor by the wait of its request for in-sync replicas.

    due ──► lane of its leader ──► request ──┬─► written: due again while its line is not empty
     ▲                                       └─► refused: put off ──► due
     └── put off: no leader is known
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from heapq import heappop, heappush
from itertools import islice
from typing import NamedTuple

from tidelog.broker.partition_adder import TransactionPartition
from tidelog.broker.transactions.transaction_shard import Attempt

MARKERS_PER_REQUEST = 1_000
BACKOFF_S_MIN = 0.02
BACKOFF_S_MAX = 1.0


class Place(Enum):
    """A partition that no broker leads now."""

    GONE = auto()
    """Its topic was deleted: it needs no marker."""
    UNKNOWN = auto()
    """It has no leader, or this broker has not heard of it."""


class Marker(NamedTuple):
    """A marker to write to one partition."""

    attempt: Attempt
    partition: TransactionPartition


class Lane(NamedTuple):
    """Partitions that one broker leads, of which one request at a time is under way."""

    broker_id: int
    has_failed: bool
    """True for partitions whose last marker was not written."""


@dataclass(slots=True, eq=False)
class _Line:
    """Attempts of which one partition lacks the marker, in the order in which they are sent."""

    attempts: dict[Attempt, None] = field(default_factory=dict)
    backoff_s: float = 0.0
    """The last wait; 0 once a request was successful."""


class MarkerLines:
    """Lines of all partitions; each is due, in a lane, in a request or put off."""

    def __init__(self) -> None:
        self._attempts: dict[Attempt, None] = {}  # bounded by the ids of the shards
        self._lines: dict[TransactionPartition, _Line] = {}
        self._due: OrderedDict[TransactionPartition, None] = OrderedDict()
        self._lanes: dict[Lane, OrderedDict[TransactionPartition, None]] = {}
        self._put_off: list[tuple[float, TransactionPartition]] = []  # a heap

    def __len__(self) -> int:
        """Return the number of attempts that have not ended."""
        return len(self._attempts)

    @property
    def lanes(self) -> list[Lane]:
        """Lanes in which partitions wait."""
        return list(self._lanes)

    @property
    def next_s(self) -> float | None:
        """Time at which the next partition that was put off is due."""
        return self._put_off[0][0] if self._put_off else None

    def begin(self, attempt: Attempt) -> None:
        """Begin an attempt; its partitions come by `add`."""
        self._attempts[attempt] = None

    def end(self, attempt: Attempt) -> None:
        """End an attempt: its markers are sent no more."""
        self._attempts.pop(attempt, None)

    def add(self, marker: Marker) -> None:
        """Put a marker at the end of its partition's line."""
        line = self._lines.get(marker.partition)
        if line is None:
            line = self._lines[marker.partition] = _Line()
            self._due[marker.partition] = None
        line.attempts[marker.attempt] = None

    # Due partitions

    def next_due(self, now_s: float) -> TransactionPartition | None:
        """Take the next partition that is due; `enter`, `put_off` or `drop` it."""
        while self._put_off and self._put_off[0][0] <= now_s:
            self._due[heappop(self._put_off)[1]] = None
        while self._due:
            partition, _ = self._due.popitem(last=False)
            if self._wanted(partition):
                return partition
            del self._lines[partition]
        return None

    def enter(self, partition: TransactionPartition, broker_id: int) -> None:
        """Put a partition into a lane of the broker that leads it."""
        lane = Lane(broker_id, has_failed=self._lines[partition].backoff_s > 0)
        self._lanes.setdefault(lane, OrderedDict())[partition] = None

    def put_off(self, partition: TransactionPartition, now_s: float) -> None:
        """Have a partition wait, twice as long as the last time."""
        line = self._lines[partition]
        line.backoff_s = min(max(BACKOFF_S_MIN, 2 * line.backoff_s), BACKOFF_S_MAX)
        heappush(self._put_off, (now_s + line.backoff_s, partition))

    def drop(self, partition: TransactionPartition) -> list[Attempt]:
        """Drop a partition that needs no marker; return the attempts of its line."""
        wanted = self._wanted(partition)
        del self._lines[partition]
        return wanted

    # Requests

    def take(
        self, lane: Lane, leader_of: Callable[[TransactionPartition], int | Place]
    ) -> list[Marker]:
        """Take the markers of a lane's next request; `note` or `give_back` their partitions.

        Partitions that the broker does not lead any more are due again.
        """
        waiting = self._lanes[lane]
        markers: list[Marker] = []
        looks = 0
        while waiting and len(markers) < MARKERS_PER_REQUEST and looks < MARKERS_PER_REQUEST:
            partition, _ = waiting.popitem(last=False)
            looks += 1
            if leader_of(partition) != lane.broker_id:
                self._due[partition] = None
                continue
            room = MARKERS_PER_REQUEST - len(markers)
            wanted = self._wanted(partition)
            markers += [Marker(attempt, partition) for attempt in islice(wanted, room)]
            if not wanted:
                del self._lines[partition]
        if not waiting:
            del self._lanes[lane]
        return markers

    def note(
        self,
        partition: TransactionPartition,
        *,
        written: Iterable[Attempt],
        refused: Sequence[Attempt],
        now_s: float,
    ) -> None:
        """Note what a request brought to a partition; the refused ones go to the line's end."""
        line = self._lines[partition]
        has_written = False
        for attempt in written:
            line.attempts.pop(attempt, None)
            has_written = True
        for attempt in refused:
            del line.attempts[attempt]
            line.attempts[attempt] = None
        if has_written:
            line.backoff_s = 0.0
        if refused:
            self.put_off(partition, now_s)
        elif line.attempts:
            self._due[partition] = None
        else:
            del self._lines[partition]

    def give_back(self, partitions: Iterable[TransactionPartition]) -> None:
        """Have partitions of a request of which nothing is known due again."""
        self._due.update(dict.fromkeys(partitions))

    def _wanted(self, partition: TransactionPartition) -> list[Attempt]:
        """Attempts of a line that have not ended; the others leave it."""
        line = self._lines[partition]
        for attempt in [attempt for attempt in line.attempts if attempt not in self._attempts]:
            del line.attempts[attempt]
        return list(line.attempts)
