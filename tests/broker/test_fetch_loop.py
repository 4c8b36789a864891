"""The follower's loop: answers meet the requests that they answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from tests.stubborn import Stubborn

from tidelog.broker.partition import follower_io as following
from tidelog.broker.partition.ports import ReplicaPorts
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.broker.replication.fetch_rounds import ROUNDS_PER_TURN, TURN_PER_ROUND_MAX
from tidelog.broker.replication.fetcher import NAMED_PER_REQUEST_MAX, REQUESTS_MAX, Fetchers
from tidelog.core.background import Background
from tidelog.core.errors import CallFailedError
from tidelog.core.system import SystemClock, SystemRandom
from tidelog.metadata.image import EMPTY_IMAGE
from tidelog.v1.data_pb2 import FetchPartition, FetchRequest, FetchResponse

LEADER = 1
ROUND_MS = 20


class Leader:
    """A peer whose answers the test gives."""

    def __init__(self) -> None:
        self.requests: asyncio.Queue[FetchRequest] = asyncio.Queue()
        self.answers: asyncio.Queue[FetchResponse | None] = asyncio.Queue()
        self.streams = 0

    async def open_stream(self, _address: str, _method: Any) -> Any:  # the stream is this object
        self.streams += 1
        return self

    async def send(self, request: FetchRequest) -> None:
        await self.requests.put(request)

    async def receive(self) -> FetchResponse:
        answer = await self.answers.get()
        if answer is None:
            raise CallFailedError("it broke", is_broken=True)
        return answer

    def close(self) -> None:
        pass

    def answer(self, *partitions: int, records: bytes = b"r", cluster_id: str = "") -> None:
        response = FetchResponse(cluster_id=cluster_id)
        for partition in partitions:
            response.partitions.add(topic="t", partition=partition, records=records)
        self.answers.put_nowait(response)

    async def next_names(self) -> list[tuple[int, int]]:
        """Partitions and offsets of the next request that names some."""
        async with asyncio.timeout(5):
            while not (request := await self.requests.get()).partitions:
                pass
            return [(one.partition, one.fetch_offset) for one in request.partitions]


class Bench:
    """A loop that follows partitions of one leader; each is its number and its log end offset."""

    def __init__(self, *, wait_ms: int = 60_000) -> None:
        self.leader = Leader()
        self.ends: dict[int, int] = {}
        self.applied: list[tuple[int, int]] = []
        self.broken: list[int] = []
        self.fatal: list[BaseException] = []
        self.background = Background(self.fatal.append)
        image = SimpleNamespace(address_of=lambda _: "leader:1", image=EMPTY_IMAGE)
        peers: Any = self.leader
        partitions: Any = image
        unused: Any = None
        self.fetchers = Fetchers(
            broker_id=2,
            partitions=partitions,
            ports=ReplicaPorts(
                disk=unused,
                clock=SystemClock(),
                random=SystemRandom(),
                peers=peers,
                workers=unused,
            ),
            config=ReplicaConfig(replica_fetch_wait_max_ms=wait_ms, replica_fetch_backoff_ms=1),
            background=self.background,
            on_broken=self.broken.append,
        )

    def follow(self, partition: int, offset: int) -> Any:
        self.ends[partition] = offset
        hosted: Any = SimpleNamespace(topic="t", partition=partition, retry_fetch_at_ms=0)
        self.fetchers.start_fetching(hosted, LEADER)
        return hosted

    def next_fetch(self, hosted: Any, *, max_bytes: int) -> FetchPartition:
        del max_bytes
        offset = self.ends[hosted.partition]
        return FetchPartition(topic="t", partition=hosted.partition, fetch_offset=offset)

    def apply(
        self, hosted: Any, asked: FetchPartition, _result: Any, records: bytes, *, retry_at_ms: int
    ) -> None:
        del retry_at_ms
        self.applied.append((hosted.partition, asked.fetch_offset))
        self.ends[hosted.partition] += len(records)


@pytest.fixture
async def bench(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Bench]:
    bench = Bench(wait_ms=getattr(request, "param", 60_000))
    monkeypatch.setattr(following, "next_fetch", bench.next_fetch)
    monkeypatch.setattr(following, "apply_fetched", bench.apply)
    yield bench
    await bench.fetchers.stop()
    await bench.background.stop()
    assert bench.fatal == []


async def test_what_an_answer_moved_is_named_again_and_nothing_else(bench: Bench) -> None:
    bench.follow(0, 0)
    bench.follow(1, 0)
    assert await bench.leader.next_names() == [(0, 0), (1, 0)]
    bench.leader.answer(1)
    assert await bench.leader.next_names() == [(1, 1)]
    assert bench.applied == [(1, 0)]


async def test_an_answer_to_an_older_request_for_a_partition_is_of_no_use(bench: Bench) -> None:
    hosted = bench.follow(0, 0)
    assert await bench.leader.next_names() == [(0, 0)]
    bench.fetchers.stop_fetching(hosted)
    again = bench.follow(0, 7)  # in another epoch, cut to another end, before the answer comes
    assert await bench.leader.next_names() == [(0, 7)]
    bench.leader.answer(0)
    bench.leader.answer(0)
    assert await bench.leader.next_names() == [(0, 8)]
    assert bench.applied == [(0, 7)], "the first answer was of offset 0"
    assert again is not hosted


async def test_no_more_requests_are_on_their_way_than_two(bench: Bench) -> None:
    for partition in range(REQUESTS_MAX):
        bench.follow(partition, 0)
        assert await bench.leader.next_names() == [(partition, 0)]
    bench.follow(8, 0)
    bench.follow(9, 0)
    await asyncio.sleep(0.02)
    assert bench.leader.requests.empty()
    bench.leader.answer()
    assert await bench.leader.next_names() == [(8, 0), (9, 0)], "they are asked for together"


async def test_after_a_break_everything_is_named_to_the_leader_anew(bench: Bench) -> None:
    bench.follow(0, 0)
    bench.follow(1, 5)
    assert await bench.leader.next_names() == [(0, 0), (1, 5)]
    bench.leader.answers.put_nowait(None)
    assert await bench.leader.next_names() == [(0, 0), (1, 5)]
    assert bench.leader.streams == 2
    assert bench.broken == [LEADER]


async def test_what_is_followed_no_more_is_forgotten(bench: Bench) -> None:
    hosted = bench.follow(0, 0)
    bench.follow(1, 0)
    await bench.leader.next_names()
    bench.fetchers.stop_fetching(hosted)
    bench.leader.answer(0, 1)
    async with asyncio.timeout(5):
        request = await bench.leader.requests.get()
    assert [(one.topic, one.partition) for one in request.forgotten] == [("t", 0)]
    assert [one.partition for one in request.partitions] == [1]
    assert bench.applied == [(1, 0)]


@pytest.mark.parametrize("bench", [ROUND_MS], indirect=True)
async def test_a_round_that_names_everything_is_not_undone_by_an_answer(bench: Bench) -> None:
    bench.follow(0, 0)
    await bench.leader.next_names()
    bench.follow(1, 0)
    await bench.leader.next_names()
    for newcomer in range(
        2, 3 + ROUNDS_PER_TURN
    ):  # rounds pass, and no further request may be sent
        await asyncio.sleep(1.5 * ROUND_MS / 1000)
        bench.follow(newcomer, 0)
    await asyncio.sleep(0)
    bench.leader.answer(0, records=b"")
    assert (0, 0) in await bench.leader.next_names()


async def test_a_leaders_place_taken_by_another_cluster_gives_no_records(bench: Bench) -> None:
    bench.follow(0, 0)
    assert await bench.leader.next_names() == [(0, 0)]
    bench.leader.answer(0, cluster_id="other")
    assert await bench.leader.next_names() == [(0, 0)]
    assert bench.applied == []
    assert bench.fetchers.own.strangers.refused == 1


async def test_of_a_thousand_partitions_those_that_moved_are_named(bench: Bench) -> None:
    for partition in range(1_000):
        bench.follow(partition, 0)
    requests: list[list[tuple[int, int]]] = []
    while sum(len(one) for one in requests) < 1_000:
        requests.append(await bench.leader.next_names())
        bench.leader.answer()
    assert max(len(one) for one in requests) <= NAMED_PER_REQUEST_MAX
    assert sorted(name for one in requests for name in one) == [(n, 0) for n in range(1_000)]
    bench.leader.answer(3, 500, 999)
    assert await bench.leader.next_names() == [(3, 1), (500, 1), (999, 1)]


@pytest.mark.parametrize("bench", [ROUND_MS], indirect=True)
async def test_what_rounds_name_does_not_grow_with_what_is_followed(bench: Bench) -> None:
    for partition in range(1_000):
        bench.follow(partition, 0)
    named = 0
    while named < 1_000:
        named += len(await bench.leader.next_names())
        bench.leader.answer()
    for _ in range(5):
        names = await bench.leader.next_names()
        bench.leader.answer()
        assert len(names) <= 2 * TURN_PER_ROUND_MAX


async def test_a_stop_does_not_wait_for_a_stream_that_never_opens(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    stubborn = Stubborn()

    async def open_stream(*_: object) -> Leader:
        await stubborn.work()
        raise CallFailedError("too late")

    monkeypatch.setattr(bench.leader, "open_stream", open_stream)
    bench.follow(0, 0)
    await stubborn.began.wait()
    async with asyncio.timeout(3600):
        await bench.fetchers.stop()
    stubborn.released.set()
