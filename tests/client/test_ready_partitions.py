"""Ready partitions by leader: what a full scan would find, found by looking at what changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.client.real_cluster import ADDRESSES as NODES
from tests.client.real_cluster import BOOTSTRAP, started

from tidelog.client import Admin, Producer
from tidelog.client.producing.accumulator import Accumulator, AccumulatorConfig
from tidelog.client.producing.batches import Batch
from tidelog.client.producing.ready_partitions import ReadyPartitions
from tidelog.client.producing.sender import Sender
from tidelog.client.producing.sequences import Sequences
from tidelog.client.records import TopicPartition

MANY = 3_000
WAITING = 300
"""Partitions of real brokers."""
ENOUGH = 400
BATCH_BYTES = 300
ADDRESSES = ("a:1", "b:1", None)


class Stage:
    """Partitions with leaders of their own, and a list of those that were looked at."""

    def __init__(self, *, is_idempotent: bool = False) -> None:
        config = AccumulatorConfig(
            batch_size=BATCH_BYTES, linger_ms=5, buffer_memory=1 << 30, delivery_timeout_ms=500
        )
        self.sequences = Sequences() if is_idempotent else None
        if self.sequences is not None:
            self.sequences.adopt(7, 0)
        self.accumulator: Accumulator[str] = Accumulator(config, self.sequences)
        self.leaders: dict[TopicPartition, str | None] = {}
        self.looked: list[TopicPartition] = []
        self.gone: set[bytes] = set()
        self.given_up: list[Batch[str]] = []
        self.partitions = ReadyPartitions(
            self.accumulator, enough=ENOUGH, address_of=self._address_of, give_up=self._give_up
        )

    def _address_of(self, tp: TopicPartition) -> str | None:
        self.looked.append(tp)
        return self.leaders.get(tp, "a:1")

    def _give_up(self, tp: TopicPartition) -> bool:
        gone = self.accumulator.discard(tp, self.gone.__contains__)
        self.given_up += gone
        return bool(gone)

    def put(self, tp: TopicPartition, *, now_ms: int = 0, size: int = 60, id_: bytes = b"") -> None:
        self.accumulator.append(
            tp, [(None, b"x" * size)], timestamp_ms=1, waiter="w", now_ms=now_ms, topic_id=id_
        )

    def move(self, tp: TopicPartition, address: str | None) -> None:
        self.leaders[tp] = address
        self.accumulator.note_moved(tp)

    def look(self, now_ms: int) -> list[TopicPartition]:
        """The partitions looked at."""
        self.looked.clear()
        self.accumulator.advance(now_ms)
        self.partitions.look()
        return list(self.looked)


def nth(number: int) -> TopicPartition:
    return TopicPartition("t", number)


def test_of_3000_ready_partitions_only_the_one_that_changed_is_looked_at() -> None:
    stage = Stage()
    for number in range(MANY):
        stage.put(nth(number))
    assert len(stage.look(5)) == MANY
    assert stage.look(6) == []
    stage.put(nth(MANY), now_ms=6)
    assert stage.look(10) == [], "its linger is not over"
    assert stage.look(11) == [nth(MANY)]
    stage.put(nth(7), now_ms=12)
    assert stage.look(12) == [], "a record that joins an open batch changes nothing"
    stage.move(nth(9), "b:1")
    assert stage.look(12) == [nth(9)]
    assert list(stage.partitions.line("b:1").ready) == [nth(9)]
    assert len(stage.partitions.line("a:1").ready) == MANY


def test_a_batch_that_became_full_an_answer_and_a_pause_that_ended_are_looked_at() -> None:
    stage = Stage()
    for number in range(10):
        stage.put(nth(number))
    stage.look(5)
    stage.put(nth(3), size=200)
    assert stage.look(5) == [nth(3)], "its first batch is full"
    assert list(stage.partitions.line("a:1").full) == [nth(3)]
    batches = stage.accumulator.take(nth(3), max_bytes=1)
    assert stage.look(5) == []
    assert list(stage.partitions.line("a:1").full) == []
    stage.accumulator.retry(batches, at_ms=20)
    assert stage.look(19) == []
    assert nth(3) not in list(stage.partitions.line("a:1").ready)
    assert stage.look(20) == [nth(3)]
    assert list(stage.partitions.line("a:1").ready)[-1] == nth(3), "others waited longer"
    stage.accumulator.complete(stage.accumulator.take(nth(3), max_bytes=1))
    assert stage.look(21) == [nth(3)], "there is a second batch"


def test_what_is_given_up_makes_room_for_what_is_left_within_one_look() -> None:
    stage = Stage()
    stage.put(nth(0), id_=b"old")
    stage.put(nth(0), id_=b"new")
    stage.look(5)
    stage.gone.add(b"old")
    assert stage.look(6) == [], "nobody said that something changed"
    stage.accumulator.note_moved(nth(0))
    assert stage.look(6) == [nth(0)]
    assert [batch.topic_id for batch in stage.given_up] == [b"old"]
    assert [batch.topic_id for batch in stage.accumulator.incomplete] == [b"new"]


def test_leaders_come_in_the_order_of_their_longest_waiting_partition() -> None:
    stage = Stage()
    for number, address in enumerate(["b:1", "a:1", "b:1", None]):
        stage.move(nth(number), address)
        stage.put(nth(number))
    stage.look(5)
    assert stage.partitions.addresses == ["b:1", "a:1"]
    assert stage.partitions.has_leaderless
    stage.accumulator.take(nth(0), max_bytes=1)
    stage.look(5)
    assert stage.partitions.addresses == ["a:1", "b:1"]
    stage.move(nth(3), "a:1")
    stage.look(5)
    assert not stage.partitions.has_leaderless
    assert list(stage.partitions.line("a:1").ready) == [nth(1), nth(3)]
    assert not stage.partitions.line("c:1").ready


class Walk:
    """Whatever happens to a producer's batches, drawn."""

    def __init__(self, stage: Stage, random: Random) -> None:
        self.stage = stage
        self.random = random
        self.now_ms = 0
        self.flying: list[list[Batch[str]]] = []

    def step(self) -> None:
        acts: list[Callable[[], None]] = [self.put, self.put, self.take, self.land, self.move]
        self.random.choice(acts)()
        self.now_ms += self.random.choice([0, 0, 1, 6])

    def tp(self) -> TopicPartition:
        return nth(self.random.randrange(5))

    def put(self) -> None:
        self.stage.put(self.tp(), now_ms=self.now_ms, size=self.random.choice([1, 60, 200]))

    def move(self) -> None:
        self.stage.move(self.tp(), self.random.choice(ADDRESSES))

    def take(self) -> None:
        ready = list(self.stage.accumulator.ready)
        if ready:
            tp = self.random.choice(ready)
            self.flying.append(self.stage.accumulator.take(tp, max_bytes=400))

    def land(self) -> None:
        if not self.flying:
            return
        batches = self.flying.pop(self.random.randrange(len(self.flying)))
        accumulator, sequences = self.stage.accumulator, self.stage.sequences
        if self.random.random() < 0.4:
            accumulator.retry(batches, at_ms=self.now_ms + self.random.choice([0, 9]))
        elif batches[0].records_count > 1 and len(batches) == 1:
            accumulator.split(batches[0])
        else:
            accumulator.complete(batches)
            if sequences is not None:
                sequences.note_acknowledged(batches[0].tp)


