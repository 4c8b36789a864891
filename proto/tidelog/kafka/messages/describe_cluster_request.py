"""DescribeClusterRequest of Kafka's protocol.

Generated from proto/kafka/describe_cluster.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

from tidelog.kafka.message import Message
from tidelog.kafka.wire import Buffer, cut_off, skip_tags


class DescribeClusterRequest(Message, gc=False):
    """Request of API 60, versions 0-2."""

    API_KEY: ClassVar[int] = 60
    VERSIONS: ClassVar[range] = range(0, 3)
    FLEXIBLE: ClassVar[range] = range(0, 3)

    include_cluster_authorized_operations: bool = False
    endpoint_type: int = 1
    include_fenced_brokers: bool = False


_unpack_tB = Struct(">?B").unpack_from
_unpack_tbtB = Struct(">?b?B").unpack_from
_unpack_tbB = Struct(">?bB").unpack_from
_pack_tbtx = Struct(">?b?x").pack
_pack_tbx = Struct(">?bx").pack
_pack_tx = Struct(">?x").pack


def _read_describe_cluster_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeClusterRequest], int]:
    items: list[DescribeClusterRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("DescribeClusterRequest", "IncludeClusterAuthorizedOperations=1 tags=1", end - at)
        include_cluster_authorized_operations, tags = _unpack_tB(data, at)
        at += 2
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeClusterRequest")
        items.append(DescribeClusterRequest(include_cluster_authorized_operations))
    return items, at


def _read_describe_cluster_request_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeClusterRequest], int]:
    items: list[DescribeClusterRequest] = []
    for _ in range(count):
        if end - at < 3:
            raise cut_off("DescribeClusterRequest", "IncludeClusterAuthorizedOperations=1 EndpointType=1 tags=1", end - at)
        include_cluster_authorized_operations, endpoint_type, tags = _unpack_tbB(data, at)
        at += 3
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeClusterRequest")
        items.append(DescribeClusterRequest(include_cluster_authorized_operations, endpoint_type))
    return items, at


def _read_describe_cluster_request_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[DescribeClusterRequest], int]:
    items: list[DescribeClusterRequest] = []
    for _ in range(count):
        if end - at < 4:
            raise cut_off("DescribeClusterRequest", "IncludeClusterAuthorizedOperations=1 EndpointType=1 IncludeFencedBrokers=1 tags=1", end - at)
        include_cluster_authorized_operations, endpoint_type, include_fenced_brokers, tags = _unpack_tbtB(data, at)
        at += 4
        if tags:
            at = skip_tags(data, at, end, tags, "DescribeClusterRequest")
        items.append(DescribeClusterRequest(include_cluster_authorized_operations, endpoint_type, include_fenced_brokers))
    return items, at


def _write_describe_cluster_request_0(items: Iterable[DescribeClusterRequest], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_tx(m.include_cluster_authorized_operations))


def _write_describe_cluster_request_1(items: Iterable[DescribeClusterRequest], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_tbx(m.include_cluster_authorized_operations, m.endpoint_type))


def _write_describe_cluster_request_2(items: Iterable[DescribeClusterRequest], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_tbtx(m.include_cluster_authorized_operations, m.endpoint_type, m.include_fenced_brokers))


DescribeClusterRequest._READERS = {
    **dict.fromkeys(range(0, 1), _read_describe_cluster_request_0),
    **dict.fromkeys(range(1, 2), _read_describe_cluster_request_1),
    **dict.fromkeys(range(2, 3), _read_describe_cluster_request_2),
}
DescribeClusterRequest._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_describe_cluster_request_0),
    **dict.fromkeys(range(1, 2), _write_describe_cluster_request_1),
    **dict.fromkeys(range(2, 3), _write_describe_cluster_request_2),
}
