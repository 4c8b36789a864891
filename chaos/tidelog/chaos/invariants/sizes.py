"""Invariant of a node's sizes: what waits is bounded (I30). Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import astuple, dataclass, fields

from tidelog.chaos.invariants.replicas import Broken

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of one node at a moment; 0 for what a run cannot measure."""

    produce_in_flight_bytes: int
    waiting_fetches: int
    tasks: int
    rss_bytes: int = 0
    open_files: int = 0


@dataclass(frozen=True, slots=True)
class Limits(Sizes):
    """Limits of one node. Far above what a few partitions and clients need."""

    produce_in_flight_bytes: int = 64 * MIB
    """`produce_in_flight_bytes_max` of the replica config."""
    waiting_fetches: int = 10_000
    """`waiting_fetches_max` of the replica config."""
    tasks: int = 4000
    rss_bytes: int = 512 * MIB
    open_files: int = 4000


def oversized(name: str, sizes: Sizes, limits: Limits) -> Broken:
    """I30: no size of a node exceeds its limit."""
    for field, size, size_max in zip(fields(Sizes), astuple(sizes), astuple(limits), strict=True):
        if size > size_max:
            yield "I30", f"{name}: {size} {field.name.replace('_', ' ')}, at most {size_max}"
