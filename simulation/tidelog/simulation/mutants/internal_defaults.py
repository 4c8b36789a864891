"""Mutant of internal topics: the cluster reaches what their promises rest on (0078)."""

from __future__ import annotations

from tidelog.log import internal_configs
from tidelog.node import internal_topics
from tidelog.simulation.mutants.mutant import replaces


def _bare(*, segment_bytes: int, min_isr: int) -> dict[str, str]:
    """Configs that an internal topic had before: all others are the cluster's."""
    return {
        "cleanup.policy": "compact",
        "segment.bytes": f"{segment_bytes}",
        "min.insync.replicas": f"{min_isr}",
    }


@replaces(internal_configs, "follows", beside=replaces(internal_topics, "internal_configs")(_bare))
def internal_topics_follow_defaults(_topic: str, _name: str) -> bool:
    """Internal topics state little of their own, and every default of the cluster reaches them."""
    return True
