"""ProduceResponse of Kafka's protocol.

Generated from proto/kafka/produce.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import NO_UUID, ONE_BYTE, Buffer, bad_count, bad_length, bad_tag, cut_off, long_text, long_varint, not_utf8, null_field, skip_tags, tag_count, tag_head, text_length_of, varint_of, write_tags


class ProduceResponse(Message, gc=False):
    """Response of API 0, versions 3-13."""

    API_KEY: ClassVar[int] = 0
    VERSIONS: ClassVar[range] = range(3, 14)
    FLEXIBLE: ClassVar[range] = range(9, 14)

    responses: list[TopicProduceResponse] = []
    throttle_time_ms: int = 0
    node_endpoints: list[NodeEndpoint] = []


class TopicProduceResponse(msgspec.Struct, gc=False):
    name: str = ""
    topic_id: bytes = NO_UUID
    partition_responses: list[PartitionProduceResponse] = []


class PartitionProduceResponse(msgspec.Struct, gc=False):
    index: int = 0
    error_code: int = 0
    base_offset: int = 0
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: list[BatchIndexAndErrorMessage] = []
    error_message: str | None = None
    current_leader: LeaderIdAndEpoch | None = None


class BatchIndexAndErrorMessage(msgspec.Struct, gc=False):
    batch_index: int = 0
    batch_index_error_message: str | None = None


class LeaderIdAndEpoch(msgspec.Struct, gc=False):
    leader_id: int = -1
    leader_epoch: int = -1


class NodeEndpoint(msgspec.Struct, gc=False):
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None


_unpack_16sB = Struct(">16sB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihqq = Struct(">ihqq").unpack_from
_unpack_ihqqq = Struct(">ihqqq").unpack_from
_unpack_ihqqqB = Struct(">ihqqqB").unpack_from
_unpack_ihqqqi = Struct(">ihqqqi").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from
_pack_16s = Struct(">16s").pack
_pack_16sB = Struct(">16sB").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihqq = Struct(">ihqq").pack
_pack_ihqqq = Struct(">ihqqq").pack
_pack_ihqqqB = Struct(">ihqqqB").pack
_pack_ihqqqi = Struct(">ihqqqi").pack
_pack_iix = Struct(">iix").pack
_pack_ix = Struct(">ix").pack


def _read_partition_produce_response_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[PartitionProduceResponse], int]:
    items: list[PartitionProduceResponse] = []
    for _ in range(count):
        if end - at < 22:
            raise cut_off("PartitionProduceResponse", "Index=4 ErrorCode=2 BaseOffset=8 LogAppendTimeMs=8", end - at)
        index, error_code, base_offset, log_append_time_ms = _unpack_ihqq(data, at)
        at += 22
        items.append(PartitionProduceResponse(index, error_code, base_offset, log_append_time_ms))
    return items, at


def _read_topic_produce_response_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicProduceResponse], int]:
    items: list[TopicProduceResponse] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("TopicProduceResponse", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("TopicProduceResponse.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TopicProduceResponse.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("TopicProduceResponse", "PartitionResponses=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 22 * n > end - at or room[0] < 0:
            raise bad_count("TopicProduceResponse.PartitionResponses", n, end - at, room[0])
        partition_responses, at = _read_partition_produce_response_3(data, at, end, room, n)
        items.append(TopicProduceResponse(name, NO_UUID, partition_responses))
    return items, at


def _read_produce_response_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ProduceResponse], int]:
    items: list[ProduceResponse] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("ProduceResponse", "Responses=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("ProduceResponse.Responses", n, end - at, room[0])
        responses, at = _read_topic_produce_response_3(data, at, end, room, n)
        if end - at < 4:
            raise cut_off("ProduceResponse", "ThrottleTimeMs=4", end - at)
        throttle_time_ms = _unpack_i(data, at)[0]
        at += 4
        items.append(ProduceResponse(responses, throttle_time_ms))
    return items, at


def _read_partition_produce_response_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[PartitionProduceResponse], int]:
    items: list[PartitionProduceResponse] = []
    for _ in range(count):
        if end - at < 30:
            raise cut_off("PartitionProduceResponse", "Index=4 ErrorCode=2 BaseOffset=8 LogAppendTimeMs=8 LogStartOffset=8", end - at)
        index, error_code, base_offset, log_append_time_ms, log_start_offset = _unpack_ihqqq(data, at)
        at += 30
        items.append(PartitionProduceResponse(index, error_code, base_offset, log_append_time_ms, log_start_offset))
    return items, at


def _read_topic_produce_response_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicProduceResponse], int]:
    items: list[TopicProduceResponse] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("TopicProduceResponse", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("TopicProduceResponse.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TopicProduceResponse.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("TopicProduceResponse", "PartitionResponses=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 30 * n > end - at or room[0] < 0:
            raise bad_count("TopicProduceResponse.PartitionResponses", n, end - at, room[0])
        partition_responses, at = _read_partition_produce_response_5(data, at, end, room, n)
        items.append(TopicProduceResponse(name, NO_UUID, partition_responses))
    return items, at


def _read_produce_response_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ProduceResponse], int]:
    items: list[ProduceResponse] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("ProduceResponse", "Responses=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("ProduceResponse.Responses", n, end - at, room[0])
        responses, at = _read_topic_produce_response_5(data, at, end, room, n)
        if end - at < 4:
            raise cut_off("ProduceResponse", "ThrottleTimeMs=4", end - at)
        throttle_time_ms = _unpack_i(data, at)[0]
        at += 4
        items.append(ProduceResponse(responses, throttle_time_ms))
    return items, at


def _read_batch_index_and_error_message_8(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[BatchIndexAndErrorMessage], int]:
    items: list[BatchIndexAndErrorMessage] = []
    for _ in range(count):
        if end - at < 6:
            raise cut_off("BatchIndexAndErrorMessage", "BatchIndex=4 BatchIndexErrorMessage=2", end - at)
        batch_index, n = _unpack_ih(data, at)
        at += 6
        if n == -1:
            batch_index_error_message = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("BatchIndexAndErrorMessage.BatchIndexErrorMessage", n, end - at)
            try:
                batch_index_error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("BatchIndexAndErrorMessage.BatchIndexErrorMessage") from None
            at = stop
        items.append(BatchIndexAndErrorMessage(batch_index, batch_index_error_message))
    return items, at


def _read_partition_produce_response_8(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[PartitionProduceResponse], int]:
    items: list[PartitionProduceResponse] = []
    for _ in range(count):
        if end - at < 34:
            raise cut_off("PartitionProduceResponse", "Index=4 ErrorCode=2 BaseOffset=8 LogAppendTimeMs=8 LogStartOffset=8 RecordErrors=4", end - at)
        index, error_code, base_offset, log_append_time_ms, log_start_offset, n = _unpack_ihqqqi(data, at)
        at += 34
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("PartitionProduceResponse.RecordErrors", n, end - at, room[0])
        record_errors, at = _read_batch_index_and_error_message_8(data, at, end, room, n)
        if end - at < 2:
            raise cut_off("PartitionProduceResponse", "ErrorMessage=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        if n == -1:
            error_message = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("PartitionProduceResponse.ErrorMessage", n, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("PartitionProduceResponse.ErrorMessage") from None
            at = stop
        items.append(PartitionProduceResponse(index, error_code, base_offset, log_append_time_ms, log_start_offset, record_errors, error_message))
    return items, at


def _read_topic_produce_response_8(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicProduceResponse], int]:
    items: list[TopicProduceResponse] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("TopicProduceResponse", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("TopicProduceResponse.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TopicProduceResponse.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("TopicProduceResponse", "PartitionResponses=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 36 * n > end - at or room[0] < 0:
            raise bad_count("TopicProduceResponse.PartitionResponses", n, end - at, room[0])
        partition_responses, at = _read_partition_produce_response_8(data, at, end, room, n)
        items.append(TopicProduceResponse(name, NO_UUID, partition_responses))
    return items, at


def _read_produce_response_8(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ProduceResponse], int]:
    items: list[ProduceResponse] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("ProduceResponse", "Responses=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("ProduceResponse.Responses", n, end - at, room[0])
        responses, at = _read_topic_produce_response_8(data, at, end, room, n)
        if end - at < 4:
            raise cut_off("ProduceResponse", "ThrottleTimeMs=4", end - at)
        throttle_time_ms = _unpack_i(data, at)[0]
        at += 4
        items.append(ProduceResponse(responses, throttle_time_ms))
    return items, at


def _read_batch_index_and_error_message_9(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[BatchIndexAndErrorMessage], int]:
    items: list[BatchIndexAndErrorMessage] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("BatchIndexAndErrorMessage", "BatchIndex=4 BatchIndexErrorMessage=1", end - at)
        batch_index, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_text(data, at, end, n, "BatchIndexAndErrorMessage.BatchIndexErrorMessage")
        if n == 0:
            batch_index_error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("BatchIndexAndErrorMessage.BatchIndexErrorMessage", n - 1, end - at)
            try:
                batch_index_error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("BatchIndexAndErrorMessage.BatchIndexErrorMessage") from None
            at = stop
        if at >= end:
            raise cut_off("BatchIndexAndErrorMessage", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "BatchIndexAndErrorMessage")
        items.append(BatchIndexAndErrorMessage(batch_index, batch_index_error_message))
    return items, at


def _read_partition_produce_response_9(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[PartitionProduceResponse], int]:
    items: list[PartitionProduceResponse] = []
    for _ in range(count):
        if end - at < 31:
            raise cut_off("PartitionProduceResponse", "Index=4 ErrorCode=2 BaseOffset=8 LogAppendTimeMs=8 LogStartOffset=8 RecordErrors=1", end - at)
        index, error_code, base_offset, log_append_time_ms, log_start_offset, n = _unpack_ihqqqB(data, at)
        at += 31
        if n > 127:
            n, at = long_varint(data, at, end, n, "PartitionProduceResponse.RecordErrors")
        n -= 1
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("PartitionProduceResponse.RecordErrors", n, end - at, room[0])
        record_errors, at = _read_batch_index_and_error_message_9(data, at, end, room, n)
        if at >= end:
            raise cut_off("PartitionProduceResponse", "ErrorMessage=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "PartitionProduceResponse.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("PartitionProduceResponse.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("PartitionProduceResponse.ErrorMessage") from None
            at = stop
        if at >= end:
            raise cut_off("PartitionProduceResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "PartitionProduceResponse")
        items.append(PartitionProduceResponse(index, error_code, base_offset, log_append_time_ms, log_start_offset, record_errors, error_message))
    return items, at


def _read_topic_produce_response_9(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicProduceResponse], int]:
    items: list[TopicProduceResponse] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("TopicProduceResponse", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "TopicProduceResponse.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("TopicProduceResponse.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TopicProduceResponse.Name") from None
        at = stop
        if at >= end:
            raise cut_off("TopicProduceResponse", "PartitionResponses=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "TopicProduceResponse.PartitionResponses")
        n -= 1
        room[0] -= n
        if n < 0 or 33 * n > end - at or room[0] < 0:
            raise bad_count("TopicProduceResponse.PartitionResponses", n, end - at, room[0])
        partition_responses, at = _read_partition_produce_response_9(data, at, end, room, n)
        if at >= end:
            raise cut_off("TopicProduceResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TopicProduceResponse")
        items.append(TopicProduceResponse(name, NO_UUID, partition_responses))
    return items, at


def _read_produce_response_9(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ProduceResponse], int]:
    items: list[ProduceResponse] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ProduceResponse", "Responses=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ProduceResponse.Responses")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("ProduceResponse.Responses", n, end - at, room[0])
        responses, at = _read_topic_produce_response_9(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("ProduceResponse", "ThrottleTimeMs=4 tags=1", end - at)
        throttle_time_ms, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "ProduceResponse")
        items.append(ProduceResponse(responses, throttle_time_ms))
    return items, at


def _read_leader_id_and_epoch_10(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[LeaderIdAndEpoch], int]:
    items: list[LeaderIdAndEpoch] = []
    for _ in range(count):
        if end - at < 9:
            raise cut_off("LeaderIdAndEpoch", "LeaderId=4 LeaderEpoch=4 tags=1", end - at)
        leader_id, leader_epoch, tags = _unpack_iiB(data, at)
        at += 9
        if tags:
            at = skip_tags(data, at, end, tags, "LeaderIdAndEpoch")
        items.append(LeaderIdAndEpoch(leader_id, leader_epoch))
    return items, at


def _read_partition_produce_response_10(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[PartitionProduceResponse], int]:
    items: list[PartitionProduceResponse] = []
    for _ in range(count):
        if end - at < 31:
            raise cut_off("PartitionProduceResponse", "Index=4 ErrorCode=2 BaseOffset=8 LogAppendTimeMs=8 LogStartOffset=8 RecordErrors=1", end - at)
        index, error_code, base_offset, log_append_time_ms, log_start_offset, n = _unpack_ihqqqB(data, at)
        at += 31
        if n > 127:
            n, at = long_varint(data, at, end, n, "PartitionProduceResponse.RecordErrors")
        n -= 1
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("PartitionProduceResponse.RecordErrors", n, end - at, room[0])
        record_errors, at = _read_batch_index_and_error_message_9(data, at, end, room, n)
        if at >= end:
            raise cut_off("PartitionProduceResponse", "ErrorMessage=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "PartitionProduceResponse.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("PartitionProduceResponse.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("PartitionProduceResponse.ErrorMessage") from None
            at = stop
        if at >= end:
            raise cut_off("PartitionProduceResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        current_leader: LeaderIdAndEpoch | None = None
        if tags:
            tags, at = tag_count(data, at, end, tags, "PartitionProduceResponse")
            for _ in range(tags):
                tag, size, at = tag_head(data, at, end, "PartitionProduceResponse")
                tag_end = at + size
                if tag == 0:
                    (current_leader,), at = _read_leader_id_and_epoch_10(data, at, tag_end, room, 1)
                    if at != tag_end:
                        raise bad_tag("PartitionProduceResponse.CurrentLeader")
                else:
                    at = tag_end
        items.append(PartitionProduceResponse(index, error_code, base_offset, log_append_time_ms, log_start_offset, record_errors, error_message, current_leader))
    return items, at


def _read_topic_produce_response_10(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicProduceResponse], int]:
    items: list[TopicProduceResponse] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("TopicProduceResponse", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "TopicProduceResponse.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("TopicProduceResponse.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TopicProduceResponse.Name") from None
        at = stop
        if at >= end:
            raise cut_off("TopicProduceResponse", "PartitionResponses=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "TopicProduceResponse.PartitionResponses")
        n -= 1
        room[0] -= n
        if n < 0 or 33 * n > end - at or room[0] < 0:
            raise bad_count("TopicProduceResponse.PartitionResponses", n, end - at, room[0])
        partition_responses, at = _read_partition_produce_response_10(data, at, end, room, n)
        if at >= end:
            raise cut_off("TopicProduceResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TopicProduceResponse")
        items.append(TopicProduceResponse(name, NO_UUID, partition_responses))
    return items, at


def _read_node_endpoint_10(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[NodeEndpoint], int]:
    items: list[NodeEndpoint] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("NodeEndpoint", "NodeId=4 Host=1", end - at)
        node_id, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_text(data, at, end, n, "NodeEndpoint.Host")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("NodeEndpoint.Host", n - 1, end - at)
        try:
            host = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("NodeEndpoint.Host") from None
        at = stop
        if end - at < 5:
            raise cut_off("NodeEndpoint", "Port=4 Rack=1", end - at)
        port, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_text(data, at, end, n, "NodeEndpoint.Rack")
        if n == 0:
            rack = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("NodeEndpoint.Rack", n - 1, end - at)
            try:
                rack = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("NodeEndpoint.Rack") from None
            at = stop
        if at >= end:
            raise cut_off("NodeEndpoint", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "NodeEndpoint")
        items.append(NodeEndpoint(node_id, host, port, rack))
    return items, at


def _read_produce_response_10(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ProduceResponse], int]:
    items: list[ProduceResponse] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ProduceResponse", "Responses=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ProduceResponse.Responses")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("ProduceResponse.Responses", n, end - at, room[0])
        responses, at = _read_topic_produce_response_10(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("ProduceResponse", "ThrottleTimeMs=4 tags=1", end - at)
        throttle_time_ms, tags = _unpack_iB(data, at)
        at += 5
        node_endpoints: list[NodeEndpoint] = []
        if tags:
            tags, at = tag_count(data, at, end, tags, "ProduceResponse")
            for _ in range(tags):
                tag, size, at = tag_head(data, at, end, "ProduceResponse")
                tag_end = at + size
                if tag == 0:
                    if at >= tag_end:
                        raise cut_off("ProduceResponse", "NodeEndpoints=1", tag_end - at)
                    n = data[at]
                    at += 1
                    if n > 127:
                        n, at = long_varint(data, at, tag_end, n, "ProduceResponse.NodeEndpoints")
                    n -= 1
                    room[0] -= n
                    if n < 0 or 11 * n > tag_end - at or room[0] < 0:
                        raise bad_count("ProduceResponse.NodeEndpoints", n, tag_end - at, room[0])
                    node_endpoints, at = _read_node_endpoint_10(data, at, tag_end, room, n)
                    if at != tag_end:
                        raise bad_tag("ProduceResponse.NodeEndpoints")
                else:
                    at = tag_end
        items.append(ProduceResponse(responses, throttle_time_ms, node_endpoints))
    return items, at


def _read_topic_produce_response_13(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TopicProduceResponse], int]:
    items: list[TopicProduceResponse] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("TopicProduceResponse", "TopicId=16 PartitionResponses=1", end - at)
        topic_id, n = _unpack_16sB(data, at)
        at += 17
        if n > 127:
            n, at = long_varint(data, at, end, n, "TopicProduceResponse.PartitionResponses")
        n -= 1
        room[0] -= n
        if n < 0 or 33 * n > end - at or room[0] < 0:
            raise bad_count("TopicProduceResponse.PartitionResponses", n, end - at, room[0])
        partition_responses, at = _read_partition_produce_response_10(data, at, end, room, n)
        if at >= end:
            raise cut_off("TopicProduceResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TopicProduceResponse")
        items.append(TopicProduceResponse("", topic_id, partition_responses))
    return items, at


def _read_produce_response_13(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ProduceResponse], int]:
    items: list[ProduceResponse] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ProduceResponse", "Responses=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ProduceResponse.Responses")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("ProduceResponse.Responses", n, end - at, room[0])
        responses, at = _read_topic_produce_response_13(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("ProduceResponse", "ThrottleTimeMs=4 tags=1", end - at)
        throttle_time_ms, tags = _unpack_iB(data, at)
        at += 5
        node_endpoints: list[NodeEndpoint] = []
        if tags:
            tags, at = tag_count(data, at, end, tags, "ProduceResponse")
            for _ in range(tags):
                tag, size, at = tag_head(data, at, end, "ProduceResponse")
                tag_end = at + size
                if tag == 0:
                    if at >= tag_end:
                        raise cut_off("ProduceResponse", "NodeEndpoints=1", tag_end - at)
                    n = data[at]
                    at += 1
                    if n > 127:
                        n, at = long_varint(data, at, tag_end, n, "ProduceResponse.NodeEndpoints")
                    n -= 1
                    room[0] -= n
                    if n < 0 or 11 * n > tag_end - at or room[0] < 0:
                        raise bad_count("ProduceResponse.NodeEndpoints", n, tag_end - at, room[0])
                    node_endpoints, at = _read_node_endpoint_10(data, at, tag_end, room, n)
                    if at != tag_end:
                        raise bad_tag("ProduceResponse.NodeEndpoints")
                else:
                    at = tag_end
        items.append(ProduceResponse(responses, throttle_time_ms, node_endpoints))
    return items, at


def _write_partition_produce_response_3(items: Iterable[PartitionProduceResponse], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ihqq(m.index, m.error_code, m.base_offset, m.log_append_time_ms))


def _write_topic_produce_response_3(items: Iterable[TopicProduceResponse], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        partition_responses = m.partition_responses
        n = len(partition_responses)
        out.append(_pack_i(n))
        if partition_responses:
            _write_partition_produce_response_3(partition_responses, out)


def _write_produce_response_3(items: Iterable[ProduceResponse], out: list[Buffer]) -> None:
    for m in items:
        responses = m.responses
        n = len(responses)
        out.append(_pack_i(n))
        if responses:
            _write_topic_produce_response_3(responses, out)
        out.append(_pack_i(m.throttle_time_ms))


def _write_partition_produce_response_5(items: Iterable[PartitionProduceResponse], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ihqqq(m.index, m.error_code, m.base_offset, m.log_append_time_ms, m.log_start_offset))


def _write_topic_produce_response_5(items: Iterable[TopicProduceResponse], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        partition_responses = m.partition_responses
        n = len(partition_responses)
        out.append(_pack_i(n))
        if partition_responses:
            _write_partition_produce_response_5(partition_responses, out)


def _write_produce_response_5(items: Iterable[ProduceResponse], out: list[Buffer]) -> None:
    for m in items:
        responses = m.responses
        n = len(responses)
        out.append(_pack_i(n))
        if responses:
            _write_topic_produce_response_5(responses, out)
        out.append(_pack_i(m.throttle_time_ms))


def _write_batch_index_and_error_message_8(items: Iterable[BatchIndexAndErrorMessage], out: list[Buffer]) -> None:
    for m in items:
        batch_index_error_message = m.batch_index_error_message
        if batch_index_error_message is None:
            content = b""
            n = -1
        else:
            content = batch_index_error_message.encode()
            n = len(content)
        out.append(_pack_ih(m.batch_index, n))
        out.append(content)


def _write_partition_produce_response_8(items: Iterable[PartitionProduceResponse], out: list[Buffer]) -> None:
    for m in items:
        record_errors = m.record_errors
        n = len(record_errors)
        out.append(_pack_ihqqqi(m.index, m.error_code, m.base_offset, m.log_append_time_ms, m.log_start_offset, n))
        if record_errors:
            _write_batch_index_and_error_message_8(record_errors, out)
        error_message = m.error_message
        if error_message is None:
            content = b""
            n = -1
        else:
            content = error_message.encode()
            n = len(content)
        out.append(_pack_h(n))
        out.append(content)


def _write_topic_produce_response_8(items: Iterable[TopicProduceResponse], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        partition_responses = m.partition_responses
        n = len(partition_responses)
        out.append(_pack_i(n))
        if partition_responses:
            _write_partition_produce_response_8(partition_responses, out)


def _write_produce_response_8(items: Iterable[ProduceResponse], out: list[Buffer]) -> None:
    for m in items:
        responses = m.responses
        n = len(responses)
        out.append(_pack_i(n))
        if responses:
            _write_topic_produce_response_8(responses, out)
        out.append(_pack_i(m.throttle_time_ms))


def _write_batch_index_and_error_message_9(items: Iterable[BatchIndexAndErrorMessage], out: list[Buffer]) -> None:
    for m in items:
        batch_index_error_message = m.batch_index_error_message
        if batch_index_error_message is None:
            content = b""
            n = 0
        else:
            content = batch_index_error_message.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_i(m.batch_index) + text_length_of(n))
        else:
            out.append(_pack_iB(m.batch_index, n))
        out.append(content)
        out.append(ONE_BYTE[0])


def _write_partition_produce_response_9(items: Iterable[PartitionProduceResponse], out: list[Buffer]) -> None:
    for m in items:
        record_errors = m.record_errors
        n = len(record_errors) + 1
        if n > 127:
            out.append(_pack_ihqqq(m.index, m.error_code, m.base_offset, m.log_append_time_ms, m.log_start_offset) + varint_of(n))
        else:
            out.append(_pack_ihqqqB(m.index, m.error_code, m.base_offset, m.log_append_time_ms, m.log_start_offset, n))
        if record_errors:
            _write_batch_index_and_error_message_9(record_errors, out)
        error_message = m.error_message
        if error_message is None:
            content = b""
            n = 0
        else:
            content = error_message.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(ONE_BYTE[0])


def _write_topic_produce_response_9(items: Iterable[TopicProduceResponse], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        partition_responses = m.partition_responses
        n = len(partition_responses) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if partition_responses:
            _write_partition_produce_response_9(partition_responses, out)
        out.append(ONE_BYTE[0])


def _write_produce_response_9(items: Iterable[ProduceResponse], out: list[Buffer]) -> None:
    for m in items:
        responses = m.responses
        n = len(responses) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if responses:
            _write_topic_produce_response_9(responses, out)
        out.append(_pack_ix(m.throttle_time_ms))


def _write_leader_id_and_epoch_10(items: Iterable[LeaderIdAndEpoch], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iix(m.leader_id, m.leader_epoch))


def _write_partition_produce_response_10(items: Iterable[PartitionProduceResponse], out: list[Buffer]) -> None:
    for m in items:
        record_errors = m.record_errors
        n = len(record_errors) + 1
        if n > 127:
            out.append(_pack_ihqqq(m.index, m.error_code, m.base_offset, m.log_append_time_ms, m.log_start_offset) + varint_of(n))
        else:
            out.append(_pack_ihqqqB(m.index, m.error_code, m.base_offset, m.log_append_time_ms, m.log_start_offset, n))
        if record_errors:
            _write_batch_index_and_error_message_9(record_errors, out)
        error_message = m.error_message
        if error_message is None:
            content = b""
            n = 0
        else:
            content = error_message.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        if (m.current_leader is None or m.current_leader == LeaderIdAndEpoch()):
            out.append(ONE_BYTE[0])
            continue
        tags: list[tuple[int, list[Buffer]]] = []
        part: list[Buffer] = []
        current_leader = m.current_leader
        if current_leader is None:
            raise null_field("PartitionProduceResponse.CurrentLeader")
        _write_leader_id_and_epoch_10((current_leader,), part)
        tags.append((0, part))
        write_tags(tags, out)


def _write_topic_produce_response_10(items: Iterable[TopicProduceResponse], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        partition_responses = m.partition_responses
        n = len(partition_responses) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if partition_responses:
            _write_partition_produce_response_10(partition_responses, out)
        out.append(ONE_BYTE[0])


def _write_node_endpoint_10(items: Iterable[NodeEndpoint], out: list[Buffer]) -> None:
    for m in items:
        host = m.host
        content = host.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_i(m.node_id) + text_length_of(n))
        else:
            out.append(_pack_iB(m.node_id, n))
        out.append(content)
        rack = m.rack
        if rack is None:
            content = b""
            n = 0
        else:
            content = rack.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_i(m.port) + text_length_of(n))
        else:
            out.append(_pack_iB(m.port, n))
        out.append(content)
        out.append(ONE_BYTE[0])


def _write_produce_response_10(items: Iterable[ProduceResponse], out: list[Buffer]) -> None:
    for m in items:
        responses = m.responses
        n = len(responses) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if responses:
            _write_topic_produce_response_10(responses, out)
        out.append(_pack_i(m.throttle_time_ms))
        if not m.node_endpoints:
            out.append(ONE_BYTE[0])
            continue
        tags: list[tuple[int, list[Buffer]]] = []
        part: list[Buffer] = []
        node_endpoints = m.node_endpoints
        n = len(node_endpoints) + 1
        if n > 127:
            part.append(varint_of(n))
        else:
            part.append(ONE_BYTE[n])
        if node_endpoints:
            _write_node_endpoint_10(node_endpoints, part)
        tags.append((0, part))
        write_tags(tags, out)


def _write_topic_produce_response_13(items: Iterable[TopicProduceResponse], out: list[Buffer]) -> None:
    for m in items:
        partition_responses = m.partition_responses
        n = len(partition_responses) + 1
        if n > 127:
            out.append(_pack_16s(m.topic_id) + varint_of(n))
        else:
            out.append(_pack_16sB(m.topic_id, n))
        if partition_responses:
            _write_partition_produce_response_10(partition_responses, out)
        out.append(ONE_BYTE[0])


def _write_produce_response_13(items: Iterable[ProduceResponse], out: list[Buffer]) -> None:
    for m in items:
        responses = m.responses
        n = len(responses) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if responses:
            _write_topic_produce_response_13(responses, out)
        out.append(_pack_i(m.throttle_time_ms))
        if not m.node_endpoints:
            out.append(ONE_BYTE[0])
            continue
        tags: list[tuple[int, list[Buffer]]] = []
        part: list[Buffer] = []
        node_endpoints = m.node_endpoints
        n = len(node_endpoints) + 1
        if n > 127:
            part.append(varint_of(n))
        else:
            part.append(ONE_BYTE[n])
        if node_endpoints:
            _write_node_endpoint_10(node_endpoints, part)
        tags.append((0, part))
        write_tags(tags, out)


ProduceResponse._READERS = {
    **dict.fromkeys(range(3, 5), _read_produce_response_3),
    **dict.fromkeys(range(5, 8), _read_produce_response_5),
    **dict.fromkeys(range(8, 9), _read_produce_response_8),
    **dict.fromkeys(range(9, 10), _read_produce_response_9),
    **dict.fromkeys(range(10, 13), _read_produce_response_10),
    **dict.fromkeys(range(13, 14), _read_produce_response_13),
}
ProduceResponse._WRITERS = {
    **dict.fromkeys(range(3, 5), _write_produce_response_3),
    **dict.fromkeys(range(5, 8), _write_produce_response_5),
    **dict.fromkeys(range(8, 9), _write_produce_response_8),
    **dict.fromkeys(range(9, 10), _write_produce_response_9),
    **dict.fromkeys(range(10, 13), _write_produce_response_10),
    **dict.fromkeys(range(13, 14), _write_produce_response_13),
}
