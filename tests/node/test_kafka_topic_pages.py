"""Pages of DescribeTopicPartitions: their size, whatever is asked for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tidelog.kafka.messages.describe_topic_partitions_request import (
    Cursor,
    DescribeTopicPartitionsRequest,
)
from tidelog.metadata.image import MetadataImage, PartitionImage, TopicImage
from tidelog.net.call import LOCAL_CALL
from tidelog.node.kafka_apis.admin_topic_pages import (
    PARTITIONS_MAX,
    DescribeTopicPartitionsHandler,
)
from tidelog.node.kafka_apis.served import ApiCall


def topic(name: str, count: int) -> TopicImage:
    partitions = tuple(PartitionImage(n, (1, 2), (1,), 1, 0, 0, elr=(2,)) for n in range(count))
    return TopicImage(name, name.encode().ljust(16), partitions, {})


@pytest.mark.parametrize("asked", [PARTITIONS_MAX, PARTITIONS_MAX + 1, 2**31 - 1])
async def test_an_answer_has_at_most_so_many_partitions_whatever_is_asked_for(asked: int) -> None:
    topics = {one.name: one for one in (topic("a", 1), topic("b", PARTITIONS_MAX + 5))}
    image = MetadataImage(topics=topics)
    ports: Any = SimpleNamespace(known_image=lambda: image)  # no other part is used
    handler = DescribeTopicPartitionsHandler(ports)
    sizes = []
    cursor: Cursor | None = None
    for _ in range(2):
        request = DescribeTopicPartitionsRequest([], asked, cursor)
        answer = await handler(request, ApiCall(LOCAL_CALL, 0))
        sizes.append(sum(len(one.partitions) for one in answer.topics))
        at = answer.next_cursor
        cursor = None if at is None else Cursor(at.topic_name, at.partition_index)
        told = answer.topics[-1].partitions[-1]
        assert told.eligible_leader_replicas == [2]
    assert sizes == [PARTITIONS_MAX, 6]
    assert cursor is None
