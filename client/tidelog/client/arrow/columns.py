"""Record batches v2 to Arrow, column by column, for Spark and other analytics.

Owns the columns and their types; `record_fields` finds the fields. Arrow copies keys and values out
of the raw bytes. Never touches the network.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from tidelog.client.arrow.record_fields import RecordFields, find_fields, skip_fields
from tidelog.client.arrow.varints import Int64s, read_varints
from tidelog.client.consuming.offset_ranges import OffsetRange
from tidelog.client.consuming.record_batch import corrupt_at
from tidelog.client.errors import DeserializationError
from tidelog.client.records import TopicPartition
from tidelog.core.errors import CorruptMessageError
from tidelog.records.batch import parse_header

HEADER_TYPE = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestampType", pa.int32()),
        ("headers", pa.list_(pa.field("element", HEADER_TYPE))),
    ]
)
"""The columns of Kafka's own Spark connector, in its order."""
TIMESTAMP_MS_MAX = ((1 << 63) - 1) // 1000
"""The largest timestamp, and its negative the smallest, that a column of microseconds holds."""


def decode_batches(
    data: bytes,
    *,
    topic: str,
    partition: int,
    start_offset: int,
    end_offset: int,
    columns: Sequence[str] = tuple(SCHEMA.names),
) -> pa.RecordBatch:
    """The records of `data` (whole batches) in [start_offset, end_offset), as `columns`.

    Headers are null for a record without any. Raises CorruptMessageError when a CRC, a length or a
    number is wrong, UnsupportedCompressionTypeError for a codec that is not installed,
    DeserializationError for a timestamp that microseconds of 64 bits cannot hold; then no record is
    returned.
    """
    records = find_fields(data)
    wanted = (records.offsets >= start_offset) & (records.offsets < end_offset)
    if not wanted.all():
        records = records.select(wanted)
    if "timestamp" in columns:
        _check_timestamps(records, TopicPartition(topic, partition))
    constants = {
        "topic": pa.scalar(topic, pa.string()),
        "partition": pa.scalar(partition, pa.int32()),
    }
    arrays = [
        pa.repeat(constants[name], len(records.offsets))
        if name in constants
        else _column(records, name)
        for name in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([SCHEMA.field(n) for n in columns]))


def decode_range(
    data: bytes, wanted: OffsetRange, *, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Decode a range like `decode_batches`; in one piece, or several if one would be too large.

    Its CorruptMessageError names the partition and the batch's offset; records before that batch
    are yielded first.
    """

    def decode(part: bytes) -> pa.RecordBatch:
        return decode_batches(
            part,
            topic=wanted.topic,
            partition=wanted.partition,
            start_offset=wanted.start_offset,
            end_offset=wanted.end_offset,
            columns=columns,
        )

    try:
        yield decode(data)
        return
    except CorruptMessageError:
        at = next_offset = 0
    while at < len(data):  # one is corrupt, or together they exceed an Arrow array
        header = parse_header(data, at)
        end = at + header.size_in_bytes
        try:
            if header.base_offset < next_offset:
                raise CorruptMessageError(f"offsets do not grow: {next_offset - 1} came before it")
            yield decode(data[at:end])
        except CorruptMessageError as error:
            tp = TopicPartition(wanted.topic, wanted.partition)
            raise corrupt_at(tp, header, error) from None
        at, next_offset = end, header.next_offset


def _check_timestamps(records: RecordFields, tp: TopicPartition) -> None:
    """Refuse timestamps (ms) that wrap around as microseconds, such as those of nanoseconds."""
    times_ms = records.timestamps_ms
    if not len(times_ms) or (
        times_ms.max() <= TIMESTAMP_MS_MAX and times_ms.min() >= -TIMESTAMP_MS_MAX
    ):
        return
    at = int(np.argmax((times_ms > TIMESTAMP_MS_MAX) | (times_ms < -TIMESTAMP_MS_MAX)))
    offset = int(records.offsets[at])
    raise DeserializationError(
        f"the record at offset {offset} of {tp.topic}-{tp.partition} has the timestamp "
        f"{times_ms[at]}, which in milliseconds is beyond the years that a column of microseconds "
        "holds: its producer may have sent nanoseconds. Read without the timestamp column, or from "
        "a later offset",
        topic=tp.topic,
        partition=tp.partition,
        offset=offset,
        part="timestamp",
    )


def _column(records: RecordFields, name: str) -> pa.Array:
    match name:
        case "key":
            return _binary(records.body, records.key_positions, records.key_lengths)
        case "value":
            return _binary(records.body, records.value_positions, records.value_lengths)
        case "offset":
            return pa.array(records.offsets)
        case "timestamp":
            return pa.array(records.timestamps_ms * 1000).cast(SCHEMA.field(name).type)
        case "timestampType":
            return pa.array(records.timestamp_types.astype(np.int32))
        case "headers":
            return _headers(records)
    raise ValueError(f"no column {name!r}; there are {', '.join(SCHEMA.names)}")


def _binary(body: bytes, positions: Int64s, lengths: Int64s) -> pa.Array:
    """The byte strings at `positions`, which increase; null where the length is -1.

    In an array laid over the raw bytes every second element is a field, and the others are the
    bytes between fields; `take` copies the fields out.
    """
    edges = np.empty(2 * len(positions), np.int32)
    edges[0::2] = positions
    edges[1::2] = positions + np.maximum(lengths, 0)
    count = max(len(edges) - 1, 0)
    raw = pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(edges), pa.py_buffer(body)])
    absent = lengths < 0
    wanted = np.arange(0, count, 2, dtype=np.int32)
    return raw.take(pa.array(wanted, mask=absent if absent.any() else None))


def _headers(records: RecordFields) -> pa.Array:
    """The lists of headers; null for a record without any.

    Reads the first headers of all records together, then the second ones, and so on.
    """
    data = np.frombuffer(records.body, dtype=np.uint8)
    counts = records.header_counts
    edges = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    keys, key_lengths, values, value_lengths = (np.empty(edges[-1], np.int64) for _ in range(4))
    rows, position, nth = np.flatnonzero(counts), records.header_positions.copy(), 0
    while rows.size:
        at, ends = edges[rows] + nth, records.ends[rows]
        key_lengths[at], keys[at] = read_varints(data, position[rows])
        after_key = skip_fields(keys[at], key_lengths[at], ends - 1)
        value_lengths[at], values[at] = read_varints(data, after_key)
        position[rows] = skip_fields(values[at], value_lengths[at], ends)
        nth += 1
        rows = rows[counts[rows] > nth]
    if (position != records.ends).any() or (key_lengths < 0).any():
        raise CorruptMessageError("the headers of a record are not what its length says")
    entries = pa.StructArray.from_arrays(
        [
            _names(_binary(records.body, keys, key_lengths)),
            _binary(records.body, values, value_lengths),
        ],
        fields=list(HEADER_TYPE),
    )
    return pa.ListArray.from_arrays(
        pa.array(edges.astype(np.int32)),
        entries,
        type=SCHEMA.field("headers").type,
        mask=pa.array(counts == 0),
    )


def _names(keys: pa.Array) -> pa.Array:
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        raise CorruptMessageError("the name of a record header is not UTF-8") from None
