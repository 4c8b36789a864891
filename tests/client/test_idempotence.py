"""The idempotent producer against real brokers, which check its sequences (KIP-98)."""

from __future__ import annotations

import asyncio
from itertools import count
from random import Random as PythonRandom
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.client.meddler import Mishap
from tests.client.real_cluster import BOOTSTRAP, RealCluster, encoded, started
from tests.log.cleaned_logs import StillClock
from tests.virtual_loop import VirtualLoop

from tidelog.client import Producer, errors
from tidelog.records.batch import BatchHeader, iter_batches, set_sequence
from tidelog.v1 import common_pb2

MOVED = common_pb2.NOT_LEADER_OR_FOLLOWER


def producer(cluster: RealCluster, **options: Any) -> Producer:  # options of Producer
    options = {"retry_backoff_ms": 1, "retry_backoff_max_ms": 5, **options}
    return Producer(BOOTSTRAP, transport=cluster, **options)


def broken(*, is_after_work: bool, times: int = 1) -> Mishap:
    error = errors.CallFailedError("the connection broke")
    return Mishap("Produce", error=error, is_after_work=is_after_work, times=times)


def refused(code: common_pb2.ErrorCode, times: int = 1) -> Mishap:
    return Mishap("Produce", code=code, times=times)


def sent(cluster: RealCluster) -> list[list[BatchHeader]]:
    """The headers of each request, in order."""
    return [
        [header for field in request.partitions for header, _ in iter_batches(field.records)]
        for request in cluster.requests("Produce")
    ]


async def send_numbers(p: Producer, count: int, *, first: int = 0) -> list[Any]:
    """Records of their own number, all sent at once; their offsets, or what they failed with."""
    futures = [await p.submit("t", value=b"%03d" % n) for n in range(first, first + count)]
    outcomes = await asyncio.gather(*futures, return_exceptions=True)
    return [one if isinstance(one, BaseException) else one.offset for one in outcomes]


async def test_sequences_follow_one_another_in_each_partition_under_one_id() -> None:
    cluster = await started()
    await cluster.create("t", partitions=2)
    async with producer(cluster) as p:
        for count in (3, 1, 2):
            for partition in (0, 1):
                await p.send_many("t", [b"v"] * count, partition=partition)
    assert len(cluster.requests("InitProducerId")) == 1
    ids = set[int]()
    for state in cluster.topics["t"].partitions:
        found = [(h.producer_epoch, h.base_sequence) for h in state.headers()]
        assert found == [(0, 0), (0, 3), (0, 4)]
        ids |= {h.producer_id for h in state.headers()}
    assert len(ids) == 1


async def test_nothing_is_stored_twice_when_answers_are_lost() -> None:
    cluster = await started()
    await cluster.create("t")
    async with producer(cluster, batch_size=200) as p:
        await send_numbers(p, 1)
        cluster.mishaps.append(broken(is_after_work=True, times=3))
        offsets = await send_numbers(p, 50, first=1)
    assert offsets == list(range(1, 51))
    assert cluster.values("t") == [[b"%03d" % n for n in range(51)]]


async def test_a_batch_sent_again_has_the_numbers_it_had_whoever_leads() -> None:
    cluster = await started()
    await cluster.create("t")
    async with producer(cluster) as p:
        await p.send("t", value=b"a")
        cluster.mishaps += [broken(is_after_work=False), refused(common_pb2.NOT_ENOUGH_REPLICAS)]
        waiting = await p.submit("t", value=b"b")
        await cluster.move("t", 0, leader_id=3)
        await waiting
    _, *attempts = sent(cluster)
    assert len(attempts) >= 3
    assert {(h.producer_epoch, h.base_sequence) for (h,) in attempts} == {(0, 1)}


async def test_one_batch_flies_until_the_log_knows_the_producer_then_five() -> None:
    cluster = await started()
    await cluster.create("t")
    async with producer(cluster, batch_size=100) as p:
        await send_numbers(p, 40)
    sizes = [len(request) for request in sent(cluster)]
    assert sizes[0] == 1
    assert max(sizes) == 5


async def test_no_producer_id_no_produce_and_then_another_broker_is_asked() -> None:
    cluster = await started()
    await cluster.create("t")
    cluster.mishaps.append(Mishap("InitProducerId", code=common_pb2.BROKER_NOT_AVAILABLE, times=3))
    async with producer(cluster) as p:
        assert (await p.send("t", value=b"a")).offset == 0
    asked = [address for address, name, _ in cluster.calls if name == "InitProducerId"]
    assert len(asked) == 4
    assert len(set(asked)) == 3
    names = [name for _, name, _ in cluster.calls]
    assert names.index("Produce") > max(
        n for n, name in enumerate(names) if name == "InitProducerId"
    )


