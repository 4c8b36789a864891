"""A producer of a workload that posts records to a node's HTTP endpoint, without its sockets.

It owns what a POST carries: a value as it came, a key of text, a partition; no headers, no time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Self

from tidelog.chaos.workloads.plans import ProducerPlan
from tidelog.client import RecordMetadata
from tidelog.core.errors import CallFailedError, TidelogError
from tidelog.node.http_produce.answers import Answer
from tidelog.node.http_produce.config import HttpProduceConfig
from tidelog.node.http_produce.posts import Post, RecordPosts, producer_for

STATUS_OK = 200


class PostRefusedError(TidelogError):
    """A POST whose records are not stored."""


class HttpProducer:
    """See `LoadProducer`."""

    def __init__(self, bootstrap: Sequence[str], plan: ProducerPlan, ports: Mapping[str, Any]):
        config = HttpProduceConfig(is_enabled=True, timeout_ms=2 * plan.delivery_timeout_ms)
        self._producer = producer_for(config, bootstrap, **ports)
        self._posts = RecordPosts(self._producer, config)
        self._call: asyncio.Task[None] | None = None
        """The one post: nothing keeps those of one time in order."""

    async def __aenter__(self) -> Self:
        await self._producer.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._call is not None:
            await self._call
        await self._posts.close()

    async def submit(
        self,
        topic: str,
        /,
        *,
        value: bytes | None,
        partition: int,
        key: bytes | None = None,
        headers: tuple[tuple[str, bytes | None], ...] = (),
        timestamp_ms: int | None = None,
    ) -> asyncio.Future[RecordMetadata]:
        """See `LoadProducer.submit`; returns once the post before it is answered."""
        assert value is not None
        assert not headers
        assert timestamp_ms is None
        query = [("partition", str(partition))]
        if key is not None:
            query.append(("key", key.decode()))
        post = Post(topic, query, "application/octet-stream", len(value), _chunks(value))
        outcome: asyncio.Future[RecordMetadata] = asyncio.get_running_loop().create_future()
        if self._call is not None:
            await self._call
        self._call = asyncio.create_task(self._post(post, partition, outcome))
        return outcome

    async def _post(
        self, post: Post, partition: int, outcome: asyncio.Future[RecordMetadata]
    ) -> None:
        answer = await self._posts.answer(post)
        if answer.status == STATUS_OK:
            outcome.set_result(RecordMetadata(post.topic, partition, _offset(answer), -1))
            return
        said = f"{answer.status} {answer.body}"
        is_unknown = answer.body["outcome_unknown"]
        outcome.set_exception(CallFailedError(said) if is_unknown else PostRefusedError(said))


def _offset(answer: Answer) -> int:
    places: Any = answer.body["offsets"]  # the form of an answer: see `answers`
    return int(places[0]["offset"])


async def _chunks(value: bytes) -> AsyncIterator[bytes]:
    yield value
