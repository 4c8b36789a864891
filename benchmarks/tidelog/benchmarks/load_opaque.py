"""A load of batches that are encoded beforehand: the brokers' work without the client's encoding.

Each message goes to one broker and holds one or several batches of one partition; several messages
are in flight to different partitions at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from tidelog.benchmarks.errors import RunFailedError
from tidelog.benchmarks.loaded_cluster import GIB, REPLICAS, Figures, LoadedCluster, values
from tidelog.client import Admin
from tidelog.client.producing.produce_stream import ProduceStreams
from tidelog.client.unwinding import unwind
from tidelog.core.errors import RETRIABLE_CODES
from tidelog.net.grpc_transport import GrpcTransport
from tidelog.records.batch import HEADER_BYTES
from tidelog.records.records import Record, encode_batch
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import PartitionProduceData, ProduceRequest, ProduceResponse

Send = Callable[[str, ProduceRequest], Awaitable[ProduceResponse]]
"""A call to a broker: takes its address and the request, returns the response."""
IN_FLIGHT_A_PARTITION = 2
TIMEOUT_MS = 30_000
RETRY_S = 0.02
RECORD_OVERHEAD_BYTES = 16
"""The least bytes of a record beyond its value."""


async def opaque(
    cluster: LoadedCluster,
    *,
    key: str,
    batch_bytes: int,
    bundled: int,
    total_bytes: int,
    settle_s: float,
) -> Figures:
    """MB/s (10^6) at the last acknowledgement, and the brokers' processor seconds per GiB.

    The same load runs twice, each time on a new topic. First use of pages of the page cache and of
    the allocators is slow, so the first run only warms up. `settle_s` between the runs lets the
    brokers delete the files of the first.
    """
    batches = _batch(batch_bytes) * bundled
    messages = max(6, total_bytes // len(batches))
    transport = GrpcTransport()
    streams = ProduceStreams(transport, on_open=lambda: None)

    async def send(address: str, request: ProduceRequest) -> ProduceResponse:
        return await streams.call(address, request, timeout_ms=TIMEOUT_MS)

    try:
        await _load(cluster, send, batches, messages)
        await asyncio.sleep(settle_s)
        before_s = cluster.cpu_s()
        took_s = await _load(cluster, send, batches, messages)
        spent_s = cluster.cpu_s() - before_s
    finally:
        await unwind(streams.close())
        await transport.close()
    sent_bytes = messages * len(batches)
    return {
        f"{key}.mb_s": sent_bytes / took_s / 1e6,
        f"{key}.cpu_per_gib": spent_s / (sent_bytes / GIB),
    }


async def _load(cluster: LoadedCluster, send: Send, batches: bytes, messages: int) -> float:
    """The seconds until the last acknowledgement."""
    async with cluster.topic() as topic:
        leaders = await _leaders(cluster.bootstrap, topic)
        left = iter(range(messages))  # shared: the next free task sends the next message

        async def pump(partition: int, address: str) -> None:
            data = PartitionProduceData(topic=topic, partition=partition, records=batches)
            request = ProduceRequest(acks=-1, partitions=[data])
            for _ in left:
                await _send_until_appended(send, address, request)

        began_s = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for partition, address in enumerate(leaders):
                for _ in range(IN_FLIGHT_A_PARTITION):
                    group.create_task(pump(partition, address))
        return time.monotonic() - began_s


async def _leaders(bootstrap: str, topic: str) -> Sequence[str]:
    """The address of each partition's leader, once every replica is in sync."""
    async with Admin(bootstrap) as admin:
        while True:
            described = await admin.describe_topic(topic)
            if all(len(p.isr) == REPLICAS for p in described.partitions):
                break
            await asyncio.sleep(0.05)
        brokers = (await admin.describe_cluster()).brokers
    addresses = {broker.broker_id: broker.address for broker in brokers}
    by_partition = sorted(described.partitions, key=lambda p: p.partition)
    return [addresses[p.leader] for p in by_partition if p.leader is not None]


def _batch(size_bytes: int) -> bytes:
    """A batch of `size_bytes`, or a few bytes less, with one record."""
    (value,) = values(size_bytes - HEADER_BYTES - RECORD_OVERHEAD_BYTES, 1)
    return encode_batch([Record(0, int(time.time() * 1000), None, value)])


async def _send_until_appended(send: Send, address: str, request: ProduceRequest) -> None:
    """Send until appended: a broker may not know the partition yet, or be at its memory bound."""
    deadline_s = time.monotonic() + TIMEOUT_MS / 1000
    while True:
        error = (await send(address, request)).partitions[0].error
        if error.code == common_pb2.NONE:
            return
        if error.code not in RETRIABLE_CODES or time.monotonic() > deadline_s:
            raise RunFailedError(f"a batch was refused: {error.message}")
        await asyncio.sleep(RETRY_S)
