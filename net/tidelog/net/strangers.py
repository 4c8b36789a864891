"""Messages from nodes of other clusters: refused, counted, and logged once for each cluster.

Owns the set of clusters already logged and the count of refused messages; decides nothing. A node
of another cluster retries several times a second, and anybody may claim any cluster id: so the
number of log lines is bounded, too.
"""

from __future__ import annotations

from tidelog.core.errors import InconsistentClusterIdError, KafkaError
from tidelog.core.logs import get_logger

STRANGERS_MAX = 100
"""Maximum number of other clusters logged by id; beyond it one line says that there are more."""
SHOWN_MAX = 100
"""Characters of another node's cluster id that are shown."""

logger = get_logger(__name__)


class Strangers:
    """Refused clusters of one node, over all its services."""

    def __init__(self) -> None:
        self.refused = 0
        """Number of messages and answers from other clusters refused since the start."""
        self._logged: set[str] = set()

    def refuse(self, cluster_id: str, own_cluster_id: str, *, who: str) -> KafkaError:
        """Count one message from `who`; return its answer, an INCONSISTENT_CLUSTER_ID error."""
        self.refused += 1
        shown = cluster_id[:SHOWN_MAX]
        if shown not in self._logged and len(self._logged) <= STRANGERS_MAX:
            self._logged.add(shown)
            if len(self._logged) > STRANGERS_MAX:
                logger.warning(
                    "too many other clusters send requests here: further ones are not logged"
                )
            else:
                logger.warning(
                    "a node of another cluster was refused: check addresses and cluster.id",
                    who=who,
                    its_cluster_id=shown,
                    own_cluster_id=own_cluster_id,
                )
        return InconsistentClusterIdError(
            f"INCONSISTENT_CLUSTER_ID: {who} is of cluster {shown!r}, this node of "
            f"{own_cluster_id!r}: one of the two has a wrong address or a wrong cluster.id",
        )
