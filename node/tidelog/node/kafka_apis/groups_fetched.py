"""OffsetFetch: committed offsets of one group, or of several, as its versions ask for them.

With `require_stable` an offset that an open transaction may change is an error of its partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import NamedTuple, TypeAlias

from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.group_coordinator import GroupCoordinator
from tidelog.broker.coordinator.offsets import OffsetResult, TopicPartition
from tidelog.core.errors import TidelogError
from tidelog.core.turns import PER_PIECE, Turns, in_turns, listed
from tidelog.kafka.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tidelog.kafka.messages.offset_fetch_response import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from tidelog.kafka.wire import NO_UUID
from tidelog.node.handlers.coordinator import OFFSETS_PER_PAGE
from tidelog.node.handlers.group_limits import DESCRIBED_BYTES_MAX
from tidelog.node.kafka_apis.groups_errors import TOPIC_IDS_FROM, offset_code
from tidelog.node.kafka_apis.served import ApiCall
from tidelog.v1 import common_pb2

TOP_LEVEL_ERRORS_FROM = 2
"""First version with an error of the whole request."""
GROUPS_FROM = 8
"""First version that names several groups."""
OFFSET_BYTES = 32
"""Bytes of an offset in an answer beside its text, about."""
_Topic: TypeAlias = OffsetFetchRequestTopics | OffsetFetchRequestTopic


class _Asked(NamedTuple):
    """A group in a request of OffsetFetch, of whatever version."""

    group_id: str
    committer: Committer
    topics: Sequence[_Topic] | None
    """None: all topics."""
    stable: bool
    """True: those alone that no open transaction may change."""


class _Found(NamedTuple):
    """A group's offsets, by topic in the order asked, or an error."""

    topics: list[tuple[str, bytes, list[OffsetResult]]]
    code: int = common_pb2.NONE


class OffsetFetchHandler:
    """Handler of OffsetFetch."""

    def __init__(self, coordinator: GroupCoordinator) -> None:
        self._coordinator = coordinator

    async def __call__(self, request: OffsetFetchRequest, call: ApiCall) -> OffsetFetchResponse:
        """See `ApiHandler`."""
        version = call.version
        if version < GROUPS_FROM:
            stable = request.require_stable
            asked = _Asked(request.group_id, Committer(), request.topics, stable)
            return await _of_one_group(asked, await self._fetch(asked, version), version)
        response = OffsetFetchResponse()
        size = 0
        async for group in in_turns(request.groups):
            if size >= DESCRIBED_BYTES_MAX:
                found = _Found([], common_pb2.INVALID_REQUEST)
            else:
                asked = _asked(group, stable=request.require_stable)
                found = await self._fetch(asked, version)
            size += sum(_bytes_of(results) for _, _, results in found.topics)
            response.groups.append(await _group(group.group_id, found, version))
        return response

    async def _fetch(self, asked: _Asked, version: int) -> _Found:
        try:
            if asked.topics is None:
                return await self._fetch_all(asked)
            partitions = await listed(_partitions(asked.topics, version))
            fetched = await self._coordinator.fetch(
                asked.group_id, asked.committer, partitions, stable=asked.stable
            )
        except TidelogError as error:
            return _Found([], offset_code(error, version))
        if _bytes_of(fetched) > DESCRIBED_BYTES_MAX:
            return _Found([], common_pb2.INVALID_REQUEST)
        results, turns = iter(fetched), Turns(PER_PIECE)
        return _Found(
            [
                (
                    topic.name,
                    _topic_id(topic, version),
                    [next(results) async for _ in turns.of(topic.partition_indexes)],
                )
                async for topic in turns.of(asked.topics)
            ]
        )

    async def _fetch_all(self, asked: _Asked) -> _Found:
        pages: list[list[OffsetResult]] = []
        after, size = ("", -1), 0
        while not pages or len(pages[-1]) == OFFSETS_PER_PAGE:
            page = await self._coordinator.fetch_all(
                asked.group_id, asked.committer, after, OFFSETS_PER_PAGE, stable=asked.stable
            )
            pages.append(page)
            size += _bytes_of(page)
            if size > DESCRIBED_BYTES_MAX:
                return _Found([], common_pb2.INVALID_REQUEST)
            if page:
                after = page[-1].partition.topic, page[-1].partition.partition
        by_topic = groupby(chain(*pages), key=lambda one: one.partition[:2])
        return _Found([(name, topic_id, list(group)) for (name, topic_id), group in by_topic])


def _bytes_of(results: Iterable[OffsetResult]) -> int:
    return sum(OFFSET_BYTES + len(one.committed.metadata) for one in results)


def _asked(group: OffsetFetchRequestGroup, *, stable: bool) -> _Asked:
    committer = Committer(group.member_id or "", group.member_epoch)
    return _Asked(group.group_id, committer, group.topics, stable)


def _topic_id(topic: _Topic, version: int) -> bytes:
    if version < TOPIC_IDS_FROM or isinstance(topic, OffsetFetchRequestTopic):
        return b""
    return topic.topic_id


def _partitions(topics: Iterable[_Topic], version: int) -> Iterator[TopicPartition]:
    for topic in topics:
        topic_id = _topic_id(topic, version)
        for number in topic.partition_indexes:
            yield TopicPartition(topic.name, topic_id, number)


def _fetched_code(result: OffsetResult, version: int) -> int:
    """Nothing is committed where nothing is: names are not compared with topics, as in Kafka."""
    code = offset_code(result.error, version)
    return common_pb2.NONE if code == common_pb2.UNKNOWN_TOPIC_OR_PARTITION else code


async def _group(group_id: str, found: _Found, version: int) -> OffsetFetchResponseGroup:
    turns = Turns(PER_PIECE)
    return OffsetFetchResponseGroup(
        group_id=group_id,
        error_code=found.code,
        topics=[
            OffsetFetchResponseTopics(
                name=name,
                topic_id=topic_id or NO_UUID,
                partitions=[
                    OffsetFetchResponsePartitions(*_fields(one, version))
                    async for one in turns.of(results)
                ],
            )
            async for name, topic_id, results in turns.of(found.topics)
        ],
    )


async def _of_one_group(asked: _Asked, found: _Found, version: int) -> OffsetFetchResponse:
    turns = Turns(PER_PIECE)
    topics = [
        OffsetFetchResponseTopic(
            name=name,
            partitions=[
                OffsetFetchResponsePartition(*_fields(one, version))
                async for one in turns.of(results)
            ],
        )
        async for name, _, results in turns.of(found.topics)
    ]
    if found.code and version < TOP_LEVEL_ERRORS_FROM:
        topics = [
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(number, -1, error_code=found.code)
                    async for number in turns.of(topic.partition_indexes)
                ],
            )
            async for topic in turns.of(asked.topics or ())
        ]
    return OffsetFetchResponse(topics=topics, error_code=found.code)


def _fields(result: OffsetResult, version: int) -> tuple[int, int, int, str, int]:
    """Fields of a partition, in the order of Kafka's messages."""
    offset, leader_epoch, metadata = result.committed[:3]
    number = result.partition.partition
    return number, offset, leader_epoch, metadata, _fetched_code(result, version)
