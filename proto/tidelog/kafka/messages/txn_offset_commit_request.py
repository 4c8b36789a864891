"""TxnOffsetCommitRequest of Kafka's protocol.

Generated from proto/kafka/txn_offset_commit.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import ONE_BYTE, Buffer, bad_count, bad_length, cut_off, long_text, long_varint, not_utf8, skip_tags, text_length_of, varint_of


class TxnOffsetCommitRequest(Message, gc=False):
    """Request of API 28, versions 0-5."""

    API_KEY: ClassVar[int] = 28
    VERSIONS: ClassVar[range] = range(0, 6)
    FLEXIBLE: ClassVar[range] = range(3, 6)

    transactional_id: str = ""
    group_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    topics: list[TxnOffsetCommitRequestTopic] = []


class TxnOffsetCommitRequestTopic(msgspec.Struct, gc=False):
    name: str = ""
    partitions: list[TxnOffsetCommitRequestPartition] = []


class TxnOffsetCommitRequestPartition(msgspec.Struct, gc=False):
    partition_index: int = 0
    committed_offset: int = 0
    committed_leader_epoch: int = -1
    committed_metadata: str | None = ""


_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iqh = Struct(">iqh").unpack_from
_unpack_iqiB = Struct(">iqiB").unpack_from
_unpack_iqih = Struct(">iqih").unpack_from
_unpack_qhi = Struct(">qhi").unpack_from
_unpack_qhiB = Struct(">qhiB").unpack_from
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iqh = Struct(">iqh").pack
_pack_iqi = Struct(">iqi").pack
_pack_iqiB = Struct(">iqiB").pack
_pack_iqih = Struct(">iqih").pack
_pack_qhi = Struct(">qhi").pack
_pack_qhiB = Struct(">qhiB").pack


def _read_txn_offset_commit_request_partition_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TxnOffsetCommitRequestPartition], int]:
    items: list[TxnOffsetCommitRequestPartition] = []
    for _ in range(count):
        if end - at < 14:
            raise cut_off("TxnOffsetCommitRequestPartition", "PartitionIndex=4 CommittedOffset=8 CommittedMetadata=2", end - at)
        partition_index, committed_offset, n = _unpack_iqh(data, at)
        at += 14
        if n == -1:
            committed_metadata = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("TxnOffsetCommitRequestPartition.CommittedMetadata", n, end - at)
            try:
                committed_metadata = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("TxnOffsetCommitRequestPartition.CommittedMetadata") from None
            at = stop
        items.append(TxnOffsetCommitRequestPartition(partition_index, committed_offset, -1, committed_metadata))
    return items, at


def _read_txn_offset_commit_request_topic_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TxnOffsetCommitRequestTopic], int]:
    items: list[TxnOffsetCommitRequestTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("TxnOffsetCommitRequestTopic", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("TxnOffsetCommitRequestTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TxnOffsetCommitRequestTopic.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("TxnOffsetCommitRequestTopic", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 14 * n > end - at or room[0] < 0:
            raise bad_count("TxnOffsetCommitRequestTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_txn_offset_commit_request_partition_0(data, at, end, room, n)
        items.append(TxnOffsetCommitRequestTopic(name, partitions))
    return items, at


def _read_txn_offset_commit_request_0(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TxnOffsetCommitRequest], int]:
    items: list[TxnOffsetCommitRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("TxnOffsetCommitRequest", "TransactionalId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("TxnOffsetCommitRequest.TransactionalId", n, end - at)
        try:
            transactional_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TxnOffsetCommitRequest.TransactionalId") from None
        at = stop
        if end - at < 2:
            raise cut_off("TxnOffsetCommitRequest", "GroupId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("TxnOffsetCommitRequest.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TxnOffsetCommitRequest.GroupId") from None
        at = stop
        if end - at < 14:
            raise cut_off("TxnOffsetCommitRequest", "ProducerId=8 ProducerEpoch=2 Topics=4", end - at)
        producer_id, producer_epoch, n = _unpack_qhi(data, at)
        at += 14
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("TxnOffsetCommitRequest.Topics", n, end - at, room[0])
        topics, at = _read_txn_offset_commit_request_topic_0(data, at, end, room, n)
        items.append(TxnOffsetCommitRequest(transactional_id, group_id, producer_id, producer_epoch, -1, "", None, topics))
    return items, at


def _read_txn_offset_commit_request_partition_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TxnOffsetCommitRequestPartition], int]:
    items: list[TxnOffsetCommitRequestPartition] = []
    for _ in range(count):
        if end - at < 18:
            raise cut_off("TxnOffsetCommitRequestPartition", "PartitionIndex=4 CommittedOffset=8 CommittedLeaderEpoch=4 CommittedMetadata=2", end - at)
        partition_index, committed_offset, committed_leader_epoch, n = _unpack_iqih(data, at)
        at += 18
        if n == -1:
            committed_metadata = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("TxnOffsetCommitRequestPartition.CommittedMetadata", n, end - at)
            try:
                committed_metadata = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("TxnOffsetCommitRequestPartition.CommittedMetadata") from None
            at = stop
        items.append(TxnOffsetCommitRequestPartition(partition_index, committed_offset, committed_leader_epoch, committed_metadata))
    return items, at


def _read_txn_offset_commit_request_topic_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TxnOffsetCommitRequestTopic], int]:
    items: list[TxnOffsetCommitRequestTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("TxnOffsetCommitRequestTopic", "Name=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("TxnOffsetCommitRequestTopic.Name", n, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TxnOffsetCommitRequestTopic.Name") from None
        at = stop
        if end - at < 4:
            raise cut_off("TxnOffsetCommitRequestTopic", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("TxnOffsetCommitRequestTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_txn_offset_commit_request_partition_2(data, at, end, room, n)
        items.append(TxnOffsetCommitRequestTopic(name, partitions))
    return items, at


def _read_txn_offset_commit_request_2(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TxnOffsetCommitRequest], int]:
    items: list[TxnOffsetCommitRequest] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("TxnOffsetCommitRequest", "TransactionalId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("TxnOffsetCommitRequest.TransactionalId", n, end - at)
        try:
            transactional_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TxnOffsetCommitRequest.TransactionalId") from None
        at = stop
        if end - at < 2:
            raise cut_off("TxnOffsetCommitRequest", "GroupId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("TxnOffsetCommitRequest.GroupId", n, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TxnOffsetCommitRequest.GroupId") from None
        at = stop
        if end - at < 14:
            raise cut_off("TxnOffsetCommitRequest", "ProducerId=8 ProducerEpoch=2 Topics=4", end - at)
        producer_id, producer_epoch, n = _unpack_qhi(data, at)
        at += 14
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("TxnOffsetCommitRequest.Topics", n, end - at, room[0])
        topics, at = _read_txn_offset_commit_request_topic_2(data, at, end, room, n)
        items.append(TxnOffsetCommitRequest(transactional_id, group_id, producer_id, producer_epoch, -1, "", None, topics))
    return items, at


def _read_txn_offset_commit_request_partition_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TxnOffsetCommitRequestPartition], int]:
    items: list[TxnOffsetCommitRequestPartition] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("TxnOffsetCommitRequestPartition", "PartitionIndex=4 CommittedOffset=8 CommittedLeaderEpoch=4 CommittedMetadata=1", end - at)
        partition_index, committed_offset, committed_leader_epoch, n = _unpack_iqiB(data, at)
        at += 17
        if n > 127:
            n, at = long_text(data, at, end, n, "TxnOffsetCommitRequestPartition.CommittedMetadata")
        if n == 0:
            committed_metadata = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("TxnOffsetCommitRequestPartition.CommittedMetadata", n - 1, end - at)
            try:
                committed_metadata = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("TxnOffsetCommitRequestPartition.CommittedMetadata") from None
            at = stop
        if at >= end:
            raise cut_off("TxnOffsetCommitRequestPartition", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TxnOffsetCommitRequestPartition")
        items.append(TxnOffsetCommitRequestPartition(partition_index, committed_offset, committed_leader_epoch, committed_metadata))
    return items, at


def _read_txn_offset_commit_request_topic_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TxnOffsetCommitRequestTopic], int]:
    items: list[TxnOffsetCommitRequestTopic] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("TxnOffsetCommitRequestTopic", "Name=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "TxnOffsetCommitRequestTopic.Name")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("TxnOffsetCommitRequestTopic.Name", n - 1, end - at)
        try:
            name = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TxnOffsetCommitRequestTopic.Name") from None
        at = stop
        if at >= end:
            raise cut_off("TxnOffsetCommitRequestTopic", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "TxnOffsetCommitRequestTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("TxnOffsetCommitRequestTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_txn_offset_commit_request_partition_3(data, at, end, room, n)
        if at >= end:
            raise cut_off("TxnOffsetCommitRequestTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TxnOffsetCommitRequestTopic")
        items.append(TxnOffsetCommitRequestTopic(name, partitions))
    return items, at


def _read_txn_offset_commit_request_3(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[TxnOffsetCommitRequest], int]:
    items: list[TxnOffsetCommitRequest] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("TxnOffsetCommitRequest", "TransactionalId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "TxnOffsetCommitRequest.TransactionalId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("TxnOffsetCommitRequest.TransactionalId", n - 1, end - at)
        try:
            transactional_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TxnOffsetCommitRequest.TransactionalId") from None
        at = stop
        if at >= end:
            raise cut_off("TxnOffsetCommitRequest", "GroupId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "TxnOffsetCommitRequest.GroupId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("TxnOffsetCommitRequest.GroupId", n - 1, end - at)
        try:
            group_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TxnOffsetCommitRequest.GroupId") from None
        at = stop
        if end - at < 15:
            raise cut_off("TxnOffsetCommitRequest", "ProducerId=8 ProducerEpoch=2 GenerationId=4 MemberId=1", end - at)
        producer_id, producer_epoch, generation_id, n = _unpack_qhiB(data, at)
        at += 15
        if n > 127:
            n, at = long_text(data, at, end, n, "TxnOffsetCommitRequest.MemberId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("TxnOffsetCommitRequest.MemberId", n - 1, end - at)
        try:
            member_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("TxnOffsetCommitRequest.MemberId") from None
        at = stop
        if at >= end:
            raise cut_off("TxnOffsetCommitRequest", "GroupInstanceId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "TxnOffsetCommitRequest.GroupInstanceId")
        if n == 0:
            group_instance_id = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("TxnOffsetCommitRequest.GroupInstanceId", n - 1, end - at)
            try:
                group_instance_id = data[at:stop].decode()
            except UnicodeDecodeError:
                raise not_utf8("TxnOffsetCommitRequest.GroupInstanceId") from None
            at = stop
        if at >= end:
            raise cut_off("TxnOffsetCommitRequest", "Topics=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "TxnOffsetCommitRequest.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("TxnOffsetCommitRequest.Topics", n, end - at, room[0])
        topics, at = _read_txn_offset_commit_request_topic_3(data, at, end, room, n)
        if at >= end:
            raise cut_off("TxnOffsetCommitRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "TxnOffsetCommitRequest")
        items.append(TxnOffsetCommitRequest(transactional_id, group_id, producer_id, producer_epoch, generation_id, member_id, group_instance_id, topics))
    return items, at


def _write_txn_offset_commit_request_partition_0(items: Iterable[TxnOffsetCommitRequestPartition], out: list[Buffer]) -> None:
    for m in items:
        committed_metadata = m.committed_metadata
        if committed_metadata is None:
            content = b""
            n = -1
        else:
            content = committed_metadata.encode()
            n = len(content)
        out.append(_pack_iqh(m.partition_index, m.committed_offset, n))
        out.append(content)


def _write_txn_offset_commit_request_topic_0(items: Iterable[TxnOffsetCommitRequestTopic], out: list[Buffer]) -> None:
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
            _write_txn_offset_commit_request_partition_0(partitions, out)


def _write_txn_offset_commit_request_0(items: Iterable[TxnOffsetCommitRequest], out: list[Buffer]) -> None:
    for m in items:
        transactional_id = m.transactional_id
        content = transactional_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        topics = m.topics
        n = len(topics)
        out.append(_pack_qhi(m.producer_id, m.producer_epoch, n))
        if topics:
            _write_txn_offset_commit_request_topic_0(topics, out)


def _write_txn_offset_commit_request_partition_2(items: Iterable[TxnOffsetCommitRequestPartition], out: list[Buffer]) -> None:
    for m in items:
        committed_metadata = m.committed_metadata
        if committed_metadata is None:
            content = b""
            n = -1
        else:
            content = committed_metadata.encode()
            n = len(content)
        out.append(_pack_iqih(m.partition_index, m.committed_offset, m.committed_leader_epoch, n))
        out.append(content)


def _write_txn_offset_commit_request_topic_2(items: Iterable[TxnOffsetCommitRequestTopic], out: list[Buffer]) -> None:
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
            _write_txn_offset_commit_request_partition_2(partitions, out)


def _write_txn_offset_commit_request_2(items: Iterable[TxnOffsetCommitRequest], out: list[Buffer]) -> None:
    for m in items:
        transactional_id = m.transactional_id
        content = transactional_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        group_id = m.group_id
        content = group_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        topics = m.topics
        n = len(topics)
        out.append(_pack_qhi(m.producer_id, m.producer_epoch, n))
        if topics:
            _write_txn_offset_commit_request_topic_2(topics, out)


def _write_txn_offset_commit_request_partition_3(items: Iterable[TxnOffsetCommitRequestPartition], out: list[Buffer]) -> None:
    for m in items:
        committed_metadata = m.committed_metadata
        if committed_metadata is None:
            content = b""
            n = 0
        else:
            content = committed_metadata.encode()
            n = len(content) + 1
        if n > 127:
            out.append(_pack_iqi(m.partition_index, m.committed_offset, m.committed_leader_epoch) + text_length_of(n))
        else:
            out.append(_pack_iqiB(m.partition_index, m.committed_offset, m.committed_leader_epoch, n))
        out.append(content)
        out.append(ONE_BYTE[0])


def _write_txn_offset_commit_request_topic_3(items: Iterable[TxnOffsetCommitRequestTopic], out: list[Buffer]) -> None:
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
            _write_txn_offset_commit_request_partition_3(partitions, out)
        out.append(ONE_BYTE[0])


def _write_txn_offset_commit_request_3(items: Iterable[TxnOffsetCommitRequest], out: list[Buffer]) -> None:
    for m in items:
        transactional_id = m.transactional_id
        content = transactional_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
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
            out.append(_pack_qhi(m.producer_id, m.producer_epoch, m.generation_id) + text_length_of(n))
        else:
            out.append(_pack_qhiB(m.producer_id, m.producer_epoch, m.generation_id, n))
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
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if topics:
            _write_txn_offset_commit_request_topic_3(topics, out)
        out.append(ONE_BYTE[0])


TxnOffsetCommitRequest._READERS = {
    **dict.fromkeys(range(0, 2), _read_txn_offset_commit_request_0),
    **dict.fromkeys(range(2, 3), _read_txn_offset_commit_request_2),
    **dict.fromkeys(range(3, 6), _read_txn_offset_commit_request_3),
}
TxnOffsetCommitRequest._WRITERS = {
    **dict.fromkeys(range(0, 2), _write_txn_offset_commit_request_0),
    **dict.fromkeys(range(2, 3), _write_txn_offset_commit_request_2),
    **dict.fromkeys(range(3, 6), _write_txn_offset_commit_request_3),
}
