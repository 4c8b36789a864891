"""A batch is refused for some of its records: those fail, the others are stored (KIP-467)."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import pytest
from tests.client.real_cluster import BOOTSTRAP, RealCluster, started

from tidelog.client import BulkMetadata, Producer, RecordMetadata, errors
from tidelog.core.kafka_errors import RefusedRecord
from tidelog.log import validation
from tidelog.log.record_check import RecordRules, check_records
from tidelog.records.batch import BatchHeader

COUNT = 60


def producer(cluster: RealCluster, **options: Any) -> Producer:  # options of Producer
    options = {"retry_backoff_ms": 1, "retry_backoff_max_ms": 5, **options}
    return Producer(BOOTSTRAP, transport=cluster, **options)


def value(number: int) -> bytes:
    return b"%03d" % number


async def outcomes(
    p: Producer, keyless: set[int], count: int = COUNT
) -> list[RecordMetadata | BaseException]:
    sent = [
        await p.submit("t", value=value(n), key=None if n in keyless else b"%d" % n, partition=0)
        for n in range(count)
    ]
    async with asyncio.timeout(20):
        return await asyncio.gather(*sent, return_exceptions=True)


@pytest.mark.parametrize("is_idempotent", [True, False])
@pytest.mark.parametrize("batch_size", [150, 16_384])
@pytest.mark.parametrize("seed", range(3))
async def test_the_records_to_blame_fail_and_the_others_are_stored_in_order(
    is_idempotent: bool, batch_size: int, seed: int
) -> None:
    cluster = await started()
    await cluster.create("t", cleanup_policy="compact")
    blamed = set(Random(seed).sample(range(COUNT), 7))
    limits = {"batch_size": batch_size, "max_request_size": max(290, batch_size), "linger_ms": 5}
    async with producer(cluster, enable_idempotence=is_idempotent, **limits) as p:
        if seed:  # the log knows the epoch, so that several batches may be in flight
            await p.send("t", value=b"first", key=b"first", partition=0)
        told = await outcomes(p, blamed)
    for number, outcome in enumerate(told):
        if number in blamed:
            assert isinstance(outcome, errors.InvalidRecordError)
            assert "has no key" in outcome.message
            assert not outcome.is_outcome_unknown
        else:
            assert isinstance(outcome, RecordMetadata), outcome
    stored = [one for one in cluster.values("t")[0] if one != b"first"]
    assert stored == [value(n) for n in range(COUNT) if n not in blamed]


async def test_each_record_is_told_its_own_fault() -> None:
    cluster = await started()
    await cluster.create("t", cleanup_policy="compact")
    async with producer(cluster, linger_ms=5) as p:
        told = await outcomes(p, {2, 5}, count=10)
    assert {n: str(one) for n, one in enumerate(told) if isinstance(one, Exception)} == {
        n: f"record {n} of the batch has no key, but a compacted topic keeps records by key: "
        "give it one"
        for n in (2, 5)
    }


async def test_when_all_are_to_blame_all_fail() -> None:
    cluster = await started()
    await cluster.create("t", cleanup_policy="compact")
    async with producer(cluster, linger_ms=5) as p:
        told = await outcomes(p, set(range(10)), count=10)
        assert all(isinstance(one, errors.InvalidRecordError) for one in told)
        assert len(await outcomes(p, set(), count=3)) == 3
    assert cluster.values("t") == [[value(n) for n in range(3)]]


async def test_of_many_sent_at_once_only_those_to_blame_are_missing() -> None:
    cluster = await started()
    await cluster.create("t", cleanup_policy="compact")
    async with producer(cluster, linger_ms=5) as p:
        keys = [None if n in (3, 4) else b"k" for n in range(10)]
        done = await p.send_many("t", [value(n) for n in range(10)], keys=keys, partition=0)
    assert isinstance(done, BulkMetadata)
    assert (done.acknowledged, done.failed) == (8, 2)
    assert isinstance(done.error, errors.InvalidRecordError)


async def test_in_a_transaction_the_batch_fails_as_a_whole() -> None:
    cluster = await started()
    await cluster.create("t", cleanup_policy="compact")
    async with producer(cluster, linger_ms=5, transactional_id="mine") as p:
        await p.begin_transaction()
        told = await outcomes(p, {2}, count=4)
        assert all(isinstance(one, Exception) for one in told)
        await p.abort_transaction()
    assert value(0) not in cluster.values("t")[0]


@pytest.mark.parametrize("places", [[-1], [10], [0, 99], list(range(10))])
async def test_an_answer_that_blames_other_records_than_there_are_fails_the_batch(
    places: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(header: BatchHeader, batch: memoryview, rules: RecordRules) -> int:
        try:
            return check_records(header, batch, rules)
        except errors.InvalidRecordError as error:
            named = tuple(RefusedRecord(place) for place in places)
            raise errors.InvalidRecordError(error.message, record_errors=named) from error

    monkeypatch.setattr(validation, "check_records", check)
    cluster = await started()
    await cluster.create("t", cleanup_policy="compact")
    async with producer(cluster, linger_ms=5) as p:
        told = await outcomes(p, {2}, count=10)
    assert all(isinstance(one, errors.InvalidRecordError) for one in told)
    assert cluster.values("t") == [[]]
