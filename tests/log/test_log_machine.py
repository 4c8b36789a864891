"""A log against a model, on a disk whose power may go in any operation.

Bounded here; a long run:

    TIDELOG_MACHINE_EXAMPLES=10000 .venv/bin/python -m pytest -q -n 0 --timeout 0 \
        tests/log/test_log_machine.py
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, Phase, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.log.log_model import batches_of, records_of
from tests.log.log_stage import LogStage, Pair
from tests.plain_logs import configure_logs

from tidelog.core.errors import (
    CorruptMessageError,
    InvalidProducerEpochError,
    OutOfOrderSequenceError,
    StorageError,
)
from tidelog.log.config import LogConfig
from tidelog.log.segment import Segment
from tidelog.records.compression import Codec
from tidelog.records.records import encode_filler
from tidelog.simulation.engine.disk_faults import PowerCutError
from tidelog.simulation.suites.worker import silence_nodes

EXAMPLES = os.environ.get("TIDELOG_MACHINE_EXAMPLES")
KEYS = (b"a", b"b", b"c", b"d")
PRODUCER_IDS = (7, 8)
SEQUENCE_MASK = 2**31 - 1
RETENTION_MS, RETENTION_BYTES = 1000, 1000

loads = st.lists(st.integers(0, 2**16), min_size=1, max_size=9)
"""A number a batch: see `pairs`."""
mostly = st.sampled_from([True, True, True, False])
fractions = st.floats(0, 1)


def pairs(load: int) -> list[Pair]:
    """The records of a batch."""
    rng = random.Random(load)
    return [
        (rng.choice(KEYS), rng.randbytes(rng.randrange(0, 99)) if rng.random() < 0.8 else None)
        for _ in range(1 + load % 4)
    ]


@pytest.fixture(autouse=True, scope="module")
def silence() -> Iterator[None]:
    silence_nodes()
    yield
    configure_logs()


class LogMachine(RuleBasedStateMachine):
    """What may be done to a log, in any order."""

    def teardown(self) -> None:
        if hasattr(self, "stage"):
            self.stage.close()

    @initialize(
        seed=st.integers(0, 2**32),
        segment_bytes=st.sampled_from([200, 400, 1000]),
        policy=st.sampled_from([("delete",), ("compact",), ("compact", "delete")]),
        has_size_limit=st.booleans(),
        is_append_time=st.booleans(),
    )
    def begin(
        self,
        seed: int,
        segment_bytes: int,
        policy: tuple[str, ...],
        has_size_limit: bool,
        is_append_time: bool,
    ) -> None:
        config = LogConfig(
            segment_bytes=segment_bytes,
            index_interval_bytes=100,
            cleanup_policy=policy,
            min_cleanable_dirty_ratio=0.0,
            retention_ms=RETENTION_MS,
            retention_bytes=RETENTION_BYTES if has_size_limit else -1,
            delete_retention_ms=500,
            message_timestamp_type="LogAppendTime" if is_append_time else "CreateTime",
        )
        self.stage = LogStage(config=config, seed=seed)

    # Appending

    @rule(loads=loads, codec=st.sampled_from([Codec.NONE, Codec.LZ4]), is_one_request=st.booleans())
    def append(self, loads: list[int], codec: Codec, is_one_request: bool) -> None:
        batches = [self.stage.encode(pairs(load), codec=codec) for load in loads]
        for data in [b"".join(batches)] if is_one_request else batches:
            with self.stage.power():
                self.stage.append_as_leader(data)

    @rule(
        producer_id=st.sampled_from(PRODUCER_IDS),
        loads=loads,
        is_new_epoch=st.booleans(),
        sequence=st.sampled_from([0, 5, SEQUENCE_MASK - 1]),
    )
    def append_as_idempotent_producer(
        self, producer_id: int, loads: list[int], is_new_epoch: bool, sequence: int
    ) -> None:
        """The next batches of a producer, whose first may have any sequence."""
        for place, load in enumerate(loads):
            epoch, known = 0, self.stage.model.of_producer(producer_id)
            if known:
                last = known[-1].header
                epoch = last.producer_epoch
                sequence = (last.base_sequence + last.last_offset_delta + 1) & SEQUENCE_MASK
                if is_new_epoch and not place:
                    epoch, sequence = epoch + 1, 0
            data = self.stage.encode(pairs(load), producer=(producer_id, epoch, sequence))
            with self.stage.power():
                self.stage.append_as_leader(data)

    @rule(producer_id=st.sampled_from(PRODUCER_IDS), place=st.integers(0, 4))
    def append_again(self, producer_id: int, place: int) -> None:
        """One of a producer's last batches: answered, and not appended again."""
        stage, known = self.stage, self.stage.model.of_producer(producer_id)
        if not known:
            return
        place %= len(known)
        header, data, _ = known[place]
        if not stage.is_surely_known(producer_id, place):
            self._append_what_may_be_known(data)
            return
        result = stage.log.append_as_leader(data, leader_epoch=stage.epoch)
        assert result.is_duplicate
        assert (result.base_offset, result.last_offset) == (header.base_offset, header.last_offset)
        assert stage.log.log_end_offset == stage.model.end
        event("a duplicate was answered")

    def _append_what_may_be_known(self, data: bytes) -> None:
        """Its first copy left the log, and with it perhaps what was known of the producer."""
        stage, placed = self.stage, self.stage.placed(data)
        with stage.power(), suppress(OutOfOrderSequenceError, InvalidProducerEpochError):
            try:
                result = stage.log.append_as_leader(data, leader_epoch=stage.epoch)
            except PowerCutError:
                stage.model.append(placed)
                raise
            if not result.is_duplicate:
                stage.model.append(placed)

    @rule(
        loads=loads,
        new_epoch_at=st.integers(0, 9),
        has_filler=st.booleans(),
    )
    def append_as_follower(self, loads: list[int], new_epoch_at: int, has_filler: bool) -> None:
        """What another log holds, which may have been compacted and may change epoch."""
        stage, offset, data = self.stage, self.stage.log.log_end_offset, b""
        if has_filler:
            data = encode_filler(
                base_offset=offset,
                last_offset=offset + 9,
                leader_epoch=stage.epoch,
                max_timestamp=stage.clock.now_ms,
            )
            offset += 10
        for place, load in enumerate(loads):
            stage.epoch += place == new_epoch_at
            data += stage.encode(pairs(load), base_offset=offset, epoch=stage.epoch)
            offset += len(pairs(load))
        with stage.power(), stage.appending(list(batches_of(data))):
            stage.log.append_as_follower(data)

    @rule(
        producer_id=st.sampled_from(PRODUCER_IDS),
        fault=st.sampled_from(["gap", "overlap", "sequence", "epoch"]),
    )
    def append_what_is_refused(self, producer_id: int, fault: str) -> None:
        """Nothing changes by it."""
        stage, known = self.stage, self.stage.model.of_producer(producer_id)
        end = stage.log.log_end_offset
        if fault in ("gap", "overlap"):
            offset = end + 1 if fault == "gap" or not end else end - 1
            with pytest.raises(CorruptMessageError):
                stage.log.append_as_follower(
                    stage.encode(pairs(0), base_offset=offset, epoch=stage.epoch)
                )
        elif known and stage.is_surely_known(producer_id, len(known) - 1):
            last = known[-1].header
            is_old = fault == "epoch" and last.producer_epoch > 0
            sequence = (last.base_sequence + last.last_offset_delta + 2) & SEQUENCE_MASK
            producer = (producer_id, last.producer_epoch - is_old, sequence)
            with pytest.raises(InvalidProducerEpochError if is_old else OutOfOrderSequenceError):
                stage.log.append_as_leader(
                    stage.encode(pairs(0), producer=producer), leader_epoch=stage.epoch
                )
        assert stage.log.log_end_offset == end

    @rule(step=st.integers(1, 3), is_assigned=st.booleans())
    def begin_epoch(self, step: int, is_assigned: bool) -> None:
        stage = self.stage
        stage.epoch += step
        if is_assigned:
            stage.log.assign_epoch(epoch=stage.epoch, start_offset=stage.log.log_end_offset)

    @rule(
        loads=loads,
        work=st.sampled_from(["flush", "checkpoint", "compact"]),
        turns=st.integers(0, 9),
    )
    def append_beside(self, loads: list[int], work: str, turns: int) -> None:
        """Other work is under way meanwhile."""
        stage = self.stage
        begin = {"flush": stage.flush, "checkpoint": stage.checkpoint, "compact": stage.compact}

        async def both() -> None:
            task = asyncio.ensure_future(begin[work]())
            for _ in range(turns):
                await asyncio.sleep(0)
            try:
                for load in loads:
                    stage.append_as_leader(stage.encode(pairs(load)))
                    await asyncio.sleep(0)
            finally:
                await task

        with stage.power():
            stage.run(both())

    # Moving the ends

    @rule(fraction=fractions)
    def truncate(self, fraction: float) -> None:
        stage, model, start = self.stage, self.stage.model, self.stage.log.log_start_offset
        lowest = max(start, model.cleaned_below)
        offset = lowest + round(fraction * (model.end - lowest))
        end = model.end_if_cut(offset)
        with stage.power():
            model.end_at_least = min(model.end_at_least, end)
            if end < start:
                model.anew_at = start
            stage.run(stage.log.truncate_to(offset))
            model.cut(offset)
            if end < start:
                model.restart_at(start)
            assert stage.log.log_end_offset == model.end == max(start, end)

    @rule(fraction=fractions)
    def commit(self, fraction: float) -> None:
        log = self.stage.log
        low, high = log.high_watermark, log.log_end_offset
        log.set_high_watermark(low + round(fraction * (high - low)))

    @rule(fraction=fractions)
    def delete_records(self, fraction: float) -> None:
        stage, model = self.stage, self.stage.model
        low, high = stage.log.log_start_offset, stage.log.high_watermark
        offset = low + round(fraction * (high - low))
        with stage.power():
            model.start_at_most = max(model.start_at_most, offset)
            assert stage.run(stage.log.delete_records(offset)) == offset
            model.start_at_least = offset

    @rule(is_committed=mostly)
    def apply_retention(self, is_committed: bool) -> None:
        stage, model = self.stage, self.stage.model
        if is_committed:
            stage.commit_all()
        log, before, start = stage.log, stage.log.segments, stage.log.log_start_offset
        surplus = log.size_in_bytes - stage.config.retention_bytes
        with stage.power():
            model.start_at_most = max(start, log.high_watermark)
            result = stage.run(log.apply_retention())
            model.start_at_most = log.log_start_offset
            assert log.log_start_offset == max(start, log.segments[0].base_offset)
            gone = [one for one in before if one.next_offset <= log.segments[0].base_offset]
            assert result.segments == len([one for one in gone if one.size])
            for segment in gone:
                is_too_much = stage.config.retention_bytes > 0 and surplus >= segment.size
                assert segment.next_offset <= log.high_watermark
                assert is_too_much or segment.next_offset <= start or self._is_expired(segment)
                surplus -= segment.size
            first = log.segments[0]
            may_go = first.size and first.next_offset <= log.high_watermark
            assert not (may_go and self._is_expired(first))
            event(f"segments that had their time: {len(gone)}")

    def _is_expired(self, segment: Segment) -> bool:
        age_ms = self.stage.clock.now_ms - segment.max_timestamp
        return self.stage.config.is_deleted and age_ms > RETENTION_MS

    @rule(is_committed=mostly, is_cut_after=st.booleans())
    def compact(self, is_committed: bool, is_cut_after: bool) -> None:
        """What a compaction dropped stays replaced, even if the power goes right after it."""
        if is_committed:
            self.stage.commit_all()
        with self.stage.power():
            if self.stage.run(self.stage.compact()):
                event("compacted")
                if is_cut_after:
                    raise PowerCutError

    @rule(step=st.integers(0, 40))
    def restart_at(self, step: int) -> None:
        if step % 4:
            return  # Not too often.
        stage, model = self.stage, self.stage.model
        with stage.power():
            offset = model.end + step
            model.anew_at = offset
            stage.run(stage.log.restart_at(offset))
            model.restart_at(offset)

    # Reading

    @rule(fraction=fractions, bound=fractions, max_bytes=st.integers(1, 1000))
    def read(self, fraction: float, bound: float, max_bytes: int) -> None:
        log, held = self.stage.log, self.stage.model.check(self.stage.log)
        start, end = log.log_start_offset, log.log_end_offset
        offset = start + round(fraction * (end - start))
        upper_bound = start + round(bound * (end - start))
        result = log.read(offset, max_bytes=max_bytes, upper_bound=upper_bound)
        due = [
            batch.data
            for batch in held
            if offset < min(batch.header.next_offset, upper_bound)
            and batch.header.next_offset <= upper_bound
        ]
        found = [batch.data for batch in batches_of(result.records)]
        assert found == due[: len(found)]
        assert bool(found) == bool(due)
        assert len(found) <= 1 or len(result.records) <= max_bytes

    @rule(age_ms=st.integers(-10, 3000), bound=fractions)
    def look_up_time(self, age_ms: int, bound: float) -> None:
        log, held = self.stage.log, self.stage.model.check(self.stage.log)
        start, end = log.log_start_offset, log.log_end_offset
        upper_bound = start + round(bound * (end - start))
        below = [
            (record.offset, record.timestamp, epoch)
            for record, epoch in records_of(held, start=start)
            if record.offset < upper_bound
        ]
        time_ms = self.stage.clock.now_ms - age_ms
        first = next((one for one in below if one[1] >= time_ms), None)
        newest = max(below, key=lambda one: (one[1], -one[0]), default=None)
        assert log.offset_for_time(time_ms, upper_bound=upper_bound) == first
        assert log.offset_of_max_timestamp(upper_bound=upper_bound) == newest

    @rule()
    def tidy_up(self) -> None:
        """What runs in the background and finds nothing wrong."""
        with self.stage.power():
            self.stage.run(self.stage.log.scrub(max_bytes=200))
            assert self.stage.log.damage is None
            self.stage.run(self.stage.log.remove_deleted())

    # Stable storage, and the ends of lives

    @rule()
    def flush(self) -> None:
        with self.stage.power():
            self.stage.run(self.stage.flush())

    @rule()
    def checkpoint(self) -> None:
        with self.stage.power():
            self.stage.run(self.stage.checkpoint())

    @rule(ms=st.sampled_from([10, 400, 1200]))
    def wait(self, ms: int) -> None:
        self.stage.clock.now_ms += ms

    @rule(number=st.integers(1, 60))
    def arm_power_cut(self, number: int) -> None:
        self.stage.disk.crash_at(number)

    @rule()
    def cut_power(self) -> None:
        self.stage.restart_after_power_cut()

    @rule()
    def kill(self) -> None:
        with self.stage.power():
            self.stage.restart_after_kill()

    @rule()
    def close_and_reopen(self) -> None:
        """Nothing that was appended is lost, even if the power goes right after the close."""
        stage, model, start = self.stage, self.stage.model, self.stage.log.log_start_offset
        with stage.power():
            stage.run(stage.log.close())
            model.end_at_least, model.start_at_least = model.end, start
            stage.check_indexes()
            stage.disk.crash()
            stage.log = stage.run(stage.open())
            assert stage.log.was_clean or stage.had_crashes
            model.check(stage.log)

    @rule(loads=st.lists(st.integers(0, 3), min_size=1, max_size=2), room=st.integers(0, 250))
    def append_to_full_disk(self, loads: list[int], room: int) -> None:
        """All or nothing; after an error the log takes nothing until it is opened anew."""
        stage = self.stage
        data = b"".join(stage.encode(pairs(load)) for load in loads)
        with stage.power():
            stage.disk.capacity_bytes = stage.disk.used_bytes() + room
            try:
                stage.append_as_leader(data)
            except StorageError:
                with pytest.raises(StorageError, match="reopen it"):
                    stage.log.append_as_leader(data, leader_epoch=stage.epoch)
                stage.disk.capacity_bytes = None
                stage.model.refused += stage.placed(data)
                stage.restart_after_kill()
                event("the disk was full")
            stage.disk.capacity_bytes = None

    @rule()
    def fail_a_sync(self) -> None:
        """It is never tried again: the second would say what is not true."""
        stage = self.stage
        with stage.power():
            stage.append_as_leader(stage.encode(pairs(0)))
            stage.disk.faults.fail("sync", stage.log.segments[-1].file.path, count=1)
            with pytest.raises(StorageError, match="Input/output error"):
                stage.run(stage.log.flush())
            syncs = stage.disk.syncs
            for work in (stage.log.flush, stage.log.checkpoint):
                with pytest.raises(StorageError, match="reopen it"):
                    stage.run(work())
            stage.run(stage.log.close())
            assert stage.disk.syncs == syncs
            raise PowerCutError


TestLogMachine = LogMachine.TestCase
TestLogMachine.settings = settings(
    max_examples=int(EXAMPLES or 150),
    stateful_step_count=40,
    derandomize=EXAMPLES is None,
    phases=set(Phase) - {Phase.explain},
    suppress_health_check=list(HealthCheck),
)
