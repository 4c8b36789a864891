"""ConsumerGroupDescribeResponse of Kafka's protocol.

Generated from proto/kafka/consumer_group_describe.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec
from msgspec import field

from tidelog.kafka.message import Message
from tidelog.kafka.wire import NO_UUID, ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, packer, read_compact_texts, read_numbers, skip_tags, text_length_of, varint_of, write_compact_texts


class ConsumerGroupDescribeResponse(Message, gc=False):
    """Response of API 69, versions 0-1."""

    API_KEY: ClassVar[int] = 69
    VERSIONS: ClassVar[range] = range(0, 2)
    FLEXIBLE: ClassVar[range] = range(0, 2)

    throttle_time_ms: int = 0
    groups: list[DescribedGroup] = []


class TopicPartitions(msgspec.Struct, gc=False):
    topic_id: bytes = NO_UUID
    topic_name: str = ""
    partitions: list[int] = []


class Assignment(msgspec.Struct, gc=False):
    topic_partitions: list[TopicPartitions] = []


class DescribedGroup(msgspec.Struct, gc=False):
    error_code: int = 0
    error_message: str | None = None
    group_id: str = ""
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ""
    members: list[Member] = []
    authorized_operations: int = -2147483648


class Member(msgspec.Struct, gc=False):
    member_id: str = ""
    instance_id: str | None = None
    rack_id: str | None = None
    member_epoch: int = 0
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = []
    subscribed_topic_regex: str | None = None
    assignment: Assignment = field(default_factory=lambda: Assignment())
    target_assignment: Assignment = field(default_factory=lambda: Assignment())
    member_type: int = -1


_unpack_16sB = Struct(">16sB").unpack_from
_unpack_bB = Struct(">bB").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from
_pack_16s = Struct(">16s").pack
_pack_16sB = Struct(">16sB").pack
_pack_bx = Struct(">bx").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack
_pack_iiB = Struct(">iiB").pack
_pack_ix = Struct(">ix").pack


def _read_topic_partitions_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicPartitions], int]:
    items: list[TopicPartitions] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("TopicPartitions", "TopicId=16 TopicName=1", end - at)
        topic_id, n = _unpack_16sB(data, at)
        at += 17
        if n > 127:
            n, at = long_text(data, at, end, n, "TopicPartitions.TopicName")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("TopicPartitions.TopicName", n - 1, end - at)
        try:
            topic_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TopicPartitions.TopicName") from None
        at = stop
        if at >= end:
            raise cut_off("TopicPartitions", "Partitions=1", end - at)
        n = data[at]
        at += 1
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
        items.append(TopicPartitions(topic_id, topic_name, partitions))
    return items, at


def _read_assignment_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[Assignment], int]:
    items: list[Assignment] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("Assignment", "TopicPartitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "Assignment.TopicPartitions")
        n -= 1
        room[0] -= n
        if n < 0 or 19 * n > end - at or room[0] < 0:
            raise bad_count("Assignment.TopicPartitions", n, end - at, room[0])
        topic_partitions, at = _read_topic_partitions_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("Assignment", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "Assignment")
        items.append(Assignment(topic_partitions))
    return items, at


def _read_member_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[Member], int]:
    items: list[Member] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("Member", "MemberId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "Member.MemberId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("Member.MemberId", n - 1, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("Member.MemberId") from None
        at = stop
        if at >= end:
            raise cut_off("Member", "InstanceId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "Member.InstanceId")
        if n == 0:
            instance_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("Member.InstanceId", n - 1, end - at)
            try:
                instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("Member.InstanceId") from None
            at = stop
        if at >= end:
            raise cut_off("Member", "RackId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "Member.RackId")
        if n == 0:
            rack_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("Member.RackId", n - 1, end - at)
            try:
                rack_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("Member.RackId") from None
            at = stop
        if end - at < 5:
            raise cut_off("Member", "MemberEpoch=4 ClientId=1", end - at)
        member_epoch, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_text(data, at, end, n, "Member.ClientId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("Member.ClientId", n - 1, end - at)
        try:
            client_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("Member.ClientId") from None
        at = stop
        if at >= end:
            raise cut_off("Member", "ClientHost=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "Member.ClientHost")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("Member.ClientHost", n - 1, end - at)
        try:
            client_host = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("Member.ClientHost") from None
        at = stop
        if at >= end:
            raise cut_off("Member", "SubscribedTopicNames=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "Member.SubscribedTopicNames")
        n -= 1
        room[0] -= n
        if n < 0 or n > end - at or room[0] < 0:
            raise bad_count("Member.SubscribedTopicNames", n, end - at, room[0])
        subscribed_topic_names, at = read_compact_texts(data, at, end, n, "Member.SubscribedTopicNames")
        if at >= end:
            raise cut_off("Member", "SubscribedTopicRegex=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "Member.SubscribedTopicRegex")
        if n == 0:
            subscribed_topic_regex = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("Member.SubscribedTopicRegex", n - 1, end - at)
            try:
                subscribed_topic_regex = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("Member.SubscribedTopicRegex") from None
            at = stop
        (assignment,), at = _read_assignment_0(data, at, end, room, 1)
        (target_assignment,), at = _read_assignment_0(data, at, end, room, 1)
        if at >= end:
            raise cut_off("Member", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "Member")
        items.append(Member(member_id, instance_id, rack_id, member_epoch, client_id, client_host, subscribed_topic_names, subscribed_topic_regex, assignment, target_assignment))
    return items, at


def _read_described_group_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribedGroup], int]:
    items: list[DescribedGroup] = []
    for _ in range(count):
        if end - at < 3:
            raise cut_off("DescribedGroup", "ErrorCode=2 ErrorMessage=1", end - at)
        error_code, n = _unpack_hB(data, at)
        at += 3
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribedGroup.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("DescribedGroup.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DescribedGroup.ErrorMessage") from None
            at = stop
        if at >= end:
            raise cut_off("DescribedGroup", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribedGroup.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribedGroup.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.GroupId") from None
        at = stop
        if at >= end:
            raise cut_off("DescribedGroup", "GroupState=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribedGroup.GroupState")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribedGroup.GroupState", n - 1, end - at)
        try:
            group_state = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.GroupState") from None
        at = stop
        if end - at < 9:
            raise cut_off("DescribedGroup", "GroupEpoch=4 AssignmentEpoch=4 AssignorName=1", end - at)
        group_epoch, assignment_epoch, n = _unpack_iiB(data, at)
        at += 9
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribedGroup.AssignorName")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribedGroup.AssignorName", n - 1, end - at)
        try:
            assignor_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.AssignorName") from None
        at = stop
        if at >= end:
            raise cut_off("DescribedGroup", "Members=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribedGroup.Members")
        n -= 1
        room[0] -= n
        if n < 0 or 16 * n > end - at or room[0] < 0:
            raise bad_count("DescribedGroup.Members", n, end - at, room[0])
        members, at = _read_member_0(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("DescribedGroup", "AuthorizedOperations=4 tags=1", end - at)
        authorized_operations, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "DescribedGroup")
        items.append(DescribedGroup(error_code, error_message, group_id, group_state, group_epoch, assignment_epoch, assignor_name, members, authorized_operations))
    return items, at


def _read_consumer_group_describe_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ConsumerGroupDescribeResponse], int]:
    items: list[ConsumerGroupDescribeResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("ConsumerGroupDescribeResponse", "ThrottleTimeMs=4 Groups=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "ConsumerGroupDescribeResponse.Groups")
        n -= 1
        room[0] -= n
        if n < 0 or 20 * n > end - at or room[0] < 0:
            raise bad_count("ConsumerGroupDescribeResponse.Groups", n, end - at, room[0])
        groups, at = _read_described_group_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("ConsumerGroupDescribeResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ConsumerGroupDescribeResponse")
        items.append(ConsumerGroupDescribeResponse(throttle_time_ms, groups))
    return items, at


def _read_member_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[Member], int]:
    items: list[Member] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("Member", "MemberId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "Member.MemberId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("Member.MemberId", n - 1, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("Member.MemberId") from None
        at = stop
        if at >= end:
            raise cut_off("Member", "InstanceId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "Member.InstanceId")
        if n == 0:
            instance_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("Member.InstanceId", n - 1, end - at)
            try:
                instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("Member.InstanceId") from None
            at = stop
        if at >= end:
            raise cut_off("Member", "RackId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "Member.RackId")
        if n == 0:
            rack_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("Member.RackId", n - 1, end - at)
            try:
                rack_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("Member.RackId") from None
            at = stop
        if end - at < 5:
            raise cut_off("Member", "MemberEpoch=4 ClientId=1", end - at)
        member_epoch, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_text(data, at, end, n, "Member.ClientId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("Member.ClientId", n - 1, end - at)
        try:
            client_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("Member.ClientId") from None
        at = stop
        if at >= end:
            raise cut_off("Member", "ClientHost=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "Member.ClientHost")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("Member.ClientHost", n - 1, end - at)
        try:
            client_host = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("Member.ClientHost") from None
        at = stop
        if at >= end:
            raise cut_off("Member", "SubscribedTopicNames=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "Member.SubscribedTopicNames")
        n -= 1
        room[0] -= n
        if n < 0 or n > end - at or room[0] < 0:
            raise bad_count("Member.SubscribedTopicNames", n, end - at, room[0])
        subscribed_topic_names, at = read_compact_texts(data, at, end, n, "Member.SubscribedTopicNames")
        if at >= end:
            raise cut_off("Member", "SubscribedTopicRegex=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "Member.SubscribedTopicRegex")
        if n == 0:
            subscribed_topic_regex = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("Member.SubscribedTopicRegex", n - 1, end - at)
            try:
                subscribed_topic_regex = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("Member.SubscribedTopicRegex") from None
            at = stop
        (assignment,), at = _read_assignment_0(data, at, end, room, 1)
        (target_assignment,), at = _read_assignment_0(data, at, end, room, 1)
        if end - at < 2:
            raise cut_off("Member", "MemberType=1 tags=1", end - at)
        member_type, tags = _unpack_bB(data, at)
        at += 2
        if tags:
            at = skip_tags(data, at, end, tags, "Member")
        items.append(Member(member_id, instance_id, rack_id, member_epoch, client_id, client_host, subscribed_topic_names, subscribed_topic_regex, assignment, target_assignment, member_type))
    return items, at


def _read_described_group_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribedGroup], int]:
    items: list[DescribedGroup] = []
    for _ in range(count):
        if end - at < 3:
            raise cut_off("DescribedGroup", "ErrorCode=2 ErrorMessage=1", end - at)
        error_code, n = _unpack_hB(data, at)
        at += 3
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribedGroup.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("DescribedGroup.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DescribedGroup.ErrorMessage") from None
            at = stop
        if at >= end:
            raise cut_off("DescribedGroup", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribedGroup.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribedGroup.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.GroupId") from None
        at = stop
        if at >= end:
            raise cut_off("DescribedGroup", "GroupState=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribedGroup.GroupState")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribedGroup.GroupState", n - 1, end - at)
        try:
            group_state = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.GroupState") from None
        at = stop
        if end - at < 9:
            raise cut_off("DescribedGroup", "GroupEpoch=4 AssignmentEpoch=4 AssignorName=1", end - at)
        group_epoch, assignment_epoch, n = _unpack_iiB(data, at)
        at += 9
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribedGroup.AssignorName")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribedGroup.AssignorName", n - 1, end - at)
        try:
            assignor_name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribedGroup.AssignorName") from None
        at = stop
        if at >= end:
            raise cut_off("DescribedGroup", "Members=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribedGroup.Members")
        n -= 1
        room[0] -= n
        if n < 0 or 17 * n > end - at or room[0] < 0:
            raise bad_count("DescribedGroup.Members", n, end - at, room[0])
        members, at = _read_member_1(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("DescribedGroup", "AuthorizedOperations=4 tags=1", end - at)
        authorized_operations, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "DescribedGroup")
        items.append(DescribedGroup(error_code, error_message, group_id, group_state, group_epoch, assignment_epoch, assignor_name, members, authorized_operations))
    return items, at


def _read_consumer_group_describe_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ConsumerGroupDescribeResponse], int]:
    items: list[ConsumerGroupDescribeResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("ConsumerGroupDescribeResponse", "ThrottleTimeMs=4 Groups=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "ConsumerGroupDescribeResponse.Groups")
        n -= 1
        room[0] -= n
        if n < 0 or 20 * n > end - at or room[0] < 0:
            raise bad_count("ConsumerGroupDescribeResponse.Groups", n, end - at, room[0])
        groups, at = _read_described_group_1(data, at, end, room, n)
        if at >= end:
            raise cut_off("ConsumerGroupDescribeResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ConsumerGroupDescribeResponse")
        items.append(ConsumerGroupDescribeResponse(throttle_time_ms, groups))
    return items, at


def _write_topic_partitions_0(items: Iterable[TopicPartitions], out: list[Buffer]) -> None:
    for m in items:
        topic_name = m.topic_name
        content = topic_name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_16s(m.topic_id) + text_length_of(n))
        else:
            out.append(_pack_16sB(m.topic_id, n))
        out.append(content)
        partitions = m.partitions
        n = len(partitions) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if partitions:
            out.append(packer(len(partitions), "i")(*partitions))
        out.append(ONE_BYTE[0])


def _write_assignment_0(items: Iterable[Assignment], out: list[Buffer]) -> None:
    for m in items:
        topic_partitions = m.topic_partitions
        n = len(topic_partitions) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topic_partitions:
            _write_topic_partitions_0(topic_partitions, out)
        out.append(ONE_BYTE[0])


def _write_member_0(items: Iterable[Member], out: list[Buffer]) -> None:
    for m in items:
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
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
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
        client_id = m.client_id
        content = client_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_i(m.member_epoch) + text_length_of(n))
        else:
            out.append(_pack_iB(m.member_epoch, n))
        out.append(content)
        client_host = m.client_host
        content = client_host.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        subscribed_topic_names = m.subscribed_topic_names
        n = len(subscribed_topic_names) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
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
        assignment = m.assignment
        _write_assignment_0((assignment,), out)
        target_assignment = m.target_assignment
        _write_assignment_0((target_assignment,), out)
        out.append(ONE_BYTE[0])


def _write_described_group_0(items: Iterable[DescribedGroup], out: list[Buffer]) -> None:
    for m in items:
        error_message = m.error_message
        if error_message is None:
            content = b""
            n = 0
        else:
            content = error_message.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_h(m.error_code) + text_length_of(n))
        else:
            out.append(_pack_hB(m.error_code, n))
        out.append(content)
        group_id = m.group_id
        content = group_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        group_state = m.group_state
        content = group_state.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        assignor_name = m.assignor_name
        content = assignor_name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_ii(m.group_epoch, m.assignment_epoch) + text_length_of(n))
        else:
            out.append(_pack_iiB(m.group_epoch, m.assignment_epoch, n))
        out.append(content)
        members = m.members
        n = len(members) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if members:
            _write_member_0(members, out)
        out.append(_pack_ix(m.authorized_operations))


def _write_consumer_group_describe_response_0(items: Iterable[ConsumerGroupDescribeResponse], out: list[Buffer]) -> None:
    for m in items:
        groups = m.groups
        n = len(groups) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if groups:
            _write_described_group_0(groups, out)
        out.append(ONE_BYTE[0])


def _write_member_1(items: Iterable[Member], out: list[Buffer]) -> None:
    for m in items:
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
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
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
        client_id = m.client_id
        content = client_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_i(m.member_epoch) + text_length_of(n))
        else:
            out.append(_pack_iB(m.member_epoch, n))
        out.append(content)
        client_host = m.client_host
        content = client_host.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        subscribed_topic_names = m.subscribed_topic_names
        n = len(subscribed_topic_names) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
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
        assignment = m.assignment
        _write_assignment_0((assignment,), out)
        target_assignment = m.target_assignment
        _write_assignment_0((target_assignment,), out)
        out.append(_pack_bx(m.member_type))


def _write_described_group_1(items: Iterable[DescribedGroup], out: list[Buffer]) -> None:
    for m in items:
        error_message = m.error_message
        if error_message is None:
            content = b""
            n = 0
        else:
            content = error_message.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_h(m.error_code) + text_length_of(n))
        else:
            out.append(_pack_hB(m.error_code, n))
        out.append(content)
        group_id = m.group_id
        content = group_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        group_state = m.group_state
        content = group_state.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        assignor_name = m.assignor_name
        content = assignor_name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_ii(m.group_epoch, m.assignment_epoch) + text_length_of(n))
        else:
            out.append(_pack_iiB(m.group_epoch, m.assignment_epoch, n))
        out.append(content)
        members = m.members
        n = len(members) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if members:
            _write_member_1(members, out)
        out.append(_pack_ix(m.authorized_operations))


def _write_consumer_group_describe_response_1(items: Iterable[ConsumerGroupDescribeResponse], out: list[Buffer]) -> None:
    for m in items:
        groups = m.groups
        n = len(groups) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if groups:
            _write_described_group_1(groups, out)
        out.append(ONE_BYTE[0])


ConsumerGroupDescribeResponse._READERS = {
    **dict.fromkeys(range(0, 1), _read_consumer_group_describe_response_0),
    **dict.fromkeys(range(1, 2), _read_consumer_group_describe_response_1),
}
ConsumerGroupDescribeResponse._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_consumer_group_describe_response_0),
    **dict.fromkeys(range(1, 2), _write_consumer_group_describe_response_1),
}
