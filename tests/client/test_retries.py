"""The producer's `retries`: how often a batch is sent again, and what fails with it."""

from __future__ import annotations

import asyncio
from typing import Any

import pyarrow as pa
import pytest
from tests.client.meddler import Mishap
from tests.client.real_cluster import ADDRESSES, BOOTSTRAP, RealCluster, started

from tidelog.client import (
    CallFailedError,
    NotEnoughReplicasError,
    Producer,
    RecordMetadata,
    errors,
)
from tidelog.client.arrow import TableWriter
from tidelog.records.batch import parse_header
from tidelog.v1 import common_pb2

REFUSAL = common_pb2.NOT_ENOUGH_REPLICAS


def producer(cluster: RealCluster, **options: Any) -> Producer:  # options of Producer
    options = {"retry_backoff_ms": 1, "retry_backoff_max_ms": 5, **options}
    return Producer(BOOTSTRAP, transport=cluster, **options)


def refused(times: int) -> Mishap:
    return Mishap("Produce", code=REFUSAL, times=times)


def lost_answer() -> Mishap:
    error = errors.CallFailedError("the connection broke")
    return Mishap("Produce", error=error, is_after_work=True)


async def cluster_with_topic() -> RealCluster:
    cluster = await started()
    await cluster.create("t")
    return cluster


@pytest.mark.parametrize("retries", [0, 1, 3])
async def test_a_batch_is_sent_again_so_often_and_then_fails_with_the_last_error(
    retries: int,
) -> None:
    cluster = await cluster_with_topic()
    cluster.mishaps.append(refused(retries + 1))
    async with producer(cluster, retries=retries) as p:
        with pytest.raises(NotEnoughReplicasError) as raised:
            await p.send("t", b"lost")
        assert not raised.value.is_outcome_unknown
        assert len(cluster.requests("Produce")) == retries + 1
        await p.send("t", b"next")
    assert cluster.values("t") == [[b"next"]]


@pytest.mark.parametrize("retries", [1, 3])
async def test_a_batch_within_its_retries_is_stored(retries: int) -> None:
    cluster = await cluster_with_topic()
    cluster.mishaps.append(refused(retries))
    async with producer(cluster, retries=retries) as p:
        assert (await p.send("t", b"v")).offset == 0
    assert len(cluster.requests("Produce")) == retries + 1


async def test_the_default_leaves_the_end_to_the_delivery_timeout() -> None:
    cluster = await cluster_with_topic()
    cluster.mishaps.append(refused(1_000))
    async with producer(cluster, delivery_timeout_ms=200) as p:
        with pytest.raises(errors.DeliveryTimeoutError):
            await p.send("t", b"v")
    assert len(cluster.requests("Produce")) > 20


async def test_the_delivery_timeout_ends_retries_that_are_left() -> None:
    cluster = await cluster_with_topic()
    cluster.mishaps.append(refused(1_000))
    async with producer(cluster, retries=900, delivery_timeout_ms=100) as p:
        with pytest.raises(errors.DeliveryTimeoutError):
            await p.send("t", b"v")


async def test_without_retries_a_lost_answer_leaves_the_outcome_unknown() -> None:
    cluster = await cluster_with_topic()
    cluster.mishaps.append(lost_answer())
    async with producer(cluster, retries=0) as p:
        with pytest.raises(CallFailedError) as raised:
            await p.send("t", b"v")
    assert raised.value.is_outcome_unknown
    assert cluster.values("t") == [[b"v"]]


async def test_an_unreached_leader_counts_as_a_failure() -> None:
    cluster = await cluster_with_topic()
    async with producer(cluster, retries=0) as p:
        await p.send("t", b"1")
        cluster.cut_off |= set(ADDRESSES.values())
        for stream in cluster.streams:
            stream.fail(errors.CallFailedError("the broker hung up"))
        with pytest.raises(errors.UnreachableError) as raised:
            await p.send("t", b"2")
    assert not raised.value.is_outcome_unknown


async def test_zero_retries_switch_idempotence_off_unless_it_was_asked_for() -> None:
    cluster = await cluster_with_topic()
    async with producer(cluster, retries=0) as without, producer(cluster, retries=1) as numbered:
        await without.send("t", b"1")
        await numbered.send("t", b"2")
    ids = [parse_header(batch).producer_id for batch in cluster.topics["t"].partitions[0].batches]
    assert ids[0] == -1
    assert ids[1] >= 0


async def test_idempotent_batches_behind_a_failed_one_are_stored_once_and_in_order() -> None:
    """The failed ones leave a gap in the numbers, and the next begin an epoch."""
    cluster = await cluster_with_topic()
    async with producer(cluster, retries=2, batch_size=100, max_request_size=150) as p:
        await p.send("t", b"first")
        cluster.mishaps.append(refused(12))
        futures = [await p.submit("t", b"%03d" % number) for number in range(40)]
        outcomes = await asyncio.gather(*futures, return_exceptions=True)
    (stored,) = cluster.values("t")
    kept = [b"%03d" % n for n, one in enumerate(outcomes) if isinstance(one, RecordMetadata)]
    assert stored == [b"first", *kept]
    assert 0 < len(kept) < 40


async def test_neighbours_of_a_refused_batch_spend_no_retry_on_it() -> None:
    """Without numbers one records field carries several batches, and one refusal is of all."""
    cluster = await cluster_with_topic()
    options = {"retries": 0, "acks": 1, "batch_size": 100, "max_request_size": 1_000}
    async with producer(cluster, **options) as p:
        await p.partitions_for("t")
        gate = cluster.gates[ADDRESSES[1]] = asyncio.Event()
        first = await p.submit("t", b"first")
        await asyncio.sleep(0.1)
        futures = [await p.submit("t", b"%050d" % number) for number in range(6)]
        cluster.mishaps += [Mishap("Produce"), Mishap("Produce", code=common_pb2.INVALID_RECORD)]
        gate.set()
        await first
        await asyncio.gather(*futures)
    assert cluster.values("t") == [[b"first", *(b"%050d" % number for number in range(6))]]


async def test_a_table_writer_takes_retries_too() -> None:
    cluster = await cluster_with_topic()
    cluster.mishaps.append(refused(2))
    rows = pa.RecordBatch.from_pydict({"value": [b"v"]})
    async with TableWriter(BOOTSTRAP, transport=cluster, retries=1) as writer:
        await writer.write("t", rows)
        with pytest.raises(NotEnoughReplicasError):
            await writer.flush()
    assert len(cluster.requests("Produce")) == 2
