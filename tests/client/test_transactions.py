"""The transactional producer against the coordinator's core: what is committed, what never is."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import replace
from typing import Any

import pytest
from tests.client.meddler import Mishap
from tests.client.patience import until
from tests.client.transaction_broker import ADDRESS, TransactionBroker

from tidelog.client import Producer, errors
from tidelog.client.producing import produce_stream
from tidelog.client.producing.sequences import PRODUCER_EPOCH_MAX
from tidelog.v1 import common_pb2


def producer(broker: TransactionBroker, **options: Any) -> Producer:  # options of Producer
    options = {
        "transactional_id": "id",
        "retry_backoff_ms": 1,
        "retry_backoff_max_ms": 5,
        "delivery_timeout_ms": 2_000,
        "request_timeout_ms": 500,
        **options,
    }
    return Producer(ADDRESS, transport=broker, **options)


def code_of(name: str) -> common_pb2.ErrorCode:
    return common_pb2.ErrorCode.Value(name)  # type: ignore[return-value]  # an int at run time


def lost(name: str, *, is_after_work: bool, times: int = 1) -> Mishap:
    error = errors.CallFailedError("the connection broke")
    return Mishap(name, error=error, is_after_work=is_after_work, times=times)


async def test_a_transaction_is_committed_in_one_epoch_and_the_next_begins_at_zero() -> None:
    broker = TransactionBroker()
    async with producer(broker) as p:
        for number in range(3):
            async with p.transaction():
                for partition in (0, 1):
                    await p.send("t", b"%d" % number, partition=partition)
                    await p.send("t", b"%d" % number, partition=partition)
    assert broker.headers(0) == broker.headers(1)
    assert broker.headers(0) == [(e, s) for e in (0, 1, 2) for s in (0, 1)]
    assert len(broker.values()) == 12
    assert {one.transactional_id for one in broker.requests("Produce")} == {"id"}
    assert not broker.requests("InitProducerId")
    assert not broker.refusals


async def test_an_exception_and_a_cancellation_abort() -> None:
    broker = TransactionBroker()
    async with producer(broker) as p:

        async def fail() -> None:
            async with p.transaction():
                await p.send("t", b"void", partition=0)
                raise KeyError

        with pytest.raises(KeyError):
            await fail()
        assert broker.state() == "CompleteAbort"

        async def forever() -> None:
            async with p.transaction():
                await p.send("t", b"void", partition=0)
                await asyncio.Event().wait()

        task = asyncio.create_task(forever())
        await until(lambda: broker.state() == "Ongoing")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert broker.state() == "CompleteAbort"
        async with p.transaction():
            await p.send("t", b"kept", partition=0)
    assert broker.values() == [b"kept"]


async def test_commit_waits_for_all_acknowledgements() -> None:
    broker = TransactionBroker()
    async with producer(broker) as p:
        await p.begin_transaction()
        broker.answers = asyncio.Event()
        await p.submit("t", b"a", partition=0)
        task = asyncio.create_task(p.commit_transaction())
        await asyncio.sleep(0.1)
        assert not broker.requests("EndTransaction")
        broker.answers.set()
        await task
    assert broker.values() == [b"a"]


async def test_nothing_of_an_aborted_transaction_is_sent_in_the_next() -> None:
    broker = TransactionBroker()
    async with producer(broker, batch_size=200) as p:
        await p.begin_transaction()
        await p.send("t", b"first", partition=0)
        broker.answers = asyncio.Event()
        futures = [await p.submit("t", b"x" * 100, partition=0) for _ in range(20)]
        await asyncio.sleep(0.05)
        await p.abort_transaction()
        outcomes = await asyncio.gather(*futures, return_exceptions=True)
        assert all(isinstance(one, errors.TransactionAbortedError) for one in outcomes)
        before = len(broker.logs["t", 0])
        broker.answers.set()
        async with p.transaction():
            await p.send("t", b"next", partition=0)
            await p.send("t", b"more", partition=0)
        sent = [one.values for one in broker.logs["t", 0][before:]]
        assert sent == [[b"next"], [b"more"], True]
    assert broker.headers(0)[-2:] == [(1, 0), (1, 1)]
    assert broker.values() == [b"next", b"more"]


async def test_an_answer_after_the_abort_has_no_effect_even_if_its_call_heeds_no_cancellation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker = TransactionBroker()
    call = produce_stream.ProduceStreams.call

    async def stubborn(self: Any, address: str, request: Any, *, timeout_ms: int) -> Any:
        task = asyncio.ensure_future(call(self, address, request, timeout_ms=timeout_ms))
        while not task.done():
            try:
                await asyncio.shield(task)
            except asyncio.CancelledError:
                continue
        return task.result()

    monkeypatch.setattr(produce_stream.ProduceStreams, "call", stubborn)
    failures: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, one: failures.append(one))
    async with producer(broker) as p:
        await p.begin_transaction()
        broker.answers = asyncio.Event()
        future = await p.submit("t", b"void", partition=0)
        await asyncio.sleep(0.05)
        await p.abort_transaction()
        assert isinstance(future.exception(), errors.TransactionAbortedError)
        await p.begin_transaction()
        later = await p.submit("t", b"kept", partition=0)
        broker.answers.set()
        assert (await later).offset >= 0
        await p.commit_transaction()
    assert broker.values() == [b"kept"]
    gc.collect()  # asyncio reports what nobody looked at
    assert not failures


async def test_a_failed_record_leaves_only_the_abort_and_another_transaction_may_begin() -> None:
    broker = TransactionBroker()
    async with producer(broker) as p:
        await p.begin_transaction()
        await p.send("t", b"a", partition=0)
        broker.mishaps.append(Mishap("Produce", code=common_pb2.INVALID_RECORD))
        with pytest.raises(errors.InvalidRecordError):
            await p.send("t", b"b", partition=0)
        with pytest.raises(errors.TransactionAbortedError):
            await p.send("t", b"c", partition=1)
        with pytest.raises(errors.TransactionAbortedError) as caught:
            await p.commit_transaction()
        assert isinstance(caught.value.__cause__, errors.InvalidRecordError)
        assert broker.state() == "CompleteAbort"
        async with p.transaction():
            await p.send("t", b"d", partition=0)
    assert broker.values() == [b"d"]


async def test_a_record_that_was_not_taken_leaves_only_the_abort() -> None:
    broker = TransactionBroker()
    async with producer(broker, max_request_size=1000, batch_size=1000) as p:
        await p.begin_transaction()
        await p.send("t", b"a", partition=0)
        with pytest.raises(errors.MessageTooLargeError):
            await p.send("t", b"x" * 2000, partition=0)
        with pytest.raises(errors.TransactionAbortedError):
            await p.commit_transaction()
    assert broker.values() == []


@pytest.mark.parametrize("code", ["INVALID_PRODUCER_EPOCH", "OUT_OF_ORDER_SEQUENCE_NUMBER"])
async def test_an_old_epoch_or_a_lost_sequence_ends_the_transaction_not_the_producer(
    code: str,
) -> None:
    broker = TransactionBroker()
    async with producer(broker) as p:
        await p.begin_transaction()
        await p.send("t", b"a", partition=0)
        broker.mishaps.append(Mishap("Produce", code=code_of(code)))
        with pytest.raises(errors.KafkaError):
            await p.send("t", b"b", partition=0)
        with pytest.raises(errors.TransactionAbortedError):
            await p.commit_transaction()
        async with p.transaction():
            await p.send("t", b"c", partition=0)
    assert broker.values() == [b"c"]
    assert broker.headers(0) == [(0, 0), (1, 0)]


async def test_a_transaction_that_timed_out_before_a_send_is_over_and_another_begins() -> None:
    broker = TransactionBroker()
    async with producer(broker) as p:
        await p.begin_transaction()
        await p.send("t", b"a", partition=0)
        broker.abort()
        with pytest.raises(errors.InvalidProducerEpochError):
            await p.send("t", b"b", partition=0)
        await p.abort_transaction()
        async with p.transaction():
            await p.send("t", b"c", partition=0)
    assert broker.values() == [b"c"]


async def test_a_commit_that_meets_a_time_outs_abort_fences_the_producer() -> None:
    broker = TransactionBroker()
    async with producer(broker) as p:
        await p.begin_transaction()
        await p.send("t", b"a", partition=0)
        broker.abort()
        for _ in range(2):
            with pytest.raises(errors.ProducerFencedError):
                await p.commit_transaction()
        with pytest.raises(errors.ProducerFencedError):
            await p.begin_transaction()
        with pytest.raises(errors.ProducerFencedError):
            await p.send("t", b"b")
    assert broker.values() == []


async def test_a_newer_producer_of_the_id_fences_the_older_one() -> None:
    broker = TransactionBroker()
    async with producer(broker) as old:
        await old.begin_transaction()
        await old.send("t", b"old", partition=0)
        async with producer(broker) as new:
            with pytest.raises(errors.KafkaError):
                await old.send("t", b"zombie", partition=0)
            with pytest.raises(errors.ProducerFencedError):
                await old.abort_transaction()
            with pytest.raises(errors.ProducerFencedError):
                await old.begin_transaction()
            async with new.transaction():
                await new.send("t", b"new", partition=0)
    assert broker.values() == [b"new"]


@pytest.mark.parametrize("is_after_work", [False, True])
async def test_a_lost_answer_to_a_commit_is_asked_for_again(is_after_work: bool) -> None:
    broker = TransactionBroker()
    async with producer(broker) as p:
        async with p.transaction():
            await p.send("t", b"a", partition=0)
            broker.mishaps.append(lost("EndTransaction", is_after_work=is_after_work, times=3))
        async with p.transaction():
            await p.send("t", b"b", partition=0)
    assert broker.values() == [b"a", b"b"]
    assert broker.headers(0) == [(0, 0), (1, 0)]


async def test_a_commit_of_unknown_outcome_is_called_again_and_nothing_else_goes() -> None:
    broker = TransactionBroker()
    async with producer(broker) as p:
        await p.begin_transaction()
        await p.send("t", b"a", partition=0)
        broker.mishaps.append(lost("EndTransaction", is_after_work=True, times=10**6))
        with pytest.raises(errors.DeliveryTimeoutError) as caught:
            await p.commit_transaction()
        assert caught.value.is_outcome_unknown
        for call in (p.begin_transaction(), p.abort_transaction(), p.send("t", b"b")):
            with pytest.raises(errors.InvalidTxnStateError):
                await call
        broker.mishaps.clear()
        await p.commit_transaction()
        async with p.transaction():
            await p.send("t", b"b", partition=0)
    assert broker.values() == [b"a", b"b"]


async def test_retriable_refusals_are_waited_out() -> None:
    broker = TransactionBroker()
    for name in ("InitTransactionalProducer", "EndTransaction"):
        for code in (common_pb2.COORDINATOR_LOAD_IN_PROGRESS, common_pb2.CONCURRENT_TRANSACTIONS):
            broker.mishaps.append(Mishap(name, code=code))
        broker.mishaps.append(Mishap(name, code=common_pb2.NOT_COORDINATOR))
    broker.mishaps.append(Mishap("Produce", code=common_pb2.CONCURRENT_TRANSACTIONS, times=5))
    async with producer(broker, retries=1) as p, p.transaction():
        await p.send("t", b"a", partition=0)
    assert broker.values() == [b"a"]
    assert len(broker.requests("FindCoordinator")) >= 3
    assert len(broker.requests("Metadata")) <= 2, "a leader that waits for a coordinator leads"


async def test_the_next_transaction_waits_for_the_markers_of_the_one_before() -> None:
    broker = TransactionBroker()
    async with producer(broker) as p:
        broker.has_markers = False
        async with p.transaction():
            await p.send("t", b"a", partition=0)
        await p.begin_transaction()
        future = await p.submit("t", b"b", partition=0)
        await asyncio.sleep(0.1)
        assert not future.done()
        broker.has_markers = True
        broker.write_markers()
        await p.commit_transaction()
    assert broker.values() == [b"a", b"b"]


async def test_an_empty_transaction_costs_no_request() -> None:
    broker = TransactionBroker()
    async with producer(broker) as p:
        before = len(broker.calls)
        async with p.transaction():
            pass
        await p.begin_transaction()
        await p.abort_transaction()
        assert len(broker.calls) == before


async def test_close_aborts_an_open_transaction() -> None:
    broker = TransactionBroker()
    p = producer(broker)
    await p.start()
    await p.begin_transaction()
    await p.send("t", b"a", partition=0)
    await p.close()
    assert broker.state() == "CompleteAbort"
    assert broker.values() == []


async def test_calls_out_of_turn_are_refused_by_type() -> None:
    broker = TransactionBroker()
    async with producer(broker) as p:
        for call in (p.commit_transaction(), p.abort_transaction(), p.send("t", b"a")):
            with pytest.raises(errors.InvalidTxnStateError):
                await call
        await p.begin_transaction()
        with pytest.raises(errors.InvalidTxnStateError):
            await p.begin_transaction()
        await p.send("t", b"a", partition=0)
        results = await asyncio.gather(
            p.commit_transaction(), p.commit_transaction(), return_exceptions=True
        )
        assert [type(one) for one in results] == [type(None), errors.InvalidTxnStateError]
    assert broker.values() == [b"a"]
    async with producer(broker, transactional_id=None, acks=1) as plain:
        with pytest.raises(errors.InvalidTxnStateError):
            await plain.begin_transaction()


@pytest.mark.parametrize(
    "options",
    [
        {"acks": 1},
        {"enable_idempotence": False},
        {"retries": 0},
        {"transactional_id": ""},
        {"transactional_id": "x" * 250},
        {"transaction_timeout_ms": -1},
    ],
)
def test_options_against_transactions_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(errors.ClientConfigError):
        producer(TransactionBroker(), **options)


async def test_a_time_out_above_the_maximum_is_the_coordinators_error() -> None:
    p = producer(TransactionBroker(), transaction_timeout_ms=900_001)
    with pytest.raises(errors.InvalidTransactionTimeoutError):
        await p.start()
    with pytest.raises(errors.ClientClosedError):
        await p.begin_transaction()


async def test_who_waited_for_room_in_one_transaction_is_not_in_the_next() -> None:
    broker = TransactionBroker()
    async with producer(broker, buffer_memory=1000, batch_size=500, max_request_size=1000) as p:
        await p.begin_transaction()
        broker.answers = asyncio.Event()
        await p.submit("t", b"x" * 400, partition=0)
        await p.submit("t", b"x" * 400, partition=1)
        waiting = asyncio.create_task(p.submit("t", b"late" * 100, partition=0))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        await p.abort_transaction()
        await p.begin_transaction()
        broker.answers.set()
        with pytest.raises(errors.TransactionAbortedError):
            await waiting
        await p.send("t", b"next", partition=0)
        await p.commit_transaction()
    assert broker.values() == [b"next"]


async def test_who_waited_for_metadata_in_one_transaction_is_not_in_the_next() -> None:
    broker = TransactionBroker()
    async with producer(broker) as p:
        await p.begin_transaction()
        held = broker.held[ADDRESS, "Metadata"] = asyncio.Event()
        waiting = asyncio.create_task(p.submit("u", b"late"))
        await asyncio.sleep(0.05)
        await p.abort_transaction()
        await p.begin_transaction()
        held.set()
        with pytest.raises(errors.TransactionAbortedError):
            await waiting
        await p.send("u", b"next")
        await p.commit_transaction()
    assert broker.values("u") == [b"next"]


async def test_what_waits_behind_a_failed_record_fails_at_once_and_is_never_sent() -> None:
    broker = TransactionBroker()
    async with producer(broker, batch_size=200) as p:
        await p.begin_transaction()
        broker.mishaps.append(Mishap("Produce", code=common_pb2.INVALID_RECORD))
        futures = [await p.submit("t", b"x" * 100, partition=0) for _ in range(5)]
        outcomes = await asyncio.wait_for(asyncio.gather(*futures, return_exceptions=True), 1)
        assert [type(one) for one in outcomes] == [
            errors.InvalidRecordError,
            *[errors.TransactionAbortedError] * 4,
        ]
        assert len(broker.requests("Produce")) == 1
        await p.abort_transaction()


async def test_a_cancelled_commit_is_called_again() -> None:
    broker = TransactionBroker()
    async with producer(broker) as p:
        held = broker.held[ADDRESS, "EndTransaction"] = asyncio.Event()

        async def work() -> None:
            async with p.transaction():
                await p.send("t", b"a", partition=0)

        task = asyncio.create_task(work())
        await until(lambda: bool(broker.requests("EndTransaction")))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        held.set()
        with pytest.raises(errors.InvalidTxnStateError):
            await p.begin_transaction()
        await p.commit_transaction()
    assert broker.values() == [b"a"]


async def test_an_expired_id_is_initialised_again_at_the_abort() -> None:
    broker = TransactionBroker()
    async with producer(broker) as p:
        await p.begin_transaction()
        broker.shard.transactions.clear()
        with pytest.raises(errors.InvalidProducerIdMappingError):
            await p.send("t", b"a", partition=0)
        await p.abort_transaction()
        async with p.transaction():
            await p.send("t", b"b", partition=0)
    assert broker.values() == [b"b"]


async def test_a_used_up_epoch_brings_a_new_producer_id() -> None:
    broker = TransactionBroker()
    async with producer(broker):
        pass
    one = broker.shard.transactions["id"]
    used_up = replace(one, producer=one.producer._replace(epoch=PRODUCER_EPOCH_MAX - 3))
    broker.shard.transactions["id"] = used_up
    async with producer(broker) as p:
        for number in range(4):
            async with p.transaction():
                await p.send("t", b"%d" % number, partition=0)
    assert broker.values() == [b"0", b"1", b"2", b"3"]
    assert len({epoch for epoch, _ in broker.headers()}) == 4
    assert (0, 0) in broker.headers()
