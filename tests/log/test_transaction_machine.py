"""Transactions in a log against a model, through starts, cuts, compaction and lost indexes.

The model knows the batches that were appended; from these alone it tells what is decided, what the
last stable offset is, and what a reader of committed records gets. A long run:

    TIDELOG_MACHINE_EXAMPLES=5000 .venv/bin/python -m pytest -q -n 0 --timeout 0 \
        tests/log/test_transaction_machine.py
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Coroutine, Iterator
from typing import Any, NamedTuple, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.log.cleaned_logs import StillClock, unhurried
from tests.log.partition_logs import DIRECTORY, END, NOW_MS, TOPIC_ID, append
from tests.log.transaction_logs import Writer
from tests.plain_logs import configure_logs
from tests.virtual_loop import VirtualLoop

from tidelog.log.checkpoints import METADATA_FILE
from tidelog.log.config import LogConfig
from tidelog.log.file_names import LOG, TXN_INDEX
from tidelog.log.partition_log import PartitionLog
from tidelog.records.batch import CONTROL_FLAG, TRANSACTIONAL_FLAG, iter_batches
from tidelog.records.records import iter_records, read_marker
from tidelog.simulation.engine.disk import SimDisk
from tidelog.simulation.suites.worker import silence_nodes

EXAMPLES = os.environ.get("TIDELOG_MACHINE_EXAMPLES")
PRODUCERS = (7, 8, 9)
KEYS = (b"a", b"b", b"c")
NOBODY = -1
T = TypeVar("T")
fractions = st.floats(0, 1)


class Appended(NamedTuple):
    """A batch of one record, or a marker."""

    offset: int
    producer_id: int
    key: bytes | None
    is_commit: bool | None
    """None: no marker."""


class Transaction(NamedTuple):
    """Offsets of its first batch and of its marker."""

    producer_id: int
    first: int
    marker: int | None
    is_commit: bool


@pytest.fixture(autouse=True, scope="module")
def silence() -> Iterator[None]:
    silence_nodes()
    yield
    configure_logs()


def transactions_of(batches: list[Appended]) -> list[Transaction]:
    """All transactions, open ones without a marker."""
    begun: dict[int, int] = {}
    found = []
    for one in batches:
        if one.is_commit is not None:
            if (first := begun.pop(one.producer_id, None)) is not None:
                found.append(Transaction(one.producer_id, first, one.offset, one.is_commit))
        elif one.producer_id != NOBODY:
            begun.setdefault(one.producer_id, one.offset)
    open_ones = [Transaction(who, first, None, False) for who, first in begun.items()]
    return found + open_ones


def read_committed(log: PartitionLog, start: int, end: int) -> dict[int, bytes | None]:
    """Offset and key of the records from `start` that a reader keeps, as Kafka's client decides."""
    found: dict[int, bytes | None] = {}
    offset = start
    while offset < end:
        result = log.read(offset, max_bytes=300, upper_bound=end)
        if not result.records:
            break
        told = log.aborted_transactions(offset, result.next_offset)
        begun: set[int] = set()
        for header, batch in iter_batches(result.records):
            is_control = header.attributes & CONTROL_FLAG
            begun |= {who for who, first in told if first <= header.last_offset}
            told = [one for one in told if one[1] > header.last_offset]
            if is_control:
                if header.records_count and not read_marker(batch).is_commit:
                    begun.discard(header.producer_id)
            elif not (header.attributes & TRANSACTIONAL_FLAG and header.producer_id in begun):
                found |= {r.offset: r.key for r in iter_records(batch) if r.offset >= offset}
        offset = result.next_offset
    return found


