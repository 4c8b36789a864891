"""The cluster a node belongs to, compared with what requests and answers of other nodes say.

Every call between nodes names the cluster in the request and in the answer (decision 0024). Owns
the comparison and the count of strangers; what a caller does about one is its own decision.
"""

from __future__ import annotations

from typing import Any

from tidelog.net.strangers import Strangers


def is_of_this_cluster(cluster_id: str, own_cluster_id: str) -> bool:
    """Two clusters' logs match by chance: index and term are small numbers (decision 0024)."""
    return cluster_id == own_cluster_id


class OwnCluster:
    """Of one node; `strangers` is the node's, shared with its quorum's streams."""

    def __init__(self, cluster_id: str = "", strangers: Strangers | None = None) -> None:
        self.cluster_id = cluster_id
        self.strangers = strangers or Strangers()

    def stamp(self, message: Any) -> None:  # every message between nodes has the field
        """Name this cluster in a request or an answer that leaves."""
        message.cluster_id = self.cluster_id

    def check(self, message: Any, *, who: str) -> None:  # as above
        """Compare what came from `who`, before anything else.

        Errors: `KafkaError` INCONSISTENT_CLUSTER_ID.
        """
        if not is_of_this_cluster(message.cluster_id, self.cluster_id):
            raise self.strangers.refuse(message.cluster_id, self.cluster_id, who=who)
