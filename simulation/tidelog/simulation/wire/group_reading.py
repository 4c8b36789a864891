"""Records that the members of a group hand out: each of the topic's at least once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping

from tidelog.broker.coordinator.offsets import CommittedOffset
from tidelog.chaos.invariants.invariant import Report
from tidelog.client import Record
from tidelog.core.chance import SeededRandom, one_of
from tidelog.core.errors import TidelogError
from tidelog.history.history import Poll
from tidelog.simulation.engine.loop import NodeLoop
from tidelog.simulation.wire.wire_client import BACKOFF_S
from tidelog.simulation.wire.wire_reader import WireReader

HANDED_OUT = "handed-out"
POLL_MS, POLL_RECORDS_MAX = 300, 300


class HandedOut:
    """Values that the group's members were handed out, by partition and offset."""

    def __init__(self, topic: str, report: Report, count: Callable[[str], None]) -> None:
        self.topic = topic
        self.report = report
        self._count = count
        self._values: dict[tuple[int, int], bytes] = {}

    def add(self, who: str, records: Iterable[Record]) -> None:
        """A member hands records out."""
        for one in records:
            place, value = (one.partition, one.offset), one.value or b""
            before = self._values.setdefault(place, value)
            self._count("classic_handed_out")
            if before != value:
                what = f"{self.topic}-{one.partition}/{one.offset}"
                self.report(HANDED_OUT, f"{who} was handed {value!r} as {what}, it was {before!r}")

    def find_missing(self, polls: Iterable[Poll]) -> Iterator[str]:
        """Yield records that the last readers found and no member was handed out."""
        for poll in polls:
            if not poll.is_final or poll.topic != self.topic:
                continue
            for offset, value in poll.records:
                if self._values.get((poll.partition, offset)) != value:
                    yield f"{self.topic}-{poll.partition}/{offset} {value[:24]!r}"


class MemberReading:
    """See `Reading`; fetches on the member's loop, beside its heartbeats."""

    def __init__(
        self, who: str, reader: WireReader, handed: HandedOut, loop: NodeLoop, random: SeededRandom
    ) -> None:
        self._who = who
        self._reader = reader
        self._handed = handed
        self._random = random
        self._read: dict[int, CommittedOffset] = {}
        """By partition, what is to be committed once all that was handed out is."""
        self._committed: dict[int, int] = {}
        self._sought = self._read
        """The assignment that the reader has: it gets another one between two polls."""
        self._task = loop.create_task(self._run(), name="member's reading")
        self._task.add_done_callback(self._on_end)

    def begin(self, committed: Mapping[int, CommittedOffset]) -> None:
        """See `Reading.begin`; where nothing is committed, from the beginning."""
        self._read = {
            number: CommittedOffset(max(0, one.offset), one.leader_epoch)
            for number, one in committed.items()
        }
        self._committed = {number: one.offset for number, one in self._read.items()}

    def stop(self) -> None:
        """See `Reading.stop`."""
        self.begin({})

    def next_commit(self) -> tuple[int, CommittedOffset] | None:
        """See `Reading.next_commit`."""
        ahead = [
            number for number, one in self._read.items() if one.offset > self._committed[number]
        ]
        if not ahead:
            return None
        number = one_of(self._random, ahead)
        return number, self._read[number]

    def on_committed(self, partition: int, offset: int) -> None:
        """See `Reading.on_committed`; one that was refused, or not answered, is made again."""
        if partition in self._committed:
            self._committed[partition] = offset

    def _seek(self, assigned: dict[int, CommittedOffset]) -> None:
        topic, self._sought = self._handed.topic, assigned
        self._reader.assign([(topic, number) for number in assigned])
        for number, one in assigned.items():
            self._reader.seek((topic, number), one.offset, last_epoch=one.leader_epoch)

    def _on_end(self, task: asyncio.Task[None]) -> None:
        """Nothing may end it but the end of its process."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._handed.report("application", f"{self._who} reads no more: {error!r}")

    async def _run(self) -> None:
        while True:
            assigned = self._read
            if assigned is not self._sought:
                self._seek(assigned)
            try:
                records = await self._reader.getmany(
                    timeout_ms=POLL_MS, max_records=POLL_RECORDS_MAX
                )
            except TidelogError:
                await asyncio.sleep(BACKOFF_S)
                continue
            if self._read is not assigned:
                continue  # by now it has other partitions, or the same from another place on
            self._handed.add(self._who, records)
            for one in records:
                epoch = self._reader.last_epoch(one.partition)
                self._read[one.partition] = CommittedOffset(one.offset + 1, epoch)
