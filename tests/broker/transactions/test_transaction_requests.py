"""Requests of producers: who asks is compared first, repeats get the first answer again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.broker.transactions.coordinated_ids import (
    P0,
    P1,
    TIMEOUT_MS,
    TOPIC,
    CoordinatedIds,
    refusal,
)

from tidelog.broker.partition_adder import ID_CHARACTERS_MAX, Producer, TransactionPartition
from tidelog.broker.transactions.transaction import EPOCH_LAST, State, Transaction
from tidelog.broker.transactions.transaction_config import TransactionConfig
from tidelog.broker.transactions.transaction_key import partition_of
from tidelog.core.errors import KafkaError


@pytest.fixture
def ids() -> CoordinatedIds:
    return CoordinatedIds()


def in_epoch(ids: CoordinatedIds, epoch: int, name: str = "a") -> Producer:
    """Have an idle producer be in an epoch."""
    producer = Producer(7, epoch)
    one = Transaction(name, producer, timeout_ms=TIMEOUT_MS, update_ms=ids.now.wall_ms)
    ids.write([one.record()])
    return producer


def test_a_new_id_gets_a_producer_id_in_epoch_0_and_each_later_producer_the_next_epoch(
    ids: CoordinatedIds,
) -> None:
    assert [ids.init() for _ in range(3)] == [Producer(100, 0), Producer(100, 1), Producer(100, 2)]
    assert ids.init("b") == Producer(101, 0)
    assert ids.state() is State.Empty


def test_a_later_producer_aborts_what_is_open_and_waits_for_its_markers(
    ids: CoordinatedIds,
) -> None:
    old = ids.begun()
    assert refusal(ids.init) == "ConcurrentTransactions"
    assert refusal(ids.init) == "ConcurrentTransactions"
    [attempt] = ids.shard.prepared
    assert (attempt.producer, attempt.is_commit) == (Producer(100, 1), False)
    for call in (
        lambda: ids.add(old),
        lambda: ids.end(old),
        lambda: ids.end(old, is_commit=False),
        lambda: ids.init(expected=old),
    ):
        assert refusal(call) == "ProducerFenced"
    ids.complete()
    new = ids.init()
    assert new == Producer(100, 2)
    assert refusal(lambda: ids.end(old, is_commit=False)) == "ProducerFenced"
    assert refusal(lambda: ids.add(old)) == "ProducerFenced"
    ids.add(new)


@pytest.mark.parametrize("is_commit", [True, False])
def test_an_end_answers_the_next_epoch_and_its_repeat_the_same_until_the_producer_goes_on(
    ids: CoordinatedIds, is_commit: bool
) -> None:
    producer = ids.begun()
    after = ids.end(producer, is_commit=is_commit)
    assert after == Producer(100, 1)
    records = len(ids.log)
    assert ids.end(producer, is_commit=is_commit) == after
    ids.move()
    assert ids.end(producer, is_commit=is_commit) == after
    assert len(ids.log) == records
    [attempt] = ids.shard.prepared
    assert (attempt.producer, attempt.is_commit) == (after, is_commit)
    ids.complete()
    assert ids.end(producer, is_commit=is_commit) == after
    other = "ProducerFenced" if not is_commit else "InvalidTxnState"
    assert refusal(lambda: ids.end(producer, is_commit=not is_commit)) == other
    ids.add(after)
    assert refusal(lambda: ids.end(producer, is_commit=is_commit)) == "ProducerFenced"
    assert ids.state() is State.Ongoing


def test_while_markers_are_written_the_producer_has_to_wait(ids: CoordinatedIds) -> None:
    after = ids.end(ids.begun())
    assert refusal(lambda: ids.add(after)) == "ConcurrentTransactions"
    assert refusal(lambda: ids.end(after, is_commit=False)) == "ConcurrentTransactions"
    assert refusal(lambda: ids.init(expected=after)) == "ConcurrentTransactions"
    ids.complete()
    ids.add(after)


def test_a_batch_of_the_epoch_before_is_refused(ids: CoordinatedIds) -> None:
    producer = ids.begun()
    ids.end(producer)
    assert refusal(lambda: ids.add(producer)) == "InvalidProducerEpoch"
    ids.complete()
    assert refusal(lambda: ids.add(producer)) == "InvalidProducerEpoch"
    assert ids.state() is State.CompleteCommit


def test_partitions_that_are_in_need_no_record(ids: CoordinatedIds) -> None:
    producer = ids.begun("a", P0)
    assert ids.add(producer, P0) == 0
    assert ids.add(producer, P0, P1) == 1
    assert list(ids.shard.transactions["a"].each_partition()) == [P0, P1]


@pytest.mark.parametrize(
    ("producer", "error"),
    [
        (Producer(99, 0), "InvalidProducerIdMapping"),
        (Producer(100, 0), "ProducerFenced"),
        (Producer(100, 9), "ProducerFenced"),
    ],
)
def test_strangers_change_nothing(ids: CoordinatedIds, producer: Producer, error: str) -> None:
    ids.init()
    current = ids.begun()
    records = len(ids.log)
    assert refusal(lambda: ids.add(producer)) == error
    assert refusal(lambda: ids.end(producer)) == error
    assert refusal(lambda: ids.init(expected=producer)) == "ProducerFenced"
    assert len(ids.log) == records
    assert ids.shard.transactions["a"].producer == current


def test_an_unknown_id_has_no_transaction(ids: CoordinatedIds) -> None:
    assert refusal(lambda: ids.add(Producer(1, 0))) == "InvalidProducerIdMapping"
    assert refusal(lambda: ids.end(Producer(1, 0))) == "InvalidProducerIdMapping"
    assert refusal(lambda: ids.shard.describe("a")) == "TransactionalIdNotFound"
    # The producer of an id that expired begins anew (KIP-360).
    assert ids.init(expected=Producer(1, 3)) == Producer(100, 0)


def test_nothing_is_committed_of_an_empty_transaction_and_an_abort_raises_the_epoch(
    ids: CoordinatedIds,
) -> None:
    producer = ids.init()
    assert refusal(lambda: ids.end(producer)) == "InvalidTxnState"
    after = ids.end(producer, is_commit=False)
    assert after == Producer(100, 1)
    assert ids.end(producer, is_commit=False) == after
    [attempt] = ids.shard.prepared
    assert ids.shard.unmarked(attempt) == []
    ids.complete()
    assert ids.end(after, is_commit=False) == Producer(100, 2)


def test_a_producer_that_initialises_again_is_answered_alike_when_it_repeats(
    ids: CoordinatedIds,
) -> None:
    producer = ids.init()
    after = ids.init(expected=producer)
    assert after == Producer(100, 1)
    assert ids.init(expected=producer) == after
    assert ids.init(expected=after) == Producer(100, 2)
    assert refusal(lambda: ids.init(expected=producer)) == "ProducerFenced"


def test_a_producer_that_initialises_again_aborts_its_own_transaction(ids: CoordinatedIds) -> None:
    producer = ids.begun()
    assert refusal(lambda: ids.init(expected=producer)) == "ConcurrentTransactions"
    ids.complete()
    assert ids.init(expected=producer) == Producer(100, 1)


def test_the_last_epoch_is_of_markers_alone_and_another_id_follows(ids: CoordinatedIds) -> None:
    producer = in_epoch(ids, EPOCH_LAST)
    ids.add(producer)
    after = ids.end(producer)
    assert after == Producer(100, 0)
    [attempt] = ids.shard.prepared
    assert attempt.producer == Producer(7, EPOCH_LAST + 1)
    assert ids.end(producer) == after
    assert refusal(lambda: ids.add(after)) == "ConcurrentTransactions"
    ids.move()
    ids.complete()
    assert ids.shard.transactions["a"].producer == after
    assert ids.end(producer) == after
    ids.add(after)
    assert refusal(lambda: ids.end(producer)) == "InvalidProducerIdMapping"


def test_an_init_at_the_last_epoch_gives_another_id_and_its_repeat_the_same(
    ids: CoordinatedIds,
) -> None:
    producer = in_epoch(ids, EPOCH_LAST)
    after = ids.init(expected=producer)
    assert after == Producer(100, 0)
    assert ids.init(expected=producer) == after
    in_epoch(ids, EPOCH_LAST, "b")
    assert ids.init("b") == Producer(101, 0)
    assert refusal(lambda: ids.init("b", expected=Producer(7, EPOCH_LAST))) == "ProducerFenced"


def test_fencing_at_the_last_epoch_gives_another_id(ids: CoordinatedIds) -> None:
    producer = in_epoch(ids, EPOCH_LAST)
    ids.add(producer)
    assert refusal(ids.init) == "ConcurrentTransactions"
    [attempt] = ids.complete()
    assert attempt.producer.epoch == EPOCH_LAST + 1
    assert ids.init() == Producer(100, 1)


def test_the_time_out_0_is_the_longest_that_is_allowed(ids: CoordinatedIds) -> None:
    ids.init(timeout_ms=0)
    (one,) = ids.shard.transactions.values()
    assert one.timeout_ms == 900_000


@pytest.mark.parametrize("timeout_ms", [-1, 900_001])
def test_time_outs_are_bounded(ids: CoordinatedIds, timeout_ms: int) -> None:
    assert refusal(lambda: ids.init(timeout_ms=timeout_ms)) == "InvalidTransactionTimeout"
    assert ids.init(timeout_ms=900_000)


@pytest.mark.parametrize("name", ["", "n" * (ID_CHARACTERS_MAX + 1)])
def test_empty_and_long_ids_are_refused(ids: CoordinatedIds, name: str) -> None:
    for call in (
        lambda: ids.init(name),
        lambda: ids.add(Producer(1, 0), name=name),
        lambda: ids.end(Producer(1, 0), name=name),
        lambda: ids.end_group(name),
        lambda: ids.shard.describe(name),
    ):
        assert refusal(call) == "InvalidRequest"
    assert ids.init("n" * 249)


def test_no_partitions_and_too_many_are_refused(ids: CoordinatedIds) -> None:
    ids = CoordinatedIds(replace(TransactionConfig(), transaction_record_bytes_max=400))
    producer = ids.begun("a", P0)
    with pytest.raises(KafkaError, match="no partitions"):
        ids.shard.add_partitions("a", producer, [], ids.now)
    many = [TransactionPartition(TOPIC, number) for number in range(400)]
    assert refusal(lambda: ids.add(producer, *many)) == "InvalidRequest"
    assert list(ids.shard.transactions["a"].each_partition()) == [P0]


def test_ids_and_bytes_of_a_partition_are_bounded() -> None:
    ids = CoordinatedIds(replace(TransactionConfig(), transactional_ids_max=2))
    ids.init("a")
    ids.init("b")
    assert refusal(lambda: ids.init("c")) == "ThrottlingQuotaExceeded"
    ids.init("a")
    ids = CoordinatedIds(replace(TransactionConfig(), transaction_partition_state_bytes=40))
    producer = ids.begun("a", P0)
    assert ids.shard.state_bytes > 40
    assert refusal(lambda: ids.init("b")) == "ThrottlingQuotaExceeded"
    assert refusal(lambda: ids.add(producer, P1)) == "ThrottlingQuotaExceeded"
    ids.end(producer)


def test_ids_of_one_prefix_share_a_partition() -> None:
    assert len({partition_of(f"g/{number}", 50) for number in range(100)}) == 1
    assert partition_of("g/1", 50) == partition_of("g", 50)
    assert len({partition_of(f"g{number}", 50) for number in range(500)}) == 50
    assert partition_of("payments-1", 1_000_000_000) == java_hash_of_payments() % 1_000_000_000


def java_hash_of_payments() -> int:
    hashed = 0
    for character in "payments-1":
        hashed = (31 * hashed + ord(character)) % 2**32
    return abs(hashed - 2**32 if hashed >= 2**31 else hashed)
