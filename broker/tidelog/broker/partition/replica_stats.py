"""What the data plane counted since the broker started; metrics read it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class ReplicaStats:
    """Counters only ever grow."""

    bytes_in: int = 0
    """From producers."""
    bytes_out: int = 0
    """To consumers."""
    bytes_replicated_out: int = 0
    """To followers."""
    bytes_replicated_in: int = 0
    """From leaders."""
    duplicate_batches: int = 0
    """That idempotent producers sent again after they were appended."""
    isr_shrinks: int = 0
    isr_expands: int = 0
    truncated_records: int = 0
    """Removed from followers' logs because their leaders' logs part from them there."""
