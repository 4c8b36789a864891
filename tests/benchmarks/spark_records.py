"""The records that the figures of Spark read, and what a read of them must find.

Record n has the key "%08d" % n, goes to partition n % 6, and has one of 1,000 values by turns: JSON
with a number and a text of random length, about as many bytes on average as asked for. Another
system that is measured beside is to hold the same: docs/BENCHMARKS.md says how values are drawn.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidelog.client import Admin
from tidelog.client.arrow import write_table

PARTITIONS, REPLICAS = 6, 3
_VALUES = 1_000
_BATCH_ROWS = 60_000


@dataclass(frozen=True, slots=True)
class Records:
    """So many rows of values of about that size."""

    value_bytes: int
    rows: int

    def values(self) -> list[bytes]:
        """The values that take turns."""
        draw, size = random.Random(1), self.value_bytes
        texts = ("x" * draw.randrange(1, 2 * size - 60) for _ in range(_VALUES))
        whole = (json.dumps({"id": at, "text": text}) for at, text in enumerate(texts))
        return [value.encode()[: 2 * size] for value in whole]

    def totals(self) -> tuple[int, int]:
        """Of all rows: the bytes of the values, and the sum of their CRC32."""
        each, more = divmod(self.rows, _VALUES)
        turns = [(value, each + (at < more)) for at, value in enumerate(self.values())]
        return (
            sum(len(value) * times for value, times in turns),
            sum(zlib.crc32(value) * times for value, times in turns),
        )

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All of them, as a table writer takes them."""
        values = pa.array(self.values())
        for start in range(0, self.rows, _BATCH_ROWS):
            numbers = np.arange(start, min(start + _BATCH_ROWS, self.rows))
            keys = pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 8, "0")
            yield pa.record_batch(
                {
                    "key": keys,
                    "value": values.take(pa.array(numbers % _VALUES)),
                    "partition": numbers % PARTITIONS,
                }
            )


@contextmanager
def filled(bootstrap: str, records: Records) -> Iterator[str]:
    """The name of a topic that holds them and goes away."""
    with topic(bootstrap) as name:
        write_table(records.batches(), name, bootstrap=bootstrap)
        yield name


@contextmanager
def topic(bootstrap: str) -> Iterator[str]:
    """The name of a new topic, min.insync.replicas 2, that goes away."""
    name = f"bench-spark-{time.time_ns()}"
    asyncio.run(_create(bootstrap, name))
    try:
        yield name
    finally:
        asyncio.run(_delete(bootstrap, name))


async def _create(bootstrap: str, name: str) -> None:
    async with Admin(bootstrap) as admin:
        await admin.create_topic(
            name,
            partitions=PARTITIONS,
            replication_factor=REPLICAS,
            configs={"min.insync.replicas": "2"},
        )


async def _delete(bootstrap: str, name: str) -> None:
    async with Admin(bootstrap) as admin:
        await admin.delete_topic(name)
