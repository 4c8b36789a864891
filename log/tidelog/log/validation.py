"""Validation of record batches before an append. Pure.

For a leader: `batch.validate_batches` checks structure and CRC, this module the topic's own rules,
and `record_check` the records inside against the header. Compressed batches must be inflated for
that, which a caller on an event loop does in a worker thread (decision 0030).
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tidelog.core.errors import (
    CorruptMessageError,
    InvalidRecordError,
    InvalidTimestampError,
    UnsupportedCompressionTypeError,
)
from tidelog.log.config import LogConfig
from tidelog.log.record_check import check_compressed_records, check_records, record_slices
from tidelog.records.batch import (
    CODEC_MASK,
    HEADER_BYTES,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    Buffer,
    batch_bytes,
    iter_batches,
    set_append_time,
    validate_batches,
)
from tidelog.records.compression import Codec
from tidelog.records.records import iter_records

LOG_APPEND_TIME = "LogAppendTime"
_CODEC_AT = 22
"""Position of the low byte of a batch's attributes."""
_ANY_AGE_MS = 2**63 - 1
_PRODUCER_COMPRESSION = "producer"
_CODECS = {"uncompressed": Codec.NONE, **{codec.name.lower(): codec for codec in Codec}}

ProducedBatch = tuple[BatchHeader, memoryview]


class Seen(NamedTuple):
    """Checks already done on the records of a request, with one topic's config."""

    inspected: bool = False
    """True: the records of compressed batches are valid, or need no check."""
    walked: bool = False
    """True: the records of uncompressed batches are valid."""
    batches: Sequence[ProducedBatch] = ()
    """Batches of the request, with CRCs checked; empty: not parsed yet."""


UNSEEN = Seen()


def validate_produced(
    records: Buffer,
    *,
    config: LogConfig,
    now_ms: int,
    seen: Seen = UNSEEN,
    transactional: bool = False,
) -> list[ProducedBatch]:
    """Validate a produce request's records; return header and bytes of each batch, at least one.

    `transactional`: transactional batches are accepted; see `PartitionLog.append_as_leader`.
    The log append time is set if the topic asks for it; offsets and epoch are not assigned yet.
    Checks already done (`seen`) are not repeated. Raises `CorruptMessageError`,
    `MessageTooLargeError`, `InvalidRecordError`, `InvalidTimestampError`,
    `UnsupportedCompressionTypeError`: then append nothing.
    """
    batches = list(seen.batches) or validate_batches(
        records, max_message_bytes=config.max_message_bytes
    )
    if not batches:
        raise CorruptMessageError("no record batch to append")
    for header, batch in batches:
        _check_producer(header, is_alone=len(batches) == 1, may_be_transactional=transactional)
        _check_codec(header, config)
        _check_timestamps(header, config, now_ms)
        if header.codec_id == Codec.NONE:
            if not seen.walked:
                check_records(header, batch, needs_keys=config.is_compacted)
            _check_ages(batch, config, now_ms)
        elif not seen.inspected:
            _inspect(header, batch, config, now_ms)
    if config.message_timestamp_type == LOG_APPEND_TIME:
        return [set_append_time(header, batch, now_ms) for header, batch in batches]
    return batches


def is_compressed(records: Buffer) -> bool:
    """True if any of these batches may be compressed; malformed ones are refused later."""
    position = 0
    while position + HEADER_BYTES <= len(records):
        if records[position + _CODEC_AT] & CODEC_MASK:
            return True
        size_bytes = batch_bytes(records, position)
        if size_bytes < HEADER_BYTES:
            return False
        position += size_bytes
    return False


def walk_uncompressed(batches: Iterable[ProducedBatch], *, config: LogConfig) -> Iterator[None]:
    """Validate the records of all uncompressed batches, a slice at each step.

    Raises the errors that `validate_produced` raises for them.
    """
    for header, batch in batches:
        if header.codec_id == Codec.NONE:
            yield from record_slices(header, batch, needs_keys=config.is_compacted)


def inspect_compressed(records: Buffer, *, config: LogConfig, now_ms: int) -> Seen:
    """Inflate and validate all compressed batches. Slow: do not call on an event loop.

    Raises the errors that `validate_produced` raises for them.
    """
    batches = validate_batches(records, max_message_bytes=config.max_message_bytes)
    for header, batch in batches:
        if header.codec_id != Codec.NONE:
            _inspect(header, batch, config, now_ms)
    return Seen(inspected=True, batches=batches)


