"""Sizes of answers at most, told from requests before their answers are made.

An answer has its room before it exists (`net.answer_budget`), so its size has to be known before:
from the number of things that a request names, and from what the node has of them. Answers of APIs
whose requests wait for long have their room when they are to be encoded: until then they refer to
what the node has anyway.

An estimate that is too low is corrected when the answer is there; `tests/sim/test_answer_sizes.py`
asks every API of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from tidelog.broker.coordinator.group_coordinator import GroupCoordinator
from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.kafka.apis import APIS
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.images.topics import TopicImage
from tidelog.node.handlers.group_limits import DESCRIBED_BYTES_MAX

LEAST_BYTES = 1 << 10
"""Bytes of an answer that names nothing, at most."""
TIMES_OF_REQUEST = 4
"""Bytes of an answer for each byte of a request that names what the answer says a little of."""
TIMES_OF_REFUSALS = 64
"""The same where each thing that is named may have its error, in words."""
ELEMENT_BYTES = 400
"""Bytes of an answer for a thing that is named, its error in words among them."""
PARTITION_BYTES, REPLICA_BYTES, BROKER_BYTES = 64, 16, 600
"""Bytes of a description, for each that there is."""
GROUP_TIMES = 4
"""Bytes of a description for each byte of a group's state: topics have their names there."""
GROUP_LISTED_BYTES = 200
"""Bytes of a group in a list."""
CONFIGS_BYTES = 20 << 10
"""Bytes of a resource's configs with all that may be asked for beside."""
OFFSET_BYTES = 40
"""Bytes of a committed offset beside its text."""
PRODUCERS_BYTES, PRODUCERS_BYTES_MAX = 240 << 10, 1 << 20
"""Bytes of the producers of a partition, and of all that a request names, unless there are more."""

LOOKED_AT_MAX = 200
"""Things of a request that are looked up: all there is, or the most of an answer, stands for more.

Sizes are told in one step of the loop.
"""

Size = Callable[[Any, int], int]
"""Function of a request's message and its bytes."""
_KEYS = {api.name: key for key, api in APIS.items()}


class AnswerSizes:
    """Sizes for one node; `groups` are None on a node that coordinates none."""

    def __init__(
        self, image: Callable[[], MetadataImage], groups: GroupCoordinator | None = None
    ) -> None:
        self._image = image
        self._groups = groups
        self._counted: tuple[Mapping[str, TopicImage], int] = ({}, 0)
        """Topics of an image, and the bytes of all of them."""
        sizes: Mapping[str, Size] = {
            "Produce": _produced,
            "Metadata": self._metadata,
            "OffsetFetch": self._offsets,
            "FindCoordinator": _coordinators,
            "DescribeGroups": self._classic_groups,
            "ConsumerGroupDescribe": self._consumer_groups,
            "ConsumerGroupHeartbeat": self._heartbeat,
            "ListGroups": self._listed,
            "DescribeConfigs": _configs,
            "ListConfigResources": self._all_topics,
            "DescribeLogDirs": self._all_topics,
            "ElectLeaders": self._elected,
            "DescribeCluster": self._brokers,
            "DescribeQuorum": self._quorum,
            "DescribeProducers": self._producers,
            "DescribeTopicPartitions": self._all_topics,
            **dict.fromkeys(_REFUSALS, _refusals),
        }
        self._sizes = {_KEYS[name]: size for name, size in sizes.items()}

    def of_request(self, api_key: int, message: Any, size_bytes: int) -> int:
        """Return the bytes of a request's answer at most, before the handler is called."""
        size = self._sizes.get(api_key)
        if size is None:
            return LEAST_BYTES + TIMES_OF_REQUEST * size_bytes
        return LEAST_BYTES + size(message, size_bytes)

    def _metadata(self, message: Any, size_bytes: int) -> int:
        if not message.topics:
            return self._all_topics(message, size_bytes)
        if len(message.topics) > LOOKED_AT_MAX:
            return self._all_topics(message, size_bytes)
        topics = self._image().topics
        named = [topics[one.name] for one in message.topics if one.name in topics]
        by_id = (self._image().topic_by_id(one.topic_id) for one in message.topics)
        named += [one for one in by_id if one is not None]
        unknown = (PARTITION_BYTES + len(one.name or "") * 2 for one in message.topics)
        return sum(map(_topic_bytes, named)) + sum(unknown) + self._brokers(message, size_bytes)

    def _all_topics(self, message: Any, size_bytes: int) -> int:
        topics = self._image().topics
        if self._counted[0] is not topics:
            self._counted = topics, sum(map(_topic_bytes, topics.values()))
        asked = TIMES_OF_REQUEST * size_bytes
        return self._counted[1] + asked + self._brokers(message, size_bytes)

    def _brokers(self, _message: Any, size_bytes: int) -> int:
        # Each may have changed what it is known by since, and a quorum has its own.
        brokers = len(self._image().brokers)
        return BROKER_BYTES * (brokers + 1) + TIMES_OF_REQUEST * size_bytes

    def _quorum(self, message: Any, size_bytes: int) -> int:
        return _refusals(message, size_bytes) + self._brokers(message, size_bytes)

    def _elected(self, message: Any, size_bytes: int) -> int:
        if message.topic_partitions is not None:
            return _refusals(message, size_bytes)
        return sum(ELEMENT_BYTES * len(one.partitions) for one in self._image().topics.values())

    def _producers(self, message: Any, size_bytes: int) -> int:
        image = self._image()
        if sum(len(topic.partition_indexes) for topic in message.topics) > LOOKED_AT_MAX:
            return PRODUCERS_BYTES_MAX + TIMES_OF_REFUSALS * size_bytes
        found = sum(
            image.partition(topic.name, number) is not None
            for topic in message.topics
            for number in topic.partition_indexes
        )
        of_all = min(found * PRODUCERS_BYTES, PRODUCERS_BYTES_MAX)
        return of_all + TIMES_OF_REFUSALS * size_bytes

    # Groups

    def _offsets(self, message: Any, size_bytes: int) -> int:
        groups = message.groups or (message,)
        found = DESCRIBED_BYTES_MAX
        if len(groups) <= LOOKED_AT_MAX:
            found = sum(self._group(one.group_id, self._committed) for one in groups)
        return min(found, 2 * DESCRIBED_BYTES_MAX) + TIMES_OF_REQUEST * size_bytes

    def _committed(self, shard: GroupShard, group_id: str) -> int:
        assert self._groups is not None  # the shard is one of its own
        count = shard.offsets.count(group_id)
        texts = count * self._groups.config.offset_metadata_max_bytes
        return OFFSET_BYTES * count + min(shard.offsets.state_bytes, texts)

    def _classic_groups(self, message: Any, size_bytes: int) -> int:
        return self._described(message.groups, size_bytes)

    def _consumer_groups(self, message: Any, size_bytes: int) -> int:
        return self._described(message.group_ids, size_bytes)

    def _described(self, group_ids: Sequence[str], size_bytes: int) -> int:
        found = DESCRIBED_BYTES_MAX
        if len(group_ids) <= LOOKED_AT_MAX:
            found = sum(self._group(one, _group_bytes) + ELEMENT_BYTES for one in group_ids)
        return min(found, DESCRIBED_BYTES_MAX) + TIMES_OF_REFUSALS * size_bytes

    def _heartbeat(self, message: Any, size_bytes: int) -> int:
        def assigned(shard: GroupShard, group_id: str) -> int:
            live = shard.groups.get(group_id)
            member = None if live is None else live.state.members.get(message.member_id)
            return 0 if member is None else 24 * len(member.held | member.target)

        return self._group(message.group_id, assigned) + size_bytes

    def _listed(self, message: Any, _size_bytes: int) -> int:
        del message
        if self._groups is None:
            return 0
        shards = (one.shard for one in self._groups.runtime.active())
        groups = sum(one.group_count + one.offsets.group_count for one in shards)
        return GROUP_LISTED_BYTES * groups

    def _group(self, group_id: str, look: Callable[[GroupShard, str], int]) -> int:
        found = None if self._groups is None else self._groups.peek(group_id, look)
        return found or 0


