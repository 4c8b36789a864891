"""AlterPartitionReassignmentsResponse of Kafka's protocol.

Generated from proto/kafka/alter_partition_reassignments.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class AlterPartitionReassignmentsResponse(Message, gc=False):
    """Response of API 45, versions 0-1."""

    API_KEY: ClassVar[int] = 45
    VERSIONS: ClassVar[range] = range(0, 2)
    FLEXIBLE: ClassVar[range] = range(0, 2)

    throttle_time_ms: int = 0
    allow_replication_factor_change: bool = True
    error_code: int = 0
    error_message: str | None = ""
    responses: list[ReassignableTopicResponse] = []


class ReassignableTopicResponse(msgspec.Struct, gc=False):
    name: str = ""
    partitions: list[ReassignablePartitionResponse] = []


class ReassignablePartitionResponse(msgspec.Struct, gc=False):
    partition_index: int = 0
    error_code: int = 0
    error_message: str | None = ""


_unpack_ithB = Struct(">i?hB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_pack_ith = Struct(">i?h").pack
_pack_ithB = Struct(">i?hB").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack


def _read_reassignable_partition_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ReassignablePartitionResponse], int]:
    items: list[ReassignablePartitionResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("ReassignablePartitionResponse", "PartitionIndex=4 ErrorCode=2 ErrorMessage=1", end - at)
        partition_index, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_text(data, at, end, n, "ReassignablePartitionResponse.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("ReassignablePartitionResponse.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("ReassignablePartitionResponse.ErrorMessage") from None
            at = stop
        if at >= end:
            raise cut_off("ReassignablePartitionResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ReassignablePartitionResponse")
        items.append(ReassignablePartitionResponse(partition_index, error_code, error_message))
    return items, at


def _read_reassignable_topic_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ReassignableTopicResponse], int]:
    items: list[ReassignableTopicResponse] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ReassignableTopicResponse", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ReassignableTopicResponse.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ReassignableTopicResponse.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ReassignableTopicResponse.Name") from None
        at = stop
        if at >= end:
            raise cut_off("ReassignableTopicResponse", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ReassignableTopicResponse.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 8 * n > end - at or room[0] < 0:
            raise bad_count("ReassignableTopicResponse.Partitions", n, end - at, room[0])
        partitions, at = _read_reassignable_partition_response_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("ReassignableTopicResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ReassignableTopicResponse")
        items.append(ReassignableTopicResponse(name, partitions))
    return items, at


def _read_alter_partition_reassignments_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AlterPartitionReassignmentsResponse], int]:
    items: list[AlterPartitionReassignmentsResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("AlterPartitionReassignmentsResponse", "ThrottleTimeMs=4 ErrorCode=2 ErrorMessage=1", end - at)
        throttle_time_ms, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_text(data, at, end, n, "AlterPartitionReassignmentsResponse.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("AlterPartitionReassignmentsResponse.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("AlterPartitionReassignmentsResponse.ErrorMessage") from None
            at = stop
        if at >= end:
            raise cut_off("AlterPartitionReassignmentsResponse", "Responses=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "AlterPartitionReassignmentsResponse.Responses")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("AlterPartitionReassignmentsResponse.Responses", n, end - at, room[0])
        responses, at = _read_reassignable_topic_response_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("AlterPartitionReassignmentsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "AlterPartitionReassignmentsResponse")
        items.append(AlterPartitionReassignmentsResponse(throttle_time_ms, True, error_code, error_message, responses))
    return items, at


def _read_alter_partition_reassignments_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AlterPartitionReassignmentsResponse], int]:
    items: list[AlterPartitionReassignmentsResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("AlterPartitionReassignmentsResponse", "ThrottleTimeMs=4 AllowReplicationFactorChange=1 ErrorCode=2 ErrorMessage=1", end - at)
        throttle_time_ms, allow_replication_factor_change, error_code, n = _unpack_ithB(data, at)
        at += 8
        if n > 127:
            n, at = long_text(data, at, end, n, "AlterPartitionReassignmentsResponse.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("AlterPartitionReassignmentsResponse.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("AlterPartitionReassignmentsResponse.ErrorMessage") from None
            at = stop
        if at >= end:
            raise cut_off("AlterPartitionReassignmentsResponse", "Responses=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "AlterPartitionReassignmentsResponse.Responses")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("AlterPartitionReassignmentsResponse.Responses", n, end - at, room[0])
        responses, at = _read_reassignable_topic_response_0(data, at, end, room, n)
        if at >= end:
            raise cut_off("AlterPartitionReassignmentsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "AlterPartitionReassignmentsResponse")
        items.append(AlterPartitionReassignmentsResponse(throttle_time_ms, allow_replication_factor_change, error_code, error_message, responses))
    return items, at


def _write_reassignable_partition_response_0(items: Iterable[ReassignablePartitionResponse], out: list[Buffer]) -> None:
    for m in items:
        error_message = m.error_message
        if error_message is None:
            content = b""
            n = 0
        else:
            content = error_message.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_ih(m.partition_index, m.error_code) + text_length_of(n))
        else:
            out.append(_pack_ihB(m.partition_index, m.error_code, n))
        out.append(content)
        out.append(ONE_BYTE[0])


def _write_reassignable_topic_response_0(items: Iterable[ReassignableTopicResponse], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        partitions = m.partitions
        n = len(partitions) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if partitions:
            _write_reassignable_partition_response_0(partitions, out)
        out.append(ONE_BYTE[0])


def _write_alter_partition_reassignments_response_0(items: Iterable[AlterPartitionReassignmentsResponse], out: list[Buffer]) -> None:
    for m in items:
        error_message = m.error_message
        if error_message is None:
            content = b""
            n = 0
        else:
            content = error_message.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_ih(m.throttle_time_ms, m.error_code) + text_length_of(n))
        else:
            out.append(_pack_ihB(m.throttle_time_ms, m.error_code, n))
        out.append(content)
        responses = m.responses
        n = len(responses) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if responses:
            _write_reassignable_topic_response_0(responses, out)
        out.append(ONE_BYTE[0])


def _write_alter_partition_reassignments_response_1(items: Iterable[AlterPartitionReassignmentsResponse], out: list[Buffer]) -> None:
    for m in items:
        error_message = m.error_message
        if error_message is None:
            content = b""
            n = 0
        else:
            content = error_message.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_ith(m.throttle_time_ms, m.allow_replication_factor_change, m.error_code) + text_length_of(n))
        else:
            out.append(_pack_ithB(m.throttle_time_ms, m.allow_replication_factor_change, m.error_code, n))
        out.append(content)
        responses = m.responses
        n = len(responses) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if responses:
            _write_reassignable_topic_response_0(responses, out)
        out.append(ONE_BYTE[0])


AlterPartitionReassignmentsResponse._READERS = {
    **dict.fromkeys(range(0, 1), _read_alter_partition_reassignments_response_0),
    **dict.fromkeys(range(1, 2), _read_alter_partition_reassignments_response_1),
}
AlterPartitionReassignmentsResponse._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_alter_partition_reassignments_response_0),
    **dict.fromkeys(range(1, 2), _write_alter_partition_reassignments_response_1),
}
