"""Coverage: events that a hundred seeds of the groups suite must meet. Decides nothing."""

from __future__ import annotations

COVERAGE = (
    "members_joined",
    "members_left",
    "members_expired",
    "members_disconnected",
    "members_stuck",
    "subscriptions_changed",
    "topics_changed",
    "partitions_revoked",
    "partitions_lost",
    "paused_beyond_session",
    "cut_beyond_session",
    "stuck_beyond_max_poll",
    "coordinator_loads",
    "commits_acknowledged",
    "commits_refused",
    "commits_unknown",
    "requests_late",
    "commits_failed",
    "handed_again",
    "topics_grown",
    "topics_renewed",
    "offsets_expired",
    "groups_deleted",
    "classic_generations",
    "classic_commits",
    "elections",
    "controller_changes",
)
"""The causes of rebalances are those that coordinators name."""
