"""Validation of record batches before an append. Pure.

For a leader: `batch.validate_batches` checks structure and CRC, this module the topic's own rules,
and `record_check` the records inside against the header. Compressed batches must be inflated for
that, which a caller on an event loop does in a worker thread (decision 0030). What a header says
about its records' timestamps is computed, never believed (decision 0071).
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator, MutableSequence, Sequence
from typing import NamedTuple

from tidelog.core.errors import (
    CorruptMessageError,
    InvalidRecordError,
    InvalidTimestampError,
    UnsupportedCompressionTypeError,
)
from tidelog.log.config import LogConfig
from tidelog.log.record_check import (
    RecordRules,
    check_compressed_records,
    check_records,
    record_slices,
)
from tidelog.records.batch import (
    BROKER_TIME_FLAGS,
    CODEC_MASK,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    TRANSACTIONAL_FLAG,
    BatchHeader,
    Buffer,
    batch_bytes,
    iter_batches,
    set_append_time,
    set_max_timestamp,
    validate_batches,
)
from tidelog.records.compression import Codec

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
    """True: the records of compressed batches are valid, with computed headers, or need no check.

    Without a check their headers are believed.
    """
    walked: bool = False
    """True: the same of uncompressed batches."""
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
    The max timestamp is that of the records, or the log append time if the topic asks for it; bytes
    are copied only where the header says otherwise. Offsets and epoch are not assigned yet.
    Checks already done (`seen`) are not repeated. Raises `CorruptMessageError`,
    `MessageTooLargeError`, `InvalidRecordError`, `InvalidTimestampError`,
    `UnsupportedCompressionTypeError`: then append nothing.
    """
    batches = list(seen.batches) or validate_batches(
        records, max_message_bytes=config.max_message_bytes
    )
    if not batches:
        raise CorruptMessageError("no record batch to append")
    rules = record_rules(config, now_ms)
    for place, (header, batch) in enumerate(batches):
        _check_producer(header, is_alone=len(batches) == 1, may_be_transactional=transactional)
        _check_codec(header, config)
        _check_append_time(header, config)
        if header.codec_id == Codec.NONE:
            if not seen.walked:
                newest_ms = check_records(header, batch, rules)
                batches[place] = _derived(header, batch, newest_ms)
        elif seen.inspected:
            batches[place] = _believed(header, batch, rules)
        else:
            batches[place] = _inspected(header, batch, rules, config)
    if config.message_timestamp_type == LOG_APPEND_TIME:
        return [set_append_time(header, batch, now_ms) for header, batch in batches]
    return batches


def record_rules(config: LogConfig, now_ms: int) -> RecordRules:
    """Demands of a topic on the records of a batch that comes now."""
    if config.message_timestamp_type == LOG_APPEND_TIME:  # needs no check (KIP-937)
        return RecordRules(needs_keys=config.is_compacted)
    return RecordRules(
        needs_keys=config.is_compacted,
        oldest_ms=now_ms - config.message_timestamp_before_max_ms,
        newest_ms=now_ms + config.message_timestamp_after_max_ms,
        now_ms=now_ms,
    )


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


def walk_uncompressed(
    batches: MutableSequence[ProducedBatch], *, config: LogConfig, now_ms: int
) -> Iterator[None]:
    """Validate the records of all uncompressed batches, a slice at each step.

    Batches whose header says otherwise are replaced by what the records make of them. Raises the
    errors that `validate_produced` raises for them.
    """
    rules = record_rules(config, now_ms)
    for place, (header, batch) in enumerate(batches):
        if header.codec_id == Codec.NONE:
            newest_ms = yield from record_slices(header, batch, rules)
            batches[place] = _derived(header, batch, newest_ms)


def inspect_compressed(records: Buffer, *, config: LogConfig, now_ms: int) -> Seen:
    """Inflate and validate all compressed batches. Slow: do not call on an event loop.

    Raises the errors that `validate_produced` raises for them.
    """
    batches = validate_batches(records, max_message_bytes=config.max_message_bytes)
    rules = record_rules(config, now_ms)
    for place, (header, batch) in enumerate(batches):
        if header.codec_id != Codec.NONE:
            batches[place] = _inspected(header, batch, rules, config)
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


def _check_append_time(header: BatchHeader, config: LogConfig) -> None:
    """Refuse a log append time that is not the log's. Elsewhere it means nothing, as in Kafka."""
    is_set = header.attributes & LOG_APPEND_TIME_FLAG
    if is_set and config.message_timestamp_type == LOG_APPEND_TIME:
        raise InvalidTimestampError(
            "the batch claims a log append time, which is the broker's to set: send it with "
            "bit 3 of its attributes clear"
        )


def _inspected(
    header: BatchHeader, batch: memoryview, rules: RecordRules, config: LogConfig
) -> ProducedBatch:
    newest_ms = check_compressed_records(
        header, batch, rules, max_message_bytes=config.max_message_bytes
    )
    return _derived(header, batch, newest_ms)


def _believed(header: BatchHeader, batch: memoryview, rules: RecordRules) -> ProducedBatch:
    ahead_ms = header.max_timestamp - rules.now_ms
    if header.max_timestamp > rules.newest_ms:
        raise InvalidTimestampError(
            f"a record is {ahead_ms} ms ahead of the broker's clock, and the topic's "
            f"message.timestamp.after.max.ms is {rules.newest_ms - rules.now_ms}"
        )
    return _derived(header, batch, header.max_timestamp)


def _derived(header: BatchHeader, batch: memoryview, newest_ms: int) -> ProducedBatch:
    """The batch with what its header says about its records computed from them.

    Only brokers set a log append time and a delete horizon. The base timestamp is what the
    timestamps of records are relative to, whatever it says.
    """
    if header.max_timestamp == newest_ms and not header.attributes & BROKER_TIME_FLAGS:
        return header, batch
    return set_max_timestamp(header, batch, newest_ms)