async def test_without_an_id_records_fail_in_time_with_the_reason() -> None:
    cluster = await started()
    await cluster.create("t")
    cluster.mishaps.append(
        Mishap("InitProducerId", code=common_pb2.BROKER_NOT_AVAILABLE, times=10**6)
    )
    async with producer(cluster, delivery_timeout_ms=30) as p:
        with pytest.raises(errors.DeliveryTimeoutError) as caught:
            await p.send("t", value=b"a")
    assert not caught.value.is_outcome_unknown
    assert cluster.requests("Produce") == []


async def test_a_refused_batch_leaves_no_hole_those_after_it_go_on_in_the_next_epoch() -> None:
    cluster = await started()
    state = (await cluster.create("t")).partitions[0]
    async with producer(cluster, batch_size=4_000) as p:
        await p.send("t", value=b"first")
        await cluster.configure("t", max_message_bytes=5_000)
        futures = [await p.submit("t", value=b"x" * size) for size in (3_000, 9_000, 3_000, 10)]
        outcomes = await asyncio.gather(*futures, return_exceptions=True)
    assert [isinstance(o, errors.MessageTooLargeError) for o in outcomes] == [
        *(False, True, False, False)
    ]
    assert [len(v or b"") for v in state.values()] == [5, 3_000, 3_000, 10]
    last = state.headers()[-1]
    assert last.producer_epoch == 1


async def test_halves_of_a_batch_share_its_sequences_and_nothing_after_it_overtakes() -> None:
    cluster = await started()
    state = (await cluster.create("t")).partitions[0]
    async with producer(cluster, batch_size=1_000) as p:
        await p.send("t", value=b"first")
        await cluster.configure("t", max_message_bytes=600)
        values = [b"%03d" % n + b"x" * 80 for n in range(40)]
        outcome = await p.send_many("t", values)
    assert outcome.acknowledged == 40
    assert state.values()[1:] == values
    assert {h.producer_epoch for h in state.headers()} == {0}


async def test_a_log_that_lost_what_it_had_gets_the_next_epoch() -> None:
    cluster = await started()
    state = (await cluster.create("t", replicas=1, unclean_leader_election_enable=True)).partitions[
        0
    ]
    async with producer(cluster) as p:
        for n in range(2):
            await p.send("t", value=b"%d" % n)
        await state.log.flush()
        await p.send("t", value=b"lost")
        cluster.cut_power(1)
        await cluster.start(1)
        assert state.values() == [b"0", b"1"]
        assert (await p.send("t", value=b"new")).offset == 2
    numbers = [(h.producer_epoch, h.base_sequence) for h in state.headers()]
    assert numbers == [(0, 0), (0, 1), (1, 0)]


async def test_what_may_have_been_appended_is_not_sent_under_other_numbers() -> None:
    cluster = await started()
    state = (await cluster.create("t")).partitions[0]
    async with producer(cluster, retry_backoff_ms=50, retry_backoff_max_ms=50) as p:
        await p.send("t", value=b"a")
        cluster.mishaps.append(broken(is_after_work=False))
        waiting = await p.submit("t", value=b"b")
        while cluster.mishaps:  # noqa: ASYNC110  # the call is over soon
            await asyncio.sleep(0)
        for sequence in range(1, 8):
            await state.append(_other_batch(state.headers()[0].producer_id, sequence=sequence))
        with pytest.raises(errors.OutOfOrderSequenceError) as caught:
            await waiting
        assert caught.value.is_outcome_unknown
        assert (await p.send("t", value=b"c")).offset == 8
    assert state.values() == [b"a", *[b"other"] * 7, b"c"]
    assert state.headers()[-1].producer_epoch == 1


async def test_a_batch_given_up_ends_the_epoch() -> None:
    cluster = await started()
    state = (await cluster.create("t")).partitions[0]
    async with producer(cluster, delivery_timeout_ms=30) as p:
        await p.send("t", value=b"a")
        hold = refused(common_pb2.NOT_ENOUGH_REPLICAS, times=10**6)
        cluster.mishaps.append(hold)
        with pytest.raises(errors.DeliveryTimeoutError) as caught:
            await p.send("t", value=b"b")
        cluster.mishaps.remove(hold)
        assert not caught.value.is_outcome_unknown
        attempts = len(sent(cluster))
        assert (await p.send("t", value=b"c")).offset == 1
        assert len(sent(cluster)) == attempts + 1, "none was refused for the gap"
    assert [(h.producer_epoch, h.base_sequence) for h in state.headers()] == [(0, 0), (1, 0)]


