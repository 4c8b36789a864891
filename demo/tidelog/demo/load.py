"""The demo's load: produce every flight with acks=all, and kill a leader half-way.

Counts acknowledgements record by record, and the time to the first one after the kill.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from functools import partial

from rich.progress import Progress

from tidelog.client import Admin, Producer
from tidelog.client.records import RecordMetadata
from tidelog.demo import cluster
from tidelog.demo.cluster import Crash
from tidelog.demo.flights import FlightRecords

PARTITIONS, REPLICATION_FACTOR = 6, 3
CONFIGS = {"min.insync.replicas": "2"}
LINGER_MS = 5
BUFFER_MEMORY = 8 << 20
"""Small, so that the failover time is not the time to drain records buffered at the kill."""
PROGRESS_ROWS = 1000
FAILOVER_TIMEOUT_S = 60


@dataclass
class Acknowledgements:
    """The acknowledged rows, and the time to the first acknowledgement after the crash."""

    rows: set[int] = field(default_factory=set)
    first_error: BaseException | None = None
    failover_seconds: float | None = None
    crash: Crash | None = None
    failed_over: asyncio.Event = field(default_factory=asyncio.Event)
    _first_row_after_crash: int = 0

    def note_crash(self, crash: Crash, *, next_row: int) -> None:
        """Begin to wait for a record sent from now on to a partition that the dead node led."""
        self.crash, self._first_row_after_crash = crash, next_row

    def note_outcome(self, row: int, outcome: asyncio.Future[RecordMetadata]) -> None:
        """Take the outcome of one record."""
        if outcome.cancelled() or outcome.exception() is not None:
            self.first_error = self.first_error or outcome.exception()
            return
        self.rows.add(row)
        crash = self.crash
        if crash is None or self.failed_over.is_set() or row < self._first_row_after_crash:
            return
        if outcome.result().partition in crash.partitions:
            self.failover_seconds = time.monotonic() - crash.at_s
            self.failed_over.set()


async def create_topic(bootstrap: str, topic: str) -> None:
    """Create a topic that loses no acknowledged record when one node is lost."""
    async with Admin(bootstrap) as admin:
        await admin.create_topic(
            topic,
            partitions=PARTITIONS,
            replication_factor=REPLICATION_FACTOR,
            configs=CONFIGS,
        )


async def load(
    bootstrap: str, topic: str, records: FlightRecords, *, progress: Progress
) -> Acknowledgements:
    """Send all records; return when each has its outcome and the killed node runs again."""
    acknowledgements = Acknowledgements()
    count = len(records.values)
    bar = progress.add_task("sending", total=count)
    recovery: list[asyncio.Task[None]] = []
    async with Producer(bootstrap, linger_ms=LINGER_MS, buffer_memory=BUFFER_MEMORY) as producer:
        for row, (key, value) in enumerate(zip(records.keys, records.values, strict=True)):
            if row == count // 2:
                crash = await cluster.crash_busiest_leader(bootstrap, topic)
                acknowledgements.note_crash(crash, next_row=row)
                recovery = [asyncio.create_task(_recover(acknowledgements, crash, progress))]
            outcome = await producer.submit(topic, key=key, value=value)
            outcome.add_done_callback(partial(acknowledgements.note_outcome, row))
            if row % PROGRESS_ROWS == 0:
                progress.update(bar, completed=row)
        await producer.flush()
        progress.update(bar, completed=count)
    await asyncio.gather(*recovery)
    return acknowledgements


async def _recover(acknowledgements: Acknowledgements, crash: Crash, progress: Progress) -> None:
    """Restart the node once other leaders have taken over."""
    led = ", ".join(map(str, sorted(crash.partitions)))
    progress.console.print(f"killed node {crash.node_id}, which led partitions {led}")
    try:
        async with asyncio.timeout(FAILOVER_TIMEOUT_S):
            await acknowledgements.failed_over.wait()
    except TimeoutError:
        progress.console.print(f"no leader took over in {FAILOVER_TIMEOUT_S} s")
    else:
        seconds = acknowledgements.failover_seconds
        progress.console.print(f"other leaders took over in {seconds:.2f} s")
    await cluster.start()
