"""What the tests of streams share: a fake cluster, virtual time, a driver of one topic."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from tests.client.fake_cluster import BOOTSTRAP, FakeCluster, encoded
from tests.virtual_time import virtual_time

from tidelog.client.ports import ClientPorts
from tidelog.core.system import SystemRandom
from tidelog.spark.stream_driver import StreamDriver
from tidelog.spark.stream_options import StreamOptions


class LoopClock:
    """The running loop's time, which is virtual."""

    def monotonic_ms(self) -> int:
        return round(self.monotonic_s() * 1000)

    def monotonic_s(self) -> float:
        return asyncio.get_running_loop().time()

    def wall_ms(self) -> int:
        return 1_700_000_000_000 + self.monotonic_ms()


def ports_of(cluster: FakeCluster) -> ClientPorts:
    return ClientPorts.of(transport=cluster, clock=LoopClock(), random=SystemRandom())


def on_virtual_time(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """A test that is a coroutine, whose sleeps take no time."""

    def run() -> None:
        with virtual_time() as finish:
            finish(test())

    run.__name__ = test.__name__
    return run


def filled(cluster: FakeCluster, topic: str, *counts: int, size_bytes: int = 10) -> None:
    """Append this many records to each partition of `topic`, in batches of ten at most."""
    if topic not in cluster.topics:
        cluster.create(topic, partitions=len(counts))
    for partition, count in zip(cluster.topics[topic].partitions, counts, strict=True):
        for begin in range(0, count, 10):
            partition.append(encoded([b"v" * size_bytes] * min(10, count - begin)))


@asynccontextmanager
async def stream(cluster: FakeCluster, **given: str) -> AsyncIterator[StreamDriver]:
    """A driver of topic "t" from its beginning unless told."""
    if not {"subscribePattern", "assign"}.intersection(given):
        given = {"subscribe": "t", **given}
    given = {"startingOffsets": "earliest", **given, "bootstrap.servers": BOOTSTRAP}
    driver = StreamDriver(StreamOptions.parse(given), ports=ports_of(cluster))
    try:
        yield driver
    finally:
        await driver.close()
