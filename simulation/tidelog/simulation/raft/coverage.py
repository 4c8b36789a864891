"""Events that a hundred seeds of the Raft suite must each meet at least once."""

from __future__ import annotations

COVERAGE = (
    "elections",
    "truncated_entries",
    "snapshot_installs",
    "lossy_crashes",
    "torn_writes",
    "rejoins",
    "unknown_outcomes",
    "reads",
    "pauses",
    "one_way",
    "crashes_at_a_write",
    "retried_commands",
    "refused_commands",
)