def check_against_a_scan(stage: Stage) -> None:
    ready = list(stage.accumulator.ready)
    by_address: dict[str | None, list[TopicPartition]] = {}
    for tp in ready:
        by_address.setdefault(stage.leaders.get(tp, "a:1"), []).append(tp)
    assert stage.partitions.has_leaderless == (None in by_address)
    assert stage.partitions.addresses == [one for one in by_address if one is not None]
    for address in ("a:1", "b:1"):
        line = stage.partitions.line(address)
        there = by_address.get(address, [])
        assert list(line.ready) == there
        sizes = {tp: stage.accumulator.full_bytes(tp, ENOUGH) for tp in there}
        assert list(line.full) == [tp for tp in there if sizes[tp]]
        assert line.full_bytes == sum(sizes.values())


def check_next_event(stage: Stage) -> None:
    waiting = [batch.created_ms for batch in stage.accumulator.incomplete if not batch.is_in_flight]
    event_ms = stage.accumulator.next_event_ms()
    if waiting:
        assert event_ms is not None
        assert event_ms <= min(waiting) + 500


@settings(max_examples=100)
@given(st.randoms(use_true_random=False), st.booleans())
def test_whatever_happens_the_lines_are_what_a_scan_of_all_would_find(
    random: Random, is_idempotent: bool
) -> None:
    stage = Stage(is_idempotent=is_idempotent)
    walk = Walk(stage, random)
    for _ in range(60):
        walk.step()
        if random.random() < 0.5:
            stage.look(walk.now_ms)
            check_against_a_scan(stage)
            check_next_event(stage)
    expired = stage.accumulator.expire(walk.now_ms + 1_000)
    assert all(not batch.is_in_flight for batch in expired)
    flying = {id(batch) for batches in walk.flying for batch in batches}
    assert {id(batch) for batch in stage.accumulator.incomplete} == flying
    stage.look(walk.now_ms)
    check_against_a_scan(stage)


async def test_a_wake_of_the_sender_looks_at_what_changed_and_not_at_all_that_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[TopicPartition] = []
    address_of = Sender._address_of

    def counted(self: Sender, tp: TopicPartition) -> str | None:
        looked.append(tp)
        return address_of(self, tp)

    monkeypatch.setattr(Sender, "_address_of", counted)
    cluster = await started()
    await cluster.create("t", partitions=1, replicas=1)
    async with Admin(BOOTSTRAP, transport=cluster) as admin:
        await admin.create_partitions("t", WAITING + 2, assignments=[[1]] * (WAITING + 1))
    producer = Producer(
        BOOTSTRAP, transport=cluster, linger_ms=0, batch_size=1000, max_request_size=1000
    )
    async with producer:
        await producer.send("t", value=b"x", partition=WAITING + 1)  # it has its id and stream
        looked.clear()
        goes_on = cluster.gates[NODES[1]] = asyncio.Event()
        sent = [await producer.submit("t", value=b"x", partition=n) for n in range(WAITING)]
        for _ in range(50):
            await asyncio.sleep(0)
        assert len(set(looked)) == WAITING, "all wait for the answer of the first request"
        looked.clear()
        sent.append(await producer.submit("t", value=b"x", partition=WAITING))
        for _ in range(50):
            await asyncio.sleep(0)
        assert looked == [nth(WAITING)]
        goes_on.set()
        await producer.flush()
        assert [metadata.offset for metadata in await asyncio.gather(*sent)] == [0] * (WAITING + 1)
