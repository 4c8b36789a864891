"""A client that nobody listens for says so at once, unless it was asked to wait."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.client.real_cluster import ADDRESSES, BOOTSTRAP, RealCluster, start_all, started
from tests.virtual_loop import run_virtual

from tidelog.client import (
    Admin,
    BootstrapRefusedError,
    Consumer,
    Producer,
    UnreachableError,
    errors,
    sync,
)
from tidelog.client.consuming.range_reader import RangeReader
from tidelog.net.quiet_ports import quiet_ports

TOLD_S = 0.5
"""The limit of "at once"; the default waits of these calls are a minute."""
Call = Callable[[Any], Awaitable[object]]


async def _read(consumer: Consumer, partition: object) -> None:
    consumer.assign([partition])  # type: ignore[list-item]  # a partition or a name
    await consumer.getmany(timeout_ms=60_000)


FIRST_CALLS: dict[str, tuple[Callable[..., Any], Call]] = {
    "send": (Producer, lambda c: c.send("t", b"v")),
    "submit": (Producer, lambda c: c.submit("t", b"v")),
    "send_many": (Producer, lambda c: c.send_many("t", [b"v"])),
    "partitions_for": (Producer, lambda c: c.partitions_for("t")),
    "read a partition": (Consumer, lambda c: _read(c, ("t", 0))),
    "read a topic": (Consumer, lambda c: _read(c, "t")),
    "subscribe": (Consumer, lambda c: c.subscribe(["t"])),
    "subscribe to a pattern": (Consumer, lambda c: c.subscribe(pattern="t")),
    "end_offsets": (Consumer, lambda c: c.end_offsets([("t", 0)])),
    "list_topics": (Admin, lambda c: c.list_topics()),
    "create_topic": (Admin, lambda c: c.create_topic("t")),
    "list_offsets": (Admin, lambda c: c.list_offsets([("t", 0)], at="latest")),
    "topics": (RangeReader, lambda c: c.topics(["t"])),
}


@pytest.mark.parametrize("name", FIRST_CALLS)
async def test_the_first_call_fails_at_once_where_every_address_refuses(name: str) -> None:
    make, call = FIRST_CALLS[name]
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    async with make(BOOTSTRAP, transport=RealCluster()) as client:
        with pytest.raises(BootstrapRefusedError) as raised:
            await call(client)
    assert loop.time() - began_s < TOLD_S
    assert not raised.value.is_retriable
    for part in (*ADDRESSES.values(), "nobody listens", "start the cluster", "name the brokers"):
        assert part in raised.value.message


async def test_an_address_that_is_silent_may_be_a_broker_and_is_waited_for() -> None:
    cluster = RealCluster()
    cluster.cut_off.add(ADDRESSES[2])
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    async with Producer(BOOTSTRAP, transport=cluster, max_block_ms=5_000) as producer:
        with pytest.raises(UnreachableError) as raised:
            await producer.send("t", b"v")
    assert not isinstance(raised.value, BootstrapRefusedError)
    assert loop.time() - began_s >= 5


async def test_a_cluster_that_is_about_to_start_is_waited_for_where_asked() -> None:
    cluster = RealCluster()

    async def start_later() -> None:
        await asyncio.sleep(20)
        await start_all(cluster)

    async with Producer(BOOTSTRAP, transport=cluster, bootstrap_timeout_ms=60_000) as producer:
        starting = asyncio.create_task(start_later())
        assert (await producer.send("t", b"v")).offset == 0
        await starting


async def test_the_wait_for_a_cluster_ends() -> None:
    loop = asyncio.get_running_loop()
    began_s = loop.time()
    async with Admin(BOOTSTRAP, transport=RealCluster(), bootstrap_timeout_ms=3_000) as admin:
        with pytest.raises(BootstrapRefusedError):
            await admin.list_topics()
    assert 3 <= loop.time() - began_s < 3 + 2 * TOLD_S


async def test_a_close_ends_the_wait_for_a_cluster() -> None:
    producer = Producer(BOOTSTRAP, transport=RealCluster(), bootstrap_timeout_ms=60_000)
    sending = asyncio.create_task(producer.send("t", b"v"))
    await asyncio.sleep(1)
    await producer.close(timeout_ms=0)
    with pytest.raises(errors.ClientClosedError):
        await sending


async def test_a_client_that_was_connected_once_retries_refusals() -> None:
    cluster = await started()
    await cluster.create("t")
    async with Producer(BOOTSTRAP, transport=cluster) as producer:
        await producer.send("t", b"before")
        for node_id in ADDRESSES:
            cluster.kill(node_id)
        sending = asyncio.create_task(producer.send("t", b"after"))
        await asyncio.sleep(5)
        assert not sending.done()
        await asyncio.gather(*map(cluster.start, ADDRESSES))
        assert (await sending).offset == 1


async def test_a_topic_looked_up_later_waits_through_refusals_too() -> None:
    cluster = await started()
    await cluster.create("t")
    await cluster.create("u")
    async with Producer(BOOTSTRAP, transport=cluster) as producer:
        await producer.send("t", b"v")
        for node_id in ADDRESSES:
            cluster.kill(node_id)
        asking = asyncio.create_task(producer.partitions_for("u"))
        await asyncio.sleep(5)
        assert not asking.done()
        await asyncio.gather(*map(cluster.start, ADDRESSES))
        assert await asking == [0]


def test_the_synchronous_client_fails_at_once_too() -> None:
    with (
        sync.Producer(BOOTSTRAP, transport=RealCluster()) as producer,
        pytest.raises(BootstrapRefusedError),
    ):
        producer.send("t", b"v")


def test_nothing_is_left_behind_by_a_refusal() -> None:
    async def story() -> None:
        async with Producer(BOOTSTRAP, transport=RealCluster()) as producer:
            with pytest.raises(BootstrapRefusedError):
                await producer.send("t", b"v")
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run_virtual(story())


@pytest.mark.real_time
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "nosuch.invalid"])
async def test_ports_of_this_machine_refuse_and_unknown_hosts_count_as_such(host: str) -> None:
    addresses = [f"{host}:{port}" for port in quiet_ports(2)]
    async with Producer(addresses) as producer:
        with pytest.raises(BootstrapRefusedError, match=f"{addresses[0]}, {addresses[1]}: nobody"):
            await producer.send("t", b"v")


@pytest.mark.real_time
async def test_a_port_that_takes_connections_and_says_nothing_is_no_refusal() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        began_s = time.monotonic()
        async with Producer(address, max_block_ms=2_000) as producer:
            with pytest.raises(UnreachableError) as raised:
                await producer.send("t", b"v")
    assert not isinstance(raised.value, BootstrapRefusedError)
    assert time.monotonic() - began_s >= 1.5
