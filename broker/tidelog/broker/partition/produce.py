"""Produce requests and their results, independent of the protocol.

The codec of each protocol decodes its messages to the former and encodes its answers from the
latter; gRPC's is `tidelog.node.handlers.produce_codec`. Records are views: the append copies none.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tidelog.core.kafka_errors import RefusedRecord
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import ErrorCode


class ProduceData(NamedTuple):
    """Batches for one partition."""

    topic: str
    partition: int
    records: memoryview
    """Whole record batches v2."""
    topic_id: bytes = b""
    """16 bytes; empty: any incarnation of the topic."""


class Produce(NamedTuple):
    """Request to append to several partitions, each of them once."""

    acks: int
    """-1: all in-sync replicas; 0, 1: the leader."""
    timeout_ms: int
    """Maximum wait for the in-sync replicas; 0: the broker's default."""
    partitions: Iterable[ProduceData]
    """Iterated once, when the request is admitted; a codec may decode each item only then."""
    size_bytes: int
    """Size of the received request, counted as in flight until it is answered."""
    transactional_id: str = ""
    """Id of the batches, all of them transactional; empty: none is."""


class CurrentLeader(NamedTuple):
    """The leader to ask instead, as far as this broker knows (KIP-951).

    Its address depends on the listener that the caller came in by: handlers add it.
    """

    leader_epoch: int
    leader_id: int | None = None


@dataclass(slots=True)
class ProduceResult:
    """Outcome of one partition."""

    topic: str
    partition: int
    base_offset: int = -1
    """Offset of the first record; -1 on error or with acks 0."""
    log_start_offset: int = 0
    log_append_time_ms: int | None = None
    """None where records keep their own timestamps."""
    error: ErrorCode = common_pb2.NONE
    error_message: str = ""
    current_leader: CurrentLeader | None = None
    record_errors: Sequence[RefusedRecord] = ()
    """Records to blame for the error, by their places in the batch; empty: all of it."""
