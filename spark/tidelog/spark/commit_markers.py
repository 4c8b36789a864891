"""Commit markers: whether a batch of a stream is written or skipped, and the marker to store.

Pure. A marker is the record `query id -> number and rows of the batch written last`. The driver
stores it once every row of the batch is acknowledged, before Spark learns of the commit. Spark
numbers the batches of a query from 0, stores number and offsets in its checkpoint before it runs
a batch, and after a restart runs at most the last batch again: the number identifies its rows.

    recorded last    this batch    decision
    none             any           write
    n                n             skip: Spark did not learn that it was committed
    n                above n       write
    n                below n       refuse: the checkpoint is older than the rows written

See docs/decisions/0021.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

MARKERS = "__tidelog_spark_commits"
"""The topic that holds the markers."""
MARKER_BYTES_MAX = 1 << 10
_VERSION = 1


class MarkerError(RuntimeError):
    """Batch and marker contradict each other; the message says how, and how to continue."""


class StreamBatch(NamedTuple):
    """A batch of a streaming query; a run lasts from the start of the query to its stop."""

    query_id: str
    run_id: str
    batch_id: int


@dataclass(frozen=True, slots=True)
class Marker:
    """The last batch of a query that was written completely."""

    batch_id: int
    records: int

    def encode(self) -> bytes:
        """Encode the marker as JSON, readable for people who inspect the topic."""
        fields = {"version": _VERSION, "batchId": self.batch_id, "records": self.records}
        return json.dumps(fields).encode()

    @classmethod
    def decode(cls, stored: bytes) -> Marker:
        """Decode a stored marker. Raises MarkerError unless a sink of this version wrote it."""
        try:
            fields = json.loads(stored) if len(stored) <= MARKER_BYTES_MAX else None
        except ValueError:
            fields = None
        if isinstance(fields, dict) and fields.get("version") == _VERSION:
            batch_id, records = fields.get("batchId"), fields.get("records")
            if type(batch_id) is int and type(records) is int:
                return cls(batch_id, records)
        raise MarkerError(
            f"this is no commit marker of version {_VERSION}: {stored[:80]!r}; was it written by a "
            "newer version? Set recordedBatches to write to continue without it"
        )


def is_written_already(batch: StreamBatch, last: Marker | None) -> bool:
    """True if the batch must be skipped. Raises MarkerError if a later one was written before."""
    if last is None or batch.batch_id > last.batch_id:
        return False
    if batch.batch_id == last.batch_id:
        return True
    raise MarkerError(
        f"batch {batch.batch_id} of query {batch.query_id} comes after its batch {last.batch_id} "
        "was written: the checkpoint is an older copy. Start with a new checkpoint, or set "
        "recordedBatches to write to have the batches from here on written again"
    )


def check_replay(batch: StreamBatch, last: Marker, *, records: int) -> None:
    """Raise MarkerError unless a batch that was skipped has as many rows as when it was written."""
    if records != last.records:
        raise MarkerError(
            f"batch {batch.batch_id} of query {batch.query_id} was written with {last.records} "
            f"rows and has {records} now: the query was changed, or gives other rows each time. "
            "Set recordedBatches to write to have it written again, some rows then twice"
        )