async def test_batches_given_up_together_end_one_epoch() -> None:
    cluster, clock = await started(), StillClock(1_000)
    state = (await cluster.create("t")).partitions[0]
    async with producer(cluster, clock=clock, delivery_timeout_ms=1_000, batch_size=200) as p:
        await p.send("t", value=b"a")
        hold = refused(common_pb2.NOT_ENOUGH_REPLICAS, times=10**6)
        cluster.mishaps.append(hold)
        futures = [await p.submit("t", value=b"%03d" % n) for n in range(20)]
        while max(len(request) for request in sent(cluster)) < 2:
            clock.now_ms += 5  # a backoff
            await asyncio.sleep(0.001)
        clock.now_ms += 1_000
        outcomes = await asyncio.gather(*futures, return_exceptions=True)
        assert {type(one) for one in outcomes} == {errors.DeliveryTimeoutError}
        cluster.mishaps.remove(hold)
        await p.send("t", value=b"c")
    assert [(h.producer_epoch, h.base_sequence) for h in state.headers()] == [(0, 0), (1, 0)]


async def test_a_fenced_producer_hears_it_and_goes_on_under_a_new_id() -> None:
    cluster = await started()
    state = (await cluster.create("t")).partitions[0]
    async with producer(cluster) as p:
        await p.send("t", value=b"a")
        first_id = state.headers()[0].producer_id
        await state.append(_other_batch(first_id, sequence=0, epoch=5))
        with pytest.raises(errors.InvalidProducerEpochError) as caught:
            await p.send("t", value=b"b")
        assert not caught.value.is_outcome_unknown
        assert (await p.send("t", value=b"c")).offset == 2
    assert state.headers()[-1].producer_id > first_id


@pytest.mark.parametrize("acks", [0, 1])
async def test_fewer_acks_turn_idempotence_off_and_contradict_it(acks: Any) -> None:
    cluster = await started()
    with pytest.raises(ValueError, match='enable_idempotence=True needs acks="all"'):
        producer(cluster, acks=acks, enable_idempotence=True)
    async with producer(cluster, acks=acks) as p:
        await p.send("t", value=b"a")
    assert cluster.requests("InitProducerId") == []
    assert cluster.topics["t"].partitions[0].headers()[0].producer_id == -1


_MISHAPS = st.lists(
    st.sampled_from(
        [
            "lost before",
            "lost after",
            "lost after",
            "timed out",
            "moved",
            "fine",
            "fine",
        ]
    ),
    max_size=12,
)


def test_whatever_is_lost_on_the_way_each_record_is_stored_once_and_in_order() -> None:
    topics = (f"t{number}" for number in count())

    @settings(max_examples=60)
    @given(mishaps=_MISHAPS, count=st.integers(1, 40), seed=st.integers(0, 9))
    def each(mishaps: list[str], count: int, seed: int) -> None:
        runner.run(story(next(topics), mishaps, count, PythonRandom(seed)))

    async def story(topic: str, mishaps: list[str], count: int, random: PythonRandom) -> None:
        await cluster.create(topic)
        for what in mishaps:
            cluster.mishaps.append(
                {
                    "lost before": broken(is_after_work=False),
                    "lost after": broken(is_after_work=True),
                    "timed out": refused(common_pb2.REQUEST_TIMED_OUT),
                    "moved": refused(MOVED),
                    "fine": Mishap("Produce"),
                }[what]
            )
        async with producer(cluster, batch_size=150) as p:
            futures = []
            for n in range(count):
                futures.append(await p.submit(topic, value=b"%03d" % n))
                for _ in range(random.randrange(0, 4)):
                    await asyncio.sleep(0)
            offsets = [(await future).offset for future in futures]
        assert offsets == list(range(count))
        assert cluster.values(topic) == [[b"%03d" % n for n in range(count)]]

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        cluster = runner.run(started())
        each()


def _other_batch(producer_id: int, *, sequence: int, epoch: int = 0) -> bytes:
    """Of somebody who says to be this producer."""
    return set_sequence(
        encoded([b"other"]),
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
    )
