"""Large batches of many small records are walked in slices: the loop goes on, order holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest
from tests.broker.replica_stage import CONFIG, TOPIC, ReplicaStage
from tests.log.partition_logs import batch

from tidelog.broker.replica_manager import ReplicaManager
from tidelog.node.handlers.produce_codec import decode_produce, encode_produce
from tidelog.records.batch import HEADER_BYTES, parse_header, seal
from tidelog.records.records import Record, encode_batch
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import PartitionProduceData, PartitionProduceResult, ProduceRequest

LEADER = 1
RECORDS = 12_000
"""Of many lengths: twelve slices."""
INLINE_BYTES = 10_000

Story = Callable[[ReplicaStage, ReplicaManager], Coroutine[Any, Any, None]]


def uneven(*, key: bytes | None = b"k", last_key: bytes | None = b"k") -> bytes:
    keys = [*[key] * (RECORDS - 1), last_key]
    return encode_batch(
        [Record(n, 1, one, bytes(1 + n % 50), ()) for n, one in enumerate(keys)],
    )


def lying() -> bytes:
    good = uneven()
    return seal(parse_header(good), good[HEADER_BYTES:-1] + b"\x02")


async def send(
    manager: ReplicaManager, records: bytes, partition: int = 0
) -> PartitionProduceResult:
    data = [PartitionProduceData(topic=TOPIC, partition=partition, records=records)]
    request = ProduceRequest(acks=1, timeout_ms=5_000, partitions=data)
    (result,) = encode_produce(await manager.appender.produce(decode_produce(request))).partitions
    return result


async def steps() -> None:
    """The walk is under way then, and not at its end."""
    for _ in range(6):
        await asyncio.sleep(0)


def run(story: Story) -> None:
    async def whole(stage: ReplicaStage) -> None:
        stage.create(partitions=2)
        await stage.until_opened(1, 2, 3)
        held = stage.manager(LEADER)._partitions.held
        await stage.until(lambda: all(one.replica.leader is not None for one in held.values()))
        await stage.on(LEADER, lambda manager: story(stage, manager))

    ReplicaStage(replace(CONFIG, walk_inline_bytes_max=INLINE_BYTES)).run(whole)


@pytest.mark.sim
def test_the_loop_goes_on_while_a_large_batch_is_walked() -> None:
    async def story(stage: ReplicaStage, manager: ReplicaManager) -> None:
        slow = asyncio.create_task(send(manager, uneven()))
        behind = asyncio.create_task(send(manager, batch(b"behind")))
        await steps()
        other = await send(manager, batch(b"other"), partition=1)
        assert other.base_offset == 0
        assert not slow.done()
        assert stage.hosted(LEADER).log.log_end_offset == 0
        assert (await slow).base_offset == 0
        assert (await behind).base_offset == RECORDS

    run(story)


@pytest.mark.sim
def test_a_lie_in_the_last_slice_is_refused_and_who_is_behind_it_is_not() -> None:
    async def story(_: ReplicaStage, manager: ReplicaManager) -> None:
        liar = asyncio.create_task(send(manager, lying()))
        honest = asyncio.create_task(send(manager, uneven()))
        assert (await liar).error.code == common_pb2.INVALID_RECORD
        assert (await honest).base_offset == 0

    run(story)


@pytest.mark.sim
def test_what_the_topic_asks_is_asked_again_when_the_batch_was_walked() -> None:
    async def story(stage: ReplicaStage, manager: ReplicaManager) -> None:
        slow = asyncio.create_task(send(manager, uneven(last_key=None)))
        await steps()
        log = stage.hosted(LEADER).log
        log.config = replace(log.config, cleanup_policy=("compact",))
        assert log.config.is_compacted
        assert (await slow).error.code == common_pb2.INVALID_RECORD
        assert log.log_end_offset == 0

    run(story)
