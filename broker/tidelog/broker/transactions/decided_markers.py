"""Which markers may be sent: those of decisions whose record is committed, by shard.

A `RuntimeWatch`, so that no append can be left out; and the `MarkerWork` of the sender. After a
load, what was prepared waits until all that was loaded is committed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord
from tidelog.broker.coordinator.moment import Moment
from tidelog.broker.coordinator.runtime import Hosted
from tidelog.broker.partition_adder import TransactionPartition
from tidelog.broker.transactions.marker_lines import Place
from tidelog.broker.transactions.marker_sender import MarkerSender, MarkerWriter
from tidelog.broker.transactions.transaction import PREPARED
from tidelog.broker.transactions.transaction_shard import Attempt, TransactionShard
from tidelog.core.background import Background
from tidelog.core.errors import TidelogError
from tidelog.core.logs import get_logger

log = get_logger(__name__)

HostedTransactions: TypeAlias = Hosted[TransactionShard]


@dataclass(slots=True, eq=False)
class _Wait:
    """The end of a prepared transaction, and the number of those that wait for it."""

    ended: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: int = 0


class DecidedMarkers:
    """Markers of the transactions of one broker's shards."""

    def __init__(
        self,
        *,
        writer: MarkerWriter,
        leader_of: Callable[[TransactionPartition], int | Place],
        partition_of: Callable[[str], int],
        now: Callable[[], Moment],
        background: Background,
    ) -> None:
        self.sender = MarkerSender(
            writer=writer, work=self, leader_of=leader_of, background=background
        )
        self._partition_of = partition_of
        self._now = now
        self._shards: dict[int, HostedTransactions] = {}
        self._uncommitted: dict[HostedTransactions, deque[tuple[int, Attempt]]] = {}
        self._ended: dict[str, _Wait] = {}
        """By the id of a prepared transaction that somebody waits for."""

    # RuntimeWatch

    def replaying(
        self,
        hosted: HostedTransactions,
        records: Sequence[CoordinatorRecord],
        replay: Callable[[], None],
    ) -> None:
        """See `RuntimeWatch`: what was decided gets its markers once it is committed."""
        replay()
        waiting = self._uncommitted.setdefault(hosted, deque())
        for record in records:
            name = record.key.transaction.transactional_id
            one = hosted.shard.transactions.get(name)
            if one is not None and one.state in PREPARED:
                waiting.append((hosted.end_offset, hosted.shard.attempt_of(name)))

    def on_loaded(self, hosted: HostedTransactions, *, records: int, took_ms: int) -> None:
        """See `RuntimeWatch`: all that was prepared goes on."""
        del records, took_ms
        self._shards[hosted.partition] = hosted
        prepared = hosted.shard.prepared
        self._uncommitted[hosted] = deque((hosted.end_offset, one) for one in prepared)
        self.on_committed(hosted)

    def on_committed(self, hosted: HostedTransactions) -> None:
        """See `RuntimeWatch`: send the markers of what is committed now."""
        waiting = self._uncommitted.get(hosted, deque())
        while waiting and waiting[0][0] <= hosted.high_watermark:
            self.sender.send(waiting.popleft()[1])

    def on_ended(self, hosted: HostedTransactions) -> None:
        """See `RuntimeWatch`: its markers are another coordinator's now."""
        self._uncommitted.pop(hosted, None)
        if self._shards.get(hosted.partition) is hosted:
            del self._shards[hosted.partition]
        for attempt in hosted.shard.prepared:
            self.sender.forget(attempt)
            self._wake(attempt.transactional_id)

    # Waits

    async def until_complete(
        self, hosted: HostedTransactions, name: str, *, at_most_s: float
    ) -> None:
        """Wait until an id's transaction is not prepared, or the shard or the time is over."""
        one = hosted.shard.transactions.get(name)
        if one is None or one.state not in PREPARED:
            return
        wait = self._ended.setdefault(name, _Wait())
        wait.waiting += 1
        try:
            async with asyncio.timeout(at_most_s):
                await wait.ended.wait()
        except TimeoutError:
            pass  # the shard says it to who asks
        finally:
            wait.waiting -= 1
            if not wait.waiting and self._ended.get(name) is wait:
                del self._ended[name]

    def _wake(self, name: str) -> None:
        if (wait := self._ended.pop(name, None)) is not None:
            wait.ended.set()

    # MarkerWork

    def unmarked(self, attempt: Attempt) -> Sequence[TransactionPartition]:
        """See `MarkerWork`."""
        hosted = self._shards.get(self._partition_of(attempt.transactional_id))
        return [] if hosted is None else hosted.shard.unmarked(attempt)

    def note_marked(self, attempt: Attempt, partitions: Sequence[TransactionPartition]) -> None:
        """See `MarkerWork`: the last marker completes the transaction."""
        hosted = self._shards.get(self._partition_of(attempt.transactional_id))
        if hosted is not None:
            hosted.shard.note_marked(attempt, partitions)
            self._complete(hosted, attempt)

    def complete_again(self, hosted: HostedTransactions) -> Iterator[Attempt]:
        """Complete what has all markers, and whose record could not be appended before."""
        waiting = {attempt for _, attempt in self._uncommitted.get(hosted, ())}
        for attempt in hosted.shard.marked:
            if attempt not in waiting:
                self._complete(hosted, attempt)
                yield attempt

    def _complete(self, hosted: HostedTransactions, attempt: Attempt) -> None:
        records = hosted.shard.complete(attempt, self._now())
        if records:
            # Before the append: what waits comes next, and goes to the followers with this.
            self._wake(attempt.transactional_id)
        try:
            hosted.append(records)
        except TidelogError as error:  # `complete_again` is called later
            log.info("not completed", transactional_id=attempt.transactional_id, error=str(error))
