"""Logs with transactions for tests: a producer's batches and a coordinator's markers."""

from __future__ import annotations

from dataclasses import dataclass

from tests.log.cleaned_logs import but
from tests.log.partition_logs import Producer, batch

from tidelog.log.partition_log import AppendResult, PartitionLog
from tidelog.records.batch import TRANSACTIONAL_FLAG


def transactional(
    *values: bytes, producer: Producer, key: bytes | None = None, time_ms: int = 1
) -> bytes:
    """A batch of a transaction, to be sent to a leader."""
    plain = batch(*values, producer=producer, key=key, times=[time_ms] * len(values))
    return but(plain, attributes=TRANSACTIONAL_FLAG)


@dataclass
class Writer:
    """A producer in its newest epoch, with its next sequence."""

    id: int
    epoch: int = 0
    sequence: int = 0

    def send(self, log: PartitionLog, *values: bytes, key: bytes | None = None) -> AppendResult:
        """Append a batch in the open transaction, or begin one, the coordinator knowing of it."""
        producer = Producer(self.id, self.epoch, self.sequence)
        self.sequence += len(values)
        sent = transactional(*values, producer=producer, key=key)
        return log.append_as_leader(sent, leader_epoch=max(log.latest_epoch, 0), transactional=True)

    def end(
        self, log: PartitionLog, *, is_commit: bool, coordinator_epoch: int = 0
    ) -> AppendResult:
        """Append the marker, which has the next epoch (KIP-890)."""
        self.epoch, self.sequence = self.epoch + 1, 0
        return log.append_marker(
            producer_id=self.id,
            producer_epoch=self.epoch,
            coordinator_epoch=coordinator_epoch,
            is_commit=is_commit,
            leader_epoch=max(log.latest_epoch, 0),
        )
