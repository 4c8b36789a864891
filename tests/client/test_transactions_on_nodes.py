"""Transactional producers on three real nodes: commits, fencing, tools, a killed coordinator."""

from __future__ import annotations

from typing import Any

import pytest
from tests.client.meddler import Mishap
from tests.client.real_cluster import BOOTSTRAP, RealCluster, started

from tidelog.client import Admin, Producer, errors
from tidelog.records.batch import CONTROL_FLAG, TRANSACTIONAL_FLAG


def producer(cluster: RealCluster, **options: Any) -> Producer:  # options of Producer
    options = {"transactional_id": "id", "retry_backoff_ms": 5, **options}
    return Producer(BOOTSTRAP, transport=cluster, **options)


async def test_transactions_of_several_partitions_follow_one_another() -> None:
    cluster = await started()
    await cluster.create("t", partitions=3)
    async with producer(cluster) as p:
        for number in range(5):
            async with p.transaction():
                for partition in range(3):
                    await p.send_many("t", [b"%d" % number] * 10, partition=partition)
        with pytest.raises(KeyError):
            await _fail(p)
        async with p.transaction():
            await p.send("t", b"last", partition=1)
    for state in cluster.topics["t"].partitions:
        headers = state.headers()
        epochs = [one.producer_epoch for one in headers if not one.attributes & CONTROL_FLAG]
        markers = [one.attributes for one in headers if one.attributes & CONTROL_FLAG]
        assert len(markers) >= 5
        assert epochs == sorted(epochs)
        assert len({one.producer_id for one in headers}) == 1
        assert all(one.attributes & TRANSACTIONAL_FLAG for one in headers)


async def _fail(p: Producer) -> None:
    async with p.transaction():
        await p.send("t", b"void", partition=0)
        raise KeyError


async def test_a_lost_answer_and_a_newer_producer() -> None:
    cluster = await started()
    await cluster.create("t")
    broken = errors.CallFailedError("the connection broke")
    async with producer(cluster) as old:
        async with old.transaction():
            await old.send("t", b"a")
            cluster.mishaps.append(Mishap("EndTransaction", error=broken, is_after_work=True))
        await old.begin_transaction()
        await old.send("t", b"b")
        async with producer(cluster) as new:
            async with new.transaction():
                await new.send("t", b"c")
            with pytest.raises(errors.KafkaError):
                await old.send("t", b"zombie")
            with pytest.raises((errors.ProducerFencedError, errors.TransactionAbortedError)):
                await old.commit_transaction()
    values = [value for part in cluster.values("t") for value in part]
    assert b"zombie" not in values


async def test_tools_see_what_is_open_and_abort_it() -> None:
    cluster = await started()
    await cluster.create("t")
    async with producer(cluster) as p, Admin(BOOTSTRAP, transport=cluster) as admin:
        await p.begin_transaction()
        await p.send("t", b"a")
        (listed,) = await admin.list_transactions(["Ongoing"])
        assert listed.transactional_id == "id"
        described = (await admin.describe_transactions(["id"]))["id"]
        assert not isinstance(described, errors.TidelogError)
        assert described.partitions == (("t", 0),)
        assert await admin.find_hanging_transactions(max_age_ms=-(10**15)) == []
        aborted = await admin.abort_transaction("id")
        assert aborted.producer_id == listed.producer_id
        with pytest.raises(errors.ProducerFencedError):
            await p.commit_transaction()


async def test_a_killed_coordinator_is_followed_by_the_next() -> None:
    cluster = await started()
    await cluster.create("t", partitions=3)
    async with producer(cluster) as p:
        await p.begin_transaction()
        await p.send("t", b"a", partition=0)
        admin = Admin(BOOTSTRAP, transport=cluster)
        (listed,) = await admin.list_transactions()
        cluster.kill(listed.coordinator_id)
        await p.send("t", b"b", partition=1)
        await p.commit_transaction()
        async with p.transaction():
            await p.send("t", b"c", partition=2)
        await admin.close()
