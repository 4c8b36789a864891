"""Budget of a storm of stories, for the story's partition, out of what every port shows.

A simulated cluster gives the same, so that a storm takes as much there as from processes. The
budget of the seed, which knows more, stands below: what it has no room for is reported.
"""

from __future__ import annotations

from dataclasses import dataclass

from tidelog.chaos.faults.bit_flip import Flip
from tidelog.chaos.faults.budget import Budget
from tidelog.chaos.faults.fault import require
from tidelog.chaos.story.cluster_port import ClusterPort
from tidelog.metadata.image import MetadataImage


@dataclass(frozen=True, slots=True)
class StoryPromises:
    """`Promises` of the story's topic: neither flushed nor lossy."""

    min_insync_replicas: int
    is_flushed: bool = False
    is_lossy: bool = False


class PortView:
    """`BudgetView` of a port: what every cluster shows."""

    def __init__(self, cluster: ClusterPort, promises: StoryPromises) -> None:
        self._cluster = cluster
        self._promises = promises

    @property
    def image(self) -> MetadataImage:
        """See `BudgetView`."""
        return self._cluster.image

    @property
    def has_controller(self) -> bool:
        """See `BudgetView`."""
        return self._cluster.controller_id is not None

    def promises(self, _topic: str) -> StoryPromises:
        """Those of the story's topic: a storm asks for no other."""
        return self._promises

    def runs_as(self, _node_id: int, _broker_epoch: int) -> bool:
        """True: no port shows the epochs of processes, only those of registrations."""
        return True

    def is_wrong(self, flip: Flip) -> bool:
        """See `BudgetView`."""
        return flip.is_wrong(self._cluster)

    def count_event(self, what: str) -> None:
        """Nobody counts it."""


def budget_of(cluster: ClusterPort, *, min_insync_replicas: int) -> Budget:
    """A new budget. `FaultError`: `min.insync.replicas` is 1 at least."""
    require(min_insync_replicas > 0, f"min.insync.replicas is no {min_insync_replicas}")
    return Budget(PortView(cluster, StoryPromises(min_insync_replicas)))
