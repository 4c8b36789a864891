"""ConsumerGroupHeartbeatRequest of Kafka's protocol.

Generated from proto/kafka/consumer_group_heartbeat.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import NO_UUID, ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, packer, read_compact_texts, read_numbers, skip_tags, text_length_of, varint_of, write_compact_texts


class ConsumerGroupHeartbeatRequest(Message, gc=False):
    """Request of API 68, versions 0-1."""

    API_KEY: ClassVar[int] = 68
    VERSIONS: ClassVar[range] = range(0, 2)
    FLEXIBLE: ClassVar[range] = range(0, 2)

    group_id: str = ""
    member_id: str = ""
    member_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    subscribed_topic_names: list[str] | None = None
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    topic_partitions: list[TopicPartitions] | None = None


class TopicPartitions(msgspec.Struct, gc=False):
    topic_id: bytes = NO_UUID
    partitions: list[int] = []


_unpack_16sB = Struct(">16sB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_pack_16s = Struct(">16s").pack
_pack_16sB = Struct(">16sB").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack


def _read_topic_partitions_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicPartitions], int]:
    items: list[TopicPartitions] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("TopicPartitions", "TopicId=16 Partitions=1", end - at)
        topic_id, n = _unpack_16sB(data, at)
        at += 17
        if n > 127:
            n, at = long_varint(data, at, end, n, "TopicPartitions.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("TopicPartitions.Partitions", n, end - at, room[0])
        partitions = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("TopicPartitions", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TopicPartitions")
        items.append(TopicPartitions(topic_id, partitions))
    return items, at


def _read_consumer_group_heartbeat_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ConsumerGroupHeartbeatRequest], int]:
    items: list[ConsumerGroupHeartbeatRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ConsumerGroupHeartbeatRequest", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ConsumerGroupHeartbeatRequest.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ConsumerGroupHeartbeatRequest.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ConsumerGroupHeartbeatRequest.GroupId") from None
        at = stop
        if at >= end:
            raise cut_off("ConsumerGroupHeartbeatRequest", "MemberId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ConsumerGroupHeartbeatRequest.MemberId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ConsumerGroupHeartbeatRequest.MemberId", n - 1, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ConsumerGroupHeartbeatRequest.MemberId") from None
        at = stop
        if end - at < 5:
            raise cut_off("ConsumerGroupHeartbeatRequest", "MemberEpoch=4 InstanceId=1", end - at)
        member_epoch, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_text(data, at, end, n, "ConsumerGroupHeartbeatRequest.InstanceId")
        if n == 0:
            instance_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("ConsumerGroupHeartbeatRequest.InstanceId", n - 1, end - at)
            try:
                instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("ConsumerGroupHeartbeatRequest.InstanceId") from None
            at = stop
        if at >= end:
            raise cut_off("ConsumerGroupHeartbeatRequest", "RackId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ConsumerGroupHeartbeatRequest.RackId")
        if n == 0:
            rack_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("ConsumerGroupHeartbeatRequest.RackId", n - 1, end - at)
            try:
                rack_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("ConsumerGroupHeartbeatRequest.RackId") from None
            at = stop
        if end - at < 5:
            raise cut_off("ConsumerGroupHeartbeatRequest", "RebalanceTimeoutMs=4 SubscribedTopicNames=1", end - at)
        rebalance_timeout_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "ConsumerGroupHeartbeatRequest.SubscribedTopicNames")
        if n == 0:
            subscribed_topic_names = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or n > end - at or room[0] < 0:
                raise bad_count("ConsumerGroupHeartbeatRequest.SubscribedTopicNames", n, end - at, room[0])
            subscribed_topic_names, at = read_compact_texts(data, at, end, n, "ConsumerGroupHeartbeatRequest.SubscribedTopicNames")
        if at >= end:
            raise cut_off("ConsumerGroupHeartbeatRequest", "ServerAssignor=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ConsumerGroupHeartbeatRequest.ServerAssignor")
        if n == 0:
            server_assignor = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("ConsumerGroupHeartbeatRequest.ServerAssignor", n - 1, end - at)
            try:
                server_assignor = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("ConsumerGroupHeartbeatRequest.ServerAssignor") from None
            at = stop
        if at >= end:
            raise cut_off("ConsumerGroupHeartbeatRequest", "TopicPartitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ConsumerGroupHeartbeatRequest.TopicPartitions")
        if n == 0:
            topic_partitions = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or 18 * n > end - at or room[0] < 0:
                raise bad_count("ConsumerGroupHeartbeatRequest.TopicPartitions", n, end - at, room[0])
            topic_partitions, at = _read_topic_partitions_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("ConsumerGroupHeartbeatRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ConsumerGroupHeartbeatRequest")
        items.append(ConsumerGroupHeartbeatRequest(group_id, member_id, member_epoch, instance_id, rack_id, rebalance_timeout_ms, subscribed_topic_names, None, server_assignor, topic_partitions))
    return items, at


def _read_consumer_group_heartbeat_request_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ConsumerGroupHeartbeatRequest], int]:
    items: list[ConsumerGroupHeartbeatRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ConsumerGroupHeartbeatRequest", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ConsumerGroupHeartbeatRequest.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ConsumerGroupHeartbeatRequest.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ConsumerGroupHeartbeatRequest.GroupId") from None
        at = stop
        if at >= end:
            raise cut_off("ConsumerGroupHeartbeatRequest", "MemberId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ConsumerGroupHeartbeatRequest.MemberId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ConsumerGroupHeartbeatRequest.MemberId", n - 1, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ConsumerGroupHeartbeatRequest.MemberId") from None
        at = stop
        if end - at < 5:
            raise cut_off("ConsumerGroupHeartbeatRequest", "MemberEpoch=4 InstanceId=1", end - at)
        member_epoch, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_text(data, at, end, n, "ConsumerGroupHeartbeatRequest.InstanceId")
        if n == 0:
            instance_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("ConsumerGroupHeartbeatRequest.InstanceId", n - 1, end - at)
            try:
                instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("ConsumerGroupHeartbeatRequest.InstanceId") from None
            at = stop
        if at >= end:
            raise cut_off("ConsumerGroupHeartbeatRequest", "RackId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ConsumerGroupHeartbeatRequest.RackId")
        if n == 0:
            rack_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("ConsumerGroupHeartbeatRequest.RackId", n - 1, end - at)
            try:
                rack_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("ConsumerGroupHeartbeatRequest.RackId") from None
            at = stop
        if end - at < 5:
            raise cut_off("ConsumerGroupHeartbeatRequest", "RebalanceTimeoutMs=4 SubscribedTopicNames=1", end - at)
        rebalance_timeout_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "ConsumerGroupHeartbeatRequest.SubscribedTopicNames")
        if n == 0:
            subscribed_topic_names = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or n > end - at or room[0] < 0:
                raise bad_count("ConsumerGroupHeartbeatRequest.SubscribedTopicNames", n, end - at, room[0])
            subscribed_topic_names, at = read_compact_texts(data, at, end, n, "ConsumerGroupHeartbeatRequest.SubscribedTopicNames")
        if at >= end:
            raise cut_off("ConsumerGroupHeartbeatRequest", "SubscribedTopicRegex=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ConsumerGroupHeartbeatRequest.SubscribedTopicRegex")
        if n == 0:
            subscribed_topic_regex = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("ConsumerGroupHeartbeatRequest.SubscribedTopicRegex", n - 1, end - at)
            try:
                subscribed_topic_regex = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("ConsumerGroupHeartbeatRequest.SubscribedTopicRegex") from None
            at = stop
        if at >= end:
            raise cut_off("ConsumerGroupHeartbeatRequest", "ServerAssignor=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ConsumerGroupHeartbeatRequest.ServerAssignor")
        if n == 0:
            server_assignor = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("ConsumerGroupHeartbeatRequest.ServerAssignor", n - 1, end - at)
            try:
                server_assignor = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("ConsumerGroupHeartbeatRequest.ServerAssignor") from None
            at = stop
        if at >= end:
            raise cut_off("ConsumerGroupHeartbeatRequest", "TopicPartitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ConsumerGroupHeartbeatRequest.TopicPartitions")
        if n == 0:
            topic_partitions = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or 18 * n > end - at or room[0] < 0:
                raise bad_count("ConsumerGroupHeartbeatRequest.TopicPartitions", n, end - at, room[0])
            topic_partitions, at = _read_topic_partitions_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("ConsumerGroupHeartbeatRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ConsumerGroupHeartbeatRequest")
        items.append(ConsumerGroupHeartbeatRequest(group_id, member_id, member_epoch, instance_id, rack_id, rebalance_timeout_ms, subscribed_topic_names, subscribed_topic_regex, server_assignor, topic_partitions))
    return items, at


def _write_topic_partitions_0(items: Iterable[TopicPartitions], out: list[Buffer]) -> None:
    for m in items:
        partitions = m.partitions
        n = len(partitions) + 1
        if n > 127:
            out.append(_pack_16s(m.topic_id) + varint_of(n))
        else:
            out.append(_pack_16sB(m.topic_id, n))
        if partitions:
            out.append(packer(len(partitions), "i")(*partitions))
        out.append(ONE_BYTE[0])


def _write_consumer_group_heartbeat_request_0(items: Iterable[ConsumerGroupHeartbeatRequest], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        member_id = m.member_id
        content = member_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        instance_id = m.instance_id
        if instance_id is None:
            content = b""
            n = 0
        else:
            content = instance_id.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_i(m.member_epoch) + text_length_of(n))
        else:
            out.append(_pack_iB(m.member_epoch, n))
        out.append(content)
        rack_id = m.rack_id
        if rack_id is None:
            content = b""
            n = 0
        else:
            content = rack_id.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        subscribed_topic_names = m.subscribed_topic_names
        if subscribed_topic_names is None:
            n = 0
        else:
            n = len(subscribed_topic_names) + 1
        if n > 127:
            out.append(_pack_i(m.rebalance_timeout_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.rebalance_timeout_ms, n))
        if subscribed_topic_names:
            write_compact_texts(subscribed_topic_names, out)
        server_assignor = m.server_assignor
        if server_assignor is None:
            content = b""
            n = 0
        else:
            content = server_assignor.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        topic_partitions = m.topic_partitions
        if topic_partitions is None:
            n = 0
        else:
            n = len(topic_partitions) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topic_partitions:
            _write_topic_partitions_0(topic_partitions, out)
        out.append(ONE_BYTE[0])


def _write_consumer_group_heartbeat_request_1(items: Iterable[ConsumerGroupHeartbeatRequest], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        member_id = m.member_id
        content = member_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        instance_id = m.instance_id
        if instance_id is None:
            content = b""
            n = 0
        else:
            content = instance_id.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_i(m.member_epoch) + text_length_of(n))
        else:
            out.append(_pack_iB(m.member_epoch, n))
        out.append(content)
        rack_id = m.rack_id
        if rack_id is None:
            content = b""
            n = 0
        else:
            content = rack_id.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        subscribed_topic_names = m.subscribed_topic_names
        if subscribed_topic_names is None:
            n = 0
        else:
            n = len(subscribed_topic_names) + 1
        if n > 127:
            out.append(_pack_i(m.rebalance_timeout_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.rebalance_timeout_ms, n))
        if subscribed_topic_names:
            write_compact_texts(subscribed_topic_names, out)
        subscribed_topic_regex = m.subscribed_topic_regex
        if subscribed_topic_regex is None:
            content = b""
            n = 0
        else:
            content = subscribed_topic_regex.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        server_assignor = m.server_assignor
        if server_assignor is None:
            content = b""
            n = 0
        else:
            content = server_assignor.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        topic_partitions = m.topic_partitions
        if topic_partitions is None:
            n = 0
        else:
            n = len(topic_partitions) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topic_partitions:
            _write_topic_partitions_0(topic_partitions, out)
        out.append(ONE_BYTE[0])


ConsumerGroupHeartbeatRequest._READERS = {
    **dict.fromkeys(range(0, 1), _read_consumer_group_heartbeat_request_0),
    **dict.fromkeys(range(1, 2), _read_consumer_group_heartbeat_request_1),
}
ConsumerGroupHeartbeatRequest._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_consumer_group_heartbeat_request_0),
    **dict.fromkeys(range(1, 2), _write_consumer_group_heartbeat_request_1),
}
