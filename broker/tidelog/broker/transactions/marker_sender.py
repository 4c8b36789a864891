"""Markers of decided transactions, sent to the leaders of their partitions until each has its own.

One request at a time in each lane of a broker, with the markers of many transactions; `MarkerLines`
has their order. What is not written is sent again, with a backoff, to the leader of then. Which
partitions lack their marker is the shard's to say; whether the decision is committed is looked at
before it is handed over here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from tidelog.broker.partition_adder import TransactionPartition
from tidelog.broker.transactions.marker_lines import (
    BACKOFF_S_MAX,
    BACKOFF_S_MIN,
    Lane,
    Marker,
    MarkerLines,
    Place,
)
from tidelog.broker.transactions.transaction_shard import Attempt
from tidelog.core.background import Background
from tidelog.core.errors import (
    InvalidProducerEpochError,
    TidelogError,
    TransactionCoordinatorFencedError,
)
from tidelog.core.logs import get_logger
from tidelog.core.turns import in_turns

log = get_logger(__name__)


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
        self._lines = MarkerLines()
        self._new: dict[Attempt, None] = {}
        """Attempts whose markers are in no line yet."""
        self._wanted = asyncio.Event()
        self._busy: set[Lane] = set()
        self._backoffs_s: dict[Lane, float] = {}
        """Backoffs of lanes whose last request had no answer."""
        self._has_task = False

    def __len__(self) -> int:
        """Return the number of transactions that lack markers."""
        return len(self._lines)

    def send(self, attempt: Attempt) -> None:
        """Send the markers of a transaction whose decision is committed."""
        self._lines.begin(attempt)
        self._new[attempt] = None
        self._wanted.set()
        if not self._has_task:
            self._has_task = True
            self._background.spawn("transaction-markers", self._send_forever())

    def forget(self, attempt: Attempt) -> None:
        """Stop to send those of an attempt that is another coordinator's now."""
        self._lines.end(attempt)
        self._new.pop(attempt, None)

    async def _send_forever(self) -> None:
        while True:
            self._wanted.clear()
            await self._line_up()
            await self._find_leaders()
            for lane in self._lines.lanes:
                if lane not in self._busy:
                    self._begin_request(lane)
            await self._until_wanted()

    async def _until_wanted(self) -> None:
        """Wait for news, or until a partition is due: nobody tells when it has a leader again."""
        next_s = self._lines.next_s
        try:
            async with asyncio.timeout_at(next_s):
                await self._wanted.wait()
        except TimeoutError:
            pass

    async def _line_up(self) -> None:
        while self._new:
            attempt = next(iter(self._new))
            del self._new[attempt]
            lacking = self._work.unmarked(attempt)
            async for partition in in_turns(lacking):
                self._lines.add(Marker(attempt, partition))
            if not lacking:
                self._note_marked(attempt, [])
            await asyncio.sleep(0)

    async def _find_leaders(self) -> None:
        """Put each due partition into the lane of its leader; those of deleted topics are done."""
        gone: dict[Attempt, list[TransactionPartition]] = {}
        async for partition in in_turns(iter(self._next_due, None)):
            place = self._leader_of(partition)
            if place is Place.GONE:
                for attempt in self._lines.drop(partition):
                    gone.setdefault(attempt, []).append(partition)
            elif isinstance(place, int):
                self._lines.enter(partition, place)
            else:
                self._lines.put_off(partition, _now_s())
        await self._note_all_marked(gone)

    def _next_due(self) -> TransactionPartition | None:
        return self._lines.next_due(_now_s())

    def _begin_request(self, lane: Lane) -> None:
        markers = self._lines.take(lane, self._leader_of)
        if markers:
            self._busy.add(lane)
            self._background.spawn(f"markers-to-{lane.broker_id}", self._write(lane, markers))
        else:
            self._wanted.set()  # all of them are led elsewhere by now

    async def _write(self, lane: Lane, markers: list[Marker]) -> None:
        try:
            results = await self._writer.write(lane.broker_id, markers)
        except TidelogError as error:
            log.info("no markers written", broker=lane.broker_id, error=str(error))
            self._lines.give_back(marker.partition for marker in markers)
            self._wanted.set()
            await self._back_off(lane)
        else:
            self._backoffs_s.pop(lane, None)
            await self._note_results(markers, results)
        self._busy.discard(lane)
        self._wanted.set()

    async def _note_results(
        self, markers: Sequence[Marker], results: Sequence[TidelogError | None]
    ) -> None:
        marked: dict[Attempt, list[TransactionPartition]] = {}
        written: dict[TransactionPartition, list[Attempt]] = {}
        refused: dict[TransactionPartition, list[Attempt]] = {}
        for (attempt, partition), result in zip(markers, results, strict=True):
            if result is None or isinstance(result, InvalidProducerEpochError):
                # A later epoch has written there: it follows this marker, or one that ended more.
                marked.setdefault(attempt, []).append(partition)
                written.setdefault(partition, []).append(attempt)
            elif isinstance(result, TransactionCoordinatorFencedError):
                self.forget(attempt)
                written.setdefault(partition, []).append(attempt)
            else:
                refused.setdefault(partition, []).append(attempt)
        for partition in dict.fromkeys(marker.partition for marker in markers):
            self._lines.note(
                partition,
                written=written.get(partition, ()),
                refused=refused.get(partition, ()),
                now_s=_now_s(),
            )
        await self._note_all_marked(marked)

    async def _note_all_marked(
        self, marked: Mapping[Attempt, Sequence[TransactionPartition]]
    ) -> None:
        async for attempt, partitions in in_turns(marked.items()):
            self._note_marked(attempt, partitions)

    def _note_marked(self, attempt: Attempt, partitions: Sequence[TransactionPartition]) -> None:
        self._work.note_marked(attempt, partitions)
        if not self._work.unmarked(attempt):
            self._lines.end(attempt)

    async def _back_off(self, lane: Lane) -> None:
        backoff_s = self._backoffs_s.get(lane, BACKOFF_S_MIN)
        self._backoffs_s[lane] = min(2 * backoff_s, BACKOFF_S_MAX)
        await asyncio.sleep(backoff_s)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
