"""ConsumerProtocolSubscription of Kafka's protocol.

Generated from proto/kafka/consumer_protocol.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import Buffer, bad_count, bad_length, cut_off, not_utf8, packer, read_numbers, read_texts, write_texts


class ConsumerProtocolSubscription(Message, gc=False):
    """Data, versions 0-3."""

    VERSIONS: ClassVar[range] = range(0, 4)

    topics: list[str] = []
    user_data: bytes | None = None
    owned_partitions: list[TopicPartition] = []
    generation_id: int = -1
    rack_id: str | None = None


class TopicPartition(msgspec.Struct, gc=False):
    topic: str = ""
    partitions: list[int] = []


_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack


def _read_consumer_protocol_subscription_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ConsumerProtocolSubscription], int]:
    items: list[ConsumerProtocolSubscription] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("ConsumerProtocolSubscription", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 2 * n > end - at or room[0] < 0:
            raise bad_count("ConsumerProtocolSubscription.Topics", n, end - at, room[0])
        topics, at = read_texts(data, at, end, n, "ConsumerProtocolSubscription.Topics")
        if end - at < 4:
            raise cut_off("ConsumerProtocolSubscription", "UserData=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        if n == -1:
            user_data = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("ConsumerProtocolSubscription.UserData", n, end - at)
            user_data = data[at:stop]
            at = stop
        items.append(ConsumerProtocolSubscription(topics, user_data))
    return items, at


def _read_topic_partition_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicPartition], int]:
    items: list[TopicPartition] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("TopicPartition", "Topic=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("TopicPartition.Topic", n, end - at)
        try:
            topic = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TopicPartition.Topic") from None
        at = stop
        if end - at < 4:
            raise cut_off("TopicPartition", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("TopicPartition.Partitions", n, end - at, room[0])
        partitions = read_numbers(data, at, n, "i")
        at += 4 * n
        items.append(TopicPartition(topic, partitions))
    return items, at


def _read_consumer_protocol_subscription_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ConsumerProtocolSubscription], int]:
    items: list[ConsumerProtocolSubscription] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("ConsumerProtocolSubscription", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 2 * n > end - at or room[0] < 0:
            raise bad_count("ConsumerProtocolSubscription.Topics", n, end - at, room[0])
        topics, at = read_texts(data, at, end, n, "ConsumerProtocolSubscription.Topics")
        if end - at < 4:
            raise cut_off("ConsumerProtocolSubscription", "UserData=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        if n == -1:
            user_data = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("ConsumerProtocolSubscription.UserData", n, end - at)
            user_data = data[at:stop]
            at = stop
        if end - at < 4:
            raise cut_off("ConsumerProtocolSubscription", "OwnedPartitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("ConsumerProtocolSubscription.OwnedPartitions", n, end - at, room[0])
        owned_partitions, at = _read_topic_partition_1(data, at, end, room, n)
        items.append(ConsumerProtocolSubscription(topics, user_data, owned_partitions))
    return items, at


def _read_consumer_protocol_subscription_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ConsumerProtocolSubscription], int]:
    items: list[ConsumerProtocolSubscription] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("ConsumerProtocolSubscription", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 2 * n > end - at or room[0] < 0:
            raise bad_count("ConsumerProtocolSubscription.Topics", n, end - at, room[0])
        topics, at = read_texts(data, at, end, n, "ConsumerProtocolSubscription.Topics")
        if end - at < 4:
            raise cut_off("ConsumerProtocolSubscription", "UserData=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        if n == -1:
            user_data = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("ConsumerProtocolSubscription.UserData", n, end - at)
            user_data = data[at:stop]
            at = stop
        if end - at < 4:
            raise cut_off("ConsumerProtocolSubscription", "OwnedPartitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("ConsumerProtocolSubscription.OwnedPartitions", n, end - at, room[0])
        owned_partitions, at = _read_topic_partition_1(data, at, end, room, n)
        if end - at < 4:
            raise cut_off("ConsumerProtocolSubscription", "GenerationId=4", end - at)
        generation_id = _unpack_i(data, at)[0]
        at += 4
        items.append(ConsumerProtocolSubscription(topics, user_data, owned_partitions, generation_id))
    return items, at


def _read_consumer_protocol_subscription_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ConsumerProtocolSubscription], int]:
    items: list[ConsumerProtocolSubscription] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("ConsumerProtocolSubscription", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 2 * n > end - at or room[0] < 0:
            raise bad_count("ConsumerProtocolSubscription.Topics", n, end - at, room[0])
        topics, at = read_texts(data, at, end, n, "ConsumerProtocolSubscription.Topics")
        if end - at < 4:
            raise cut_off("ConsumerProtocolSubscription", "UserData=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        if n == -1:
            user_data = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("ConsumerProtocolSubscription.UserData", n, end - at)
            user_data = data[at:stop]
            at = stop
        if end - at < 4:
            raise cut_off("ConsumerProtocolSubscription", "OwnedPartitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("ConsumerProtocolSubscription.OwnedPartitions", n, end - at, room[0])
        owned_partitions, at = _read_topic_partition_1(data, at, end, room, n)
        if end - at < 6:
            raise cut_off("ConsumerProtocolSubscription", "GenerationId=4 RackId=2", end - at)
        generation_id, n = _unpack_ih(data, at)
        at += 6
        if n == -1:
            rack_id = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("ConsumerProtocolSubscription.RackId", n, end - at)
            try:
                rack_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("ConsumerProtocolSubscription.RackId") from None
            at = stop
        items.append(ConsumerProtocolSubscription(topics, user_data, owned_partitions, generation_id, rack_id))
    return items, at


def _write_consumer_protocol_subscription_0(items: Iterable[ConsumerProtocolSubscription], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_i(n))
        if topics:
            write_texts(topics, out)
        user_data = m.user_data
        if user_data is None:
            n = -1
        else:
            n = len(user_data)
        out.append(_pack_i(n))
        if user_data is not None:
            out.append(user_data)


def _write_topic_partition_1(items: Iterable[TopicPartition], out: list[Buffer]) -> None:
    for m in items:
        topic = m.topic
        content = topic.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        partitions = m.partitions
        n = len(partitions)
        out.append(_pack_i(n))
        if partitions:
            out.append(packer(len(partitions), "i")(*partitions))


def _write_consumer_protocol_subscription_1(items: Iterable[ConsumerProtocolSubscription], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_i(n))
        if topics:
            write_texts(topics, out)
        user_data = m.user_data
        if user_data is None:
            n = -1
        else:
            n = len(user_data)
        out.append(_pack_i(n))
        if user_data is not None:
            out.append(user_data)
        owned_partitions = m.owned_partitions
        n = len(owned_partitions)
        out.append(_pack_i(n))
        if owned_partitions:
            _write_topic_partition_1(owned_partitions, out)


def _write_consumer_protocol_subscription_2(items: Iterable[ConsumerProtocolSubscription], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_i(n))
        if topics:
            write_texts(topics, out)
        user_data = m.user_data
        if user_data is None:
            n = -1
        else:
            n = len(user_data)
        out.append(_pack_i(n))
        if user_data is not None:
            out.append(user_data)
        owned_partitions = m.owned_partitions
        n = len(owned_partitions)
        out.append(_pack_i(n))
        if owned_partitions:
            _write_topic_partition_1(owned_partitions, out)
        out.append(_pack_i(m.generation_id))


def _write_consumer_protocol_subscription_3(items: Iterable[ConsumerProtocolSubscription], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_i(n))
        if topics:
            write_texts(topics, out)
        user_data = m.user_data
        if user_data is None:
            n = -1
        else:
            n = len(user_data)
        out.append(_pack_i(n))
        if user_data is not None:
            out.append(user_data)
        owned_partitions = m.owned_partitions
        n = len(owned_partitions)
        out.append(_pack_i(n))
        if owned_partitions:
            _write_topic_partition_1(owned_partitions, out)
        rack_id = m.rack_id
        if rack_id is None:
            content = b""
            n = -1
        else:
            content = rack_id.encode()
            n = len(content)
        out.append(_pack_ih(m.generation_id, n))
        out.append(content)


ConsumerProtocolSubscription._READERS = {
    **dict.fromkeys(range(0, 1), _read_consumer_protocol_subscription_0),
    **dict.fromkeys(range(1, 2), _read_consumer_protocol_subscription_1),
    **dict.fromkeys(range(2, 3), _read_consumer_protocol_subscription_2),
    **dict.fromkeys(range(3, 4), _read_consumer_protocol_subscription_3),
}
ConsumerProtocolSubscription._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_consumer_protocol_subscription_0),
    **dict.fromkeys(range(1, 2), _write_consumer_protocol_subscription_1),
    **dict.fromkeys(range(2, 3), _write_consumer_protocol_subscription_2),
    **dict.fromkeys(range(3, 4), _write_consumer_protocol_subscription_3),
}
