"""The position of a stream: one offset per partition, as Spark's checkpoint stores it.

Pure. The form is that of Kafka's connector, `{"orders": {"0": 23, "1": 345}}`, with the topic's id
beside its partitions: a topic that was deleted and recreated starts at 0 again, which offsets alone
would not show.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.client.records import TopicPartition
from tidelog.spark.option_values import OFFSET_MAX, PARTITION_MAX

TOPIC_ID = "topicId"
"""The key beside the partition numbers of a topic; absent in offsets of Kafka's connector."""
_TOPIC_ID_HEX_MAX = 64

StreamJson = dict[str, dict[str, int | str]]
"""The JSON that Spark writes: {topic: {partition: offset, "topicId": hexadecimal}}."""


class StreamOffsetError(ValueError):
    """A checkpoint holds an invalid offset of this source; the message says where."""


@dataclass(frozen=True, slots=True)
class StreamOffset:
    """The next offset of every partition; `topic_ids` identify the topics' incarnations."""

    offsets: Mapping[TopicPartition, int]
    topic_ids: Mapping[str, bytes] = field(default_factory=dict)

    def of_incarnation(self, tp: TopicPartition, topic_id: bytes) -> int | None:
        """The partition's offset; None if it has none or is of another incarnation."""
        known = self.topic_ids.get(tp.topic)
        return self.offsets.get(tp) if known in (None, topic_id) else None

    def at_least(self, other: StreamOffset) -> StreamOffset:
        """The larger offset of both in every partition; topic ids of this one take precedence."""
        offsets = dict(self.offsets)
        for tp, offset in other.offsets.items():
            offsets[tp] = max(offset, offsets.get(tp, 0))
        return StreamOffset(offsets, {**other.topic_ids, **self.topic_ids})

    def covers(self, other: StreamOffset) -> bool:
        """True if this is at or beyond `other` in each of its partitions."""
        return all(
            (own := self.offsets.get(tp)) is not None
            and own >= offset
            and other.topic_ids.get(tp.topic) in (None, self.topic_ids.get(tp.topic))
            for tp, offset in other.offsets.items()
        )


def to_json(offset: StreamOffset) -> StreamJson:
    """The canonical JSON of an offset, in a fixed order: Spark compares offsets by their text."""
    topics: StreamJson = {}
    for tp in sorted(offset.offsets):
        topics.setdefault(tp.topic, {})[str(tp.partition)] = offset.offsets[tp]
    for topic, partitions in topics.items():
        if topic in offset.topic_ids:
            partitions[TOPIC_ID] = offset.topic_ids[topic].hex()
    return topics


def from_json(data: object) -> StreamOffset:
    """Parse the JSON of `to_json` or of Kafka's connector. Raises StreamOffsetError."""
    if not isinstance(data, dict):
        raise StreamOffsetError(f"a stream's offset is a JSON object, not {data!r}")
    offsets: dict[TopicPartition, int] = {}
    topic_ids: dict[str, bytes] = {}
    for topic, partitions in data.items():
        if not isinstance(partitions, dict):
            raise StreamOffsetError(f'the offset of topic "{topic}" is no JSON object')
        for name, value in partitions.items():
            if name == TOPIC_ID:
                topic_ids[topic] = _topic_id(topic, value)
            else:
                offsets[TopicPartition(topic, _partition(topic, name))] = _offset(topic, value)
    return StreamOffset(offsets, topic_ids)


def lag(source: Mapping[str, str | None]) -> dict[TopicPartition, int]:
    """The lag of each partition in offsets, from a source in a query's progress.

    `source` is an element of `query.lastProgress["sources"]`. Partitions that are new since the
    last micro-batch count from 0. Empty if the progress has no offsets yet.
    """
    end, latest = (
        from_json(json.loads(source.get(name) or "{}")) for name in ("endOffset", "latestOffset")
    )
    return {
        tp: max(0, offset - (end.of_incarnation(tp, latest.topic_ids.get(tp.topic, b"")) or 0))
        for tp, offset in latest.offsets.items()
    }


def _topic_id(topic: str, value: object) -> bytes:
    if isinstance(value, str) and len(value) <= _TOPIC_ID_HEX_MAX:
        try:
            return bytes.fromhex(value)
        except ValueError:
            pass
    raise StreamOffsetError(f'{TOPIC_ID} of topic "{topic}" is not hexadecimal: {value!r}')


def _partition(topic: str, name: object) -> int:
    if isinstance(name, str) and name.isascii() and name.isdecimal() and len(name) <= 10:
        number = int(name)
        if number <= PARTITION_MAX:
            return number
    raise StreamOffsetError(f'topic "{topic}" has an offset of what is no partition: {name!r}')


def _offset(topic: str, value: object) -> int:
    if type(value) is int and 0 <= value <= OFFSET_MAX:
        return value
    raise StreamOffsetError(f'topic "{topic}" has what is no offset: {value!r}')