def made_bytes(api_key: int, response: Any) -> int:
    """Return the bytes of a response whose request has waited, before it is encoded.

    Of a fetch those beside its records, which are counted elsewhere.
    """
    if api_key == _KEYS["Fetch"]:
        topics = response.responses
        return LEAST_BYTES + sum(
            PARTITION_BYTES * (1 + len(one.partitions)) + len(one.topic) for one in topics
        )
    if api_key == _KEYS["JoinGroup"]:
        members = response.members
        return LEAST_BYTES + sum(ELEMENT_BYTES + len(one.metadata) for one in members)
    return LEAST_BYTES + len(getattr(response, "assignment", b""))


_REFUSALS = (
    *("CreateTopics", "DeleteTopics", "CreatePartitions", "DeleteRecords", "DeleteGroups"),
    *("AlterConfigs", "IncrementalAlterConfigs", "LeaveGroup", "OffsetDelete"),
)


def _refusals(_message: Any, size_bytes: int) -> int:
    return TIMES_OF_REFUSALS * size_bytes


def _produced(message: Any, _size_bytes: int) -> int:
    # No generator: 30,000 topics are summed up in one step.
    topics = message.topic_data
    names, parts = map(attrgetter("name"), topics), map(attrgetter("partition_data"), topics)
    return 2 * sum(map(len, names)) + ELEMENT_BYTES * sum(map(len, parts))


def _coordinators(message: Any, size_bytes: int) -> int:
    return ELEMENT_BYTES * len(message.coordinator_keys) + TIMES_OF_REQUEST * size_bytes


def _configs(message: Any, size_bytes: int) -> int:
    return CONFIGS_BYTES * len(message.resources) + TIMES_OF_REFUSALS * size_bytes


def _topic_bytes(topic: TopicImage) -> int:
    replicas = len(topic.partitions[0].replicas) if topic.partitions else 0
    of_one = PARTITION_BYTES + REPLICA_BYTES * replicas
    return 2 * len(topic.name) + PARTITION_BYTES + of_one * len(topic.partitions)


def _group_bytes(shard: GroupShard, group_id: str) -> int:
    return GROUP_TIMES * shard.bytes_of(group_id)
