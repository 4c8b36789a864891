"""Markers of decided transactions, sent to the leaders of their partitions until each has its own.

One request at a time to each broker, with the markers of many transactions. What is not written is
sent again, with a backoff, to the leader of then. Which partitions lack their marker is the
shard's to say; whether the decision is committed is looked at before it is handed over here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from enum import Enum, auto
from itertools import islice
from typing import NamedTuple, Protocol

from tidelog.broker.partition_adder import TransactionPartition
from tidelog.broker.transactions.transaction_shard import Attempt
from tidelog.core.background import Background
from tidelog.core.errors import (
    InvalidProducerEpochError,
    TidelogError,
    TransactionCoordinatorFencedError,
)
from tidelog.core.logs import get_logger

log = get_logger(__name__)

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


class MarkerWriter(Protocol):
    """Port to the brokers."""

    async def write(
        self, broker_id: int, markers: Sequence[Marker]
    ) -> Sequence[TidelogError | None]:
        """Have a broker append markers to partitions that it leads; None: it is committed there.

        Raises `TidelogError` when nothing is known of any of them. Has a time limit.
        """


class MarkerWork(Protocol):
    """The transactions that lack markers, of one or many shards."""

    def unmarked(self, attempt: Attempt) -> Sequence[TransactionPartition]:
        """Partitions that lack their marker; none once the attempt is over."""

    def note_marked(self, attempt: Attempt, partitions: Sequence[TransactionPartition]) -> None:
        """Note that partitions need no marker any more."""


class MarkerSender:
    """Sends what it was handed until the work is over."""

    def __init__(
        self,
        *,
        writer: MarkerWriter,
        work: MarkerWork,
        leader_of: Callable[[TransactionPartition], int | Place],
        background: Background,
    ) -> None:
        self._writer = writer
        self._work = work
        self._leader_of = leader_of
        self._background = background
        self._attempts: dict[Attempt, None] = {}  # in their order; bounded by the ids of a shard
        self._wanted = asyncio.Event()
        self._busy: set[int] = set()
        self._later: dict[int, float] = {}  # broker: its backoff
        self._has_task = False

    def __len__(self) -> int:
        """Return the number of transactions that lack markers."""
        return len(self._attempts)

    def send(self, attempt: Attempt) -> None:
        """Send the markers of a transaction whose decision is committed."""
        self._attempts[attempt] = None
        self._wanted.set()
        if not self._has_task:
            self._has_task = True
            self._background.spawn("transaction-markers", self._send_forever())

    def forget(self, attempt: Attempt) -> None:
        """Stop to send those of an attempt that is another coordinator's now."""
        self._attempts.pop(attempt, None)

    async def _send_forever(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            if self._begin_requests():
                # Nobody tells when a partition has a leader again.
                try:
                    async with asyncio.timeout(BACKOFF_S_MAX):
                        await self._wanted.wait()
                except TimeoutError:
                    pass
                self._wanted.set()

    def _begin_requests(self) -> bool:
        """Begin a request to each broker that has none; True if partitions have no leader."""
        per_broker: dict[int, list[Marker]] = {}
        is_waiting = False
        for attempt in list(self._attempts):
            lacking = self._work.unmarked(attempt)
            gone: list[TransactionPartition] = []
            for partition in lacking:
                place = self._leader_of(partition)
                if place is Place.GONE:
                    gone.append(partition)
                elif isinstance(place, int):
                    if place not in self._busy:
                        per_broker.setdefault(place, []).append(Marker(attempt, partition))
                else:
                    is_waiting = True
            if len(gone) == len(lacking):
                self._attempts.pop(attempt, None)
            if gone or not lacking:
                self._work.note_marked(attempt, gone)
        for broker_id, markers in per_broker.items():
            self._busy.add(broker_id)
            part = list(islice(markers, MARKERS_PER_REQUEST))
            self._background.spawn(f"markers-to-{broker_id}", self._write(broker_id, part))
        return is_waiting

    async def _write(self, broker_id: int, markers: list[Marker]) -> None:
        try:
            results = await self._writer.write(broker_id, markers)
        except TidelogError as error:
            log.info("no markers written", broker=broker_id, error=str(error))
            results = [error] * len(markers)
        marked: dict[Attempt, list[TransactionPartition]] = {}
        is_whole = len(results) == len(markers)
        for marker, result in zip(markers, results, strict=False):
            if result is None or isinstance(result, InvalidProducerEpochError):
                # A later epoch has written there: it follows this marker, or one that ended more.
                marked.setdefault(marker.attempt, []).append(marker.partition)
            elif isinstance(result, TransactionCoordinatorFencedError):
                self.forget(marker.attempt)
            else:
                is_whole = False
        for attempt, partitions in marked.items():
            self._work.note_marked(attempt, partitions)
        await self._back_off(broker_id, is_whole=is_whole)
        self._busy.discard(broker_id)
        self._wanted.set()

    async def _back_off(self, broker_id: int, *, is_whole: bool) -> None:
        if is_whole:
            self._later.pop(broker_id, None)
            return
        backoff_s = self._later.get(broker_id, BACKOFF_S_MIN)
        self._later[broker_id] = min(2 * backoff_s, BACKOFF_S_MAX)
        await asyncio.sleep(backoff_s)
