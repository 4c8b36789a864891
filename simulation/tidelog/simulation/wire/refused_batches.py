"""Batches that a broker must refuse, and what it must answer them with (KIP-467). Pure.

A compacted topic refuses records without a key, another one those that are too far ahead, also in
a batch whose header says that none is. The answer names them by their places in the batch, so that
a producer sends the others again.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from tidelog.chaos.workloads.plans import TopicPlan
from tidelog.core.chance import SeededRandom
from tidelog.kafka.messages.produce_response import PartitionProduceResponse
from tidelog.records.batch import HEADER_BYTES, parse_header, seal
from tidelog.records.records import BatchBuilder
from tidelog.simulation.wire.answers import RETRIED, name
from tidelog.v1 import common_pb2

USED_PROBABILITY = 0.3
"""Share of the producers that send some."""
DUE_PROBABILITY = 0.15
"""Share of their requests that one goes along with."""
RECORDS_MAX = 6
AHEAD_MS = 7_200_000
"""More than message.timestamp.after.max.ms, however wrong the clocks are."""
VALUE = b"to be refused"
BLAME_FROM = 8
"""First version of Produce whose answers name records."""


class RefusedBatch(NamedTuple):
    """A batch, and its refusal."""

    data: bytes
    code: int
    blamed: frozenset[int]
    """Places of the records that are refused."""

    def complaint(self, answer: PartitionProduceResponse, version: int) -> str:
        """Complaint about the answer; empty: none."""
        if answer.error_code in RETRIED:
            return ""
        if answer.error_code != self.code:
            return f"{name(answer.error_code)}, not {name(self.code)}"
        named = {one.batch_index for one in answer.record_errors}
        if version >= BLAME_FROM and named != self.blamed:
            return f"{name(self.code)} names records {sorted(named)}, not {sorted(self.blamed)}"
        return ""


class RefusedBatches:
    """Drawer of such batches for one topic; `wall_ms` is the producer's clock."""

    def __init__(self, plan: TopicPlan, random: SeededRandom, wall_ms: Callable[[], int]) -> None:
        self._needs_keys = plan.is_compacted
        self._random = random
        self._wall_ms = wall_ms
        # Timestamps mean nothing to a topic that gives its own.
        self._is_used = random.random() < USED_PROBABILITY
        self._is_used &= self._needs_keys or not plan.is_append_time

    def draw(self) -> RefusedBatch | None:
        """The one that is due now."""
        if not self._is_used or self._random.random() >= DUE_PROBABILITY:
            return None
        count = self._random.randrange(1, RECORDS_MAX)
        blamed = {self._random.randrange(0, count) for _ in range(1 + count // 2)}
        now_ms = self._wall_ms()
        times = {one: now_ms + AHEAD_MS for one in blamed if not self._needs_keys}
        data = self._encode(count, now_ms, times, blamed if self._needs_keys else set())
        code = common_pb2.INVALID_RECORD if self._needs_keys else common_pb2.INVALID_TIMESTAMP
        return RefusedBatch(data, code, frozenset(blamed))

    def _encode(
        self, count: int, now_ms: int, times: Mapping[int, int], keyless: set[int]
    ) -> bytes:
        builder = BatchBuilder()
        for place in range(count):
            key = None if place in keyless else b"k"
            builder.append(timestamp_ms=times.get(place, now_ms), key=key, value=VALUE)
        data = builder.build()
        header = parse_header(data)._replace(max_timestamp=now_ms)
        return seal(header, data[HEADER_BYTES:])
