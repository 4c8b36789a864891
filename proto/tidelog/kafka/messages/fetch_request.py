"""FetchRequest of Kafka's protocol.

Generated from proto/kafka/fetch.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import Message
from tidelog.kafka.wire import NO_UUID, ONE_BYTE, Buffer, bad_count, bad_length, bad_tag, cut_off, long_text, long_varint, not_utf8, null_field, packer, read_numbers, skip_tags, tag_count, tag_head, text_length_of, varint_of, write_tags


class FetchRequest(Message, gc=False):
    """Request of API 1, versions 4-18."""

    API_KEY: ClassVar[int] = 1
    VERSIONS: ClassVar[range] = range(4, 19)
    FLEXIBLE: ClassVar[range] = range(12, 19)

    cluster_id: str | None = None
    replica_id: int = -1
    replica_state: ReplicaState | None = None
    max_wait_ms: int = 0
    min_bytes: int = 0
    max_bytes: int = 2147483647
    isolation_level: int = 0
    session_id: int = 0
    session_epoch: int = -1
    topics: list[FetchTopic] = []
    forgotten_topics_data: list[ForgottenTopic] = []
    rack_id: str = ""


class ReplicaState(msgspec.Struct, gc=False):
    replica_id: int = -1
    replica_epoch: int = -1


class FetchTopic(msgspec.Struct, gc=False):
    topic: str = ""
    topic_id: bytes = NO_UUID
    partitions: list[FetchPartition] = []


class FetchPartition(msgspec.Struct, gc=False):
    partition: int = 0
    current_leader_epoch: int = -1
    fetch_offset: int = 0
    last_fetched_epoch: int = -1
    log_start_offset: int = -1
    partition_max_bytes: int = 0
    replica_directory_id: bytes = NO_UUID
    high_watermark: int = 9223372036854775807


class ForgottenTopic(msgspec.Struct, gc=False):
    topic: str = ""
    topic_id: bytes = NO_UUID
    partitions: list[int] = []


_unpack_16s = Struct(">16s").unpack_from
_unpack_16sB = Struct(">16sB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iiibiiB = Struct(">iiibiiB").unpack_from
_unpack_iiiibi = Struct(">iiiibi").unpack_from
_unpack_iiiibiiB = Struct(">iiiibiiB").unpack_from
_unpack_iiiibiii = Struct(">iiiibiii").unpack_from
_unpack_iiqiqiB = Struct(">iiqiqiB").unpack_from
_unpack_iiqqi = Struct(">iiqqi").unpack_from
_unpack_iqB = Struct(">iqB").unpack_from
_unpack_iqi = Struct(">iqi").unpack_from
_unpack_iqqi = Struct(">iqqi").unpack_from
_unpack_q = Struct(">q").unpack_from
_pack_16s = Struct(">16s").pack
_pack_16sB = Struct(">16sB").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iiibii = Struct(">iiibii").pack
_pack_iiibiiB = Struct(">iiibiiB").pack
_pack_iiiibi = Struct(">iiiibi").pack
_pack_iiiibii = Struct(">iiiibii").pack
_pack_iiiibiiB = Struct(">iiiibiiB").pack
_pack_iiiibiii = Struct(">iiiibiii").pack
_pack_iiqiqi = Struct(">iiqiqi").pack
_pack_iiqiqix = Struct(">iiqiqix").pack
_pack_iiqqi = Struct(">iiqqi").pack
_pack_iqi = Struct(">iqi").pack
_pack_iqqi = Struct(">iqqi").pack
_pack_iqx = Struct(">iqx").pack
_pack_q = Struct(">q").pack


def _read_fetch_partition_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchPartition], int]:
    items: list[FetchPartition] = []
    for _ in range(count):
        if end - at < 16:
            raise cut_off("FetchPartition", "Partition=4 FetchOffset=8 PartitionMaxBytes=4", end - at)
        partition, fetch_offset, partition_max_bytes = _unpack_iqi(data, at)
        at += 16
        items.append(FetchPartition(partition, -1, fetch_offset, -1, -1, partition_max_bytes))
    return items, at


def _read_fetch_topic_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchTopic], int]:
    items: list[FetchTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("FetchTopic", "Topic=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("FetchTopic.Topic", n, end - at)
        try:
            topic = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("FetchTopic.Topic") from None
        at = stop
        if end - at < 4:
            raise cut_off("FetchTopic", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 16 * n > end - at or room[0] < 0:
            raise bad_count("FetchTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_fetch_partition_4(data, at, end, room, n)
        items.append(FetchTopic(topic, NO_UUID, partitions))
    return items, at


def _read_fetch_request_4(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchRequest], int]:
    items: list[FetchRequest] = []
    for _ in range(count):
        if end - at < 21:
            raise cut_off("FetchRequest", "ReplicaId=4 MaxWaitMs=4 MinBytes=4 MaxBytes=4 IsolationLevel=1 Topics=4", end - at)
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, n = _unpack_iiiibi(data, at)
        at += 21
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("FetchRequest.Topics", n, end - at, room[0])
        topics, at = _read_fetch_topic_4(data, at, end, room, n)
        items.append(FetchRequest(None, replica_id, None, max_wait_ms, min_bytes, max_bytes, isolation_level, 0, -1, topics))
    return items, at


def _read_fetch_partition_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchPartition], int]:
    items: list[FetchPartition] = []
    for _ in range(count):
        if end - at < 24:
            raise cut_off("FetchPartition", "Partition=4 FetchOffset=8 LogStartOffset=8 PartitionMaxBytes=4", end - at)
        partition, fetch_offset, log_start_offset, partition_max_bytes = _unpack_iqqi(data, at)
        at += 24
        items.append(FetchPartition(partition, -1, fetch_offset, -1, log_start_offset, partition_max_bytes))
    return items, at


def _read_fetch_topic_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchTopic], int]:
    items: list[FetchTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("FetchTopic", "Topic=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("FetchTopic.Topic", n, end - at)
        try:
            topic = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("FetchTopic.Topic") from None
        at = stop
        if end - at < 4:
            raise cut_off("FetchTopic", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 24 * n > end - at or room[0] < 0:
            raise bad_count("FetchTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_fetch_partition_5(data, at, end, room, n)
        items.append(FetchTopic(topic, NO_UUID, partitions))
    return items, at


def _read_fetch_request_5(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchRequest], int]:
    items: list[FetchRequest] = []
    for _ in range(count):
        if end - at < 21:
            raise cut_off("FetchRequest", "ReplicaId=4 MaxWaitMs=4 MinBytes=4 MaxBytes=4 IsolationLevel=1 Topics=4", end - at)
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, n = _unpack_iiiibi(data, at)
        at += 21
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("FetchRequest.Topics", n, end - at, room[0])
        topics, at = _read_fetch_topic_5(data, at, end, room, n)
        items.append(FetchRequest(None, replica_id, None, max_wait_ms, min_bytes, max_bytes, isolation_level, 0, -1, topics))
    return items, at


def _read_forgotten_topic_7(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ForgottenTopic], int]:
    items: list[ForgottenTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("ForgottenTopic", "Topic=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("ForgottenTopic.Topic", n, end - at)
        try:
            topic = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ForgottenTopic.Topic") from None
        at = stop
        if end - at < 4:
            raise cut_off("ForgottenTopic", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("ForgottenTopic.Partitions", n, end - at, room[0])
        partitions = read_numbers(data, at, n, "i")
        at += 4 * n
        items.append(ForgottenTopic(topic, NO_UUID, partitions))
    return items, at


def _read_fetch_request_7(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchRequest], int]:
    items: list[FetchRequest] = []
    for _ in range(count):
        if end - at < 29:
            raise cut_off("FetchRequest", "ReplicaId=4 MaxWaitMs=4 MinBytes=4 MaxBytes=4 IsolationLevel=1 SessionId=4 SessionEpoch=4 Topics=4", end - at)
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n = _unpack_iiiibiii(data, at)
        at += 29
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("FetchRequest.Topics", n, end - at, room[0])
        topics, at = _read_fetch_topic_5(data, at, end, room, n)
        if end - at < 4:
            raise cut_off("FetchRequest", "ForgottenTopicsData=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("FetchRequest.ForgottenTopicsData", n, end - at, room[0])
        forgotten_topics_data, at = _read_forgotten_topic_7(data, at, end, room, n)
        items.append(FetchRequest(None, replica_id, None, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data))
    return items, at


def _read_fetch_partition_9(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchPartition], int]:
    items: list[FetchPartition] = []
    for _ in range(count):
        if end - at < 28:
            raise cut_off("FetchPartition", "Partition=4 CurrentLeaderEpoch=4 FetchOffset=8 LogStartOffset=8 PartitionMaxBytes=4", end - at)
        partition, current_leader_epoch, fetch_offset, log_start_offset, partition_max_bytes = _unpack_iiqqi(data, at)
        at += 28
        items.append(FetchPartition(partition, current_leader_epoch, fetch_offset, -1, log_start_offset, partition_max_bytes))
    return items, at


def _read_fetch_topic_9(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchTopic], int]:
    items: list[FetchTopic] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("FetchTopic", "Topic=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("FetchTopic.Topic", n, end - at)
        try:
            topic = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("FetchTopic.Topic") from None
        at = stop
        if end - at < 4:
            raise cut_off("FetchTopic", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 28 * n > end - at or room[0] < 0:
            raise bad_count("FetchTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_fetch_partition_9(data, at, end, room, n)
        items.append(FetchTopic(topic, NO_UUID, partitions))
    return items, at


def _read_fetch_request_9(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchRequest], int]:
    items: list[FetchRequest] = []
    for _ in range(count):
        if end - at < 29:
            raise cut_off("FetchRequest", "ReplicaId=4 MaxWaitMs=4 MinBytes=4 MaxBytes=4 IsolationLevel=1 SessionId=4 SessionEpoch=4 Topics=4", end - at)
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n = _unpack_iiiibiii(data, at)
        at += 29
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("FetchRequest.Topics", n, end - at, room[0])
        topics, at = _read_fetch_topic_9(data, at, end, room, n)
        if end - at < 4:
            raise cut_off("FetchRequest", "ForgottenTopicsData=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("FetchRequest.ForgottenTopicsData", n, end - at, room[0])
        forgotten_topics_data, at = _read_forgotten_topic_7(data, at, end, room, n)
        items.append(FetchRequest(None, replica_id, None, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data))
    return items, at


def _read_fetch_request_11(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchRequest], int]:
    items: list[FetchRequest] = []
    for _ in range(count):
        if end - at < 29:
            raise cut_off("FetchRequest", "ReplicaId=4 MaxWaitMs=4 MinBytes=4 MaxBytes=4 IsolationLevel=1 SessionId=4 SessionEpoch=4 Topics=4", end - at)
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n = _unpack_iiiibiii(data, at)
        at += 29
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("FetchRequest.Topics", n, end - at, room[0])
        topics, at = _read_fetch_topic_9(data, at, end, room, n)
        if end - at < 4:
            raise cut_off("FetchRequest", "ForgottenTopicsData=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("FetchRequest.ForgottenTopicsData", n, end - at, room[0])
        forgotten_topics_data, at = _read_forgotten_topic_7(data, at, end, room, n)
        if end - at < 2:
            raise cut_off("FetchRequest", "RackId=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("FetchRequest.RackId", n, end - at)
        try:
            rack_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("FetchRequest.RackId") from None
        at = stop
        items.append(FetchRequest(None, replica_id, None, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id))
    return items, at


def _read_fetch_partition_12(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchPartition], int]:
    items: list[FetchPartition] = []
    for _ in range(count):
        if end - at < 33:
            raise cut_off("FetchPartition", "Partition=4 CurrentLeaderEpoch=4 FetchOffset=8 LastFetchedEpoch=4 LogStartOffset=8 PartitionMaxBytes=4 tags=1", end - at)
        partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes, tags = _unpack_iiqiqiB(data, at)
        at += 33
        if tags:
            at = skip_tags(data, at, end, tags, "FetchPartition")
        items.append(FetchPartition(partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes))
    return items, at


def _read_fetch_topic_12(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchTopic], int]:
    items: list[FetchTopic] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("FetchTopic", "Topic=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "FetchTopic.Topic")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("FetchTopic.Topic", n - 1, end - at)
        try:
            topic = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("FetchTopic.Topic") from None
        at = stop
        if at >= end:
            raise cut_off("FetchTopic", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "FetchTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 33 * n > end - at or room[0] < 0:
            raise bad_count("FetchTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_fetch_partition_12(data, at, end, room, n)
        if at >= end:
            raise cut_off("FetchTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "FetchTopic")
        items.append(FetchTopic(topic, NO_UUID, partitions))
    return items, at


def _read_forgotten_topic_12(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ForgottenTopic], int]:
    items: list[ForgottenTopic] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("ForgottenTopic", "Topic=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "ForgottenTopic.Topic")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("ForgottenTopic.Topic", n - 1, end - at)
        try:
            topic = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("ForgottenTopic.Topic") from None
        at = stop
        if at >= end:
            raise cut_off("ForgottenTopic", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "ForgottenTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("ForgottenTopic.Partitions", n, end - at, room[0])
        partitions = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("ForgottenTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ForgottenTopic")
        items.append(ForgottenTopic(topic, NO_UUID, partitions))
    return items, at


def _read_fetch_request_12(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchRequest], int]:
    items: list[FetchRequest] = []
    for _ in range(count):
        if end - at < 26:
            raise cut_off("FetchRequest", "ReplicaId=4 MaxWaitMs=4 MinBytes=4 MaxBytes=4 IsolationLevel=1 SessionId=4 SessionEpoch=4 Topics=1", end - at)
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n = _unpack_iiiibiiB(data, at)
        at += 26
        if n > 127:
            n, at = long_varint(data, at, end, n, "FetchRequest.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("FetchRequest.Topics", n, end - at, room[0])
        topics, at = _read_fetch_topic_12(data, at, end, room, n)
        if at >= end:
            raise cut_off("FetchRequest", "ForgottenTopicsData=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "FetchRequest.ForgottenTopicsData")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("FetchRequest.ForgottenTopicsData", n, end - at, room[0])
        forgotten_topics_data, at = _read_forgotten_topic_12(data, at, end, room, n)
        if at >= end:
            raise cut_off("FetchRequest", "RackId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "FetchRequest.RackId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("FetchRequest.RackId", n - 1, end - at)
        try:
            rack_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("FetchRequest.RackId") from None
        at = stop
        if at >= end:
            raise cut_off("FetchRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        cluster_id: str | None = None
        if tags:
            tags, at = tag_count(data, at, end, tags, "FetchRequest")
            for _ in range(tags):
                tag, size, at = tag_head(data, at, end, "FetchRequest")
                tag_end = at + size
                if tag == 0:
                    if at >= tag_end:
                        raise cut_off("FetchRequest", "ClusterId=1", tag_end - at)
                    n = data[at]
                    at += 1
                    if n > 127:
                        n, at = long_text(data, at, tag_end, n, "FetchRequest.ClusterId")
                    if n == 0:
                        cluster_id = None
                    else:
                        stop = at + n - 1
                        if n < 1 or stop > tag_end:
                            raise bad_length("FetchRequest.ClusterId", n - 1, tag_end - at)
                        try:
                            cluster_id = data[at:stop].decode()
                        except UnicodeDecodeError:
                            raise not_utf8("FetchRequest.ClusterId") from None
                        at = stop
                    if at != tag_end:
                        raise bad_tag("FetchRequest.ClusterId")
                else:
                    at = tag_end
        items.append(FetchRequest(cluster_id, replica_id, None, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id))
    return items, at


def _read_fetch_topic_13(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchTopic], int]:
    items: list[FetchTopic] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("FetchTopic", "TopicId=16 Partitions=1", end - at)
        topic_id, n = _unpack_16sB(data, at)
        at += 17
        if n > 127:
            n, at = long_varint(data, at, end, n, "FetchTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 33 * n > end - at or room[0] < 0:
            raise bad_count("FetchTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_fetch_partition_12(data, at, end, room, n)
        if at >= end:
            raise cut_off("FetchTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "FetchTopic")
        items.append(FetchTopic("", topic_id, partitions))
    return items, at


def _read_forgotten_topic_13(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ForgottenTopic], int]:
    items: list[ForgottenTopic] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("ForgottenTopic", "TopicId=16 Partitions=1", end - at)
        topic_id, n = _unpack_16sB(data, at)
        at += 17
        if n > 127:
            n, at = long_varint(data, at, end, n, "ForgottenTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 4 * n > end - at or room[0] < 0:
            raise bad_count("ForgottenTopic.Partitions", n, end - at, room[0])
        partitions = read_numbers(data, at, n, "i")
        at += 4 * n
        if at >= end:
            raise cut_off("ForgottenTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "ForgottenTopic")
        items.append(ForgottenTopic("", topic_id, partitions))
    return items, at


def _read_fetch_request_13(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchRequest], int]:
    items: list[FetchRequest] = []
    for _ in range(count):
        if end - at < 26:
            raise cut_off("FetchRequest", "ReplicaId=4 MaxWaitMs=4 MinBytes=4 MaxBytes=4 IsolationLevel=1 SessionId=4 SessionEpoch=4 Topics=1", end - at)
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n = _unpack_iiiibiiB(data, at)
        at += 26
        if n > 127:
            n, at = long_varint(data, at, end, n, "FetchRequest.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("FetchRequest.Topics", n, end - at, room[0])
        topics, at = _read_fetch_topic_13(data, at, end, room, n)
        if at >= end:
            raise cut_off("FetchRequest", "ForgottenTopicsData=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "FetchRequest.ForgottenTopicsData")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("FetchRequest.ForgottenTopicsData", n, end - at, room[0])
        forgotten_topics_data, at = _read_forgotten_topic_13(data, at, end, room, n)
        if at >= end:
            raise cut_off("FetchRequest", "RackId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "FetchRequest.RackId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("FetchRequest.RackId", n - 1, end - at)
        try:
            rack_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("FetchRequest.RackId") from None
        at = stop
        if at >= end:
            raise cut_off("FetchRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        cluster_id: str | None = None
        if tags:
            tags, at = tag_count(data, at, end, tags, "FetchRequest")
            for _ in range(tags):
                tag, size, at = tag_head(data, at, end, "FetchRequest")
                tag_end = at + size
                if tag == 0:
                    if at >= tag_end:
                        raise cut_off("FetchRequest", "ClusterId=1", tag_end - at)
                    n = data[at]
                    at += 1
                    if n > 127:
                        n, at = long_text(data, at, tag_end, n, "FetchRequest.ClusterId")
                    if n == 0:
                        cluster_id = None
                    else:
                        stop = at + n - 1
                        if n < 1 or stop > tag_end:
                            raise bad_length("FetchRequest.ClusterId", n - 1, tag_end - at)
                        try:
                            cluster_id = data[at:stop].decode()
                        except UnicodeDecodeError:
                            raise not_utf8("FetchRequest.ClusterId") from None
                        at = stop
                    if at != tag_end:
                        raise bad_tag("FetchRequest.ClusterId")
                else:
                    at = tag_end
        items.append(FetchRequest(cluster_id, replica_id, None, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id))
    return items, at


def _read_replica_state_15(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[ReplicaState], int]:
    items: list[ReplicaState] = []
    for _ in range(count):
        if end - at < 13:
            raise cut_off("ReplicaState", "ReplicaId=4 ReplicaEpoch=8 tags=1", end - at)
        replica_id, replica_epoch, tags = _unpack_iqB(data, at)
        at += 13
        if tags:
            at = skip_tags(data, at, end, tags, "ReplicaState")
        items.append(ReplicaState(replica_id, replica_epoch))
    return items, at


def _read_fetch_request_15(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchRequest], int]:
    items: list[FetchRequest] = []
    for _ in range(count):
        if end - at < 22:
            raise cut_off("FetchRequest", "MaxWaitMs=4 MinBytes=4 MaxBytes=4 IsolationLevel=1 SessionId=4 SessionEpoch=4 Topics=1", end - at)
        max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n = _unpack_iiibiiB(data, at)
        at += 22
        if n > 127:
            n, at = long_varint(data, at, end, n, "FetchRequest.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("FetchRequest.Topics", n, end - at, room[0])
        topics, at = _read_fetch_topic_13(data, at, end, room, n)
        if at >= end:
            raise cut_off("FetchRequest", "ForgottenTopicsData=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "FetchRequest.ForgottenTopicsData")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("FetchRequest.ForgottenTopicsData", n, end - at, room[0])
        forgotten_topics_data, at = _read_forgotten_topic_13(data, at, end, room, n)
        if at >= end:
            raise cut_off("FetchRequest", "RackId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "FetchRequest.RackId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("FetchRequest.RackId", n - 1, end - at)
        try:
            rack_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("FetchRequest.RackId") from None
        at = stop
        if at >= end:
            raise cut_off("FetchRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        cluster_id: str | None = None
        replica_state: ReplicaState | None = None
        if tags:
            tags, at = tag_count(data, at, end, tags, "FetchRequest")
            for _ in range(tags):
                tag, size, at = tag_head(data, at, end, "FetchRequest")
                tag_end = at + size
                if tag == 0:
                    if at >= tag_end:
                        raise cut_off("FetchRequest", "ClusterId=1", tag_end - at)
                    n = data[at]
                    at += 1
                    if n > 127:
                        n, at = long_text(data, at, tag_end, n, "FetchRequest.ClusterId")
                    if n == 0:
                        cluster_id = None
                    else:
                        stop = at + n - 1
                        if n < 1 or stop > tag_end:
                            raise bad_length("FetchRequest.ClusterId", n - 1, tag_end - at)
                        try:
                            cluster_id = data[at:stop].decode()
                        except UnicodeDecodeError:
                            raise not_utf8("FetchRequest.ClusterId") from None
                        at = stop
                    if at != tag_end:
                        raise bad_tag("FetchRequest.ClusterId")
                elif tag == 1:
                    (replica_state,), at = _read_replica_state_15(data, at, tag_end, room, 1)
                    if at != tag_end:
                        raise bad_tag("FetchRequest.ReplicaState")
                else:
                    at = tag_end
        items.append(FetchRequest(cluster_id, -1, replica_state, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id))
    return items, at


def _read_fetch_partition_17(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchPartition], int]:
    items: list[FetchPartition] = []
    for _ in range(count):
        if end - at < 33:
            raise cut_off("FetchPartition", "Partition=4 CurrentLeaderEpoch=4 FetchOffset=8 LastFetchedEpoch=4 LogStartOffset=8 PartitionMaxBytes=4 tags=1", end - at)
        partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes, tags = _unpack_iiqiqiB(data, at)
        at += 33
        replica_directory_id: bytes = NO_UUID
        if tags:
            tags, at = tag_count(data, at, end, tags, "FetchPartition")
            for _ in range(tags):
                tag, size, at = tag_head(data, at, end, "FetchPartition")
                tag_end = at + size
                if tag == 0:
                    if tag_end - at < 16:
                        raise cut_off("FetchPartition", "ReplicaDirectoryId=16", tag_end - at)
                    replica_directory_id = _unpack_16s(data, at)[0]
                    at += 16
                    if at != tag_end:
                        raise bad_tag("FetchPartition.ReplicaDirectoryId")
                else:
                    at = tag_end
        items.append(FetchPartition(partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes, replica_directory_id))
    return items, at


def _read_fetch_topic_17(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchTopic], int]:
    items: list[FetchTopic] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("FetchTopic", "TopicId=16 Partitions=1", end - at)
        topic_id, n = _unpack_16sB(data, at)
        at += 17
        if n > 127:
            n, at = long_varint(data, at, end, n, "FetchTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 33 * n > end - at or room[0] < 0:
            raise bad_count("FetchTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_fetch_partition_17(data, at, end, room, n)
        if at >= end:
            raise cut_off("FetchTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "FetchTopic")
        items.append(FetchTopic("", topic_id, partitions))
    return items, at


def _read_fetch_request_17(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchRequest], int]:
    items: list[FetchRequest] = []
    for _ in range(count):
        if end - at < 22:
            raise cut_off("FetchRequest", "MaxWaitMs=4 MinBytes=4 MaxBytes=4 IsolationLevel=1 SessionId=4 SessionEpoch=4 Topics=1", end - at)
        max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n = _unpack_iiibiiB(data, at)
        at += 22
        if n > 127:
            n, at = long_varint(data, at, end, n, "FetchRequest.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("FetchRequest.Topics", n, end - at, room[0])
        topics, at = _read_fetch_topic_17(data, at, end, room, n)
        if at >= end:
            raise cut_off("FetchRequest", "ForgottenTopicsData=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "FetchRequest.ForgottenTopicsData")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("FetchRequest.ForgottenTopicsData", n, end - at, room[0])
        forgotten_topics_data, at = _read_forgotten_topic_13(data, at, end, room, n)
        if at >= end:
            raise cut_off("FetchRequest", "RackId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "FetchRequest.RackId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("FetchRequest.RackId", n - 1, end - at)
        try:
            rack_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("FetchRequest.RackId") from None
        at = stop
        if at >= end:
            raise cut_off("FetchRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        cluster_id: str | None = None
        replica_state: ReplicaState | None = None
        if tags:
            tags, at = tag_count(data, at, end, tags, "FetchRequest")
            for _ in range(tags):
                tag, size, at = tag_head(data, at, end, "FetchRequest")
                tag_end = at + size
                if tag == 0:
                    if at >= tag_end:
                        raise cut_off("FetchRequest", "ClusterId=1", tag_end - at)
                    n = data[at]
                    at += 1
                    if n > 127:
                        n, at = long_text(data, at, tag_end, n, "FetchRequest.ClusterId")
                    if n == 0:
                        cluster_id = None
                    else:
                        stop = at + n - 1
                        if n < 1 or stop > tag_end:
                            raise bad_length("FetchRequest.ClusterId", n - 1, tag_end - at)
                        try:
                            cluster_id = data[at:stop].decode()
                        except UnicodeDecodeError:
                            raise not_utf8("FetchRequest.ClusterId") from None
                        at = stop
                    if at != tag_end:
                        raise bad_tag("FetchRequest.ClusterId")
                elif tag == 1:
                    (replica_state,), at = _read_replica_state_15(data, at, tag_end, room, 1)
                    if at != tag_end:
                        raise bad_tag("FetchRequest.ReplicaState")
                else:
                    at = tag_end
        items.append(FetchRequest(cluster_id, -1, replica_state, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id))
    return items, at


def _read_fetch_partition_18(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchPartition], int]:
    items: list[FetchPartition] = []
    for _ in range(count):
        if end - at < 33:
            raise cut_off("FetchPartition", "Partition=4 CurrentLeaderEpoch=4 FetchOffset=8 LastFetchedEpoch=4 LogStartOffset=8 PartitionMaxBytes=4 tags=1", end - at)
        partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes, tags = _unpack_iiqiqiB(data, at)
        at += 33
        replica_directory_id: bytes = NO_UUID
        high_watermark: int = 9223372036854775807
        if tags:
            tags, at = tag_count(data, at, end, tags, "FetchPartition")
            for _ in range(tags):
                tag, size, at = tag_head(data, at, end, "FetchPartition")
                tag_end = at + size
                if tag == 0:
                    if tag_end - at < 16:
                        raise cut_off("FetchPartition", "ReplicaDirectoryId=16", tag_end - at)
                    replica_directory_id = _unpack_16s(data, at)[0]
                    at += 16
                    if at != tag_end:
                        raise bad_tag("FetchPartition.ReplicaDirectoryId")
                elif tag == 1:
                    if tag_end - at < 8:
                        raise cut_off("FetchPartition", "HighWatermark=8", tag_end - at)
                    high_watermark = _unpack_q(data, at)[0]
                    at += 8
                    if at != tag_end:
                        raise bad_tag("FetchPartition.HighWatermark")
                else:
                    at = tag_end
        items.append(FetchPartition(partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, partition_max_bytes, replica_directory_id, high_watermark))
    return items, at


def _read_fetch_topic_18(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchTopic], int]:
    items: list[FetchTopic] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("FetchTopic", "TopicId=16 Partitions=1", end - at)
        topic_id, n = _unpack_16sB(data, at)
        at += 17
        if n > 127:
            n, at = long_varint(data, at, end, n, "FetchTopic.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 33 * n > end - at or room[0] < 0:
            raise bad_count("FetchTopic.Partitions", n, end - at, room[0])
        partitions, at = _read_fetch_partition_18(data, at, end, room, n)
        if at >= end:
            raise cut_off("FetchTopic", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "FetchTopic")
        items.append(FetchTopic("", topic_id, partitions))
    return items, at


def _read_fetch_request_18(data: bytes, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchRequest], int]:
    items: list[FetchRequest] = []
    for _ in range(count):
        if end - at < 22:
            raise cut_off("FetchRequest", "MaxWaitMs=4 MinBytes=4 MaxBytes=4 IsolationLevel=1 SessionId=4 SessionEpoch=4 Topics=1", end - at)
        max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, n = _unpack_iiibiiB(data, at)
        at += 22
        if n > 127:
            n, at = long_varint(data, at, end, n, "FetchRequest.Topics")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("FetchRequest.Topics", n, end - at, room[0])
        topics, at = _read_fetch_topic_18(data, at, end, room, n)
        if at >= end:
            raise cut_off("FetchRequest", "ForgottenTopicsData=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "FetchRequest.ForgottenTopicsData")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("FetchRequest.ForgottenTopicsData", n, end - at, room[0])
        forgotten_topics_data, at = _read_forgotten_topic_13(data, at, end, room, n)
        if at >= end:
            raise cut_off("FetchRequest", "RackId=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "FetchRequest.RackId")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("FetchRequest.RackId", n - 1, end - at)
        try:
            rack_id = data[at:stop].decode()
        except UnicodeDecodeError:
            raise not_utf8("FetchRequest.RackId") from None
        at = stop
        if at >= end:
            raise cut_off("FetchRequest", "tags=1", end - at)
        tags = data[at]
        at += 1
        cluster_id: str | None = None
        replica_state: ReplicaState | None = None
        if tags:
            tags, at = tag_count(data, at, end, tags, "FetchRequest")
            for _ in range(tags):
                tag, size, at = tag_head(data, at, end, "FetchRequest")
                tag_end = at + size
                if tag == 0:
                    if at >= tag_end:
                        raise cut_off("FetchRequest", "ClusterId=1", tag_end - at)
                    n = data[at]
                    at += 1
                    if n > 127:
                        n, at = long_text(data, at, tag_end, n, "FetchRequest.ClusterId")
                    if n == 0:
                        cluster_id = None
                    else:
                        stop = at + n - 1
                        if n < 1 or stop > tag_end:
                            raise bad_length("FetchRequest.ClusterId", n - 1, tag_end - at)
                        try:
                            cluster_id = data[at:stop].decode()
                        except UnicodeDecodeError:
                            raise not_utf8("FetchRequest.ClusterId") from None
                        at = stop
                    if at != tag_end:
                        raise bad_tag("FetchRequest.ClusterId")
                elif tag == 1:
                    (replica_state,), at = _read_replica_state_15(data, at, tag_end, room, 1)
                    if at != tag_end:
                        raise bad_tag("FetchRequest.ReplicaState")
                else:
                    at = tag_end
        items.append(FetchRequest(cluster_id, -1, replica_state, max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, topics, forgotten_topics_data, rack_id))
    return items, at


def _write_fetch_partition_4(items: Iterable[FetchPartition], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iqi(m.partition, m.fetch_offset, m.partition_max_bytes))


def _write_fetch_topic_4(items: Iterable[FetchTopic], out: list[Buffer]) -> None:
    for m in items:
        topic = m.topic
        content = topic.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        partitions = m.partitions
        n = len(partitions)
        out.append(_pack_i(n))
        if partitions:
            _write_fetch_partition_4(partitions, out)


def _write_fetch_request_4(items: Iterable[FetchRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_iiiibi(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, n))
        if topics:
            _write_fetch_topic_4(topics, out)


def _write_fetch_partition_5(items: Iterable[FetchPartition], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iqqi(m.partition, m.fetch_offset, m.log_start_offset, m.partition_max_bytes))


def _write_fetch_topic_5(items: Iterable[FetchTopic], out: list[Buffer]) -> None:
    for m in items:
        topic = m.topic
        content = topic.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        partitions = m.partitions
        n = len(partitions)
        out.append(_pack_i(n))
        if partitions:
            _write_fetch_partition_5(partitions, out)


def _write_fetch_request_5(items: Iterable[FetchRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_iiiibi(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, n))
        if topics:
            _write_fetch_topic_5(topics, out)


def _write_forgotten_topic_7(items: Iterable[ForgottenTopic], out: list[Buffer]) -> None:
    for m in items:
        topic = m.topic
        content = topic.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        partitions = m.partitions
        n = len(partitions)
        out.append(_pack_i(n))
        if partitions:
            out.append(packer(len(partitions), "i")(*partitions))


def _write_fetch_request_7(items: Iterable[FetchRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_iiiibiii(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n))
        if topics:
            _write_fetch_topic_5(topics, out)
        forgotten_topics_data = m.forgotten_topics_data
        n = len(forgotten_topics_data)
        out.append(_pack_i(n))
        if forgotten_topics_data:
            _write_forgotten_topic_7(forgotten_topics_data, out)


def _write_fetch_partition_9(items: Iterable[FetchPartition], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iiqqi(m.partition, m.current_leader_epoch, m.fetch_offset, m.log_start_offset, m.partition_max_bytes))


def _write_fetch_topic_9(items: Iterable[FetchTopic], out: list[Buffer]) -> None:
    for m in items:
        topic = m.topic
        content = topic.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)
        partitions = m.partitions
        n = len(partitions)
        out.append(_pack_i(n))
        if partitions:
            _write_fetch_partition_9(partitions, out)


def _write_fetch_request_9(items: Iterable[FetchRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_iiiibiii(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n))
        if topics:
            _write_fetch_topic_9(topics, out)
        forgotten_topics_data = m.forgotten_topics_data
        n = len(forgotten_topics_data)
        out.append(_pack_i(n))
        if forgotten_topics_data:
            _write_forgotten_topic_7(forgotten_topics_data, out)


def _write_fetch_request_11(items: Iterable[FetchRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics)
        out.append(_pack_iiiibiii(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n))
        if topics:
            _write_fetch_topic_9(topics, out)
        forgotten_topics_data = m.forgotten_topics_data
        n = len(forgotten_topics_data)
        out.append(_pack_i(n))
        if forgotten_topics_data:
            _write_forgotten_topic_7(forgotten_topics_data, out)
        rack_id = m.rack_id
        content = rack_id.encode()
        n = len(content)
        out.append(_pack_h(n))
        out.append(content)


def _write_fetch_partition_12(items: Iterable[FetchPartition], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iiqiqix(m.partition, m.current_leader_epoch, m.fetch_offset, m.last_fetched_epoch, m.log_start_offset, m.partition_max_bytes))


def _write_fetch_topic_12(items: Iterable[FetchTopic], out: list[Buffer]) -> None:
    for m in items:
        topic = m.topic
        content = topic.encode()
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
            _write_fetch_partition_12(partitions, out)
        out.append(ONE_BYTE[0])


def _write_forgotten_topic_12(items: Iterable[ForgottenTopic], out: list[Buffer]) -> None:
    for m in items:
        topic = m.topic
        content = topic.encode()
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
            out.append(packer(len(partitions), "i")(*partitions))
        out.append(ONE_BYTE[0])


def _write_fetch_request_12(items: Iterable[FetchRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_iiiibii(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch) + varint_of(n))
        else:
            out.append(_pack_iiiibiiB(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n))
        if topics:
            _write_fetch_topic_12(topics, out)
        forgotten_topics_data = m.forgotten_topics_data
        n = len(forgotten_topics_data) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if forgotten_topics_data:
            _write_forgotten_topic_12(forgotten_topics_data, out)
        rack_id = m.rack_id
        content = rack_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        if m.cluster_id is None:
            out.append(ONE_BYTE[0])
            continue
        tags: list[tuple[int, list[Buffer]]] = []
        part: list[Buffer] = []
        cluster_id = m.cluster_id
        if cluster_id is None:
            content = b""
            n = 0
        else:
            content = cluster_id.encode()
            n = len(content) + 1
        if n > 127:
            part.append(text_length_of(n))
        else:
            part.append(ONE_BYTE[n])
        part.append(content)
        tags.append((0, part))
        write_tags(tags, out)


def _write_fetch_topic_13(items: Iterable[FetchTopic], out: list[Buffer]) -> None:
    for m in items:
        partitions = m.partitions
        n = len(partitions) + 1
        if n > 127:
            out.append(_pack_16s(m.topic_id) + varint_of(n))
        else:
            out.append(_pack_16sB(m.topic_id, n))
        if partitions:
            _write_fetch_partition_12(partitions, out)
        out.append(ONE_BYTE[0])


def _write_forgotten_topic_13(items: Iterable[ForgottenTopic], out: list[Buffer]) -> None:
    for m in items:
        partitions = m.partitions
        n = len(partitions) + 1
        if n > 127:
            out.append(_pack_16s(m.topic_id) + varint_of(n))
        else:
            out.append(_pack_16sB(m.topic_id, n))
        if partitions:
            out.append(packer(len(partitions), "i")(*partitions))
        out.append(ONE_BYTE[0])


def _write_fetch_request_13(items: Iterable[FetchRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_iiiibii(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch) + varint_of(n))
        else:
            out.append(_pack_iiiibiiB(m.replica_id, m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n))
        if topics:
            _write_fetch_topic_13(topics, out)
        forgotten_topics_data = m.forgotten_topics_data
        n = len(forgotten_topics_data) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if forgotten_topics_data:
            _write_forgotten_topic_13(forgotten_topics_data, out)
        rack_id = m.rack_id
        content = rack_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        if m.cluster_id is None:
            out.append(ONE_BYTE[0])
            continue
        tags: list[tuple[int, list[Buffer]]] = []
        part: list[Buffer] = []
        cluster_id = m.cluster_id
        if cluster_id is None:
            content = b""
            n = 0
        else:
            content = cluster_id.encode()
            n = len(content) + 1
        if n > 127:
            part.append(text_length_of(n))
        else:
            part.append(ONE_BYTE[n])
        part.append(content)
        tags.append((0, part))
        write_tags(tags, out)


def _write_replica_state_15(items: Iterable[ReplicaState], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iqx(m.replica_id, m.replica_epoch))


def _write_fetch_request_15(items: Iterable[FetchRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_iiibii(m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch) + varint_of(n))
        else:
            out.append(_pack_iiibiiB(m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n))
        if topics:
            _write_fetch_topic_13(topics, out)
        forgotten_topics_data = m.forgotten_topics_data
        n = len(forgotten_topics_data) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if forgotten_topics_data:
            _write_forgotten_topic_13(forgotten_topics_data, out)
        rack_id = m.rack_id
        content = rack_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        if m.cluster_id is None and (m.replica_state is None or m.replica_state == ReplicaState()):
            out.append(ONE_BYTE[0])
            continue
        tags: list[tuple[int, list[Buffer]]] = []
        if not (m.cluster_id is None):
            part: list[Buffer] = []
            cluster_id = m.cluster_id
            if cluster_id is None:
                content = b""
                n = 0
            else:
                content = cluster_id.encode()
                n = len(content) + 1
            if n > 127:
                part.append(text_length_of(n))
            else:
                part.append(ONE_BYTE[n])
            part.append(content)
            tags.append((0, part))
        if not ((m.replica_state is None or m.replica_state == ReplicaState())):
            part = []
            replica_state = m.replica_state
            if replica_state is None:
                raise null_field("FetchRequest.ReplicaState")
            _write_replica_state_15((replica_state,), part)
            tags.append((1, part))
        write_tags(tags, out)


def _write_fetch_partition_17(items: Iterable[FetchPartition], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iiqiqi(m.partition, m.current_leader_epoch, m.fetch_offset, m.last_fetched_epoch, m.log_start_offset, m.partition_max_bytes))
        if m.replica_directory_id == NO_UUID:
            out.append(ONE_BYTE[0])
            continue
        tags: list[tuple[int, list[Buffer]]] = []
        part: list[Buffer] = []
        part.append(_pack_16s(m.replica_directory_id))
        tags.append((0, part))
        write_tags(tags, out)


def _write_fetch_topic_17(items: Iterable[FetchTopic], out: list[Buffer]) -> None:
    for m in items:
        partitions = m.partitions
        n = len(partitions) + 1
        if n > 127:
            out.append(_pack_16s(m.topic_id) + varint_of(n))
        else:
            out.append(_pack_16sB(m.topic_id, n))
        if partitions:
            _write_fetch_partition_17(partitions, out)
        out.append(ONE_BYTE[0])


def _write_fetch_request_17(items: Iterable[FetchRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_iiibii(m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch) + varint_of(n))
        else:
            out.append(_pack_iiibiiB(m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n))
        if topics:
            _write_fetch_topic_17(topics, out)
        forgotten_topics_data = m.forgotten_topics_data
        n = len(forgotten_topics_data) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if forgotten_topics_data:
            _write_forgotten_topic_13(forgotten_topics_data, out)
        rack_id = m.rack_id
        content = rack_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        if m.cluster_id is None and (m.replica_state is None or m.replica_state == ReplicaState()):
            out.append(ONE_BYTE[0])
            continue
        tags: list[tuple[int, list[Buffer]]] = []
        if not (m.cluster_id is None):
            part: list[Buffer] = []
            cluster_id = m.cluster_id
            if cluster_id is None:
                content = b""
                n = 0
            else:
                content = cluster_id.encode()
                n = len(content) + 1
            if n > 127:
                part.append(text_length_of(n))
            else:
                part.append(ONE_BYTE[n])
            part.append(content)
            tags.append((0, part))
        if not ((m.replica_state is None or m.replica_state == ReplicaState())):
            part = []
            replica_state = m.replica_state
            if replica_state is None:
                raise null_field("FetchRequest.ReplicaState")
            _write_replica_state_15((replica_state,), part)
            tags.append((1, part))
        write_tags(tags, out)


def _write_fetch_partition_18(items: Iterable[FetchPartition], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iiqiqi(m.partition, m.current_leader_epoch, m.fetch_offset, m.last_fetched_epoch, m.log_start_offset, m.partition_max_bytes))
        if m.replica_directory_id == NO_UUID and m.high_watermark == 9223372036854775807:
            out.append(ONE_BYTE[0])
            continue
        tags: list[tuple[int, list[Buffer]]] = []
        if not (m.replica_directory_id == NO_UUID):
            part: list[Buffer] = []
            part.append(_pack_16s(m.replica_directory_id))
            tags.append((0, part))
        if not (m.high_watermark == 9223372036854775807):
            part = []
            part.append(_pack_q(m.high_watermark))
            tags.append((1, part))
        write_tags(tags, out)


def _write_fetch_topic_18(items: Iterable[FetchTopic], out: list[Buffer]) -> None:
    for m in items:
        partitions = m.partitions
        n = len(partitions) + 1
        if n > 127:
            out.append(_pack_16s(m.topic_id) + varint_of(n))
        else:
            out.append(_pack_16sB(m.topic_id, n))
        if partitions:
            _write_fetch_partition_18(partitions, out)
        out.append(ONE_BYTE[0])


def _write_fetch_request_18(items: Iterable[FetchRequest], out: list[Buffer]) -> None:
    for m in items:
        topics = m.topics
        n = len(topics) + 1
        if n > 127:
            out.append(_pack_iiibii(m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch) + varint_of(n))
        else:
            out.append(_pack_iiibiiB(m.max_wait_ms, m.min_bytes, m.max_bytes, m.isolation_level, m.session_id, m.session_epoch, n))
        if topics:
            _write_fetch_topic_18(topics, out)
        forgotten_topics_data = m.forgotten_topics_data
        n = len(forgotten_topics_data) + 1
        if n > 127:
            out.append(varint_of(n))
        else:
            out.append(ONE_BYTE[n])
        if forgotten_topics_data:
            _write_forgotten_topic_13(forgotten_topics_data, out)
        rack_id = m.rack_id
        content = rack_id.encode()
        n = len(content) + 1
        if n > 127:
            out.append(text_length_of(n))
        else:
            out.append(ONE_BYTE[n])
        out.append(content)
        if m.cluster_id is None and (m.replica_state is None or m.replica_state == ReplicaState()):
            out.append(ONE_BYTE[0])
            continue
        tags: list[tuple[int, list[Buffer]]] = []
        if not (m.cluster_id is None):
            part: list[Buffer] = []
            cluster_id = m.cluster_id
            if cluster_id is None:
                content = b""
                n = 0
            else:
                content = cluster_id.encode()
                n = len(content) + 1
            if n > 127:
                part.append(text_length_of(n))
            else:
                part.append(ONE_BYTE[n])
            part.append(content)
            tags.append((0, part))
        if not ((m.replica_state is None or m.replica_state == ReplicaState())):
            part = []
            replica_state = m.replica_state
            if replica_state is None:
                raise null_field("FetchRequest.ReplicaState")
            _write_replica_state_15((replica_state,), part)
            tags.append((1, part))
        write_tags(tags, out)


FetchRequest._READERS = {
    **dict.fromkeys(range(4, 5), _read_fetch_request_4),
    **dict.fromkeys(range(5, 7), _read_fetch_request_5),
    **dict.fromkeys(range(7, 9), _read_fetch_request_7),
    **dict.fromkeys(range(9, 11), _read_fetch_request_9),
    **dict.fromkeys(range(11, 12), _read_fetch_request_11),
    **dict.fromkeys(range(12, 13), _read_fetch_request_12),
    **dict.fromkeys(range(13, 15), _read_fetch_request_13),
    **dict.fromkeys(range(15, 17), _read_fetch_request_15),
    **dict.fromkeys(range(17, 18), _read_fetch_request_17),
    **dict.fromkeys(range(18, 19), _read_fetch_request_18),
}
FetchRequest._WRITERS = {
    **dict.fromkeys(range(4, 5), _write_fetch_request_4),
    **dict.fromkeys(range(5, 7), _write_fetch_request_5),
    **dict.fromkeys(range(7, 9), _write_fetch_request_7),
    **dict.fromkeys(range(9, 11), _write_fetch_request_9),
    **dict.fromkeys(range(11, 12), _write_fetch_request_11),
    **dict.fromkeys(range(12, 13), _write_fetch_request_12),
    **dict.fromkeys(range(13, 15), _write_fetch_request_13),
    **dict.fromkeys(range(15, 17), _write_fetch_request_15),
    **dict.fromkeys(range(17, 18), _write_fetch_request_17),
    **dict.fromkeys(range(18, 19), _write_fetch_request_18),
}
