"""JoinGroupRequest of Kafka's protocol.

Generated from proto/kafka/join_group.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class JoinGroupRequest(Message, gc=False):
    """Request of API 11, versions 0-9."""

    API_KEY: ClassVar[int] = 11
    VERSIONS: ClassVar[range] = range(0, 10)
    FLEXIBLE: ClassVar[range] = range(6, 10)

    group_id: str = ""
    session_timeout_ms: int = 0
    rebalance_timeout_ms: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    protocol_type: str = ""
    protocols: list[JoinGroupRequestProtocol] = []
    reason: str | None = None


class JoinGroupRequestProtocol(msgspec.Struct, gc=False):
    name: str = ""
    metadata: bytes = b""


_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from
_unpack_iih = Struct(">iih").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack
_pack_iiB = Struct(">iiB").pack
_pack_iih = Struct(">iih").pack


def _read_join_group_request_protocol_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[JoinGroupRequestProtocol], int]:
    items: list[JoinGroupRequestProtocol] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("JoinGroupRequestProtocol", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupRequestProtocol.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupRequestProtocol.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("JoinGroupRequestProtocol", "Metadata=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupRequestProtocol.Metadata", n, end - at)
        metadata = data[at:stop]
        at = stop
        items.append(JoinGroupRequestProtocol(name, metadata))
    return items, at


def _read_join_group_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[JoinGroupRequest], int]:
    items: list[JoinGroupRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("JoinGroupRequest", "GroupId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupRequest.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupRequest.GroupId") from None
        at = stop
        if end - at < 6:
            raise cut_off("JoinGroupRequest", "SessionTimeoutMs=4 MemberId=2", end - at)
        session_timeout_ms, n = _unpack_ih(data, at)
        at += 6
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupRequest.MemberId", n, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupRequest.MemberId") from None
        at = stop
        if end - at < 2:
            raise cut_off("JoinGroupRequest", "ProtocolType=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupRequest.ProtocolType", n, end - at)
        try:
            protocol_type = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupRequest.ProtocolType") from None
        at = stop
        if end - at < 4:
            raise cut_off("JoinGroupRequest", "Protocols=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("JoinGroupRequest.Protocols", n, end - at, room[0])
        protocols, at = _read_join_group_request_protocol_0(data, at, end, room, n)
        items.append(JoinGroupRequest(group_id, session_timeout_ms, -1, member_id, None, protocol_type, protocols))
    return items, at


def _read_join_group_request_1(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[JoinGroupRequest], int]:
    items: list[JoinGroupRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("JoinGroupRequest", "GroupId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupRequest.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupRequest.GroupId") from None
        at = stop
        if end - at < 10:
            raise cut_off("JoinGroupRequest", "SessionTimeoutMs=4 RebalanceTimeoutMs=4 MemberId=2", end - at)
        session_timeout_ms, rebalance_timeout_ms, n = _unpack_iih(data, at)
        at += 10
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupRequest.MemberId", n, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupRequest.MemberId") from None
        at = stop
        if end - at < 2:
            raise cut_off("JoinGroupRequest", "ProtocolType=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupRequest.ProtocolType", n, end - at)
        try:
            protocol_type = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupRequest.ProtocolType") from None
        at = stop
        if end - at < 4:
            raise cut_off("JoinGroupRequest", "Protocols=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("JoinGroupRequest.Protocols", n, end - at, room[0])
        protocols, at = _read_join_group_request_protocol_0(data, at, end, room, n)
        items.append(JoinGroupRequest(group_id, session_timeout_ms, rebalance_timeout_ms, member_id, None, protocol_type, protocols))
    return items, at


def _read_join_group_request_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[JoinGroupRequest], int]:
    items: list[JoinGroupRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("JoinGroupRequest", "GroupId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupRequest.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupRequest.GroupId") from None
        at = stop
        if end - at < 10:
            raise cut_off("JoinGroupRequest", "SessionTimeoutMs=4 RebalanceTimeoutMs=4 MemberId=2", end - at)
        session_timeout_ms, rebalance_timeout_ms, n = _unpack_iih(data, at)
        at += 10
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupRequest.MemberId", n, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupRequest.MemberId") from None
        at = stop
        if end - at < 2:
            raise cut_off("JoinGroupRequest", "GroupInstanceId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        if n == -1:
            group_instance_id = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("JoinGroupRequest.GroupInstanceId", n, end - at)
            try:
                group_instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("JoinGroupRequest.GroupInstanceId") from None
            at = stop
        if end - at < 2:
            raise cut_off("JoinGroupRequest", "ProtocolType=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("JoinGroupRequest.ProtocolType", n, end - at)
        try:
            protocol_type = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupRequest.ProtocolType") from None
        at = stop
        if end - at < 4:
            raise cut_off("JoinGroupRequest", "Protocols=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("JoinGroupRequest.Protocols", n, end - at, room[0])
        protocols, at = _read_join_group_request_protocol_0(data, at, end, room, n)
        items.append(JoinGroupRequest(group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols))
    return items, at


def _read_join_group_request_protocol_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[JoinGroupRequestProtocol], int]:
    items: list[JoinGroupRequestProtocol] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("JoinGroupRequestProtocol", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupRequestProtocol.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("JoinGroupRequestProtocol.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupRequestProtocol.Name") from None
        at = stop
        if at >= end:
            raise cut_off("JoinGroupRequestProtocol", "Metadata=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "JoinGroupRequestProtocol.Metadata")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("JoinGroupRequestProtocol.Metadata", n - 1, end - at)
        metadata = data[at:stop]
        at = stop
        if at >= end:
            raise cut_off("JoinGroupRequestProtocol", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "JoinGroupRequestProtocol")
        items.append(JoinGroupRequestProtocol(name, metadata))
    return items, at


def _read_join_group_request_6(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[JoinGroupRequest], int]:
    items: list[JoinGroupRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("JoinGroupRequest", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupRequest.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("JoinGroupRequest.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupRequest.GroupId") from None
        at = stop
        if end - at < 9:
            raise cut_off("JoinGroupRequest", "SessionTimeoutMs=4 RebalanceTimeoutMs=4 MemberId=1", end - at)
        session_timeout_ms, rebalance_timeout_ms, n = _unpack_iiB(data, at)
        at += 9
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupRequest.MemberId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("JoinGroupRequest.MemberId", n - 1, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupRequest.MemberId") from None
        at = stop
        if at >= end:
            raise cut_off("JoinGroupRequest", "GroupInstanceId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupRequest.GroupInstanceId")
        if n == 0:
            group_instance_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("JoinGroupRequest.GroupInstanceId", n - 1, end - at)
            try:
                group_instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("JoinGroupRequest.GroupInstanceId") from None
            at = stop
        if at >= end:
            raise cut_off("JoinGroupRequest", "ProtocolType=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupRequest.ProtocolType")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("JoinGroupRequest.ProtocolType", n - 1, end - at)
        try:
            protocol_type = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupRequest.ProtocolType") from None
        at = stop
        if at >= end:
            raise cut_off("JoinGroupRequest", "Protocols=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "JoinGroupRequest.Protocols")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("JoinGroupRequest.Protocols", n, end - at, room[0])
        protocols, at = _read_join_group_request_protocol_6(data, at, end, room, n)
        if at >= end:
            raise cut_off("JoinGroupRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "JoinGroupRequest")
        items.append(JoinGroupRequest(group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols))
    return items, at


def _read_join_group_request_8(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[JoinGroupRequest], int]:
    items: list[JoinGroupRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("JoinGroupRequest", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupRequest.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("JoinGroupRequest.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupRequest.GroupId") from None
        at = stop
        if end - at < 9:
            raise cut_off("JoinGroupRequest", "SessionTimeoutMs=4 RebalanceTimeoutMs=4 MemberId=1", end - at)
        session_timeout_ms, rebalance_timeout_ms, n = _unpack_iiB(data, at)
        at += 9
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupRequest.MemberId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("JoinGroupRequest.MemberId", n - 1, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupRequest.MemberId") from None
        at = stop
        if at >= end:
            raise cut_off("JoinGroupRequest", "GroupInstanceId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupRequest.GroupInstanceId")
        if n == 0:
            group_instance_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("JoinGroupRequest.GroupInstanceId", n - 1, end - at)
            try:
                group_instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("JoinGroupRequest.GroupInstanceId") from None
            at = stop
        if at >= end:
            raise cut_off("JoinGroupRequest", "ProtocolType=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupRequest.ProtocolType")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("JoinGroupRequest.ProtocolType", n - 1, end - at)
        try:
            protocol_type = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("JoinGroupRequest.ProtocolType") from None
        at = stop
        if at >= end:
            raise cut_off("JoinGroupRequest", "Protocols=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "JoinGroupRequest.Protocols")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("JoinGroupRequest.Protocols", n, end - at, room[0])
        protocols, at = _read_join_group_request_protocol_6(data, at, end, room, n)
        if at >= end:
            raise cut_off("JoinGroupRequest", "Reason=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "JoinGroupRequest.Reason")
        if n == 0:
            reason = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("JoinGroupRequest.Reason", n - 1, end - at)
            try:
                reason = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("JoinGroupRequest.Reason") from None
            at = stop
        if at >= end:
            raise cut_off("JoinGroupRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "JoinGroupRequest")
        items.append(JoinGroupRequest(group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols, reason))
    return items, at


def _write_join_group_request_protocol_0(items: Iterable[JoinGroupRequestProtocol], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        metadata = m.metadata
        n = len(metadata)
        out.append(_pack_i(n))
        out.append(metadata)


def _write_join_group_request_0(items: Iterable[JoinGroupRequest], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        member_id = m.member_id
        content = member_id.encode()
        n = len(content)
        out.append(_pack_ih(m.session_timeout_ms, n))
        out.append(content)
        protocol_type = m.protocol_type
        content = protocol_type.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        protocols = m.protocols
        n = len(protocols)
        out.append(_pack_i(n))
        if protocols:
            _write_join_group_request_protocol_0(protocols, out)


def _write_join_group_request_1(items: Iterable[JoinGroupRequest], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        member_id = m.member_id
        content = member_id.encode()
        n = len(content)
        out.append(_pack_iih(m.session_timeout_ms, m.rebalance_timeout_ms, n))
        out.append(content)
        protocol_type = m.protocol_type
        content = protocol_type.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        protocols = m.protocols
        n = len(protocols)
        out.append(_pack_i(n))
        if protocols:
            _write_join_group_request_protocol_0(protocols, out)


def _write_join_group_request_5(items: Iterable[JoinGroupRequest], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        member_id = m.member_id
        content = member_id.encode()
        n = len(content)
        out.append(_pack_iih(m.session_timeout_ms, m.rebalance_timeout_ms, n))
        out.append(content)
        group_instance_id = m.group_instance_id
        if group_instance_id is None:
            content = b""
            n = -1
        else:
            content = group_instance_id.encode()
            n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        protocol_type = m.protocol_type
        content = protocol_type.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        protocols = m.protocols
        n = len(protocols)
        out.append(_pack_i(n))
        if protocols:
            _write_join_group_request_protocol_0(protocols, out)


def _write_join_group_request_protocol_6(items: Iterable[JoinGroupRequestProtocol], out: list[Buffer]) -> None:
    for m in items:
        name = m.name
        content = name.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        metadata = m.metadata
        n = len(metadata) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(metadata)
        out.append(ONE_BYTE[0])


def _write_join_group_request_6(items: Iterable[JoinGroupRequest], out: list[Buffer]) -> None:
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
            out.append(_pack_ii(m.session_timeout_ms, m.rebalance_timeout_ms) + text_length_of(n))
        else:
            out.append(_pack_iiB(m.session_timeout_ms, m.rebalance_timeout_ms, n))
        out.append(content)
        group_instance_id = m.group_instance_id
        if group_instance_id is None:
            content = b""
            n = 0
        else:
            content = group_instance_id.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        protocol_type = m.protocol_type
        content = protocol_type.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        protocols = m.protocols
        n = len(protocols) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if protocols:
            _write_join_group_request_protocol_6(protocols, out)
        out.append(ONE_BYTE[0])


def _write_join_group_request_8(items: Iterable[JoinGroupRequest], out: list[Buffer]) -> None:
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
            out.append(_pack_ii(m.session_timeout_ms, m.rebalance_timeout_ms) + text_length_of(n))
        else:
            out.append(_pack_iiB(m.session_timeout_ms, m.rebalance_timeout_ms, n))
        out.append(content)
        group_instance_id = m.group_instance_id
        if group_instance_id is None:
            content = b""
            n = 0
        else:
            content = group_instance_id.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        protocol_type = m.protocol_type
        content = protocol_type.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        protocols = m.protocols
        n = len(protocols) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if protocols:
            _write_join_group_request_protocol_6(protocols, out)
        reason = m.reason
        if reason is None:
            content = b""
            n = 0
        else:
            content = reason.encode()
            n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        out.append(ONE_BYTE[0])


JoinGroupRequest._READERS = {
    **dict.fromkeys(range(0, 1), _read_join_group_request_0),
    **dict.fromkeys(range(1, 5), _read_join_group_request_1),
    **dict.fromkeys(range(5, 6), _read_join_group_request_5),
    **dict.fromkeys(range(6, 8), _read_join_group_request_6),
    **dict.fromkeys(range(8, 10), _read_join_group_request_8),
}
JoinGroupRequest._WRITERS = {
    **dict.fromkeys(range(0, 1), _write_join_group_request_0),
    **dict.fromkeys(range(1, 5), _write_join_group_request_1),
    **dict.fromkeys(range(5, 6), _write_join_group_request_5),
    **dict.fromkeys(range(6, 8), _write_join_group_request_6),
    **dict.fromkeys(range(8, 10), _write_join_group_request_8),
}
