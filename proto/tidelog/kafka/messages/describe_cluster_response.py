"""DescribeClusterResponse of Kafka's protocol.

Generated from proto/kafka/describe_cluster.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class DescribeClusterResponse(Message, gc=False):
    """Response of API 60, versions 0-2."""

    API_KEY: ClassVar[int] = 60
    VERSIONS: ClassVar[range] = range(0, 3)
    FLEXIBLE: ClassVar[range] = range(0, 3)

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    endpoint_type: int = 1
    cluster_id: str = ""
    controller_id: int = -1
    brokers: list[DescribeClusterBroker] = []
    cluster_authorized_operations: int = -2147483648


class DescribeClusterBroker(msgspec.Struct, gc=False):
    broker_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None
    is_fenced: bool = False


_unpack_tB = Struct(">?B").unpack_from
_unpack_bB = Struct(">bB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_pack_tx = Struct(">?x").pack
_pack_b = Struct(">b").pack
_pack_bB = Struct(">bB").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ix = Struct(">ix").pack


def _read_describe_cluster_broker_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeClusterBroker], int]:
    items: list[DescribeClusterBroker] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("DescribeClusterBroker", "BrokerId=4 Host=1", end - at)
        broker_id, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeClusterBroker.Host")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribeClusterBroker.Host", n - 1, end - at)
        try:
            host = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribeClusterBroker.Host") from None
        at = stop
        if end - at < 5:
            raise cut_off("DescribeClusterBroker", "Port=4 Rack=1", end - at)
        port, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeClusterBroker.Rack")
        if n == 0:
            rack = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("DescribeClusterBroker.Rack", n - 1, end - at)
            try:
                rack = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DescribeClusterBroker.Rack") from None
            at = stop
        if at >= end:
            raise cut_off("DescribeClusterBroker", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeClusterBroker")
        items.append(DescribeClusterBroker(broker_id, host, port, rack))
    return items, at


def _read_describe_cluster_response_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeClusterResponse], int]:
    items: list[DescribeClusterResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("DescribeClusterResponse", "ThrottleTimeMs=4 ErrorCode=2 ErrorMessage=1", end - at)
        throttle_time_ms, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeClusterResponse.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("DescribeClusterResponse.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DescribeClusterResponse.ErrorMessage") from None
            at = stop
        if at >= end:
            raise cut_off("DescribeClusterResponse", "ClusterId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeClusterResponse.ClusterId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribeClusterResponse.ClusterId", n - 1, end - at)
        try:
            cluster_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribeClusterResponse.ClusterId") from None
        at = stop
        if end - at < 5:
            raise cut_off("DescribeClusterResponse", "ControllerId=4 Brokers=1", end - at)
        controller_id, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeClusterResponse.Brokers")
        n -= 1
        room[0] -= n
        if n < 0 or 11 * n > end - at or room[0] < 0:
            raise bad_count("DescribeClusterResponse.Brokers", n, end - at, room[0])
        brokers, at = _read_describe_cluster_broker_0(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("DescribeClusterResponse", "ClusterAuthorizedOperations=4 tags=1", end - at)
        cluster_authorized_operations, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeClusterResponse")
        items.append(DescribeClusterResponse(throttle_time_ms, error_code, error_message, 1, cluster_id, controller_id, brokers, cluster_authorized_operations))
    return items, at


def _read_describe_cluster_response_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeClusterResponse], int]:
    items: list[DescribeClusterResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("DescribeClusterResponse", "ThrottleTimeMs=4 ErrorCode=2 ErrorMessage=1", end - at)
        throttle_time_ms, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeClusterResponse.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("DescribeClusterResponse.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DescribeClusterResponse.ErrorMessage") from None
            at = stop
        if end - at < 2:
            raise cut_off("DescribeClusterResponse", "EndpointType=1 ClusterId=1", end - at)
        endpoint_type, n = _unpack_bB(data, at)
        at += 2
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeClusterResponse.ClusterId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribeClusterResponse.ClusterId", n - 1, end - at)
        try:
            cluster_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribeClusterResponse.ClusterId") from None
        at = stop
        if end - at < 5:
            raise cut_off("DescribeClusterResponse", "ControllerId=4 Brokers=1", end - at)
        controller_id, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeClusterResponse.Brokers")
        n -= 1
        room[0] -= n
        if n < 0 or 11 * n > end - at or room[0] < 0:
            raise bad_count("DescribeClusterResponse.Brokers", n, end - at, room[0])
        brokers, at = _read_describe_cluster_broker_0(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("DescribeClusterResponse", "ClusterAuthorizedOperations=4 tags=1", end - at)
        cluster_authorized_operations, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeClusterResponse")
        items.append(DescribeClusterResponse(throttle_time_ms, error_code, error_message, endpoint_type, cluster_id, controller_id, brokers, cluster_authorized_operations))
    return items, at


def _read_describe_cluster_broker_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeClusterBroker], int]:
    items: list[DescribeClusterBroker] = []
    for _ in range(count):
        if end - at < 5:
            raise cut_off("DescribeClusterBroker", "BrokerId=4 Host=1", end - at)
        broker_id, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeClusterBroker.Host")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribeClusterBroker.Host", n - 1, end - at)
        try:
            host = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribeClusterBroker.Host") from None
        at = stop
        if end - at < 5:
            raise cut_off("DescribeClusterBroker", "Port=4 Rack=1", end - at)
        port, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeClusterBroker.Rack")
        if n == 0:
            rack = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("DescribeClusterBroker.Rack", n - 1, end - at)
            try:
                rack = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DescribeClusterBroker.Rack") from None
            at = stop
        if end - at < 2:
            raise cut_off("DescribeClusterBroker", "IsFenced=1 tags=1", end - at)
        is_fenced, tags = _unpack_tB(data, at)
        at += 2
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeClusterBroker")
        items.append(DescribeClusterBroker(broker_id, host, port, rack, is_fenced))
    return items, at


def _read_describe_cluster_response_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeClusterResponse], int]:
    items: list[DescribeClusterResponse] = []
    for _ in range(count):
        if end - at < 7:
            raise cut_off("DescribeClusterResponse", "ThrottleTimeMs=4 ErrorCode=2 ErrorMessage=1", end - at)
        throttle_time_ms, error_code, n = _unpack_ihB(data, at)
        at += 7
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeClusterResponse.ErrorMessage")
        if n == 0:
            error_message = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("DescribeClusterResponse.ErrorMessage", n - 1, end - at)
            try:
                error_message = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("DescribeClusterResponse.ErrorMessage") from None
            at = stop
        if end - at < 2:
            raise cut_off("DescribeClusterResponse", "EndpointType=1 ClusterId=1", end - at)
        endpoint_type, n = _unpack_bB(data, at)
        at += 2
        if n > 127:
            n, at = long_text(data, at, end, n, "DescribeClusterResponse.ClusterId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("DescribeClusterResponse.ClusterId", n - 1, end - at)
        try:
            cluster_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("DescribeClusterResponse.ClusterId") from None
        at = stop
        if end - at < 5:
            raise cut_off("DescribeClusterResponse", "ControllerId=4 Brokers=1", end - at)
        controller_id, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "DescribeClusterResponse.Brokers")
        n -= 1
        room[0] -= n
        if n < 0 or 12 * n > end - at or room[0] < 0:
            raise bad_count("DescribeClusterResponse.Brokers", n, end - at, room[0])
        brokers, at = _read_describe_cluster_broker_2(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("DescribeClusterResponse", "ClusterAuthorizedOperations=4 tags=1", end - at)
        cluster_authorized_operations, tags = _unpack_iB(data, at)
        at += 5
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeClusterResponse")
        items.append(DescribeClusterResponse(throttle_time_ms, error_code, error_message, endpoint_type, cluster_id, controller_id, brokers, cluster_authorized_operations))
    return items, at


def _write_describe_cluster_broker_0(items: Iterable[DescribeClusterBroker], out: list[Buffer]) -> None:
    for m in items:
        host = m.host
        content = host.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_i(m.broker_id) + text_length_of(n))
        else:
            out.append(_pack_iB(m.broker_id, n))
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


def _write_describe_cluster_response_0(items: Iterable[DescribeClusterResponse], out: list[Buffer]) -> None:
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
        cluster_id = m.cluster_id
        content = cluster_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        brokers = m.brokers
        n = len(brokers) + 1
        if n > 127:
            out.append(_pack_i(m.controller_id) + varint_of(n))
        else:
            out.append(_pack_iB(m.controller_id, n))
        if brokers:
            _write_describe_cluster_broker_0(brokers, out)
        out.append(_pack_ix(m.cluster_authorized_operations))


def _write_describe_cluster_response_1(items: Iterable[DescribeClusterResponse], out: list[Buffer]) -> None:
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
        cluster_id = m.cluster_id
        content = cluster_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_b(m.endpoint_type) + text_length_of(n))
        else:
            out.append(_pack_bB(m.endpoint_type, n))
        out.append(content)
        brokers = m.brokers
        n = len(brokers) + 1
        if n > 127:
            out.append(_pack_i(m.controller_id) + varint_of(n))
        else:
            out.append(_pack_iB(m.controller_id, n))
        if brokers:
            _write_describe_cluster_broker_0(brokers, out)
        out.append(_pack_ix(m.cluster_authorized_operations))


def _write_describe_cluster_broker_2(items: Iterable[DescribeClusterBroker], out: list[Buffer]) -> None:
    for m in items:
        host = m.host
        content = host.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_i(m.broker_id) + text_length_of(n))
        else:
            out.append(_pack_iB(m.broker_id, n))
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
        out.append(_pack_tx(m.is_fenced))


def _write_describe_cluster_response_2(items: Iterable[DescribeClusterResponse], out: list[Buffer]) -> None:
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
        cluster_id = m.cluster_id
        content = cluster_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(_pack_b(m.endpoint_type) + text_length_of(n))
        else:
            out.append(_pack_bB(m.endpoint_type, n))
        out.append(content)
        brokers = m.brokers
        n = len(brokers) + 1
        if n > 127:
            out.append(_pack_i(m.controller_id) + varint_of(n))
        else:
            out.append(_pack_iB(m.controller_id, n))
        if brokers:
            _write_describe_cluster_broker_2(brokers, out)
        out.append(_pack_ix(m.cluster_authorized_operations))


DescribeClusterResponse._READERS = {
    **dict.fromkeys(range(0, 1), _read_describe_cluster_response_0),
    **dict.fromkeys(range(1, 2), _read_describe_cluster_response_1),
    **dict.fromkeys(range(2, 3), _read_describe_cluster_response_2),
}
DescribeClusterResponse._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_describe_cluster_response_0),
    **dict.fromkeys(range(1, 2), _write_describe_cluster_response_1),
    **dict.fromkeys(range(2, 3), _write_describe_cluster_response_2),
}
