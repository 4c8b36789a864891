"""States and protocols of groups, in Kafka's words. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.broker.coordinator.consumer_group import ConsumerGroup
from tidelog.broker.coordinator.consumer_member import AWAY

CONSUMER, CLASSIC = "consumer", "classic"
EMPTY, STABLE = "Empty", "Stable"
AT_REST = frozenset({EMPTY, STABLE})
"""States of a group whose newest rebalance is complete."""


def state_of(group: ConsumerGroup) -> str:
    """Name the state of a group of the consumer protocol."""
    if not group.members:
        return EMPTY
    if group.needs_assignment:
        return "Assigning"
    members = (one for one in group.members.values() if one.epoch != AWAY)
    epoch = group.state.assignment_epoch
    is_stable = all(
        one.epoch == epoch and not one.revoking and one.assigned == one.target for one in members
    )
    return STABLE if is_stable else "Reconciling"
