"""Counters of the data plane since the broker's start, read by metrics."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class ReplicaStats:
    """Counters, which never decrease."""

    bytes_in: int = 0
    """Record bytes from producers."""
    bytes_out: int = 0
    """Record bytes to consumers."""
    bytes_replicated_out: int = 0
    """Record bytes to followers."""
    bytes_replicated_in: int = 0
    """Record bytes from leaders."""
    duplicate_batches: int = 0
    """Batches that idempotent producers sent again after they had been appended."""
    isr_shrinks: int = 0
    isr_expands: int = 0
    truncated_records: int = 0
    """Records truncated from followers' logs that diverged from their leaders'."""
