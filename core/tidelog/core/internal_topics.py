"""Internal topics: coordinators' state, which clients may read and not change. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.core.errors import InvalidTopicError

OFFSETS_TOPIC = "__consumer_offsets"
"""Groups and their committed offsets."""
TRANSACTIONS_TOPIC = "__transaction_state"
"""Transactions; the name is reserved."""
INTERNAL_TOPICS = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC})


def check_not_internal(name: str, what: str) -> None:
    """Raise `InvalidTopicError` for an internal topic; `what` names the refused request."""
    if name in INTERNAL_TOPICS:
        raise InvalidTopicError(
            f"{name} is an internal topic: {what} is its coordinators' alone, choose another topic"
        )
