"""Reads of committed records on Kafka's listener: what `isolation_level` changes, by version."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.broker.staged_transactions import LeaderWriter
from tests.sim.kafka_wire import WireClient, decode
from tests.sim.test_sim_kafka_data import World, fetch, fetched, lookup, play

from tidelog.broker.partition.partition import Partition
from tidelog.kafka.messages.fetch_request import FetchRequest
from tidelog.kafka.messages.fetch_response import FetchResponse, PartitionData
from tidelog.kafka.messages.list_offsets_response import ListOffsetsResponse
from tidelog.records.batch import iter_batches
from tidelog.v1 import common_pb2

pytestmark = pytest.mark.sim

UNCOMMITTED, COMMITTED = 0, 1


class Led:
    """The leader's partition 0 of a world, which has record 0."""

    def __init__(self, world: World) -> None:
        machine = world.cluster.machines[world.leader_id]
        assert machine.node is not None
        assert machine.node._broker is not None
        assert machine.host is not None
        self._loop = machine.host.loop
        manager = machine.node._broker.replica_manager
        self.partition: Partition = manager._partitions.held["t", 0]

    async def run(self, work: Callable[[Partition], object]) -> None:
        """Do it on the leader's loop, and wait until all of its log is committed."""

        async def run() -> None:
            work(self.partition)

        task, log = self._loop.create_task(run()), self.partition.log
        # Looks into a broker on another loop.
        while not (task.done() and log.high_watermark == log.log_end_offset):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        task.result()


def reading(world: World, offset: int, level: int, **fields: Any) -> FetchRequest:
    request = fetch(world, offset, **fields)
    request.isolation_level = level
    return request


def offsets_in(part: PartitionData) -> list[int]:
    return [header.base_offset for header, _ in iter_batches(bytes(part.records or b""))]


def test_each_version_bounds_readers_and_names_what_was_aborted() -> None:
    async def story(world: World) -> None:
        led, one, two = Led(world), LeaderWriter(70), LeaderWriter(71)
        await led.run(lambda at: one.send(at, b"1"))
        await led.run(lambda at: one.end(at, is_commit=False))  # offset 2
        await led.run(lambda at: two.send(at, b"3"))
        for version in range(4, 19):
            part = await fetched(world, reading(world, 0, COMMITTED), version)
            assert (part.high_watermark, part.last_stable_offset) == (4, 3)
            # The marker, of the present, begins a segment behind the records of 1970.
            assert offsets_in(part) == [0, 1]
            marker = await fetched(world, reading(world, 2, COMMITTED), version)
            assert offsets_in(marker) == [2]
            aborted = [(a.producer_id, a.first_offset) for a in part.aborted_transactions or ()]
            assert aborted == [(70, 1)]
            behind = await fetched(world, reading(world, 3, COMMITTED), version)
            assert (offsets_in(behind), behind.aborted_transactions) == ([], []), "not null"
            everything = await fetched(world, reading(world, 0, UNCOMMITTED), version)
            assert offsets_in(everything) == [0, 1]
            open_ones = await fetched(world, reading(world, 3, UNCOMMITTED), version)
            assert offsets_in(open_ones) == [3]
            assert everything.last_stable_offset == 3
            assert everything.aborted_transactions is None

    play(story)


def test_a_waiting_fetch_is_answered_by_the_marker() -> None:
    async def story(world: World) -> None:
        led, one = Led(world), LeaderWriter(70)
        await led.run(lambda at: one.send(at, b"1"))
        reader = await WireClient.connect(world.cluster, f"node-{world.leader_id}:9092")
        waiting = reader.begin(reading(world, 1, COMMITTED, wait_ms=30_000), 18, 1)
        await asyncio.sleep(1)
        assert not waiting.done()
        await led.run(lambda at: one.end(at, is_commit=True))
        async with asyncio.timeout(1):
            response = decode(await waiting, 1, 18, FetchResponse)
        assert offsets_in(response.responses[0].partitions[0]) == [1]

    play(story)


def test_the_end_is_the_last_stable_offset() -> None:
    async def story(world: World) -> None:
        led, one = Led(world), LeaderWriter(70)
        await led.run(lambda at: one.send(at, b"1"))

        async def look(timestamp: int, level: int, version: int) -> tuple[int, int]:
            request = lookup(timestamp)
            request.isolation_level = level
            answer = await world.client.call(request, version, ListOffsetsResponse)
            (part,) = answer.topics[0].partitions
            return part.error_code, part.offset

        for version in range(2, 12):
            assert await look(-1, UNCOMMITTED, version) == (0, 2)
            assert await look(-1, COMMITTED, version) == (0, 1)
            assert await look(-2, COMMITTED, version) == (0, 0)
        assert await look(-1, 7, 11) == (common_pb2.INVALID_REQUEST, -1)

    play(story)


def test_a_level_that_does_not_exist_is_refused() -> None:
    async def story(world: World) -> None:
        part = await fetched(world, reading(world, 0, 7, wait_ms=30_000))
        assert (part.error_code, part.records) == (common_pb2.INVALID_REQUEST, b"")

    play(story)
