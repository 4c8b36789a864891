"""A point in time, by both clocks. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from typing import NamedTuple


class Moment(NamedTuple):
    """Now: durations count by the clock that only rises, records hold the wall clock's time."""

    monotonic_ms: int
    wall_ms: int
