"""Invariants of batches that follow each other: on a disk, in an answer, in the book. Pure.

I8   base offsets have no gap
I9   partition leader epochs never decrease
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass

from tidelog.chaos.invariants.replicas import Broken
from tidelog.records.batch import BatchHeader


@dataclass(slots=True)
class BatchOrder:
    """Position behind the last batch; -1: no batch was seen yet."""

    end: int = -1
    """Next expected base offset."""
    epoch: int = -1

    def follow(self, name: str, header: BatchHeader) -> Broken:
        """Yield what this batch breaks, then go on behind it; consume all of it."""
        if self.end not in (-1, header.base_offset):
            yield "I8", f"{name}: {header.base_offset} follows {self.end}"
        if header.partition_leader_epoch < self.epoch:
            yield "I9", f"{name}: {header} follows epoch {self.epoch}"
        self.end, self.epoch = header.next_offset, header.partition_leader_epoch
