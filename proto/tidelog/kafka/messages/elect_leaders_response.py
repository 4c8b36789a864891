"""ElectLeadersResponse of Kafka's protocol.

Generated from proto/kafka/elect_leaders.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class ElectLeadersResponse(Message, gc=False):
    """Response of API 43, versions 0-2."""

    API_KEY: ClassVar[int] = 43
    VERSIONS: ClassVar[range] = range(0, 3)
    FLEXIBLE: ClassVar[range] = range(2, 3)

    throttle_time_ms: int = 0
    error_code: int = 0
    replica_election_results: list[ReplicaElectionResult] = []


class ReplicaElectionResult(msgspec.Struct, gc=False):
    topic: str = ""
    partition_result: list[PartitionResult] = []


class PartitionResult(msgspec.Struct, gc=False):
    partition_id: int = 0
    error_code: int = 0
    error_message: str | None = ""


_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihh = Struct(">ihh").unpack_from
_unpack_ihi = Struct(">ihi").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ihh = Struct(">ihh").pack
_pack_ihi = Struct(">ihi").pack
_pack_ii = Struct(">ii").pack


def _read_partition_result_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[PartitionResult], int]:
    items: list[PartitionResult] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("PartitionResult", "PartitionId=4 ErrorCode=2 ErrorMessage=2", end - at)
        partition_id, error_code, n = _unpack_ihh(data, at)
        at += 8
        if n == -1:
            error_message = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("PartitionResult.ErrorMessage", n, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("PartitionResult.ErrorMessage") from None
            at = stop
        items.append(PartitionResult(partition_id, error_code, error_message))
    return items, at


def _read_replica_election_result_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ReplicaElectionResult], int]:
    items: list[ReplicaElectionResult] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("ReplicaElectionResult", "Topic=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("ReplicaElectionResult.Topic", n, end - at)
        try:
            topic = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ReplicaElectionResult.Topic") from None
        at = stop
        if end - at < 4:
            raise cut_off("ReplicaElectionResult", "PartitionResult=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 8 * n > end - at or room[0] < 0:
            raise bad_count("ReplicaElectionResult.PartitionResult", n, end - at, room[0])
        partition_result, at = _read_partition_result_0(data, at, end, room, n)
        items.append(ReplicaElectionResult(topic, partition_result))
    return items, at


def _read_elect_leaders_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ElectLeadersResponse], int]:
    items: list[ElectLeadersResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("ElectLeadersResponse", "ThrottleTimeMs=4 ReplicaElectionResults=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("ElectLeadersResponse.ReplicaElectionResults", n, end - at, room[0])
        replica_election_results, at = _read_replica_election_result_0(data, at, end, room, n)
        items.append(ElectLeadersResponse(throttle_time_ms, 0, replica_election_results))
    return items, at


def _read_elect_leaders_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ElectLeadersResponse], int]:
    items: list[ElectLeadersResponse] = []
    for _ in range(count):
        if end - at < 10:
            raise cut_off("ElectLeadersResponse", "ThrottleTimeMs=4 ErrorCode=2 ReplicaElectionResults=4", end - at)
        throttle_time_ms, error_code, n = _unpack_ihi(data, at)
        at += 10
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("ElectLeadersResponse.ReplicaElectionResults", n, end - at, room[0])
        replica_election_results, at = _read_replica_election_result_0(data, at, end, room, n)
        items.append(ElectLeadersResponse(throttle_time_ms, error_code, replica_election_results))
    return items, at


def _read_partition_result_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[PartitionResult], int]:
    items: list[PartitionResult] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("PartitionResult", "PartitionId=4 ErrorCode=2 ErrorMessage=1", end - at)
        partition_id, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_text(data, at, end, n, "PartitionResult.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("PartitionResult.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("PartitionResult.ErrorMessage") from None
            at = stop
        if at >= end:
            raise cut_off("PartitionResult", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "PartitionResult")
        items.append(PartitionResult(partition_id, error_code, error_message))
    return items, at


def _read_replica_election_result_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ReplicaElectionResult], int]:
    items: list[ReplicaElectionResult] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ReplicaElectionResult", "Topic=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ReplicaElectionResult.Topic")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ReplicaElectionResult.Topic", n - 1, end - at)
        try:
            topic = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ReplicaElectionResult.Topic") from None
        at = stop
        if at >= end:
            raise cut_off("ReplicaElectionResult", "PartitionResult=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ReplicaElectionResult.PartitionResult")
        n -= 1
        room[0] -= n
        if n < 0 or 8 * n > end - at or room[0] < 0:
            raise bad_count("ReplicaElectionResult.PartitionResult", n, end - at, room[0])
        partition_result, at = _read_partition_result_2(data, at, end, room, n)
        if at >= end:
            raise cut_off("ReplicaElectionResult", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ReplicaElectionResult")
        items.append(ReplicaElectionResult(topic, partition_result))
    return items, at


def _read_elect_leaders_response_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ElectLeadersResponse], int]:
    items: list[ElectLeadersResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("ElectLeadersResponse", "ThrottleTimeMs=4 ErrorCode=2 ReplicaElectionResults=1", end - at)
        throttle_time_ms, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_varint(data, at, end, n, "ElectLeadersResponse.ReplicaElectionResults")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("ElectLeadersResponse.ReplicaElectionResults", n, end - at, room[0])
        replica_election_results, at = _read_replica_election_result_2(data, at, end, room, n)
        if at >= end:
            raise cut_off("ElectLeadersResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ElectLeadersResponse")
        items.append(ElectLeadersResponse(throttle_time_ms, error_code, replica_election_results))
    return items, at


def _write_partition_result_0(items: Iterable[PartitionResult], out: list[Buffer]) -> None:
    for m in items:
        error_message = m.error_message
        if error_message is None:
            content = b""
            n = -1
        else:
            content = error_message.encode()
            n = len(content)
        out.append(_pack_ihh(m.partition_id, m.error_code, n))
        out.append(content)


def _write_replica_election_result_0(items: Iterable[ReplicaElectionResult], out: list[Buffer]) -> None:
    for m in items:
        topic = m.topic
        content = topic.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        partition_result = m.partition_result
        n = len(partition_result)
        out.append(_pack_i(n))
        if partition_result:
            _write_partition_result_0(partition_result, out)


def _write_elect_leaders_response_0(items: Iterable[ElectLeadersResponse], out: list[Buffer]) -> None:
    for m in items:
        replica_election_results = m.replica_election_results
        n = len(replica_election_results)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if replica_election_results:
            _write_replica_election_result_0(replica_election_results, out)


def _write_elect_leaders_response_1(items: Iterable[ElectLeadersResponse], out: list[Buffer]) -> None:
    for m in items:
        replica_election_results = m.replica_election_results
        n = len(replica_election_results)
        out.append(_pack_ihi(m.throttle_time_ms, m.error_code, n))
        if replica_election_results:
            _write_replica_election_result_0(replica_election_results, out)


def _write_partition_result_2(items: Iterable[PartitionResult], out: list[Buffer]) -> None:
    for m in items:
        error_message = m.error_message
        if error_message is None:
            content = b""
            n = 0
        else:
            content = error_message.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_ih(m.partition_id, m.error_code) + text_length_of(n))
        else:
            out.append(_pack_ihB(m.partition_id, m.error_code, n))
        out.append(content)
        out.append(ONE_BYTE[0])


def _write_replica_election_result_2(items: Iterable[ReplicaElectionResult], out: list[Buffer]) -> None:
    for m in items:
        topic = m.topic
        content = topic.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        partition_result = m.partition_result
        n = len(partition_result) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if partition_result:
            _write_partition_result_2(partition_result, out)
        out.append(ONE_BYTE[0])


def _write_elect_leaders_response_2(items: Iterable[ElectLeadersResponse], out: list[Buffer]) -> None:
    for m in items:
        replica_election_results = m.replica_election_results
        n = len(replica_election_results) + 1
        if n > 127:
            out.append(_pack_ih(m.throttle_time_ms, m.error_code) + varint_of(n))
        else:
            out.append(_pack_ihB(m.throttle_time_ms, m.error_code, n))
        if replica_election_results:
            _write_replica_election_result_2(replica_election_results, out)
        out.append(ONE_BYTE[0])


ElectLeadersResponse._READERS = {
    **dict.fromkeys(range(0, 1), _read_elect_leaders_response_0),
    **dict.fromkeys(range(1, 2), _read_elect_leaders_response_1),
    **dict.fromkeys(range(2, 3), _read_elect_leaders_response_2),
}
ElectLeadersResponse._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_elect_leaders_response_0),
    **dict.fromkeys(range(1, 2), _write_elect_leaders_response_1),
    **dict.fromkeys(range(2, 3), _write_elect_leaders_response_2),
}
