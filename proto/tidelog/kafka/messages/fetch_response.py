"""FetchResponse of Kafka's protocol.

Generated from proto/kafka/fetch.schema; do not edit.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import ClassVar

import msgspec

from tidelog.kafka.message import RecordsMessage
from tidelog.kafka.wire import COPIED_RECORDS_BYTES, NO_UUID, ONE_BYTE, Buffer, bad_count, bad_length, bad_tag, cut_off, long_text, long_varint, not_utf8, null_field, skip_tags, tag_count, tag_head, text_length_of, varint_of, write_tags


class FetchResponse(RecordsMessage, gc=False):
    """Response of API 1, versions 4-18."""

    API_KEY: ClassVar[int] = 1
    VERSIONS: ClassVar[range] = range(4, 19)
    FLEXIBLE: ClassVar[range] = range(12, 19)

    throttle_time_ms: int = 0
    error_code: int = 0
    session_id: int = 0
    responses: list[FetchableTopicResponse] = []
    node_endpoints: list[NodeEndpoint] = []


class FetchableTopicResponse(msgspec.Struct, gc=False):
    topic: str = ""
    topic_id: bytes = NO_UUID
    partitions: list[PartitionData] = []


class PartitionData(msgspec.Struct, gc=False):
    partition_index: int = 0
    error_code: int = 0
    high_watermark: int = 0
    last_stable_offset: int = -1
    log_start_offset: int = -1
    diverging_epoch: EpochEndOffset | None = None
    current_leader: LeaderIdAndEpoch | None = None
    snapshot_id: SnapshotId | None = None
    aborted_transactions: list[AbortedTransaction] | None = []
    preferred_read_replica: int = -1
    records: Buffer | None = None


class EpochEndOffset(msgspec.Struct, gc=False):
    epoch: int = -1
    end_offset: int = -1


class LeaderIdAndEpoch(msgspec.Struct, gc=False):
    leader_id: int = -1
    leader_epoch: int = -1


class SnapshotId(msgspec.Struct, gc=False):
    end_offset: int = -1
    epoch: int = -1


class AbortedTransaction(msgspec.Struct, gc=False):
    producer_id: int = 0
    first_offset: int = 0


class NodeEndpoint(msgspec.Struct, gc=False):
    node_id: int = 0
    host: str = ""
    port: int = 0
    rack: str | None = None


_unpack_16sB = Struct(">16sB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihiB = Struct(">ihiB").unpack_from
_unpack_ihii = Struct(">ihii").unpack_from
_unpack_ihqqi = Struct(">ihqqi").unpack_from
_unpack_ihqqqB = Struct(">ihqqqB").unpack_from
_unpack_ihqqqi = Struct(">ihqqqi").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from
_unpack_iqB = Struct(">iqB").unpack_from
_unpack_qiB = Struct(">qiB").unpack_from
_unpack_qq = Struct(">qq").unpack_from
_unpack_qqB = Struct(">qqB").unpack_from
_pack_16s = Struct(">16s").pack
_pack_16sB = Struct(">16sB").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ihi = Struct(">ihi").pack
_pack_ihiB = Struct(">ihiB").pack
_pack_ihii = Struct(">ihii").pack
_pack_ihqqi = Struct(">ihqqi").pack
_pack_ihqqq = Struct(">ihqqq").pack
_pack_ihqqqB = Struct(">ihqqqB").pack
_pack_ihqqqi = Struct(">ihqqqi").pack
_pack_ii = Struct(">ii").pack
_pack_iix = Struct(">iix").pack
_pack_iqx = Struct(">iqx").pack
_pack_qix = Struct(">qix").pack
_pack_qq = Struct(">qq").pack
_pack_qqx = Struct(">qqx").pack


def _read_aborted_transaction_4(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[AbortedTransaction], int]:
    items: list[AbortedTransaction] = []
    for _ in range(count):
        if end - at < 16:
            raise cut_off("AbortedTransaction", "ProducerId=8 FirstOffset=8", end - at)
        producer_id, first_offset = _unpack_qq(data, at)
        at += 16
        items.append(AbortedTransaction(producer_id, first_offset))
    return items, at


def _read_partition_data_4(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[PartitionData], int]:
    items: list[PartitionData] = []
    for _ in range(count):
        if end - at < 26:
            raise cut_off("PartitionData", "PartitionIndex=4 ErrorCode=2 HighWatermark=8 LastStableOffset=8 AbortedTransactions=4", end - at)
        partition_index, error_code, high_watermark, last_stable_offset, n = _unpack_ihqqi(data, at)
        at += 26
        if n == -1:
            aborted_transactions = None
        else:
            room[0] -= n
            if n < 0 or 16 * n > end - at or room[0] < 0:
                raise bad_count("PartitionData.AbortedTransactions", n, end - at, room[0])
            aborted_transactions, at = _read_aborted_transaction_4(data, at, end, room, n)
        if end - at < 4:
            raise cut_off("PartitionData", "Records=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        if n == -1:
            records = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("PartitionData.Records", n, end - at)
            records = data[at:stop]
            at = stop
        items.append(PartitionData(partition_index, error_code, high_watermark, last_stable_offset, -1, None, None, None, aborted_transactions, -1, records))
    return items, at


def _read_fetchable_topic_response_4(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchableTopicResponse], int]:
    items: list[FetchableTopicResponse] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("FetchableTopicResponse", "Topic=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("FetchableTopicResponse.Topic", n, end - at)
        try:
            topic = data[at:stop].tobytes().decode()
        except UnicodeDecodeError:
            raise not_utf8("FetchableTopicResponse.Topic") from None
        at = stop
        if end - at < 4:
            raise cut_off("FetchableTopicResponse", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 30 * n > end - at or room[0] < 0:
            raise bad_count("FetchableTopicResponse.Partitions", n, end - at, room[0])
        partitions, at = _read_partition_data_4(data, at, end, room, n)
        items.append(FetchableTopicResponse(topic, NO_UUID, partitions))
    return items, at


def _read_fetch_response_4(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchResponse], int]:
    items: list[FetchResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("FetchResponse", "ThrottleTimeMs=4 Responses=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("FetchResponse.Responses", n, end - at, room[0])
        responses, at = _read_fetchable_topic_response_4(data, at, end, room, n)
        items.append(FetchResponse(throttle_time_ms, 0, 0, responses))
    return items, at


def _read_partition_data_5(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[PartitionData], int]:
    items: list[PartitionData] = []
    for _ in range(count):
        if end - at < 34:
            raise cut_off("PartitionData", "PartitionIndex=4 ErrorCode=2 HighWatermark=8 LastStableOffset=8 LogStartOffset=8 AbortedTransactions=4", end - at)
        partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, n = _unpack_ihqqqi(data, at)
        at += 34
        if n == -1:
            aborted_transactions = None
        else:
            room[0] -= n
            if n < 0 or 16 * n > end - at or room[0] < 0:
                raise bad_count("PartitionData.AbortedTransactions", n, end - at, room[0])
            aborted_transactions, at = _read_aborted_transaction_4(data, at, end, room, n)
        if end - at < 4:
            raise cut_off("PartitionData", "Records=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        if n == -1:
            records = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("PartitionData.Records", n, end - at)
            records = data[at:stop]
            at = stop
        items.append(PartitionData(partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, None, None, None, aborted_transactions, -1, records))
    return items, at


def _read_fetchable_topic_response_5(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchableTopicResponse], int]:
    items: list[FetchableTopicResponse] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("FetchableTopicResponse", "Topic=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("FetchableTopicResponse.Topic", n, end - at)
        try:
            topic = data[at:stop].tobytes().decode()
        except UnicodeDecodeError:
            raise not_utf8("FetchableTopicResponse.Topic") from None
        at = stop
        if end - at < 4:
            raise cut_off("FetchableTopicResponse", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 38 * n > end - at or room[0] < 0:
            raise bad_count("FetchableTopicResponse.Partitions", n, end - at, room[0])
        partitions, at = _read_partition_data_5(data, at, end, room, n)
        items.append(FetchableTopicResponse(topic, NO_UUID, partitions))
    return items, at


def _read_fetch_response_5(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchResponse], int]:
    items: list[FetchResponse] = []
    for _ in range(count):
        if end - at < 8:
            raise cut_off("FetchResponse", "ThrottleTimeMs=4 Responses=4", end - at)
        throttle_time_ms, n = _unpack_ii(data, at)
        at += 8
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("FetchResponse.Responses", n, end - at, room[0])
        responses, at = _read_fetchable_topic_response_5(data, at, end, room, n)
        items.append(FetchResponse(throttle_time_ms, 0, 0, responses))
    return items, at


def _read_fetch_response_7(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchResponse], int]:
    items: list[FetchResponse] = []
    for _ in range(count):
        if end - at < 14:
            raise cut_off("FetchResponse", "ThrottleTimeMs=4 ErrorCode=2 SessionId=4 Responses=4", end - at)
        throttle_time_ms, error_code, session_id, n = _unpack_ihii(data, at)
        at += 14
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("FetchResponse.Responses", n, end - at, room[0])
        responses, at = _read_fetchable_topic_response_5(data, at, end, room, n)
        items.append(FetchResponse(throttle_time_ms, error_code, session_id, responses))
    return items, at


def _read_partition_data_11(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[PartitionData], int]:
    items: list[PartitionData] = []
    for _ in range(count):
        if end - at < 34:
            raise cut_off("PartitionData", "PartitionIndex=4 ErrorCode=2 HighWatermark=8 LastStableOffset=8 LogStartOffset=8 AbortedTransactions=4", end - at)
        partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, n = _unpack_ihqqqi(data, at)
        at += 34
        if n == -1:
            aborted_transactions = None
        else:
            room[0] -= n
            if n < 0 or 16 * n > end - at or room[0] < 0:
                raise bad_count("PartitionData.AbortedTransactions", n, end - at, room[0])
            aborted_transactions, at = _read_aborted_transaction_4(data, at, end, room, n)
        if end - at < 8:
            raise cut_off("PartitionData", "PreferredReadReplica=4 Records=4", end - at)
        preferred_read_replica, n = _unpack_ii(data, at)
        at += 8
        if n == -1:
            records = None
        else:
            stop = at + n
            if n < 0 or stop > end:
                raise bad_length("PartitionData.Records", n, end - at)
            records = data[at:stop]
            at = stop
        items.append(PartitionData(partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, None, None, None, aborted_transactions, preferred_read_replica, records))
    return items, at


def _read_fetchable_topic_response_11(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchableTopicResponse], int]:
    items: list[FetchableTopicResponse] = []
    for _ in range(count):
        if end - at < 2:
            raise cut_off("FetchableTopicResponse", "Topic=2", end - at)
        n = _unpack_h(data, at)[0]
        at += 2
        stop = at + n
        if n < 0 or stop > end:
            raise bad_length("FetchableTopicResponse.Topic", n, end - at)
        try:
            topic = data[at:stop].tobytes().decode()
        except UnicodeDecodeError:
            raise not_utf8("FetchableTopicResponse.Topic") from None
        at = stop
        if end - at < 4:
            raise cut_off("FetchableTopicResponse", "Partitions=4", end - at)
        n = _unpack_i(data, at)[0]
        at += 4
        room[0] -= n
        if n < 0 or 42 * n > end - at or room[0] < 0:
            raise bad_count("FetchableTopicResponse.Partitions", n, end - at, room[0])
        partitions, at = _read_partition_data_11(data, at, end, room, n)
        items.append(FetchableTopicResponse(topic, NO_UUID, partitions))
    return items, at


def _read_fetch_response_11(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchResponse], int]:
    items: list[FetchResponse] = []
    for _ in range(count):
        if end - at < 14:
            raise cut_off("FetchResponse", "ThrottleTimeMs=4 ErrorCode=2 SessionId=4 Responses=4", end - at)
        throttle_time_ms, error_code, session_id, n = _unpack_ihii(data, at)
        at += 14
        room[0] -= n
        if n < 0 or 6 * n > end - at or room[0] < 0:
            raise bad_count("FetchResponse.Responses", n, end - at, room[0])
        responses, at = _read_fetchable_topic_response_11(data, at, end, room, n)
        items.append(FetchResponse(throttle_time_ms, error_code, session_id, responses))
    return items, at


def _read_aborted_transaction_12(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[AbortedTransaction], int]:
    items: list[AbortedTransaction] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("AbortedTransaction", "ProducerId=8 FirstOffset=8 tags=1", end - at)
        producer_id, first_offset, tags = _unpack_qqB(data, at)
        at += 17
        if tags:
            at = skip_tags(data, at, end, tags, "AbortedTransaction")
        items.append(AbortedTransaction(producer_id, first_offset))
    return items, at


def _read_epoch_end_offset_12(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[EpochEndOffset], int]:
    items: list[EpochEndOffset] = []
    for _ in range(count):
        if end - at < 13:
            raise cut_off("EpochEndOffset", "Epoch=4 EndOffset=8 tags=1", end - at)
        epoch, end_offset, tags = _unpack_iqB(data, at)
        at += 13
        if tags:
            at = skip_tags(data, at, end, tags, "EpochEndOffset")
        items.append(EpochEndOffset(epoch, end_offset))
    return items, at


def _read_leader_id_and_epoch_12(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[LeaderIdAndEpoch], int]:
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


def _read_snapshot_id_12(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[SnapshotId], int]:
    items: list[SnapshotId] = []
    for _ in range(count):
        if end - at < 13:
            raise cut_off("SnapshotId", "EndOffset=8 Epoch=4 tags=1", end - at)
        end_offset, epoch, tags = _unpack_qiB(data, at)
        at += 13
        if tags:
            at = skip_tags(data, at, end, tags, "SnapshotId")
        items.append(SnapshotId(end_offset, epoch))
    return items, at


def _read_partition_data_12(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[PartitionData], int]:
    items: list[PartitionData] = []
    for _ in range(count):
        if end - at < 31:
            raise cut_off("PartitionData", "PartitionIndex=4 ErrorCode=2 HighWatermark=8 LastStableOffset=8 LogStartOffset=8 AbortedTransactions=1", end - at)
        partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, n = _unpack_ihqqqB(data, at)
        at += 31
        if n > 127:
            n, at = long_varint(data, at, end, n, "PartitionData.AbortedTransactions")
        if n == 0:
            aborted_transactions = None
        else:
            n -= 1
            room[0] -= n
            if n < 0 or 17 * n > end - at or room[0] < 0:
                raise bad_count("PartitionData.AbortedTransactions", n, end - at, room[0])
            aborted_transactions, at = _read_aborted_transaction_12(data, at, end, room, n)
        if end - at < 5:
            raise cut_off("PartitionData", "PreferredReadReplica=4 Records=1", end - at)
        preferred_read_replica, n = _unpack_iB(data, at)
        at += 5
        if n > 127:
            n, at = long_varint(data, at, end, n, "PartitionData.Records")
        if n == 0:
            records = None
        else:
            stop = at + n - 1
            if n < 1 or stop > end:
                raise bad_length("PartitionData.Records", n - 1, end - at)
            records = data[at:stop]
            at = stop
        if at >= end:
            raise cut_off("PartitionData", "tags=1", end - at)
        tags = data[at]
        at += 1
        diverging_epoch: EpochEndOffset | None = None
        current_leader: LeaderIdAndEpoch | None = None
        snapshot_id: SnapshotId | None = None
        if tags:
            tags, at = tag_count(data, at, end, tags, "PartitionData")
            for _ in range(tags):
                tag, size, at = tag_head(data, at, end, "PartitionData")
                tag_end = at + size
                if tag == 0:
                    (diverging_epoch,), at = _read_epoch_end_offset_12(data, at, tag_end, room, 1)
                    if at != tag_end:
                        raise bad_tag("PartitionData.DivergingEpoch")
                elif tag == 1:
                    (current_leader,), at = _read_leader_id_and_epoch_12(data, at, tag_end, room, 1)
                    if at != tag_end:
                        raise bad_tag("PartitionData.CurrentLeader")
                elif tag == 2:
                    (snapshot_id,), at = _read_snapshot_id_12(data, at, tag_end, room, 1)
                    if at != tag_end:
                        raise bad_tag("PartitionData.SnapshotId")
                else:
                    at = tag_end
        items.append(PartitionData(partition_index, error_code, high_watermark, last_stable_offset, log_start_offset, diverging_epoch, current_leader, snapshot_id, aborted_transactions, preferred_read_replica, records))
    return items, at


def _read_fetchable_topic_response_12(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchableTopicResponse], int]:
    items: list[FetchableTopicResponse] = []
    for _ in range(count):
        if at >= end:
            raise cut_off("FetchableTopicResponse", "Topic=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_text(data, at, end, n, "FetchableTopicResponse.Topic")
        stop = at + n - 1
        if n < 1 or stop > end:
            raise bad_length("FetchableTopicResponse.Topic", n - 1, end - at)
        try:
            topic = data[at:stop].tobytes().decode()
        except UnicodeDecodeError:
            raise not_utf8("FetchableTopicResponse.Topic") from None
        at = stop
        if at >= end:
            raise cut_off("FetchableTopicResponse", "Partitions=1", end - at)
        n = data[at]
        at += 1
        if n > 127:
            n, at = long_varint(data, at, end, n, "FetchableTopicResponse.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 37 * n > end - at or room[0] < 0:
            raise bad_count("FetchableTopicResponse.Partitions", n, end - at, room[0])
        partitions, at = _read_partition_data_12(data, at, end, room, n)
        if at >= end:
            raise cut_off("FetchableTopicResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "FetchableTopicResponse")
        items.append(FetchableTopicResponse(topic, NO_UUID, partitions))
    return items, at


def _read_fetch_response_12(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchResponse], int]:
    items: list[FetchResponse] = []
    for _ in range(count):
        if end - at < 11:
            raise cut_off("FetchResponse", "ThrottleTimeMs=4 ErrorCode=2 SessionId=4 Responses=1", end - at)
        throttle_time_ms, error_code, session_id, n = _unpack_ihiB(data, at)
        at += 11
        if n > 127:
            n, at = long_varint(data, at, end, n, "FetchResponse.Responses")
        n -= 1
        room[0] -= n
        if n < 0 or 3 * n > end - at or room[0] < 0:
            raise bad_count("FetchResponse.Responses", n, end - at, room[0])
        responses, at = _read_fetchable_topic_response_12(data, at, end, room, n)
        if at >= end:
            raise cut_off("FetchResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "FetchResponse")
        items.append(FetchResponse(throttle_time_ms, error_code, session_id, responses))
    return items, at


def _read_fetchable_topic_response_13(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchableTopicResponse], int]:
    items: list[FetchableTopicResponse] = []
    for _ in range(count):
        if end - at < 17:
            raise cut_off("FetchableTopicResponse", "TopicId=16 Partitions=1", end - at)
        topic_id, n = _unpack_16sB(data, at)
        at += 17
        if n > 127:
            n, at = long_varint(data, at, end, n, "FetchableTopicResponse.Partitions")
        n -= 1
        room[0] -= n
        if n < 0 or 37 * n > end - at or room[0] < 0:
            raise bad_count("FetchableTopicResponse.Partitions", n, end - at, room[0])
        partitions, at = _read_partition_data_12(data, at, end, room, n)
        if at >= end:
            raise cut_off("FetchableTopicResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "FetchableTopicResponse")
        items.append(FetchableTopicResponse("", topic_id, partitions))
    return items, at


def _read_fetch_response_13(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchResponse], int]:
    items: list[FetchResponse] = []
    for _ in range(count):
        if end - at < 11:
            raise cut_off("FetchResponse", "ThrottleTimeMs=4 ErrorCode=2 SessionId=4 Responses=1", end - at)
        throttle_time_ms, error_code, session_id, n = _unpack_ihiB(data, at)
        at += 11
        if n > 127:
            n, at = long_varint(data, at, end, n, "FetchResponse.Responses")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("FetchResponse.Responses", n, end - at, room[0])
        responses, at = _read_fetchable_topic_response_13(data, at, end, room, n)
        if at >= end:
            raise cut_off("FetchResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        if tags:
            at = skip_tags(data, at, end, tags, "FetchResponse")
        items.append(FetchResponse(throttle_time_ms, error_code, session_id, responses))
    return items, at


def _read_node_endpoint_16(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[NodeEndpoint], int]:
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
            host = data[at:stop].tobytes().decode()
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
                rack = data[at:stop].tobytes().decode()
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


def _read_fetch_response_16(data: memoryview, at: int, end: int, room: list[int], count: int) -> tuple[list[FetchResponse], int]:
    items: list[FetchResponse] = []
    for _ in range(count):
        if end - at < 11:
            raise cut_off("FetchResponse", "ThrottleTimeMs=4 ErrorCode=2 SessionId=4 Responses=1", end - at)
        throttle_time_ms, error_code, session_id, n = _unpack_ihiB(data, at)
        at += 11
        if n > 127:
            n, at = long_varint(data, at, end, n, "FetchResponse.Responses")
        n -= 1
        room[0] -= n
        if n < 0 or 18 * n > end - at or room[0] < 0:
            raise bad_count("FetchResponse.Responses", n, end - at, room[0])
        responses, at = _read_fetchable_topic_response_13(data, at, end, room, n)
        if at >= end:
            raise cut_off("FetchResponse", "tags=1", end - at)
        tags = data[at]
        at += 1
        node_endpoints: list[NodeEndpoint] = []
        if tags:
            tags, at = tag_count(data, at, end, tags, "FetchResponse")
            for _ in range(tags):
                tag, size, at = tag_head(data, at, end, "FetchResponse")
                tag_end = at + size
                if tag == 0:
                    if at >= tag_end:
                        raise cut_off("FetchResponse", "NodeEndpoints=1", tag_end - at)
                    n = data[at]
                    at += 1
                    if n > 127:
                        n, at = long_varint(data, at, tag_end, n, "FetchResponse.NodeEndpoints")
                    n -= 1
                    room[0] -= n
                    if n < 0 or 11 * n > tag_end - at or room[0] < 0:
                        raise bad_count("FetchResponse.NodeEndpoints", n, tag_end - at, room[0])
                    node_endpoints, at = _read_node_endpoint_16(data, at, tag_end, room, n)
                    if at != tag_end:
                        raise bad_tag("FetchResponse.NodeEndpoints")
                else:
                    at = tag_end
        items.append(FetchResponse(throttle_time_ms, error_code, session_id, responses, node_endpoints))
    return items, at


def _write_aborted_transaction_4(items: Iterable[AbortedTransaction], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_qq(m.producer_id, m.first_offset))


def _write_partition_data_4(items: Iterable[PartitionData], out: list[Buffer], buffers: list[Buffer]) -> None:
    for m in items:
        aborted_transactions = m.aborted_transactions
        if aborted_transactions is None:
            n = -1
        else:
            n = len(aborted_transactions)
        out.append(_pack_ihqqi(m.partition_index, m.error_code, m.high_watermark, m.last_stable_offset, n))
        if aborted_transactions:
            _write_aborted_transaction_4(aborted_transactions, out)
        records = m.records
        if records is None:
            n = -1
        else:
            n = len(records)
        out.append(_pack_i(n))
        if records is None:
            pass
        elif n < COPIED_RECORDS_BYTES:
            out.append(records)
        else:
            buffers.append(b"".join(out))
            out.clear()
            buffers.append(records)


def _write_fetchable_topic_response_4(items: Iterable[FetchableTopicResponse], out: list[Buffer], buffers: list[Buffer]) -> None:
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
            _write_partition_data_4(partitions, out, buffers)


def _write_fetch_response_4(items: Iterable[FetchResponse], out: list[Buffer], buffers: list[Buffer]) -> None:
    for m in items:
        responses = m.responses
        n = len(responses)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if responses:
            _write_fetchable_topic_response_4(responses, out, buffers)


def _write_partition_data_5(items: Iterable[PartitionData], out: list[Buffer], buffers: list[Buffer]) -> None:
    for m in items:
        aborted_transactions = m.aborted_transactions
        if aborted_transactions is None:
            n = -1
        else:
            n = len(aborted_transactions)
        out.append(_pack_ihqqqi(m.partition_index, m.error_code, m.high_watermark, m.last_stable_offset, m.log_start_offset, n))
        if aborted_transactions:
            _write_aborted_transaction_4(aborted_transactions, out)
        records = m.records
        if records is None:
            n = -1
        else:
            n = len(records)
        out.append(_pack_i(n))
        if records is None:
            pass
        elif n < COPIED_RECORDS_BYTES:
            out.append(records)
        else:
            buffers.append(b"".join(out))
            out.clear()
            buffers.append(records)


def _write_fetchable_topic_response_5(items: Iterable[FetchableTopicResponse], out: list[Buffer], buffers: list[Buffer]) -> None:
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
            _write_partition_data_5(partitions, out, buffers)


def _write_fetch_response_5(items: Iterable[FetchResponse], out: list[Buffer], buffers: list[Buffer]) -> None:
    for m in items:
        responses = m.responses
        n = len(responses)
        out.append(_pack_ii(m.throttle_time_ms, n))
        if responses:
            _write_fetchable_topic_response_5(responses, out, buffers)


def _write_fetch_response_7(items: Iterable[FetchResponse], out: list[Buffer], buffers: list[Buffer]) -> None:
    for m in items:
        responses = m.responses
        n = len(responses)
        out.append(_pack_ihii(m.throttle_time_ms, m.error_code, m.session_id, n))
        if responses:
            _write_fetchable_topic_response_5(responses, out, buffers)


def _write_partition_data_11(items: Iterable[PartitionData], out: list[Buffer], buffers: list[Buffer]) -> None:
    for m in items:
        aborted_transactions = m.aborted_transactions
        if aborted_transactions is None:
            n = -1
        else:
            n = len(aborted_transactions)
        out.append(_pack_ihqqqi(m.partition_index, m.error_code, m.high_watermark, m.last_stable_offset, m.log_start_offset, n))
        if aborted_transactions:
            _write_aborted_transaction_4(aborted_transactions, out)
        records = m.records
        if records is None:
            n = -1
        else:
            n = len(records)
        out.append(_pack_ii(m.preferred_read_replica, n))
        if records is None:
            pass
        elif n < COPIED_RECORDS_BYTES:
            out.append(records)
        else:
            buffers.append(b"".join(out))
            out.clear()
            buffers.append(records)


def _write_fetchable_topic_response_11(items: Iterable[FetchableTopicResponse], out: list[Buffer], buffers: list[Buffer]) -> None:
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
            _write_partition_data_11(partitions, out, buffers)


def _write_fetch_response_11(items: Iterable[FetchResponse], out: list[Buffer], buffers: list[Buffer]) -> None:
    for m in items:
        responses = m.responses
        n = len(responses)
        out.append(_pack_ihii(m.throttle_time_ms, m.error_code, m.session_id, n))
        if responses:
            _write_fetchable_topic_response_11(responses, out, buffers)


def _write_aborted_transaction_12(items: Iterable[AbortedTransaction], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_qqx(m.producer_id, m.first_offset))


def _write_epoch_end_offset_12(items: Iterable[EpochEndOffset], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iqx(m.epoch, m.end_offset))


def _write_leader_id_and_epoch_12(items: Iterable[LeaderIdAndEpoch], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_iix(m.leader_id, m.leader_epoch))


def _write_snapshot_id_12(items: Iterable[SnapshotId], out: list[Buffer]) -> None:
    for m in items:
        out.append(_pack_qix(m.end_offset, m.epoch))


def _write_partition_data_12(items: Iterable[PartitionData], out: list[Buffer], buffers: list[Buffer]) -> None:
    for m in items:
        aborted_transactions = m.aborted_transactions
        if aborted_transactions is None:
            n = 0
        else:
            n = len(aborted_transactions) + 1
        if n > 127:
            out.append(_pack_ihqqq(m.partition_index, m.error_code, m.high_watermark, m.last_stable_offset, m.log_start_offset) + varint_of(n))
        else:
            out.append(_pack_ihqqqB(m.partition_index, m.error_code, m.high_watermark, m.last_stable_offset, m.log_start_offset, n))
        if aborted_transactions:
            _write_aborted_transaction_12(aborted_transactions, out)
        records = m.records
        if records is None:
            n = 0
        else:
            n = len(records) + 1
        if n > 127:
            out.append(_pack_i(m.preferred_read_replica) + varint_of(n))
        else:
            out.append(_pack_iB(m.preferred_read_replica, n))
        if records is None:
            pass
        elif n < COPIED_RECORDS_BYTES:
            out.append(records)
        else:
            buffers.append(b"".join(out))
            out.clear()
            buffers.append(records)
        if (m.diverging_epoch is None or m.diverging_epoch == EpochEndOffset()) and (m.current_leader is None or m.current_leader == LeaderIdAndEpoch()) and (m.snapshot_id is None or m.snapshot_id == SnapshotId()):
            out.append(ONE_BYTE[0])
            continue
        tags: list[tuple[int, list[Buffer]]] = []
        if not ((m.diverging_epoch is None or m.diverging_epoch == EpochEndOffset())):
            part: list[Buffer] = []
            diverging_epoch = m.diverging_epoch
            if diverging_epoch is None:
                raise null_field("PartitionData.DivergingEpoch")
            _write_epoch_end_offset_12((diverging_epoch,), part)
            tags.append((0, part))
        if not ((m.current_leader is None or m.current_leader == LeaderIdAndEpoch())):
            part = []
            current_leader = m.current_leader
            if current_leader is None:
                raise null_field("PartitionData.CurrentLeader")
            _write_leader_id_and_epoch_12((current_leader,), part)
            tags.append((1, part))
        if not ((m.snapshot_id is None or m.snapshot_id == SnapshotId())):
            part = []
            snapshot_id = m.snapshot_id
            if snapshot_id is None:
                raise null_field("PartitionData.SnapshotId")
            _write_snapshot_id_12((snapshot_id,), part)
            tags.append((2, part))
        write_tags(tags, out)


def _write_fetchable_topic_response_12(items: Iterable[FetchableTopicResponse], out: list[Buffer], buffers: list[Buffer]) -> None:
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
            _write_partition_data_12(partitions, out, buffers)
        out.append(ONE_BYTE[0])


def _write_fetch_response_12(items: Iterable[FetchResponse], out: list[Buffer], buffers: list[Buffer]) -> None:
    for m in items:
        responses = m.responses
        n = len(responses) + 1
        if n > 127:
            out.append(_pack_ihi(m.throttle_time_ms, m.error_code, m.session_id) + varint_of(n))
        else:
            out.append(_pack_ihiB(m.throttle_time_ms, m.error_code, m.session_id, n))
        if responses:
            _write_fetchable_topic_response_12(responses, out, buffers)
        out.append(ONE_BYTE[0])


def _write_fetchable_topic_response_13(items: Iterable[FetchableTopicResponse], out: list[Buffer], buffers: list[Buffer]) -> None:
    for m in items:
        partitions = m.partitions
        n = len(partitions) + 1
        if n > 127:
            out.append(_pack_16s(m.topic_id) + varint_of(n))
        else:
            out.append(_pack_16sB(m.topic_id, n))
        if partitions:
            _write_partition_data_12(partitions, out, buffers)
        out.append(ONE_BYTE[0])


def _write_fetch_response_13(items: Iterable[FetchResponse], out: list[Buffer], buffers: list[Buffer]) -> None:
    for m in items:
        responses = m.responses
        n = len(responses) + 1
        if n > 127:
            out.append(_pack_ihi(m.throttle_time_ms, m.error_code, m.session_id) + varint_of(n))
        else:
            out.append(_pack_ihiB(m.throttle_time_ms, m.error_code, m.session_id, n))
        if responses:
            _write_fetchable_topic_response_13(responses, out, buffers)
        out.append(ONE_BYTE[0])


def _write_node_endpoint_16(items: Iterable[NodeEndpoint], out: list[Buffer]) -> None:
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


def _write_fetch_response_16(items: Iterable[FetchResponse], out: list[Buffer], buffers: list[Buffer]) -> None:
    for m in items:
        responses = m.responses
        n = len(responses) + 1
        if n > 127:
            out.append(_pack_ihi(m.throttle_time_ms, m.error_code, m.session_id) + varint_of(n))
        else:
            out.append(_pack_ihiB(m.throttle_time_ms, m.error_code, m.session_id, n))
        if responses:
            _write_fetchable_topic_response_13(responses, out, buffers)
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
            _write_node_endpoint_16(node_endpoints, part)
        tags.append((0, part))
        write_tags(tags, out)


FetchResponse._READERS = {
    **dict.fromkeys(range(4, 5), _read_fetch_response_4),
    **dict.fromkeys(range(5, 7), _read_fetch_response_5),
    **dict.fromkeys(range(7, 11), _read_fetch_response_7),
    **dict.fromkeys(range(11, 12), _read_fetch_response_11),
    **dict.fromkeys(range(12, 13), _read_fetch_response_12),
    **dict.fromkeys(range(13, 16), _read_fetch_response_13),
    **dict.fromkeys(range(16, 19), _read_fetch_response_16),
}
FetchResponse._WRITERS = {
    **dict.fromkeys(range(4, 5), _write_fetch_response_4),
    **dict.fromkeys(range(5, 7), _write_fetch_response_5),
    **dict.fromkeys(range(7, 11), _write_fetch_response_7),
    **dict.fromkeys(range(11, 12), _write_fetch_response_11),
    **dict.fromkeys(range(12, 13), _write_fetch_response_12),
    **dict.fromkeys(range(13, 16), _write_fetch_response_13),
    **dict.fromkeys(range(16, 19), _write_fetch_response_16),
}
