"""Results of fetches: the batches' headers, and the error of a log that was truncated. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.client.consuming.assignment import Position
from tidelog.client.errors import CorruptMessageError, LogTruncationError
from tidelog.records.batch import BatchHeader, parse_header


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
