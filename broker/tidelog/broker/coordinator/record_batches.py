"""Batches of a coordinator's records, of its own and for a producer's transaction. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable

from tidelog.broker.coordinator.coordinator_records import CoordinatorRecord, encode
from tidelog.broker.partition_adder import Producer
from tidelog.records.batch import HEADER_BYTES, TRANSACTIONAL_FLAG, parse_header, seal
from tidelog.records.records import BatchBuilder

BATCH_BYTES = 512 << 10
"""Size from which on records go to another batch; a single larger record has one of its own."""


def encode_batches(
    records: Iterable[CoordinatorRecord], now_ms: int, producer: Producer | None = None
) -> list[bytes]:
    """Encode records; `producer`: as part of its transaction."""
    batches: list[bytes] = []
    builder = BatchBuilder()
    for record in records:
        key, value = encode(record)
        size = len(key) + len(value or b"")
        if builder.records_count and builder.size_in_bytes + size > BATCH_BYTES:
            batches.append(_build(builder, producer))
            builder = BatchBuilder()
        builder.append(timestamp_ms=now_ms, key=key, value=value)
    if builder.records_count:
        batches.append(_build(builder, producer))
    return batches


def _build(builder: BatchBuilder, producer: Producer | None) -> bytes:
    if producer is None:
        return builder.build()
    # Each from sequence 0, as Kafka's coordinator: it does not know the producer's.
    batch = builder.build(producer_id=producer.id, producer_epoch=producer.epoch, base_sequence=0)
    header = parse_header(batch)
    flags = header.attributes | TRANSACTIONAL_FLAG
    return seal(header._replace(attributes=flags), batch[HEADER_BYTES:])
