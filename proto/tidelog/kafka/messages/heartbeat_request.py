"""HeartbeatRequest of Kafka's protocol.

Generated from proto/kafka/heartbeat.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_length, cut_off, long_text, not_utf8, skip_tags, text_length_of


class HeartbeatRequest(Message, gc=False):
    """Request of API 12, versions 0-4."""

    API_KEY: ClassVar[int] = 12
    VERSIONS: ClassVar[range] = range(0, 5)
    FLEXIBLE: ClassVar[range] = range(4, 5)

    group_id: str = ""
    generation_id: int = 0
    member_id: str = ""
    group_instance_id: str | None = None


_unpack_h = Struct(">h").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack


def _read_heartbeat_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[HeartbeatRequest], int]:
    items: list[HeartbeatRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("HeartbeatRequest", "GroupId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("HeartbeatRequest.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("HeartbeatRequest.GroupId") from None
        at = stop
        if end - at < 6:
            raise cut_off("HeartbeatRequest", "GenerationId=4 MemberId=2", end - at)
        generation_id, n = _unpack_ih(data, at)
        at += 6
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("HeartbeatRequest.MemberId", n, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("HeartbeatRequest.MemberId") from None
        at = stop
        items.append(HeartbeatRequest(group_id, generation_id, member_id))
    return items, at


def _read_heartbeat_request_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[HeartbeatRequest], int]:
    items: list[HeartbeatRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("HeartbeatRequest", "GroupId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("HeartbeatRequest.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("HeartbeatRequest.GroupId") from None
        at = stop
        if end - at < 6:
            raise cut_off("HeartbeatRequest", "GenerationId=4 MemberId=2", end - at)
        generation_id, n = _unpack_ih(data, at)
        at += 6
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("HeartbeatRequest.MemberId", n, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("HeartbeatRequest.MemberId") from None
        at = stop
        if end - at < 2:
            raise cut_off("HeartbeatRequest", "GroupInstanceId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        if n == -1:
            group_instance_id = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("HeartbeatRequest.GroupInstanceId", n, end - at)
            try:
                group_instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("HeartbeatRequest.GroupInstanceId") from None
            at = stop
        items.append(HeartbeatRequest(group_id, generation_id, member_id, group_instance_id))
    return items, at


def _read_heartbeat_request_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[HeartbeatRequest], int]:
    items: list[HeartbeatRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("HeartbeatRequest", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "HeartbeatRequest.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("HeartbeatRequest.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("HeartbeatRequest.GroupId") from None
        at = stop
        if end - at < 5:
            raise cut_off("HeartbeatRequest", "GenerationId=4 MemberId=1", end - at)
        generation_id, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_text(data, at, end, n, "HeartbeatRequest.MemberId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("HeartbeatRequest.MemberId", n - 1, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("HeartbeatRequest.MemberId") from None
        at = stop
        if at >= end:
            raise cut_off("HeartbeatRequest", "GroupInstanceId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "HeartbeatRequest.GroupInstanceId")
        if n == 0:
            group_instance_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("HeartbeatRequest.GroupInstanceId", n - 1, end - at)
            try:
                group_instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("HeartbeatRequest.GroupInstanceId") from None
            at = stop
        if at >= end:
            raise cut_off("HeartbeatRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "HeartbeatRequest")
        items.append(HeartbeatRequest(group_id, generation_id, member_id, group_instance_id))
    return items, at


def _write_heartbeat_request_0(items: Iterable[HeartbeatRequest], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        member_id = m.member_id
        content = member_id.encode()
        n = len(content)
        out.append(_pack_ih(m.generation_id, n))
        out.append(content)


def _write_heartbeat_request_3(items: Iterable[HeartbeatRequest], out: list[Buffer]) -> None:
    for m in items:
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        member_id = m.member_id
        content = member_id.encode()
        n = len(content)
        out.append(_pack_ih(m.generation_id, n))
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


def _write_heartbeat_request_4(items: Iterable[HeartbeatRequest], out: list[Buffer]) -> None:
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
            out.append(_pack_i(m.generation_id) + text_length_of(n))
        else:
            out.append(_pack_iB(m.generation_id, n))
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
        out.append(ONE_BYTE[0])


HeartbeatRequest._READERS = {
    **dict.fromkeys(range(0, 3), _read_heartbeat_request_0),
    **dict.fromkeys(range(3, 4), _read_heartbeat_request_3),
    **dict.fromkeys(range(4, 5), _read_heartbeat_request_4),
}
HeartbeatRequest._WRITERS = {
    **dict.fromkeys(range(0, 3), _write_heartbeat_request_0),
    **dict.fromkeys(range(3, 4), _write_heartbeat_request_3),
    **dict.fromkeys(range(4, 5), _write_heartbeat_request_4),
}
