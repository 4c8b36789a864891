"""What the tests of streams share: topics to read, a driver of one topic."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.client.real_cluster import BOOTSTRAP, RealCluster, encoded

from tidelog.client.ports import ClientPorts
from tidelog.spark.stream_driver import StreamDriver
from tidelog.spark.stream_options import StreamOptions


def ports_of(cluster: RealCluster) -> ClientPorts:
    """Ports of a client of the cluster, on the loop's time."""
    return ClientPorts.of(transport=cluster, clock=None, random=None)


async def filled(cluster: RealCluster, topic: str, *counts: int, size_bytes: int = 10) -> None:
    """Append this many records to each partition of `topic`, in batches of ten at most."""
    if topic not in cluster.topics:
        await cluster.create(topic, partitions=len(counts))
    for partition, count in zip(cluster.topics[topic].partitions, counts, strict=True):
        sizes = [min(10, count - begin) for begin in range(0, count, 10)]
        if sizes:
            await partition.append(b"".join(encoded([b"v" * size_bytes] * n) for n in sizes))


@asynccontextmanager
async def stream(cluster: RealCluster, **given: str) -> AsyncIterator[StreamDriver]:
    """A driver of topic "t" from its beginning unless told."""
    if not {"subscribePattern", "assign"}.intersection(given):
        given = {"subscribe": "t", **given}
    given = {"startingOffsets": "earliest", **given, "bootstrap.servers": BOOTSTRAP}
    driver = StreamDriver(StreamOptions.parse(given), ports=ports_of(cluster))
    try:
        yield driver
    finally:
        await driver.close()
