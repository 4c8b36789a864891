"""Coverage: events that a hundred seeds of the wire suite must meet. Decides nothing."""

from __future__ import annotations

COVERAGE = (
    "elections",
    "isr_shrinks",
    "duplicates_refused",
    "controller_changes",
    "recreated_topics",
    "deletions",
    "unknown_outcomes",
    "reconnected",
    "pipelined_requests",
    "acks_0_requests",
    "hints_told",
    "hints_followed",
    "positions_confirmed",
    "gone_ids_asked",
    "error_6",
    "error_74",
    "error_75",
    "classic_generations",
    "classic_commits",
    "classic_handed_out",
    "error_16",
    "error_25",
    "error_27",
    "wide_requests",
    "wide_calls",
    "refused_batches",
    "tool_commits",
    "first_batches",
)
"""`error_N`: answers to readers and members with that error of Kafka's."""
