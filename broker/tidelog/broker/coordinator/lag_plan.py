"""Plan of a look at the lag of groups: whom it asks what, and what comes of the answers. Pure.

    committed_rows   committed offsets, at most so many
    questions        high watermarks to ask for, in bundles, by the leaders that know them
    with_lag         committed offsets beside the high watermarks that were answered

The lag of a partition is its high watermark minus the committed offset, at least 0. A partition
whose leader did not answer has none: an older one would be a lie.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from tidelog.broker.coordinator.offsets import CommittedOffsets, Topics
from tidelog.metadata.image import MetadataImage
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import ListOffsetsRequest, ListOffsetsResponse

PARTITIONS_PER_REQUEST = 1_000
"""Partitions of one question."""

PartitionId: TypeAlias = tuple[bytes, int]
"""Topic id and number."""


class CommittedRow(NamedTuple):
    """A committed offset of an existing topic."""

    group_id: str
    topic: str
    topic_id: bytes
    partition: int
    committed: int


class LagRow(NamedTuple):
    """A committed offset, and how far it is behind."""

    group_id: str
    topic: str
    partition: int
    committed: int
    lag: int | None
    """Records between the committed offset and the high watermark; None: not known now."""


def committed_rows(
    offsets: CommittedOffsets, group_id: str, topics: Topics
) -> Iterator[CommittedRow]:
    """Iterate over the committed offsets of a group; those of deleted topics are left out."""
    for topic_id, partition, committed in offsets.held_by(group_id):
        topic = topics.name(topic_id)
        if topic is not None:
            yield CommittedRow(group_id, topic, topic_id, partition, committed.offset)


def questions(
    rows: Iterable[CommittedRow], image: MetadataImage
) -> dict[int, list[ListOffsetsRequest]]:
    """Make the requests to each leader, by broker id; partitions without a leader are left out."""
    asked: dict[int, list[ListOffsetsRequest]] = {}
    for topic_id, number in dict.fromkeys((one.topic_id, one.partition) for one in rows):
        topic = image.topic_by_id(topic_id)
        if topic is None or number >= len(topic.partitions):
            continue
        leader_id = topic.partitions[number].leader_id
        if leader_id is None:
            continue
        requests = asked.setdefault(leader_id, [])
        if not requests or len(requests[-1].partitions) >= PARTITIONS_PER_REQUEST:
            requests.append(ListOffsetsRequest())
        requests[-1].partitions.add(
            topic=topic.name,
            topic_id=topic_id,
            partition=number,
            spec=ListOffsetsRequest.LATEST,
        )
    return asked


def answered(
    request: ListOffsetsRequest, response: ListOffsetsResponse
) -> Iterator[tuple[PartitionId, int]]:
    """Iterate over the high watermarks that a broker answered, of partitions that it was asked."""
    ids = {(one.topic, one.partition): one.topic_id for one in request.partitions}
    for one in response.partitions:
        topic_id = ids.get((one.topic, one.partition))
        if topic_id is not None and one.error.code == common_pb2.NONE and one.offset >= 0:
            yield (topic_id, one.partition), one.offset


def with_lag(row: CommittedRow, high_watermarks: Mapping[PartitionId, int]) -> LagRow:
    """Compare a committed offset with the partition's high watermark, if that is known."""
    end = high_watermarks.get((row.topic_id, row.partition))
    lag = None if end is None else max(0, end - row.committed)
    return LagRow(row.group_id, row.topic, row.partition, row.committed, lag)
