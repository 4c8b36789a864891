"""Calls as users of Kafka's clients write them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.client.loop_peers import LoopPeers
from tests.client.real_cluster import BOOTSTRAP, RealCluster, started
from tests.client.threaded_cluster import threaded_cluster

from tidelog.client import Admin, Consumer, Producer, errors, sync

CLIENTS: dict[str, Callable[..., Any]] = {  # three constructors
    "Producer": Producer,
    "Consumer": Consumer,
    "Admin": Admin,
}


async def with_topic() -> RealCluster:
    """A cluster with topic t of one partition."""
    cluster = await started()
    await cluster.create("t")
    return cluster


def stored(cluster: RealCluster) -> list[tuple[bytes | None, bytes | None]]:
    """Key and value of all records of topic t, in their order."""
    return [(r.key, r.value) for r in cluster.topics["t"].partitions[0].records()]


async def test_value_and_key_may_be_given_by_position() -> None:
    cluster = await with_topic()
    async with Producer(BOOTSTRAP, transport=cluster) as producer:
        await producer.send("t", b"value")
        await producer.send("t", b"value", b"key")
        await (await producer.submit("t", b"later", b"key"))
        await producer.send("t", key=b"key", value=b"named")
        await producer.send("t", key=b"key")
    assert stored(cluster) == [
        (None, b"value"),
        (b"key", b"value"),
        (b"key", b"later"),
        (b"key", b"named"),
        (b"key", None),
    ]


def test_value_and_key_may_be_given_by_position_without_await() -> None:
    with threaded_cluster() as cluster:
        cluster.create("t")
        with sync.Producer(bootstrap_servers=BOOTSTRAP, transport=cluster) as producer:
            producer.send("t", b"value", b"key")
            producer.submit("t", b"later").result()
        found = [(r.key, r.value) for r in cluster.records("t")]
    assert found == [(b"key", b"value"), (None, b"later")]


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("servers", [BOOTSTRAP, BOOTSTRAP.split(",")], ids=["text", "list"])
async def test_brokers_may_be_named_by_kafkas_option(name: str, servers: object) -> None:
    cluster = await with_topic()
    async with CLIENTS[name](bootstrap_servers=servers, transport=cluster) as client:
        if isinstance(client, Admin):
            assert await client.list_topics() == ["t"]
        else:
            assert await client.partitions_for("t") == [0]


@pytest.mark.parametrize("name", CLIENTS)
async def test_brokers_are_named_exactly_once(name: str) -> None:
    for given in ({}, {"bootstrap": BOOTSTRAP, "bootstrap_servers": BOOTSTRAP}):
        with pytest.raises(TypeError, match="name the brokers once"):
            CLIENTS[name](transport=LoopPeers({}), **given)


async def test_start_and_stop_stand_beside_the_context_manager() -> None:
    cluster = await with_topic()
    producer = Producer(BOOTSTRAP, transport=cluster)
    await producer.start()
    later = await producer.submit("t", b"value")
    await producer.stop()
    assert (await later).offset == 0
    assert stored(cluster) == [(None, b"value")]
    with pytest.raises(errors.ClientClosedError):
        await producer.send("t", b"value")
    consumer = Consumer(BOOTSTRAP, transport=cluster)
    await consumer.start()
    await consumer.stop()
    with pytest.raises(errors.ClientClosedError):
        await consumer.partitions_for("t")
