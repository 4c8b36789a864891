"""Whatever is lost while several requests are in flight: once and in order, or twice but in order.

With idempotence each record is stored once and in the order sent. Without it one may be there
twice, when nobody heard that it was taken; none is lost, and none overtakes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, count, repeat
from random import Random as PythonRandom
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.client.hasty_clock import HastyClock
from tests.client.loop_peers import LoopPeers
from tests.client.meddler import Mishap
from tests.client.real_cluster import ADDRESSES, BOOTSTRAP, RealCluster, start_all, started
from tests.virtual_loop import VirtualLoop

from tidelog.client import Producer, RecordMetadata, errors
from tidelog.client.producing import sender
from tidelog.log.producers import ProducerStates
from tidelog.net.transport import Transport
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import ErrorCode

COUNT = 60
PARTITIONS = (0, 3)
"""Of the same leader."""


class PausedCluster(RealCluster):
    """While it is paused, nothing reaches node 1."""

    def __init__(self) -> None:
        super().__init__()
        self.goes_on = asyncio.Event()
        self.goes_on.set()
        self.gates[ADDRESSES[1]] = self.goes_on
        self.may_open = asyncio.Event()
        self.may_open.set()

    async def open_stream(self, address: str, method: Any) -> Any:
        await self.may_open.wait()
        return await super().open_stream(address, method)


def producer(cluster: Transport, **options: Any) -> Producer:  # options of Producer
    """A batch holds few records, and a single one is worth a request."""
    limits = {"batch_size": 150, "max_request_size": 290}
    options = {"retry_backoff_ms": 1, "retry_backoff_max_ms": 5, **limits, **options}
    return Producer(BOOTSTRAP, transport=cluster, **options)


def value(number: int) -> bytes:
    return b"%03d" % number


def each_nth(nth: int, strike: Callable[[], None]) -> Callable[[str], None]:
    """Strikes at every nth Produce, when its work is done and before it is answered."""
    seen = 0

    def before_answer(method: str) -> None:
        nonlocal seen
        if method == "Produce":
            seen += 1
            if seen % nth == 0:
                strike()

    return before_answer


def broken(*, is_after_work: bool) -> Mishap:
    error = errors.CallFailedError("the connection broke")
    return Mishap("Produce", error=error, is_after_work=is_after_work)


def lost_requests(cluster: PausedCluster) -> None:
    for _ in range(3):
        cluster.mishaps += [Mishap("Produce"), Mishap("Produce"), broken(is_after_work=False)]


def lost_answers(cluster: PausedCluster) -> None:
    for _ in range(3):
        cluster.mishaps += [Mishap("Produce"), Mishap("Produce"), broken(is_after_work=True)]


def refusals(code: ErrorCode) -> Callable[[PausedCluster], None]:
    def prepare(cluster: PausedCluster) -> None:
        for _ in range(4):
            cluster.mishaps += [Mishap("Produce"), Mishap("Produce", code=code)]

    return prepare


def leader_changes(cluster: PausedCluster) -> None:
    states = cluster.topics["t"].partitions

    def move() -> None:
        for number in PARTITIONS:
            cluster.move("t", number, leader_id=1 + (states[number].leader_id or 0) % 3)

    cluster.before_answer = each_nth(4, move)


def disconnects(cluster: PausedCluster) -> None:
    """Some are answered, some are not and were worked on all the same."""
    cluster.works_on_after_break = True
    random = PythonRandom(1)
    cluster.answer_turns = lambda: random.randrange(0, 20)

    def drop() -> None:
        for stream in cluster.streams:
            stream.fail(errors.CallFailedError("the broker hung up"))

    cluster.before_answer = each_nth(5, drop)


def pauses(cluster: PausedCluster) -> None:
    """The leader stops in the middle of a request; another one leads, later it goes on."""

    def pause() -> None:
        if cluster.goes_on.is_set() and cluster.topics["t"].partitions[0].leader_id == 1:
            cluster.goes_on.clear()
            for number in PARTITIONS:
                cluster.move("t", number, leader_id=2)
            asyncio.get_running_loop().call_later(0.05, cluster.goes_on.set)

    cluster.before_answer = each_nth(3, pause)


CASES = [
    lost_requests,
    lost_answers,
    refusals(common_pb2.NOT_ENOUGH_REPLICAS),
    refusals(common_pb2.REQUEST_TIMED_OUT),
    leader_changes,
    disconnects,
    pauses,
]
NAMES = [
    *("lost requests", "lost answers", "refusals", "time-outs", "leader changes"),
    *("disconnects", "pauses"),
]


@pytest.mark.parametrize("is_idempotent", [True, False])
@pytest.mark.parametrize("prepare", CASES, ids=NAMES)
async def test_each_record_is_stored_in_order_and_with_idempotence_once(
    prepare: Callable[[PausedCluster], None],
    is_idempotent: bool,
) -> None:
    cluster = await start_all(PausedCluster())
    await cluster.create("t", partitions=6)
    async with producer(cluster, enable_idempotence=is_idempotent) as p:
        routing = p._engine.routing
        routing._config = replace(routing._config, overdue_ms=5, overdue_interval_ms=5)
        for number in PARTITIONS:
            await p.send("t", value=b"first", partition=number)
        prepare(cluster)
        futures = [
            await p.submit("t", value=value(n), partition=number)
            for n in range(COUNT)
            for number in PARTITIONS
        ]
        async with asyncio.timeout(20):
            await asyncio.gather(*futures)
    assert cluster.most_in_flight > 1
    for number in PARTITIONS:
        stored = cluster.topics["t"].partitions[number].values()
        expected = [b"first", *map(value, range(COUNT))]
        assert list(dict.fromkeys(stored)) == expected
        if is_idempotent:
            assert stored == expected


async def test_a_request_is_given_up_in_time_and_its_stream_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sender, "_ANSWER_MARGIN_MS", 0)
    cluster = await start_all(PausedCluster())
    await cluster.create("t")
    async with producer(cluster, request_timeout_ms=20) as p:
        await p.send("t", value=b"first")
        cluster.goes_on.clear()
        futures = [await p.submit("t", value=value(n)) for n in range(20)]
        while len(cluster.streams) < 2:  # noqa: ASYNC110  # the time-out is near
            await asyncio.sleep(0.001)
        cluster.goes_on.set()
        await asyncio.gather(*futures)
    assert cluster.values("t") == [[b"first", *map(value, range(20))]]


@pytest.mark.parametrize("max_in_flight", [1, 2, 5])
async def test_no_more_requests_are_in_flight_than_may_be(max_in_flight: int) -> None:
    cluster = await started()
    await cluster.create("t")
    async with producer(cluster, max_in_flight=max_in_flight, max_request_size=150) as p:
        await p.send("t", value=b"first")
        await p.send_many("t", [value(n) for n in range(COUNT)])
    assert cluster.most_in_flight == max_in_flight


async def test_without_numbers_a_partition_is_in_one_request_at_a_time() -> None:
    cluster = await started()
    await cluster.create("t")
    async with producer(cluster, enable_idempotence=False) as p:
        await p.send_many("t", [value(n) for n in range(COUNT)])
    assert cluster.most_in_flight == 1


async def test_batches_that_still_take_records_fill_up_while_a_request_is_in_flight() -> None:
    cluster = await started()
    await cluster.create("t")
    async with producer(cluster, batch_size=10_000, max_request_size=20_000) as p:
        await p.send("t", value=b"first")
        for n in range(COUNT):
            await p.submit("t", value=value(n))
            await asyncio.sleep(0)
    assert cluster.most_in_flight == 1
    assert len(cluster.requests("Produce")) < COUNT / 4


async def test_full_batches_that_make_less_than_half_a_request_wait_for_more() -> None:
    cluster = await started()
    await cluster.create("t")
    async with producer(cluster, max_request_size=1_500) as p:
        await p.send("t", value=b"first")
        await p.send_many("t", [value(n) for n in range(COUNT)])
    assert cluster.most_in_flight == 1


async def test_nothing_is_handed_to_a_stream_that_is_being_opened() -> None:
    cluster = await start_all(PausedCluster())
    await cluster.create("t", partitions=6)
    cluster.may_open.clear()
    async with producer(cluster, enable_idempotence=False) as p:
        sent = [await p.submit_many("t", [value(1)] * 30, partition=n) for n in PARTITIONS]
        await asyncio.sleep(0.01)
        in_flight = [
            one.tp.partition for one in p._engine.accumulator.incomplete if one.is_in_flight
        ]
        assert set(in_flight) == {PARTITIONS[0]}
        cluster.may_open.set()
        await asyncio.gather(*sent)
    assert cluster.most_in_flight == 2, "what waited for the stream goes out when it is open"


async def test_what_came_too_early_waits_for_those_before_it_and_for_nothing_else() -> None:
    cluster = await started()
    state = (await cluster.create("t")).partitions[0]
    limits = {"batch_size": 330, "max_request_size": 330}
    async with producer(
        cluster, retry_backoff_ms=60_000, retry_backoff_max_ms=60_000, **limits
    ) as p:
        await p.send("t", value=b"first")
        await cluster.configure("t", max_message_bytes=250)
        # The halves of the first are stored before the second one's refusal arrives.
        turns = chain([0] + [1_000] * 5, repeat(0))
        cluster.answer_turns = lambda: next(turns)
        two_in_one = [b"1" * 100, b"2" * 100]
        values = two_in_one + [b"%d" % n * 150 for n in range(3, 8)]
        async with asyncio.timeout(5):
            outcome = await p.send_many("t", values)
    assert outcome.acknowledged == len(values)
    assert state.values()[1:] == values


async def test_a_break_is_one_failure_of_a_partition_however_many_requests_it_took() -> None:
    cluster = await started()
    await cluster.create("t")
    limits = {"max_request_size": 150, "retry_backoff_ms": 60_000, "retry_backoff_max_ms": 60_000}
    async with producer(cluster, close_timeout_ms=0, **limits) as p:
        await p.send("t", value=b"first")
        cluster.mishaps.append(broken(is_after_work=True))
        await p.submit_many("t", [value(n) for n in range(COUNT)])
        while cluster.mishaps:  # noqa: ASYNC110  # the call is over soon
            await asyncio.sleep(0)
        assert cluster.most_in_flight > 1
        await asyncio.sleep(0.01)
        assert list(p._engine._sender._outcomes._failures.values()) == [1]


async def test_what_a_forgetful_log_let_be_overtaken_fails_and_is_not_stored_out_of_order() -> None:
    cluster = await started()
    state = (await cluster.create("t")).partitions[0]
    async with producer(cluster, max_request_size=150) as p:
        await p.send("t", value=b"")
        state.log.producers = ProducerStates()
        cluster.mishaps.append(Mishap("Produce", code=common_pb2.NOT_ENOUGH_REPLICAS))
        futures = [await p.submit("t", value=value(n)) for n in range(COUNT)]
        outcomes = await asyncio.gather(*futures, return_exceptions=True)
    stored = state.values()
    assert stored == sorted(set(stored), key=lambda one: one or b"")
    certain = [value(n) for n, outcome in enumerate(outcomes) if _is_certain(outcome)]
    assert certain
    assert certain[0] == value(0)
    assert not set(certain) & set(stored)
    assert len(certain) + len(stored) == 1 + COUNT


def test_at_least_one_request_must_be_allowed() -> None:
    with pytest.raises(ValueError, match="max_in_flight=0"):
        producer(LoopPeers({}), max_in_flight=0)


def _strike(cluster: RealCluster, topic: str, what: str, random: PythonRandom) -> None:
    match what:
        case "lost request" | "lost answer":
            cluster.mishaps.append(broken(is_after_work=what == "lost answer"))
        case "refused":
            cluster.mishaps.append(Mishap("Produce", code=common_pb2.NOT_ENOUGH_REPLICAS))
        case "timed out":
            cluster.mishaps.append(Mishap("Produce", code=common_pb2.REQUEST_TIMED_OUT))
        case "invalid":
            cluster.mishaps.append(Mishap("Produce", code=common_pb2.INVALID_RECORD))
        case "moved":
            cluster.move(topic, 0, leader_id=random.randrange(1, 4))
        case "smaller":
            size = random.choice([130, 1 << 20])
            cluster.beside(cluster.configure(topic, max_message_bytes=size))
        case "hung up":
            for stream in cluster.streams:
                stream.fail(errors.CallFailedError("the broker hung up"))


_STRIKES = (
    *("lost request", "lost answer", "refused", "timed out", "invalid", "moved", "smaller"),
    *("hung up", "hung up", "nothing", "nothing", "nothing"),
)


def _is_certain(outcome: RecordMetadata | BaseException) -> bool:
    return isinstance(outcome, errors.TidelogError) and not outcome.is_outcome_unknown


def test_what_is_acknowledged_is_stored_once_and_what_certainly_failed_never() -> None:
    topics = (f"t{number}" for number in count())

    @settings(max_examples=150)
    @given(
        seed=st.integers(0, 10**6),
        max_in_flight=st.integers(1, 7),
        delivery_timeout_ms=st.sampled_from([300, 2_000, 10**6]),
        works_on=st.booleans(),
    )
    def each(seed: int, *, works_on: bool, **options: int) -> None:
        cluster.works_on_after_break = works_on
        runner.run(_stormy(cluster, next(topics), PythonRandom(seed), options))

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        cluster = runner.run(started())
        each()


async def _stormy(
    cluster: RealCluster, topic: str, random: PythonRandom, options: dict[str, int]
) -> None:
    await cluster.create(topic)
    cluster.answer_turns = lambda: random.choice([0, 0, 0, 5, 30])
    futures = []
    async with producer(cluster, clock=HastyClock(step_ms=1), **options) as p:
        for n in range(COUNT):
            futures.append(await p.submit(topic, value=value(n)))
            if random.random() < 0.2:
                _strike(cluster, topic, random.choice(_STRIKES), random)
            for _ in range(random.choice([0, 0, 0, 1, 10])):
                await asyncio.sleep(0)
        cluster.mishaps.clear()
        async with asyncio.timeout(20):
            outcomes = await asyncio.gather(*futures, return_exceptions=True)
    cluster.streams.clear()
    await cluster.rest()
    stored = cluster.topics[topic].partitions[0].values()
    assert stored == sorted(set(stored), key=lambda one: one or b""), "order, and no copy"
    for n, outcome in enumerate(outcomes):
        if isinstance(outcome, RecordMetadata):
            assert stored[outcome.offset] == value(n)
        elif _is_certain(outcome):
            assert value(n) not in stored
