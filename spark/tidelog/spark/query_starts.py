"""The start offsets of queries, kept by the brokers: they make `startingOffsets` "latest" safe.

Owns the topic `__tidelog_spark_offsets`: compacted, one partition, one record per query id. The
first record written for an id is valid for every later request, also of a query that crashed
before its first batch was committed.

Compaction keeps the last record of a key, not the first. So each record has a key of its own,
`<claim>:<query id>`, and the record with the lowest offset is valid. A query that comes second
deletes its own record by a tombstone and takes the start in the first one.
"""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import Self

from tidelog.client import Admin, Producer
from tidelog.client.consuming.range_reader import RangeReader, RangeReaderConfig
from tidelog.client.ports import ClientPorts
from tidelog.spark.compacted_topic import make_topic, read_all
from tidelog.spark.stream_offsets import StreamOffset, StreamOffsetError, from_json, to_json

TOPIC = "__tidelog_spark_offsets"
_CLAIM_BYTES = 16
_NAMED_MAX = 5


class QueryStartsError(RuntimeError):
    """The topic of starts holds an unusable record or lacks one; the message says which."""


class QueryStarts:
    """The starts of queries: `async with QueryStarts(…) as starts`; ports as for other clients."""

    def __init__(self, bootstrap: str, *, ports: ClientPorts, config: RangeReaderConfig) -> None:
        self._bootstrap, self._ports = bootstrap, ports
        self._reader = RangeReader(
            bootstrap,
            transport=ports.transport,
            clock=ports.clock,
            random=ports.random,
            config=config,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._reader.close()

    async def read(self, query_id: str) -> StreamOffset | None:
        """The start of the query; None if none is stored.

        Raises QueryStartsError for a record that cannot be read, and the client's errors.
        """
        async with aclosing(read_all(self._reader, TOPIC)) as pieces:
            async for rows in pieces:
                for key, value in zip(*(column.to_pylist() for column in rows), strict=True):
                    if value is not None and _is_of(query_id, key):
                        return _decode(query_id, value)
        return None

    async def keep(self, query_id: str, start: StreamOffset) -> StreamOffset:
        """Store `start` for the query; return it, or the start that was stored before it.

        Returns once all in-sync replicas hold it. Raises the errors of `read` and `Producer.send`.
        """
        await self._create()
        key = f"{self._ports.random.randbytes(_CLAIM_BYTES).hex()}:{query_id}".encode()
        value = json.dumps(to_json(start), separators=(",", ":")).encode()
        async with Producer(
            self._bootstrap,
            transport=self._ports.transport,
            clock=self._ports.clock,
            random=self._ports.random,
        ) as producer:
            await producer.send(TOPIC, key=key, value=value, partition=0)
            first = await self.read(query_id)
            if first is None:
                raise QueryStartsError(
                    f'the start of query "{query_id}" was stored in {TOPIC} and is not there: '
                    "was the topic deleted?"
                )
            if first != start:
                await producer.send(TOPIC, key=key, value=None, partition=0)
        return first

    async def _create(self) -> None:
        async with Admin(
            self._bootstrap,
            transport=self._ports.transport,
            clock=self._ports.clock,
            random=self._ports.random,
        ) as admin:
            await make_topic(admin, TOPIC)


def check_same_source(query_id: str, start: StreamOffset, now: StreamOffset) -> None:
    """Raise QueryStartsError when `start` has none of the topics that the query reads now."""
    started, reads = (sorted({tp.topic for tp in one.offsets}) for one in (start, now))
    if started and reads and not set(started).intersection(reads):
        raise QueryStartsError(
            f'queryId "{query_id}" belongs to a stream of {", ".join(started[:_NAMED_MAX])}, and '
            f"this one reads {', '.join(reads[:_NAMED_MAX])}: each stream needs an id of its own, "
            "also two streams of one query"
        )


def _is_of(query_id: str, key: bytes | None) -> bool:
    """True if `key` is a claim of this query."""
    ending = f":{query_id}".encode()
    return key is not None and len(key) == 2 * _CLAIM_BYTES + len(ending) and key.endswith(ending)


def _decode(query_id: str, value: bytes) -> StreamOffset:
    try:
        return from_json(json.loads(value))
    except (ValueError, RecursionError) as error:
        what = error if isinstance(error, StreamOffsetError) else "it is not JSON"
        raise QueryStartsError(
            f'the start of query "{query_id}" in {TOPIC} cannot be read: {what}. Take another '
            "queryId"
        ) from None
