"""Results of fetches: the batches' headers, and errors for the application. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.client.consuming.assignment import Position
from tidelog.client.errors import (
    CorruptMessageError,
    InconsistentTopicIdError,
    LogTruncationError,
    OffsetOutOfRangeError,
)
from tidelog.records.batch import BatchHeader, parse_header
from tidelog.v1.data_pb2 import PartitionFetchResult


def headers_of(records: bytes) -> list[BatchHeader]:
    """Parse all headers. Errors: CorruptMessageError if the batches do not fill `records`."""
    headers = []
    at = 0
    while at < len(records):
        headers.append(parse_header(records, at))
        at += headers[-1].size_in_bytes
    if at != len(records):
        raise CorruptMessageError(f"the last batch of a fetch lacks {at - len(records)} bytes")
    return headers


def truncation_error(position: Position, offset: int, log_end_offset: int) -> LogTruncationError:
    """Make the error for records that were read and are not in the log any more."""
    topic, partition = position.tp
    return LogTruncationError(
        f"the records read from {topic}-{partition} from offset {offset} on are no longer in the "
        "log: an unclean election lost them; seek to continue",
        divergent_offset=offset,
        log_end_offset=log_end_offset,
    )


def out_of_range_error(position: Position, result: PartitionFetchResult) -> OffsetOutOfRangeError:
    """Make the error for a position that the log does not have."""
    topic, partition = position.tp
    return OffsetOutOfRangeError(
        f"offset {position.fetch_offset} of {topic}-{partition} is not between "
        f"{result.log_start_offset} and {result.high_watermark}: seek to one that is",
        log_start_offset=result.log_start_offset,
        log_end_offset=result.high_watermark,
    )


def recreated_error(position: Position) -> InconsistentTopicIdError:
    """Make the error for a position in a topic that was deleted and recreated."""
    topic, partition = position.tp
    return InconsistentTopicIdError(
        f"topic {topic!r} was deleted and recreated: offset {position.fetch_offset} of "
        f"{topic}-{partition} belongs to the old topic, seek to one of the new topic",
    )
