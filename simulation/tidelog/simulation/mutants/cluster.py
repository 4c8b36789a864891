"""Mutants of the cluster suite, by name."""

from __future__ import annotations

from tidelog.simulation.mutants import (
    cluster_clients,
    cluster_controllers,
    cluster_followers,
    cluster_groups,
    cluster_leaders,
    cluster_logs,
)
from tidelog.simulation.mutants.mutant import Mutant

ALL: dict[str, Mutant] = {
    mutant.name: mutant
    for module in (
        cluster_followers,
        cluster_leaders,
        cluster_controllers,
        cluster_logs,
        cluster_clients,
        cluster_groups,
    )
    for mutant in vars(module).values()
    if isinstance(mutant, Mutant)
}

UNSEEN = frozenset(
    {
        "answers_of_older_epochs_taken",
        "any_incarnation_joins",
        "commit_epochs_not_compared",
        "damage_cut_in_sync",
        "damage_not_acted_on",
        "decided_on_stale_image",
        "earlier_incarnation_decides",
        "earlier_incarnations_counted",
        "ends_outlive_the_epoch",
        "epoch_not_assigned",
        "epochs_not_compared",
        "fenced_in_one_batch",
        "fetched_not_flushed",
        "groups_answered_before_commit",
        "isr_decided_on_older_isr",
        "late_answers_handed_out",
        "late_registration_taken",
        "leads_below_its_logs_epoch",
        "loaded_bytes_outlive_a_cut",
        "newest_incarnation_named",
        "old_folder_taken_over",
        "old_topic_id_accepted",
        "older_producer_epochs_accepted",
        "out_of_range_restarts_log",
        "own_append_not_flushed",
        "producers_forgotten_at_a_cut",
        "producers_outlive_a_cut",
        "read_not_checked_again",
        "reads_not_checked",
        "records_not_walked",
        "recovery_point_not_lowered",
        "sequence_gaps_accepted",
        "snapshots_outlive_a_cut",
        "stale_image_accepted",
        "unanswered_proposal_forgotten",
        "unfenced_before_it_knows",
        "unknown_epochs_pipelined",
        "unread_responses_unbounded",
    }
)
"""Not noticed by every hundred seeds. Hunted when asked for.

docs/MUTANTS.md says what it would take.
"""

MUTANTS: dict[str, Mutant] = {name: mutant for name, mutant in ALL.items() if name not in UNSEEN}
"""Those that any hundred seeds must catch."""
