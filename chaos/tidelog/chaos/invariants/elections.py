"""Elections that may lose committed records, and topics that allow them. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.metadata.image import MetadataImage, PartitionImage, TopicImage
from tidelog.metadata.topic_rules import effective_config


def may_have_lost(was: PartitionImage, state: PartitionImage, *, is_lossy: bool) -> bool:
    """True if an election since then was allowed to lose what is committed.

    The last leader may be elected again in any topic: it lacks nothing, unless more replicas than
    is promised for lost power.
    """
    if is_lossy and state.leader_epoch > was.leader_epoch + 1:
        return True  # One batch of records held several elections, nobody saw the first.
    if state.leader_id is None or state.leader_epoch == was.leader_epoch:
        return False
    is_eligible = state.leader_id in was.isr or state.leader_id in was.elr
    is_complete = is_eligible and state.leader_id not in state.damaged
    if is_lossy:
        return not is_complete
    return not is_complete and state.leader_id != was.last_known_leader_id


def is_lossy(topic: TopicImage, image: MetadataImage) -> bool:
    """True if it allows unclean elections."""
    return effective_config(topic, image).unclean_leader_election_enable


def is_compacted(topic: TopicImage, image: MetadataImage) -> bool:
    """True if records make way for newer ones of their keys."""
    return effective_config(topic, image).is_compacted
