"""Coverage: events that a hundred seeds of the transactions suite must meet. Decides nothing."""

from __future__ import annotations

COVERAGE = (
    "elections",
    "isr_shrinks",
    "controller_changes",
    "committed",
    "aborted_on_purpose",
    "aborted_by_timeout",
    "aborted_by_error",
    "commits_repeated",
    "commits_unknown",
    "fenced",
    "new_producer_ids",
    "moved_while_open",
    "moved_while_prepared",
    "copies_committed",
    "copies_refused",
    "groups_committed",
    "groups_aborted",
    "groups_refused",
    "groups_repeated",
)