class TransactionMachine(RuleBasedStateMachine):
    """What may be done to a log with transactions, in any order."""

    @initialize(seed=st.integers(0, 2**32), segment_bytes=st.sampled_from([1, 200, 500]))
    def begin(self, seed: int, segment_bytes: int) -> None:
        self.config = LogConfig(
            segment_bytes=segment_bytes,
            index_interval_bytes=100,
            cleanup_policy=("compact",),
            min_cleanable_dirty_ratio=0.0,
            delete_retention_ms=500,
        )
        self.disk = SimDisk(random.Random(seed), 0.0)
        self.clock = StillClock(NOW_MS)
        self.runner = asyncio.Runner(loop_factory=VirtualLoop)
        self.log = self.run(self.open(self.disk))
        self.writers = {who: Writer(who) for who in PRODUCERS}
        self.batches: list[Appended] = []
        self.cleaned_below = 0

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.runner.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    async def open(self, disk: SimDisk) -> PartitionLog:
        return await PartitionLog.open(
            directory=DIRECTORY,
            disk=disk,
            clock=self.clock,
            config=self.config,
            topic_id=TOPIC_ID,
        )

    # Appending

    @rule(key=st.sampled_from(KEYS))
    def append_plain(self, key: bytes) -> None:
        offset = append(self.log, b"v", key=key).base_offset
        self.batches.append(Appended(offset, NOBODY, key, None))

    @rule(
        who=st.sampled_from(PRODUCERS),
        key=st.sampled_from(KEYS),
        count=st.integers(1, 3),
    )
    def append_in_transaction(self, who: int, key: bytes, count: int) -> None:
        for _ in range(count):
            offset = self.writers[who].send(self.log, b"v", key=key).base_offset
            self.batches.append(Appended(offset, who, key, None))
        assert self.log.is_in_transaction(who, self.writers[who].epoch)

    @rule(who=st.sampled_from(PRODUCERS), is_commit=st.booleans(), is_repeated=st.booleans())
    def end(self, who: int, is_commit: bool, is_repeated: bool) -> None:
        writer = self.writers[who]
        result = writer.end(self.log, is_commit=is_commit)
        assert not result.is_duplicate
        self.batches.append(Appended(result.base_offset, who, None, is_commit))
        if is_repeated:
            writer.epoch -= 1
            assert writer.end(self.log, is_commit=is_commit).is_duplicate
            assert self.log.log_end_offset == result.log_end_offset

    # Ends

    @rule(fraction=fractions)
    def commit(self, fraction: float) -> None:
        low, high = self.log.high_watermark, self.log.log_end_offset
        self.log.set_high_watermark(low + round(fraction * (high - low)))

    @rule(fraction=fractions)
    def truncate(self, fraction: float) -> None:
        """Also below the high watermark, as after an unclean election."""
        low = max(self.log.log_start_offset, self.cleaned_below)
        end = low + round(fraction * (self.log.log_end_offset - low))
        self.run(self.log.truncate_to(end))
        self._lost_from(self.log.log_end_offset)

    @rule(fraction=fractions)
    def delete_records(self, fraction: float) -> None:
        low, high = self.log.log_start_offset, self.log.high_watermark
        self.run(self.log.delete_records(low + round(fraction * (high - low) / 3)))

    @rule(is_later=st.booleans())
    def compact(self, is_later: bool) -> None:
        self.clock.now_ms += 600 * is_later
        bound = self.log.last_stable_offset
        if self.run(unhurried(self.clock).run_once([self.log])) is not None:
            event("compacted")
            self.cleaned_below = max(self.cleaned_below, self.log.first_dirty_offset)
            assert self.cleaned_below <= bound

    # Lives

    @rule(is_saved=st.booleans())
    def flush(self, is_saved: bool) -> None:
        self.run(self.log.flush())
        if is_saved:
            self.run(self.log.checkpoint())

    @rule(ending=st.sampled_from(["close", "kill", "power"]), spoiled=st.integers(0, 3))
    def open_again(self, ending: str, spoiled: int) -> None:
        high_watermark = self.log.high_watermark
        if ending == "close":
            self.run(self.log.close())
        elif ending == "power":
            self.disk.crash()
        self._spoil(spoiled)
        self.log = self.run(self.open(self.disk))
        assert self.log.damage is None
        assert self.log.high_watermark <= high_watermark
        self._lost_from(self.log.log_end_offset)

    def _spoil(self, how: int) -> None:
        names = self.disk.list(DIRECTORY)
        for name in names:
            path = f"{DIRECTORY}/{name}"
            if how == 1 and name.endswith(TXN_INDEX):
                self.disk.remove(path)
            elif how == 2 and name.endswith(TXN_INDEX):
                self.disk.open(path).truncate(self.disk.size(path) // 2)

    # What must be true

    @invariant()
    def holds(self) -> None:
        if not hasattr(self, "log"):
            return
        log = self.log
        found = transactions_of(self.batches)
        undecided = [
            one.first for one in found if one.marker is None or one.marker >= log.high_watermark
        ]
        bound = max(min(undecided, default=END), log.log_start_offset)
        assert log.last_stable_offset == min(log.high_watermark, bound)
        self._check_committed(found)

    def _check_committed(self, found: list[Transaction]) -> None:
        log, end = self.log, self.log.last_stable_offset
        aborted = {
            batch.offset
            for batch in self.batches
            for one in found
            if one.producer_id == batch.producer_id
            and not one.is_commit
            and one.first <= batch.offset <= (END if one.marker is None else one.marker)
        }
        due = {
            batch.offset: batch.key
            for batch in self.batches
            if log.log_start_offset <= batch.offset < end
            and batch.is_commit is None
            and batch.offset not in aborted
        }
        seen = read_committed(log, log.log_start_offset, end)
        seen = {at: key for at, key in seen.items() if at >= log.log_start_offset}
        assert seen.items() <= due.items()
        newest = {key: at for at, key in due.items()}
        missing = due.keys() - seen.keys()
        assert all(at < self.cleaned_below for at in missing)
        assert not missing & set(newest.values())

    @rule()
    def rebuild(self) -> None:
        """A log that has nothing but the batches tells the same."""
        other = SimDisk(random.Random(0), 0.0)
        other.make_directory(DIRECTORY)
        for name in self.disk.list(DIRECTORY):
            if name.endswith(LOG) or name == METADATA_FILE:
                content = self.disk.open(f"{DIRECTORY}/{name}").read_at(0, END)
                other.open(f"{DIRECTORY}/{name}", create=True).write_at(0, content)
        rebuilt = self.run(self.open(other))
        assert rebuilt.damage is None
        rebuilt.set_high_watermark(self.log.high_watermark)
        start, end = self.log.log_start_offset, self.log.last_stable_offset
        assert read_committed(rebuilt, start, end) == read_committed(self.log, start, end)
        if not self.cleaned_below and not start:
            ours = [one.aborted.entries() for one in self.log.segments]
            assert ours == [one.aborted.entries() for one in rebuilt.segments]
            told = transactions_of(self.batches)
            by_marker = sorted((one.marker, *one) for one in told if one.marker is not None)
            expected = [(who, first) for _, who, first, _, is_commit in by_marker if not is_commit]
            assert [(e.producer_id, e.first_offset) for one in ours for e in one] == expected

    def _lost_from(self, end: int) -> None:
        """Batches from `end` on are gone; producers go on in a new epoch."""
        if any(one.offset >= end for one in self.batches):
            event("batches were lost")
        self.batches = [one for one in self.batches if one.offset < end]
        states = {one.producer_id: one for one in self.log.producers.entries()}
        for who, writer in self.writers.items():
            known = states.get(who)
            if known is None:
                self.writers[who] = Writer(who)
            else:
                batches = known.batches
                sequence = batches[-1].last_sequence + 1 if batches else 0
                self.writers[who] = Writer(who, known.producer_epoch, sequence)
                assert known.producer_epoch <= writer.epoch


TestTransactionMachine = TransactionMachine.TestCase
TestTransactionMachine.settings = settings(
    max_examples=int(EXAMPLES or 100),
    stateful_step_count=40,
    derandomize=EXAMPLES is None,
    phases=set(Phase) - {Phase.explain},
    suppress_health_check=list(HealthCheck),
    deadline=None,
)
