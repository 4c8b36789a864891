"""The simulated cluster as the fault budget sees it: everything, and as it is."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.chaos.faults.bit_flip import Flip
from tidelog.chaos.workloads.plans import TopicPlan
from tidelog.metadata.image import MetadataImage
from tidelog.simulation.cluster.cluster import SimCluster
from tidelog.simulation.cluster.inside import broker_epoch, newest_image
from tidelog.simulation.cluster.simulation_config import ClusterSimulationConfig


class SimBudgetView:
    """`BudgetView` of a seed's cluster; `count_event` counts its coverage."""

    def __init__(
        self,
        cluster: SimCluster,
        config: ClusterSimulationConfig,
        count_event: Callable[[str], None],
    ) -> None:
        self._cluster = cluster
        self._config = config
        self.count_event = count_event

    @property
    def image(self) -> MetadataImage:
        """See `BudgetView`."""
        return newest_image(self._cluster)

    @property
    def has_controller(self) -> bool:
        """True if a controller runs that has metadata, active or not."""
        return self.image.offset != 0

    def promises(self, topic: str) -> TopicPlan:
        """See `BudgetView`."""
        return self._config.plan(topic)

    def runs_as(self, node_id: int, epoch: int) -> bool:
        """See `BudgetView`; the epoch is of the broker."""
        return broker_epoch(self._cluster.machines[node_id]) == epoch

    def is_wrong(self, flip: Flip) -> bool:
        """See `BudgetView`."""
        disk = self._cluster.disk(flip.node_id)
        return disk.look(flip.path, flip.byte, 1) == bytes([flip.wrong])
