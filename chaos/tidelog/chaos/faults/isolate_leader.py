"""Fault: the leader is cut, both ways, from any mix of followers, controllers and clients."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from tidelog.chaos.faults.cuts import Cuts
from tidelog.chaos.faults.fault import FaultError, require
from tidelog.chaos.faults.reach import both_ways
from tidelog.chaos.story.cluster_port import ClusterPort, Side
from tidelog.chaos.story.scenario_run import ScenarioRun


@dataclass(slots=True, kw_only=True)
class IsolateLeader:
    """See the module; of the story's partition. Where nodes are both, controllers are followers.

    `leader` is the node it struck, even if another one leads by then.
    """

    kind: ClassVar[str] = "isolate_leader"
    from_followers: bool = True
    from_controllers: bool = False
    from_clients: bool = False
    leader: int | None = field(default=None, init=False)
    _cuts: Cuts = field(default_factory=Cuts, init=False)

    def __post_init__(self) -> None:
        is_any = self.from_followers or self.from_controllers or self.from_clients
        require(is_any, "isolate_leader: from nobody")

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`; `FaultError`: nobody leads."""
        cluster = run.cluster
        state = cluster.image.partition(cluster.topic, 0)
        if state is None or state.leader_id is None:
            raise FaultError(f"nobody leads {cluster.topic}-0")
        self.leader = state.leader_id
        paths = both_ways([self.leader], self._others(cluster, state.replicas))
        await self._cuts.cut(run, paths, kind=self.kind, what=str(self), nodes=(self.leader,))

    async def heal(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        await self._cuts.mend(run)

    def __str__(self) -> str:
        sides = {
            "followers": self.from_followers,
            "controllers": self.from_controllers,
            "clients": self.from_clients,
        }
        return f"from {', '.join(name for name, is_meant in sides.items() if is_meant)}"

    def _others(self, cluster: ClusterPort, replicas: tuple[int, ...]) -> list[Side]:
        nodes: set[int] = set()
        if self.from_followers:
            nodes.update(replicas)
        if self.from_controllers:
            nodes.update(cluster.controller_ids)
        clients = cluster.client_groups if self.from_clients else ()
        return [*sorted(nodes), *clients]
