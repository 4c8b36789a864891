"""A consumer that asks and does not listen: no memory is spent on it, and nobody waits for it."""

from __future__ import annotations

import asyncio

import pytest
from tests.benchmarks.memory_samples import Memory
from tests.integration.local_cluster import LocalCluster

from tidelog.client import Admin, Consumer, Producer
from tidelog.core.errors import TidelogError
from tidelog.net.grpc_transport import GrpcTransport
from tidelog.v1.data_pb2 import FetchPartition, FetchRequest
from tidelog.v1.methods import FETCH_STREAM

pytestmark = [pytest.mark.process]

RECORDS = 200
RECORD_BYTES = 100_000
DEAF_STREAMS = 20
REQUESTS = 200
ANSWER_BYTES = 1 << 20
GROWTH_MIB_MAX = 3 * DEAF_STREAMS + 32
"""An answer of a stream waits, and one is being read; far below what was asked for, 4,000 MiB."""


def resident_mib(cluster: LocalCluster) -> float:
    """Of the largest node."""
    sizes = [Memory.of(pid) for pid in cluster.pids().values() if pid is not None]
    return max(one.resident for one in sizes if one is not None) / (1 << 20)


async def ask_deafly(transport: GrpcTransport, address: str) -> None:
    """Again and again for the first MiB; the answers are left where they are."""
    stream = await transport.open_stream(address, FETCH_STREAM)
    partition = FetchPartition(topic="t", partition=0, partition_max_bytes=ANSWER_BYTES)
    request = FetchRequest(max_wait_ms=100, max_bytes=ANSWER_BYTES, partitions=[partition])
    try:
        for _ in range(REQUESTS):
            await stream.send(request)
        await asyncio.Event().wait()
    except TidelogError:
        return


async def read_beside_the_deaf(cluster: LocalCluster) -> tuple[int, float]:
    async with Admin(cluster.bootstrap) as admin, Producer(cluster.bootstrap) as producer:
        await admin.create_topic("t", partitions=1, replication_factor=3)
        await producer.send_many("t", [bytes(RECORD_BYTES)] * RECORDS)
        topic = await admin.describe_topic("t")
        leader = topic.partitions[0].leader
        assert leader is not None
        before_mib = resident_mib(cluster)
        transport = GrpcTransport()
        address = cluster.addresses[leader - 1]
        deaf = [asyncio.create_task(ask_deafly(transport, address)) for _ in range(DEAF_STREAMS)]
        await asyncio.sleep(3)
        read = 0
        async with asyncio.timeout(120), Consumer(cluster.bootstrap) as consumer:
            consumer.assign([("t", 0)])
            consumer.seek(("t", 0), 0)
            while read < RECORDS:
                read += len(await consumer.getmany(timeout_ms=5_000))
            await producer.send("t", value=b"and writing goes on")
        growth_mib = resident_mib(cluster) - before_mib
        for task in deaf:
            task.cancel()
        await asyncio.gather(*deaf, return_exceptions=True)
        await transport.close()
        return read, growth_mib


def test_who_does_not_listen_holds_nobody_up(cluster: LocalCluster) -> None:
    assert cluster.start().returncode == 0
    read, growth_mib = asyncio.run(read_beside_the_deaf(cluster))
    assert read == RECORDS
    assert growth_mib < GROWTH_MIB_MAX
