"""Random deletions, retention, crashes, damage, elections: replicas converge, what stays is there.

The seed decides everything; the controller of the stage elects from the ISR alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.broker.replica_stage import CONFIG, TOPIC, ReplicaStage

from tidelog.core.chance import SeededRandom
from tidelog.log.cleaner import CleanerConfig
from tidelog.log.partition_log import PartitionLog
from tidelog.records.batch import iter_batches
from tidelog.records.records import Record, encode_batch, iter_records
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import PartitionProduceData

pytestmark = pytest.mark.sim

STEPS = 40
FOLDER = f"/data/{TOPIC}-0"
EAGER = replace(
    CONFIG,
    log_retention_check_interval_ms=500,
    log_deleted_check_interval_ms=500,
    log_scrub_interval_ms=500,
    cleaner=CleanerConfig(backoff_ms=200),
)
Records = dict[int, tuple[bytes | None, bytes | None]]
"""Key and value by offset."""


class Story:
    """What was acknowledged, and the moves that may come next."""

    configs: Mapping[str, Any] = {"retention_bytes": 2000}

    def __init__(self, stage: ReplicaStage, seed: int) -> None:
        self.stage = stage
        self.random = SeededRandom(seed)
        self.acked: Records = {}
        self.deleted_to = 0
        self.count = 0

    async def run(self) -> None:
        self.stage.create(
            min_insync_replicas=2,
            segment_bytes=400,
            retention_ms=-1,
            file_delete_delay_ms=500,
            **self.configs,
        )
        await self.stage.until_opened(1, 2, 3)
        moves = (self.delete, self.crash, self.elect, self.damage, *[self.produce] * 4)
        for _ in range(STEPS):
            await moves[self.random.randrange(0, len(moves))]()
        await self.settle()
        self.check()

    @property
    def leader_id(self) -> int:
        leader_id = self.stage.state().leader_id
        assert leader_id is not None
        return leader_id

    async def produce(self) -> None:
        """Up to five records of one of four keys."""
        key = b"key %d" % self.random.randrange(0, 4)
        values = [b"%d" % (self.count + n) for n in range(self.random.randrange(1, 6))]
        self.count += len(values)
        records = encode_batch([Record(0, 1, key, value) for value in values])
        data = PartitionProduceData(topic=TOPIC, partition=0, records=records)
        (result,) = (await self.stage.produce_raw(self.leader_id, data)).partitions
        if result.error.code == common_pb2.NONE:
            for offset, value in enumerate(values, start=result.base_offset):
                self.acked[offset] = (key, value)

    async def delete(self) -> None:
        """Up to anywhere, within batches too."""
        end = self.stage.hosted(self.leader_id).log.high_watermark
        offset = self.random.randrange(0, end + 1) if end else -1
        result = await self.stage.delete_records(self.leader_id, offset)
        if result.error.code == common_pb2.NONE:
            assert result.low_watermark >= offset
            self.deleted_to = max(self.deleted_to, result.low_watermark)

    async def crash(self) -> None:
        """One of three in sync, any; the others go on without it for a while."""
        await self.settle()
        victim = self.random.randrange(1, 4)
        others = tuple(one for one in (1, 2, 3) if one != victim)
        leader_id = self.leader_id if self.leader_id != victim else others[0]
        (self.stage.crash if self.random.random() < 0.5 else self.stage.kill)(victim)
        self.stage.elect(leader_id, isr=others)
        for _ in range(self.random.randrange(0, 5)):
            await self.produce()
            if self.random.random() < 0.5:
                await self.delete()
        self.stage.start(victim)

    async def damage(self) -> None:
        """A stored bit flips; the scrub finds it, and the replica is fetched anew where need be."""
        await self.settle()
        victim = self.random.randrange(1, 4)
        await self.stage.on(victim, lambda _: self.stage.hosted(victim).log.flush())
        disk = self.stage.disk(victim)
        paths = [f"{FOLDER}/{name}" for name in disk.list(FOLDER) if name.endswith(".log")]
        path = paths[self.random.randrange(0, len(paths))]
        if not disk.size(path):
            return
        disk.flip(path, self.random.randrange(0, disk.size(path)), self.random.randrange(0, 8))
        manager = self.stage.manager(victim)
        await self.stage.until(lambda: manager.stats()["damaged_partitions"] == 1)
        if victim == self.leader_id:
            others = tuple(one for one in (1, 2, 3) if one != victim)
            self.stage.elect(others[0], isr=others)

    async def elect(self) -> None:
        await self.settle()
        self.stage.elect(self.random.randrange(1, 4), isr=(1, 2, 3))

    async def settle(self) -> None:
        await self.stage.until_opened(1, 2, 3)
        await self.stage.until(lambda: len(self.stage.state().isr) == 3)
        await self.produce()
        await self.stage.until(self.are_equal)

    def are_equal(self) -> bool:
        """Where logs end, and that no follower's begins before its leader's: segments differ."""
        logs = {one: self.stage.hosted(one).log for one in (1, 2, 3)}
        ends = {(log.log_end_offset, log.high_watermark) for log in logs.values()}
        start = logs[self.leader_id].log_start_offset
        is_deleted = all(log.log_start_offset >= start for log in logs.values())
        return is_deleted and len(ends) == 1 and all(end == high for end, high in ends)

    def check(self) -> None:
        logs = [self.stage.hosted(one).log for one in (1, 2, 3)]
        start = max(log.log_start_offset for log in logs)
        assert min(log.log_start_offset for log in logs) >= self.deleted_to
        found = [self.what_counts(records_from(log, start)) for log in logs]
        assert found[0] == found[1] == found[2]
        for offset, record in self.what_counts(self.acked).items():
            assert offset < start or found[0][offset] == record

    def what_counts(self, records: Records) -> Records:
        """All of them, without a gap."""
        return records


class CompactedStory(Story):
    """Topics whose logs are compacted, by each replica at times of its own."""

    configs: Mapping[str, Any] = {
        "cleanup_policy": "compact,delete",
        "min_cleanable_dirty_ratio": "0.01",
    }

    def what_counts(self, records: Records) -> Records:
        """The newest of each key."""
        newest = {key: offset for offset, (key, _) in sorted(records.items())}
        return {offset: records[offset] for offset in newest.values()}


def records_from(log: PartitionLog, start: int) -> Records:
    """What the log holds at or above `start`."""
    found, offset = {}, start
    while offset < log.log_end_offset:
        read = log.read(offset, max_bytes=1, upper_bound=log.log_end_offset)
        for _, data in iter_batches(read.records):
            for record in iter_records(data):
                if record.offset >= start:
                    found[record.offset] = (record.key, record.value)
        offset = read.next_offset
    return found


@pytest.mark.parametrize("kind", [Story, CompactedStory])
@pytest.mark.parametrize("seed", range(8))
def test_what_is_neither_deleted_nor_expired_stays_on_all_replicas(
    seed: int, kind: type[Story]
) -> None:
    async def story(stage: ReplicaStage) -> None:
        await kind(stage, seed).run()

    ReplicaStage(EAGER).run(story)
