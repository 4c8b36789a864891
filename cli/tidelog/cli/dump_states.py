"""The small files beside the segments: producer snapshots, checkpoint, `.clean`, metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from tidelog.cli.dump_files import Source
from tidelog.cli.dump_lines import Line, damage
from tidelog.log.checkpoints import (
    decode_checkpoint,
    decode_clean_marker,
    decode_partition,
    decode_topic_id,
)
from tidelog.log.producer_snapshots import decode_snapshot
from tidelog.log.producers import BatchMetadata, ProducerEntry

T = TypeVar("T")

_BYTES_MAX = 16 << 20
"""Far above the size of any such file; a longer one cannot be valid."""


def dump_snapshot(source: Source) -> Iterator[Line]:
    """A line per remembered batch of each producer; one for a producer without any."""
    entries = _decode(source, decode_snapshot)
    if entries is None:
        yield damage("this is not a complete producer snapshot")
    for entry in entries or ():
        for batch in entry.batches or (None,):
            yield Line("producer", _producer(entry) | (_batch(batch) if batch else {}))


def dump_checkpoint(source: Source) -> Iterator[Line]:
    """The checkpointed offsets of a log, and one line per epoch."""
    checkpoint = _decode(source, decode_checkpoint)
    if checkpoint is None:
        yield damage("this is not a complete checkpoint")
        return
    yield Line(
        "checkpoint",
        {
            "topicId": checkpoint.topic_id.hex(),
            "recoveryPoint": checkpoint.recovery_point,
            "highWatermark": checkpoint.high_watermark,
            "logStartOffset": checkpoint.log_start_offset,
            "firstDirtyOffset": checkpoint.first_dirty_offset,
        },
    )
    for entry in checkpoint.epochs:
        yield Line("epoch", {"epoch": entry.epoch, "startOffset": entry.start_offset})


def dump_clean_marker(source: Source) -> Iterator[Line]:
    """The end of a log when it was closed, and one line per file."""
    marker = _decode(source, decode_clean_marker)
    if marker is None:
        yield damage("this is not a complete mark of a clean shutdown")
        return
    yield Line("clean", {"logEndOffset": marker.log_end_offset, "life": marker.life})
    for name, size in marker.file_bytes.items():
        yield Line("file", {"name": name, "size": size})


def dump_partition_metadata(source: Source) -> Iterator[Line]:
    """The topic id and partition that the folder belongs to."""
    topic_id = _decode(source, decode_topic_id)
    if topic_id is None:
        yield damage("this is not a partition.metadata file")
    else:
        partition = _decode(source, decode_partition)
        said = {} if partition is None else {"partition": partition}
        yield Line("partition", {"topicId": topic_id.hex(), **said})


def _decode(source: Source, decode: Callable[[bytes], T | None]) -> T | None:
    return decode(source.read_at(0, _BYTES_MAX))


def _producer(entry: ProducerEntry) -> dict[str, object]:
    return {
        "producerId": entry.producer_id,
        "producerEpoch": entry.producer_epoch,
        "coordinatorEpoch": entry.coordinator_epoch,
        "currentTxnFirstOffset": entry.first_unstable_offset,
        "lastTimestamp": entry.timestamp_ms,
    }


def _batch(batch: BatchMetadata) -> dict[str, object]:
    return {
        "firstSequence": batch.base_sequence,
        "lastSequence": batch.last_sequence,
        "lastOffset": batch.last_offset,
        "offsetDelta": batch.last_offset - batch.base_offset,
        "timestamp": batch.timestamp_ms,
    }
