"""Cluster id of a node, compared with the one in requests and answers of other nodes.

Every call between nodes names the cluster in the request and in the answer (decision 0024). Owns
the comparison and the count of refused messages; callers decide how to react.
"""

from __future__ import annotations

from typing import Any

from tidelog.net.strangers import Strangers


def is_of_this_cluster(cluster_id: str, own_cluster_id: str) -> bool:
    """Two clusters' logs match by chance: index and term are small numbers (decision 0024)."""
    return cluster_id == own_cluster_id


class OwnCluster:
    """Cluster id of one node; `strangers` is shared with its quorum's streams."""

    def __init__(self, cluster_id: str = "", strangers: Strangers | None = None) -> None:
        self.cluster_id = cluster_id
        self.strangers = strangers or Strangers()

    def stamp(self, message: Any) -> None:  # every message between nodes has the field
        """Set this cluster's id in an outgoing request or answer."""
        message.cluster_id = self.cluster_id

    def check(self, message: Any, *, who: str) -> None:  # as above
        """Compare the cluster id of a message from `who`, before anything else.

        Raises `KafkaError` INCONSISTENT_CLUSTER_ID.
        """
        if not is_of_this_cluster(message.cluster_id, self.cluster_id):
            raise self.strangers.refuse(message.cluster_id, self.cluster_id, who=who)
