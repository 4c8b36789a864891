"""Nodes of other clusters that spoke to this node: each cluster told once in the log, then counted.

Owns who was told of and how many messages were refused; decides nothing. A node of another cluster
asks again and again, several times a second, and anybody may claim any cluster id: so the lines are
bounded too.
"""

from __future__ import annotations

import structlog

from tidelog.core.errors import KafkaError
from tidelog.v1 import common_pb2

STRANGERS_MAX = 100
"""So many are told of one by one; of those that come later, only that there are more."""
SHOWN_MAX = 100
"""Characters of a cluster id that another node sent."""

logger = structlog.get_logger(__name__)


class Strangers:
    """Of one node, over all its services."""

    def __init__(self) -> None:
        self.refused = 0
        """Messages and answers of other clusters that were refused since the start."""
        self._told: set[str] = set()

    def refuse(self, cluster_id: str, own_cluster_id: str, *, who: str) -> KafkaError:
        """Count one message of `who`; the error to answer it with, INCONSISTENT_CLUSTER_ID."""
        self.refused += 1
        shown = cluster_id[:SHOWN_MAX]
        if shown not in self._told and len(self._told) <= STRANGERS_MAX:
            self._told.add(shown)
            if len(self._told) > STRANGERS_MAX:
                logger.warning("many nodes of other clusters ask here: no more are named")
            else:
                logger.warning(
                    "a node of another cluster was refused: check addresses and cluster.id",
                    who=who,
                    its_cluster_id=shown,
                    own_cluster_id=own_cluster_id,
                )
        return KafkaError(
            common_pb2.INCONSISTENT_CLUSTER_ID,
            f"INCONSISTENT_CLUSTER_ID: {who} is of cluster {shown!r}, this node of "
            f"{own_cluster_id!r}: one of the two has a wrong address or a wrong cluster.id",
        )