def asks_about_records(config: LogConfig) -> bool:
    """True when a topic rule applies to each record, so that all records must be walked."""
    return config.is_compacted or config.message_timestamp_before_max_ms < _ANY_AGE_MS


def validate_fetched(records: bytes, *, next_offset: int) -> list[ProducedBatch]:
    """Validate batches from a leader, at least one, for a log that ends at `next_offset`.

    Returns header and bytes of each. Raises `CorruptMessageError` when a batch is damaged, does not
    continue the previous one or goes back in epochs.
    """
    batches, epoch = list(iter_batches(records)), 0
    for header, _ in batches:
        if header.base_offset != next_offset or header.partition_leader_epoch < epoch:
            raise CorruptMessageError(
                f"batch at offset {header.base_offset} of epoch {header.partition_leader_epoch}"
                f" does not continue the log at offset {next_offset} of epoch {epoch}"
            )
        next_offset, epoch = header.next_offset, header.partition_leader_epoch
    if not batches:
        raise CorruptMessageError("no record batch to append")
    return batches


def _check_producer(header: BatchHeader, *, is_alone: bool, may_be_transactional: bool) -> None:
    """Check whose batch it is. Without a producer id, epoch and sequence have no meaning."""
    if header.attributes & TRANSACTIONAL_FLAG:
        _check_transactional(header, may_be=may_be_transactional)
    if header.producer_id >= 0 and not is_alone:
        raise InvalidRecordError(
            "an idempotent producer's batches are answered one by one: send each in records of its "
            "own"
        )


def _check_transactional(header: BatchHeader, *, may_be: bool) -> None:
    if not may_be:
        raise InvalidRecordError(
            "a transactional batch needs its producer's transactional id in the request, by which "
            "the coordinator adds the partition: name it, or send the batch without a transaction"
        )
    if header.producer_id < 0:
        raise InvalidRecordError(
            "a transactional batch has no producer id: get one by InitTransactionalProducer"
        )


def _check_codec(header: BatchHeader, config: LogConfig) -> None:
    wanted = config.compression_type
    if wanted != _PRODUCER_COMPRESSION and header.codec_id != _CODECS[wanted]:
        raise UnsupportedCompressionTypeError(
            f"the topic takes compression.type={wanted} only and this broker does not recompress: "
            f"set the producer's compression to it (received {Codec(header.codec_id).name.lower()})"
        )


def _check_timestamps(header: BatchHeader, config: LogConfig, now_ms: int) -> None:
    """Check the header's max timestamp; a log append time needs no check (KIP-937)."""
    if config.message_timestamp_type == LOG_APPEND_TIME:
        return
    if header.max_timestamp < 0:
        raise InvalidTimestampError(
            f"the newest record's timestamp is {header.max_timestamp} ms: it must not be negative"
        )
    ahead_ms = header.max_timestamp - now_ms
    if ahead_ms > config.message_timestamp_after_max_ms:
        raise InvalidTimestampError(
            f"a record is {ahead_ms} ms ahead of the broker's clock, and the topic's "
            f"message.timestamp.after.max.ms is {config.message_timestamp_after_max_ms}"
        )


def _inspect(header: BatchHeader, batch: memoryview, config: LogConfig, now_ms: int) -> None:
    check_compressed_records(
        header,
        batch,
        needs_keys=config.is_compacted,
        max_message_bytes=config.max_message_bytes,
    )
    _check_ages(batch, config, now_ms)


def _check_ages(batch: memoryview, config: LogConfig, now_ms: int) -> None:
    if (
        config.message_timestamp_before_max_ms == _ANY_AGE_MS
        or config.message_timestamp_type == LOG_APPEND_TIME
    ):
        return
    oldest_ms = now_ms - config.message_timestamp_before_max_ms
    for place, record in enumerate(iter_records(batch)):
        if record.timestamp < oldest_ms:
            raise InvalidTimestampError(
                f"record {place} of the batch is {now_ms - record.timestamp} ms old, and the "
                "topic's message.timestamp.before.max.ms is "
                f"{config.message_timestamp_before_max_ms}"
            )
