"""DescribeLogDirsResponse of Kafka's protocol.

Generated from proto/kafka/describe_log_dirs.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class DescribeLogDirsResponse(Message, gc=False):
    """Response of API 35, versions 1-5."""

    API_KEY: ClassVar[int] = 35
    VERSIONS: ClassVar[range] = range(1, 6)
    FLEXIBLE: ClassVar[range] = range(2, 6)

    throttle_time_ms: int = 0
    error_code: int = 0
    results: list[DescribeLogDirsResult] = []


class DescribeLogDirsResult(msgspec.Struct, gc=False):
    error_code: int = 0
    log_dir: str = ""
    topics: list[DescribeLogDirsTopic] = []
    total_bytes: int = -1
    usable_bytes: int = -1
    is_cordoned: bool = False


class DescribeLogDirsTopic(msgspec.Struct, gc=False):
    name: str = ""
    partitions: list[DescribeLogDirsPartition] = []


class DescribeLogDirsPartition(msgspec.Struct, gc=False):
    partition_index: int = 0
    partition_size: int = 0
    offset_lag: int = 0
    is_future_key: bool = False


_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iqqt = Struct(">iqq?").unpack_from
_unpack_iqqtB = Struct(">iqq?B").unpack_from
_unpack_qqtB = Struct(">qq?B").unpack_from
_unpack_qqB = Struct(">qqB").unpack_from
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_hh = Struct(">hh").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ii = Struct(">ii").pack
_pack_iqqt = Struct(">iqq?").pack
_pack_iqqtx = Struct(">iqq?x").pack
_pack_qqtx = Struct(">qq?x").pack
_pack_qqx = Struct(">qqx").pack


def _read_describe_log_dirs_partition_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeLogDirsPartition], int]:
    items: list[DescribeLogDirsPartition] = []
    for _ in range(count):
        if end - at < 21:
            raise cut_off("DescribeLogDirsPartition", "PartitionIndex=4 PartitionSize=8 OffsetLag=8 IsFutureKey=1", end - at)
        partition_index, partition_size, offset_lag, is_future_key = _unpack_iqqt(data, at)
        at += 21
        items.append(DescribeLogDirsPartition(partition_index, partition_size, offset_lag, is_future_key))
    return items, at


def _read_describe_log_dirs_topic_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeLogDirsTopic], int]:
    items: list[DescribeLogDirsTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("DescribeLogDirsTopic", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribeLogDirsTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribeLogDirsTopic.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("DescribeLogDirsTopic", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 21 * n > end - at or room[0] < 0:
            raise bad_count("DescribeLogDirsTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_describe_log_dirs_partition_1(data, at, end, room, n)
        items.append(DescribeLogDirsTopic(name, partitions))
    return items, at


def _read_describe_log_dirs_result_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeLogDirsResult], int]:
    items: list[DescribeLogDirsResult] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("DescribeLogDirsResult", "ErrorCode=2 LogDir=2", end - at)
        error_code, n = _unpack_hh(data, at)
        at += 4
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("DescribeLogDirsResult.LogDir", n, end - at)
        try:
            log_dir = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribeLogDirsResult.LogDir") from None
        at = stop
        if end - at < 4:
            raise cut_off("DescribeLogDirsResult", "Topics=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("DescribeLogDirsResult.Topics", n, end - at, room[0])
        topics, at = _read_describe_log_dirs_topic_1(data, at, end, room, n)
        items.append(DescribeLogDirsResult(error_code, log_dir, topics))
    return items, at


def _read_describe_log_dirs_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeLogDirsResponse], int]:
    items: list[DescribeLogDirsResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("DescribeLogDirsResponse", "ThrottleTimeMs=4 Results=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 8 * n > end - at or room[0] < 0:
            raise bad_count("DescribeLogDirsResponse.Results", n, end - at, room[0])
        results, at = _read_describe_log_dirs_result_1(data, at, end, room, n)
        items.append(DescribeLogDirsResponse(throttle_time_ms, 0, results))
    return items, at


def _read_describe_log_dirs_partition_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeLogDirsPartition], int]:
    items: list[DescribeLogDirsPartition] = []
    for _ in range(count):
        if end - at < 22:
            raise cut_off("DescribeLogDirsPartition", "PartitionIndex=4 PartitionSize=8 OffsetLag=8 IsFutureKey=1 tags=1", end - at)
        partition_index, partition_size, offset_lag, is_future_key, tags = _unpack_iqqtB(data, at)
        at += 22
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeLogDirsPartition")
        items.append(DescribeLogDirsPartition(partition_index, partition_size, offset_lag, is_future_key))
    return items, at


def _read_describe_log_dirs_topic_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeLogDirsTopic], int]:
    items: list[DescribeLogDirsTopic] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("DescribeLogDirsTopic", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeLogDirsTopic.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribeLogDirsTopic.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribeLogDirsTopic.Name") from None
        at = stop
        if at >= end:
            raise cut_off("DescribeLogDirsTopic", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeLogDirsTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 22 * n > end - at or room[0] < 0:
            raise bad_count("DescribeLogDirsTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_describe_log_dirs_partition_2(data, at, end, room, n)
        if at >= end:
            raise cut_off("DescribeLogDirsTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeLogDirsTopic")
        items.append(DescribeLogDirsTopic(name, partitions))
    return items, at


def _read_describe_log_dirs_result_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeLogDirsResult], int]:
    items: list[DescribeLogDirsResult] = []
    for _ in range(count):
        if end - at < 3:
            raise cut_off("DescribeLogDirsResult", "ErrorCode=2 LogDir=1", end - at)
        error_code, n = _unpack_hB(data, at)
        at += 3
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeLogDirsResult.LogDir")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribeLogDirsResult.LogDir", n - 1, end - at)
        try:
            log_dir = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribeLogDirsResult.LogDir") from None
        at = stop
        if at >= end:
            raise cut_off("DescribeLogDirsResult", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeLogDirsResult.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("DescribeLogDirsResult.Topics", n, end - at, room[0])
        topics, at = _read_describe_log_dirs_topic_2(data, at, end, room, n)
        if at >= end:
            raise cut_off("DescribeLogDirsResult", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeLogDirsResult")
        items.append(DescribeLogDirsResult(error_code, log_dir, topics))
    return items, at


def _read_describe_log_dirs_response_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeLogDirsResponse], int]:
    items: list[DescribeLogDirsResponse] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("DescribeLogDirsResponse", "ThrottleTimeMs=4 Results=1", end - at)
        throttle_time_ms, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeLogDirsResponse.Results")
        n -= 1
        room[0] -= n
        if n < 0 or 5 * n > end - at or room[0] < 0:
            raise bad_count("DescribeLogDirsResponse.Results", n, end - at, room[0])
        results, at = _read_describe_log_dirs_result_2(data, at, end, room, n)
        if at >= end:
            raise cut_off("DescribeLogDirsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeLogDirsResponse")
        items.append(DescribeLogDirsResponse(throttle_time_ms, 0, results))
    return items, at


def _read_describe_log_dirs_response_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeLogDirsResponse], int]:
    items: list[DescribeLogDirsResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("DescribeLogDirsResponse", "ThrottleTimeMs=4 ErrorCode=2 Results=1", end - at)
        throttle_time_ms, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeLogDirsResponse.Results")
        n -= 1
        room[0] -= n
        if n < 0 or 5 * n > end - at or room[0] < 0:
            raise bad_count("DescribeLogDirsResponse.Results", n, end - at, room[0])
        results, at = _read_describe_log_dirs_result_2(data, at, end, room, n)
        if at >= end:
            raise cut_off("DescribeLogDirsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeLogDirsResponse")
        items.append(DescribeLogDirsResponse(throttle_time_ms, error_code, results))
    return items, at


def _read_describe_log_dirs_result_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeLogDirsResult], int]:
    items: list[DescribeLogDirsResult] = []
    for _ in range(count):
        if end - at < 3:
            raise cut_off("DescribeLogDirsResult", "ErrorCode=2 LogDir=1", end - at)
        error_code, n = _unpack_hB(data, at)
        at += 3
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeLogDirsResult.LogDir")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribeLogDirsResult.LogDir", n - 1, end - at)
        try:
            log_dir = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribeLogDirsResult.LogDir") from None
        at = stop
        if at >= end:
            raise cut_off("DescribeLogDirsResult", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeLogDirsResult.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("DescribeLogDirsResult.Topics", n, end - at, room[0])
        topics, at = _read_describe_log_dirs_topic_2(data, at, end, room, n)
        if end - at < 17:
            raise cut_off("DescribeLogDirsResult", "TotalBytes=8 UsableBytes=8 tags=1", end - at)
        total_bytes, usable_bytes, tags = _unpack_qqB(data, at)
        at += 17
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeLogDirsResult")
        items.append(DescribeLogDirsResult(error_code, log_dir, topics, total_bytes, usable_bytes))
    return items, at


def _read_describe_log_dirs_response_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeLogDirsResponse], int]:
    items: list[DescribeLogDirsResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("DescribeLogDirsResponse", "ThrottleTimeMs=4 ErrorCode=2 Results=1", end - at)
        throttle_time_ms, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeLogDirsResponse.Results")
        n -= 1
        room[0] -= n
        if n < 0 or 21 * n > end - at or room[0] < 0:
            raise bad_count("DescribeLogDirsResponse.Results", n, end - at, room[0])
        results, at = _read_describe_log_dirs_result_4(data, at, end, room, n)
        if at >= end:
            raise cut_off("DescribeLogDirsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeLogDirsResponse")
        items.append(DescribeLogDirsResponse(throttle_time_ms, error_code, results))
    return items, at


def _read_describe_log_dirs_result_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeLogDirsResult], int]:
    items: list[DescribeLogDirsResult] = []
    for _ in range(count):
        if end - at < 3:
            raise cut_off("DescribeLogDirsResult", "ErrorCode=2 LogDir=1", end - at)
        error_code, n = _unpack_hB(data, at)
        at += 3
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeLogDirsResult.LogDir")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribeLogDirsResult.LogDir", n - 1, end - at)
        try:
            log_dir = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribeLogDirsResult.LogDir") from None
        at = stop
        if at >= end:
            raise cut_off("DescribeLogDirsResult", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeLogDirsResult.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("DescribeLogDirsResult.Topics", n, end - at, room[0])
        topics, at = _read_describe_log_dirs_topic_2(data, at, end, room, n)
        if end - at < 18:
            raise cut_off("DescribeLogDirsResult", "TotalBytes=8 UsableBytes=8 IsCordoned=1 tags=1", end - at)
        total_bytes, usable_bytes, is_cordoned, tags = _unpack_qqtB(data, at)
        at += 18
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeLogDirsResult")
        items.append(DescribeLogDirsResult(error_code, log_dir, topics, total_bytes, usable_bytes, is_cordoned))
    return items, at


def _read_describe_log_dirs_response_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeLogDirsResponse], int]:
    items: list[DescribeLogDirsResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("DescribeLogDirsResponse", "ThrottleTimeMs=4 ErrorCode=2 Results=1", end - at)
        throttle_time_ms, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeLogDirsResponse.Results")
        n -= 1
        room[0] -= n
        if n < 0 or 22 * n > end - at or room[0] < 0:
            raise bad_count("DescribeLogDirsResponse.Results", n, end - at, room[0])
        results, at = _read_describe_log_dirs_result_5(data, at, end, room, n)
        if at >= end:
            raise cut_off("DescribeLogDirsResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeLogDirsResponse")
        items.append(DescribeLogDirsResponse(throttle_time_ms, error_code, results))
    return items, at


def _write_describe_log_dirs_partition_1(items: Iterable[DescribeLogDirsPartition], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iqqt(m.partition_index, m.partition_size, m.offset_lag, m.is_future_key))


def _write_describe_log_dirs_topic_1(items: Iterable[DescribeLogDirsTopic], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        partitions = m.partitions
        n = len(partitions)
        out.append(_pack_i(n))
        if partitions:
            _write_describe_log_dirs_partition_1(partitions, out)


def _write_describe_log_dirs_result_1(items: Iterable[DescribeLogDirsResult], out: list[Buffer]) -> None:
    for m in items:
        log_dir = m.log_dir
        content = log_dir.encode()
        n = len(content)
        out.append(_pack_hh(m.error_code, n))
        out.append(content)
        topics = m.topics
        n = len(topics)
        out.append(_pack_i(n))
        if topics:
            _write_describe_log_dirs_topic_1(topics, out)


def _write_describe_log_dirs_response_1(items: Iterable[DescribeLogDirsResponse], out: list[Buffer]) -> None:
    for m in items:
        results = m.results
        n = len(results)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if results:
            _write_describe_log_dirs_result_1(results, out)


def _write_describe_log_dirs_partition_2(items: Iterable[DescribeLogDirsPartition], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iqqtx(m.partition_index, m.partition_size, m.offset_lag, m.is_future_key))


def _write_describe_log_dirs_topic_2(items: Iterable[DescribeLogDirsTopic], out: list[Buffer]) -> None:
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
            _write_describe_log_dirs_partition_2(partitions, out)
        out.append(ONE_BYTE[0])


def _write_describe_log_dirs_result_2(items: Iterable[DescribeLogDirsResult], out: list[Buffer]) -> None:
    for m in items:
        log_dir = m.log_dir
        content = log_dir.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_h(m.error_code) + text_length_of(n))
        else:
            out.append(_pack_hB(m.error_code, n))
        out.append(content)
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topics:
            _write_describe_log_dirs_topic_2(topics, out)
        out.append(ONE_BYTE[0])


def _write_describe_log_dirs_response_2(items: Iterable[DescribeLogDirsResponse], out: list[Buffer]) -> None:
    for m in items:
        results = m.results
        n = len(results) + 1
        if n > 127:
            out.append(_pack_i(m.throttle_time_ms) + varint_of(n))
        else:
            out.append(_pack_iB(m.throttle_time_ms, n))
        if results:
            _write_describe_log_dirs_result_2(results, out)
        out.append(ONE_BYTE[0])


def _write_describe_log_dirs_response_3(items: Iterable[DescribeLogDirsResponse], out: list[Buffer]) -> None:
    for m in items:
        results = m.results
        n = len(results) + 1
        if n > 127:
            out.append(_pack_ih(m.throttle_time_ms, m.error_code) + varint_of(n))
        else:
            out.append(_pack_ihB(m.throttle_time_ms, m.error_code, n))
        if results:
            _write_describe_log_dirs_result_2(results, out)
        out.append(ONE_BYTE[0])


def _write_describe_log_dirs_result_4(items: Iterable[DescribeLogDirsResult], out: list[Buffer]) -> None:
    for m in items:
        log_dir = m.log_dir
        content = log_dir.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_h(m.error_code) + text_length_of(n))
        else:
            out.append(_pack_hB(m.error_code, n))
        out.append(content)
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topics:
            _write_describe_log_dirs_topic_2(topics, out)
        out.append(_pack_qqx(m.total_bytes, m.usable_bytes))


def _write_describe_log_dirs_response_4(items: Iterable[DescribeLogDirsResponse], out: list[Buffer]) -> None:
    for m in items:
        results = m.results
        n = len(results) + 1
        if n > 127:
            out.append(_pack_ih(m.throttle_time_ms, m.error_code) + varint_of(n))
        else:
            out.append(_pack_ihB(m.throttle_time_ms, m.error_code, n))
        if results:
            _write_describe_log_dirs_result_4(results, out)
        out.append(ONE_BYTE[0])


def _write_describe_log_dirs_result_5(items: Iterable[DescribeLogDirsResult], out: list[Buffer]) -> None:
    for m in items:
        log_dir = m.log_dir
        content = log_dir.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_h(m.error_code) + text_length_of(n))
        else:
            out.append(_pack_hB(m.error_code, n))
        out.append(content)
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topics:
            _write_describe_log_dirs_topic_2(topics, out)
        out.append(_pack_qqtx(m.total_bytes, m.usable_bytes, m.is_cordoned))


def _write_describe_log_dirs_response_5(items: Iterable[DescribeLogDirsResponse], out: list[Buffer]) -> None:
    for m in items:
        results = m.results
        n = len(results) + 1
        if n > 127:
            out.append(_pack_ih(m.throttle_time_ms, m.error_code) + varint_of(n))
        else:
            out.append(_pack_ihB(m.throttle_time_ms, m.error_code, n))
        if results:
            _write_describe_log_dirs_result_5(results, out)
        out.append(ONE_BYTE[0])


DescribeLogDirsResponse._READERS = {
    **dict.fromkeys(range(1, 2), _read_describe_log_dirs_response_1),
    **dict.fromkeys(range(2, 3), _read_describe_log_dirs_response_2),
    **dict.fromkeys(range(3, 4), _read_describe_log_dirs_response_3),
    **dict.fromkeys(range(4, 5), _read_describe_log_dirs_response_4),
    **dict.fromkeys(range(5, 6), _read_describe_log_dirs_response_5),
}
DescribeLogDirsResponse._WRITERS = {
    **dict.fromkeys(range(1, 2), _write_describe_log_dirs_response_1),
    **dict.fromkeys(range(2, 3), _write_describe_log_dirs_response_2),
    **dict.fromkeys(range(3, 4), _write_describe_log_dirs_response_3),
    **dict.fromkeys(range(4, 5), _write_describe_log_dirs_response_4),
    **dict.fromkeys(range(5, 6), _write_describe_log_dirs_response_5),
}
