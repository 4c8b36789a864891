"""AddPartitionsToTxnResponse of Kafka's protocol.

Generated from proto/kafka/add_partitions_to_txn.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class AddPartitionsToTxnResponse(Message, gc=False):
    """Response of API 24, versions 0-5."""

    API_KEY: ClassVar[int] = 24
    VERSIONS: ClassVar[range] = range(0, 6)
    FLEXIBLE: ClassVar[range] = range(3, 6)

    throttle_time_ms: int = 0
    error_code: int = 0
    results_by_transaction: list[AddPartitionsToTxnResult] = []
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = []


class AddPartitionsToTxnTopicResult(msgspec.Struct, gc=False):
    name: str = ""
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = []


class AddPartitionsToTxnPartitionResult(msgspec.Struct, gc=False):
    partition_index: int = 0
    partition_error_code: int = 0


class AddPartitionsToTxnResult(msgspec.Struct, gc=False):
    transactional_id: str = ""
    topic_results: list[AddPartitionsToTxnTopicResult] = []


_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ihx = Struct(">ihx").pack
_pack_ii = Struct(">ii").pack


def _read_add_partitions_to_txn_partition_result_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AddPartitionsToTxnPartitionResult], int]:
    items: list[AddPartitionsToTxnPartitionResult] = []
    for _ in range(count):
        if end - at < 6:
            raise cut_off("AddPartitionsToTxnPartitionResult", "PartitionIndex=4 PartitionErrorCode=2", end - at)
        partition_index, partition_error_code = _unpack_ih(data, at)
        at += 6
        items.append(AddPartitionsToTxnPartitionResult(partition_index, partition_error_code))
    return items, at


def _read_add_partitions_to_txn_topic_result_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AddPartitionsToTxnTopicResult], int]:
    items: list[AddPartitionsToTxnTopicResult] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("AddPartitionsToTxnTopicResult", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("AddPartitionsToTxnTopicResult.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("AddPartitionsToTxnTopicResult.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("AddPartitionsToTxnTopicResult", "ResultsByPartition=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("AddPartitionsToTxnTopicResult.ResultsByPartition", n, end - at, room[0])
        results_by_partition, at = _read_add_partitions_to_txn_partition_result_0(data, at, end, room, n)
        items.append(AddPartitionsToTxnTopicResult(name, results_by_partition))
    return items, at


def _read_add_partitions_to_txn_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AddPartitionsToTxnResponse], int]:
    items: list[AddPartitionsToTxnResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("AddPartitionsToTxnResponse", "ThrottleTimeMs=4 ResultsByTopicV3AndBelow=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("AddPartitionsToTxnResponse.ResultsByTopicV3AndBelow", n, end - at, room[0])
        results_by_topic_v3_and_below, at = _read_add_partitions_to_txn_topic_result_0(data, at, end, room, n)
        items.append(AddPartitionsToTxnResponse(throttle_time_ms, 0, [], results_by_topic_v3_and_below))
    return items, at


def _read_add_partitions_to_txn_partition_result_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AddPartitionsToTxnPartitionResult], int]:
    items: list[AddPartitionsToTxnPartitionResult] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("AddPartitionsToTxnPartitionResult", "PartitionIndex=4 PartitionErrorCode=2 tags=1", end - at)
        partition_index, partition_error_code, tags = _unpack_ihB(data, at)
        at += 7
        if tags:
            at = skip_tags(data, at, end, tags, "AddPartitionsToTxnPartitionResult")
        items.append(AddPartitionsToTxnPartitionResult(partition_index, partition_error_code))
    return items, at


def _read_add_partitions_to_txn_topic_result_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AddPartitionsToTxnTopicResult], int]:
    items: list[AddPartitionsToTxnTopicResult] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("AddPartitionsToTxnTopicResult", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "AddPartitionsToTxnTopicResult.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("AddPartitionsToTxnTopicResult.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("AddPartitionsToTxnTopicResult.Name") from None
        at = stop
        if at >= end:
            raise cut_off("AddPartitionsToTxnTopicResult", "ResultsByPartition=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "AddPartitionsToTxnTopicResult.ResultsByPartition")
        n -= 1
        room[0] -= n
        if n < 0 or 7 * n > end - at or room[0] < 0:
            raise bad_count("AddPartitionsToTxnTopicResult.ResultsByPartition", n, end - at, room[0])
        results_by_partition, at = _read_add_partitions_to_txn_partition_result_3(data, at, end, room, n)
        if at >= end:
            raise cut_off("AddPartitionsToTxnTopicResult", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "AddPartitionsToTxnTopicResult")
        items.append(AddPartitionsToTxnTopicResult(name, results_by_partition))
    return items, at


def _read_add_partitions_to_txn_response_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AddPartitionsToTxnResponse], int]:
    items: list[AddPartitionsToTxnResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("AddPartitionsToTxnResponse", "ThrottleTimeMs=4 ResultsByTopicV3AndBelow=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "AddPartitionsToTxnResponse.ResultsByTopicV3AndBelow")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("AddPartitionsToTxnResponse.ResultsByTopicV3AndBelow", n, end - at, room[0])
        results_by_topic_v3_and_below, at = _read_add_partitions_to_txn_topic_result_3(data, at, end, room, n)
        if at >= end:
            raise cut_off("AddPartitionsToTxnResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "AddPartitionsToTxnResponse")
        items.append(AddPartitionsToTxnResponse(throttle_time_ms, 0, [], results_by_topic_v3_and_below))
    return items, at


def _read_add_partitions_to_txn_result_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AddPartitionsToTxnResult], int]:
    items: list[AddPartitionsToTxnResult] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("AddPartitionsToTxnResult", "TransactionalId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "AddPartitionsToTxnResult.TransactionalId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("AddPartitionsToTxnResult.TransactionalId", n - 1, end - at)
        try:
            transactional_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("AddPartitionsToTxnResult.TransactionalId") from None
        at = stop
        if at >= end:
            raise cut_off("AddPartitionsToTxnResult", "TopicResults=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "AddPartitionsToTxnResult.TopicResults")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("AddPartitionsToTxnResult.TopicResults", n, end - at, room[0])
        topic_results, at = _read_add_partitions_to_txn_topic_result_3(data, at, end, room, n)
        if at >= end:
            raise cut_off("AddPartitionsToTxnResult", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "AddPartitionsToTxnResult")
        items.append(AddPartitionsToTxnResult(transactional_id, topic_results))
    return items, at


def _read_add_partitions_to_txn_response_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[AddPartitionsToTxnResponse], int]:
    items: list[AddPartitionsToTxnResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("AddPartitionsToTxnResponse", "ThrottleTimeMs=4 ErrorCode=2 ResultsByTransaction=1", end - at)
        throttle_time_ms, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_varint(data, at, end, n, "AddPartitionsToTxnResponse.ResultsByTransaction")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("AddPartitionsToTxnResponse.ResultsByTransaction", n, end - at, room[0])
        results_by_transaction, at = _read_add_partitions_to_txn_result_4(data, at, end, room, n)
        if at >= end:
            raise cut_off("AddPartitionsToTxnResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "AddPartitionsToTxnResponse")
        items.append(AddPartitionsToTxnResponse(throttle_time_ms, error_code, results_by_transaction))
    return items, at


def _write_add_partitions_to_txn_partition_result_0(items: Iterable[AddPartitionsToTxnPartitionResult], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ih(m.partition_index, m.partition_error_code))


def _write_add_partitions_to_txn_topic_result_0(items: Iterable[AddPartitionsToTxnTopicResult], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        results_by_partition = m.results_by_partition
        n = len(results_by_partition)
        out.append(_pack_i(n))
        if results_by_partition:
            _write_add_partitions_to_txn_partition_result_0(results_by_partition, out)


def _write_add_partitions_to_txn_response_0(items: Iterable[AddPartitionsToTxnResponse], out: list[Buffer]) -> None:
    for m in items:
        results_by_topic_v3_and_below = m.results_by_topic_v3_and_below
        n = len(results_by_topic_v3_and_below)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if results_by_topic_v3_and_below:
            _write_add_partitions_to_txn_topic_result_0(results_by_topic_v3_and_below, out)


def _write_add_partitions_to_txn_partition_result_3(items: Iterable[AddPartitionsToTxnPartitionResult], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_ihx(m.partition_index, m.partition_error_code))


def _write_add_partitions_to_txn_topic_result_3(items: Iterable[AddPartitionsToTxnTopicResult], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        results_by_partition = m.results_by_partition
        n = len(results_by_partition) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if results_by_partition:
            _write_add_partitions_to_txn_partition_result_3(results_by_partition, out)
        out.append(ONE_BYTE[0])


def _write_add_partitions_to_txn_response_3(items: Iterable[AddPartitionsToTxnResponse], out: list[Buffer]) -> None:
    for m in items:
        results_by_topic_v3_and_below = m.results_by_topic_v3_and_below
        n = len(results_by_topic_v3_and_below) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if results_by_topic_v3_and_below:
            _write_add_partitions_to_txn_topic_result_3(results_by_topic_v3_and_below, out)
        out.append(ONE_BYTE[0])


def _write_add_partitions_to_txn_result_4(items: Iterable[AddPartitionsToTxnResult], out: list[Buffer]) -> None:
    for m in items:
        transactional_id = m.transactional_id
        content = transactional_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        topic_results = m.topic_results
        n = len(topic_results) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topic_results:
            _write_add_partitions_to_txn_topic_result_3(topic_results, out)
        out.append(ONE_BYTE[0])


def _write_add_partitions_to_txn_response_4(items: Iterable[AddPartitionsToTxnResponse], out: list[Buffer]) -> None:
    for m in items:
        results_by_transaction = m.results_by_transaction
        n = len(results_by_transaction) + 1
        if n > 127:
            out.append(_pack_ih(m.throttle_time_ms, m.error_code) + varint_of(n))
        else:
            out.append(_pack_ihB(m.throttle_time_ms, m.error_code, n))
        if results_by_transaction:
            _write_add_partitions_to_txn_result_4(results_by_transaction, out)
        out.append(ONE_BYTE[0])


AddPartitionsToTxnResponse._READERS = {
    **dict.fromkeys(range(0, 3), _read_add_partitions_to_txn_response_0),
    **dict.fromkeys(range(3, 4), _read_add_partitions_to_txn_response_3),
    **dict.fromkeys(range(4, 6), _read_add_partitions_to_txn_response_4),
}
AddPartitionsToTxnResponse._WRITERS = {
    **dict.fromkeys(range(0, 3), _write_add_partitions_to_txn_response_0),
    **dict.fromkeys(range(3, 4), _write_add_partitions_to_txn_response_3),
    **dict.fromkeys(range(4, 6), _write_add_partitions_to_txn_response_4),
}
