"""Fetch requests and their results, independent of the protocol.

The codec of each protocol decodes its messages to the former and encodes its answers from the
latter; gRPC's is `tidelog.node.handlers.fetch_codec`. Records are the bytes that the log read.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tidelog.broker.partition.produce import CurrentLeader
from tidelog.broker.replica.events import EpochEnd
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import ErrorCode
from tidelog.v1.data_pb2 import READ_UNCOMMITTED


class FetchPosition(NamedTuple):
    """Position to read a partition from."""

    topic: str
    partition: int
    fetch_offset: int
    """First offset to read."""
    topic_id: bytes = b""
    """16 bytes; empty: any incarnation of the topic."""
    current_leader_epoch: int | None = None
    """None: no check."""
    last_fetched_epoch: int | None = None
    """Epoch of the caller's last record; None: no divergence check (KIP-595)."""
    log_start_offset: int = 0
    """Log start offset of the follower."""
    partition_max_bytes: int = 0
    """Maximum record bytes of this partition; 0: the broker's default."""


class Fetch(NamedTuple):
    """Request to read several partitions, each of them once."""

    partitions: Sequence[FetchPosition]
    """In a session: those with another position than in its last request."""
    forgotten: Sequence[tuple[str, int]] = ()
    """Topics and partitions to drop from the session (KIP-227)."""
    replica_id: int | None = None
    """Broker id of the follower; None: a consumer, which reads below the high watermark."""
    replica_epoch: int = 0
    """Broker epoch of the follower (KIP-903)."""
    max_wait_ms: int = 0
    """Maximum wait for `min_bytes`."""
    min_bytes: int = 0
    """Number of record bytes, over all partitions, that ends the wait."""
    max_bytes: int = 0
    """Maximum record bytes, but for a first batch that is larger; 0: the broker's default."""
    isolation_level: int = READ_UNCOMMITTED
    """`IsolationLevel`, by number, of a consumer; in a session the first request's applies."""


@dataclass(slots=True)
class FetchResult:
    """Outcome of one partition."""

    topic: str
    partition: int
    high_watermark: int = 0
    log_start_offset: int = 0
    log_end_offset: int | None = None
    """Exclusive end of the leader's log; only for followers."""
    last_stable_offset: int = 0
    """End of the records that are decided: no transaction is open below it."""
    aborted_transactions: Sequence[tuple[int, int]] = ()
    """With READ_COMMITTED: producer id and first offset of those with records in `records`, by
    first offset."""
    records: bytes = b""
    """Whole record batches v2; the first may begin below the fetch offset."""
    diverging_epoch: EpochEnd | None = None
    """Epoch and end offset for the caller to truncate to before anything else (KIP-595)."""
    error: ErrorCode = common_pb2.NONE
    error_message: str = ""
    current_leader: CurrentLeader | None = None
