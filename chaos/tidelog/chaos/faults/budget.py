"""Budget of damage: a lost record is always the product's fault. Asks the cluster's port alone.

- A record acknowledged with acks=all was on `min.insync.replicas` replicas at least. As long as at
  most `min.insync.replicas` - 1 of them are impaired at a time, one that is whole holds it.
- A killed, stopped or paused process, a link, a full disk take nothing: they need no budget.
- An emptied disk, a torn tail, a flipped bit that is not made again out of the log impair a replica
  until it holds everything again: it is in the ISR, by a registration newer than the damage where
  its node had to start, and what was flipped is no longer wrong.

While no controller is known nobody can say who is in sync, and nothing may be taken. The simulated
suite's `FaultBudget` keeps the same rule for every partition, and knows of power and failed syncs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tidelog.chaos.faults.bit_flip import Flip
from tidelog.chaos.faults.fault import require
from tidelog.chaos.story.cluster_port import ClusterPort

NEVER_REGISTERED = -1


@dataclass(slots=True)
class Wound:
    """Damage of the story's replica on one node."""

    broker_epoch: int
    """It heals with a registration newer than this."""
    is_open: bool = True
    """The fault is still at it."""
    flips: list[Flip] = field(default_factory=list)


class Claims:
    """Nodes that a fault has for itself: no other fault with the same claims strikes them.

    A storm of stories claims whole nodes, the random suite the disks of nodes.
    """

    def __init__(self) -> None:
        self.node_ids: set[int] = set()
        """Never iterated."""

    def is_free(self, node_id: int) -> bool:
        """True if no fault has it."""
        return node_id not in self.node_ids

    @contextmanager
    def holding(self, node_id: int | None) -> Iterator[None]:
        """Claim a node for the block, however that ends; None: the fault needs no node alone."""
        if node_id is None:
            yield
            return
        require(self.is_free(node_id), f"another fault has node {node_id}")
        self.node_ids.add(node_id)
        try:
            yield
        finally:
            self.node_ids.discard(node_id)


def impaired_max(min_insync_replicas: int) -> int:
    """Replicas of a partition that may lack records at a time: one more holds every record."""
    return min_insync_replicas - 1


class DamageBudget:
    """Impaired replicas of the story's partition."""

    def __init__(self, *, min_insync_replicas: int) -> None:
        require(min_insync_replicas > 0, f"min.insync.replicas is no {min_insync_replicas}")
        self._impaired_max = impaired_max(min_insync_replicas)
        self._wounds: dict[int, Wound] = {}

    def take(self, cluster: ClusterPort, node_id: int) -> Wound | None:
        """Let this node be damaged, if it may be now; `close` the wound when that is done."""
        self.look(cluster)
        if node_id in self._wounds or not self._knows_all_in_sync(cluster):
            return None
        if len(self._wounds) >= self._impaired_max:
            return None
        broker = cluster.image.brokers.get(node_id)
        epoch = NEVER_REGISTERED if broker is None else broker.broker_epoch
        wound = self._wounds[node_id] = Wound(epoch)
        return wound

    @staticmethod
    def close(wound: Wound, *flips: Flip, needs_start: bool) -> None:
        """The damage is done: these flips; without a start no new registration is due."""
        wound.is_open = False
        wound.flips.extend(flips)
        if not needs_start:
            wound.broker_epoch = NEVER_REGISTERED

    def impaired(self, cluster: ClusterPort) -> list[int]:
        """Node ids whose replicas have not healed yet."""
        self.look(cluster)
        return sorted(self._wounds)

    def look(self, cluster: ClusterPort) -> None:
        """Let go of what has healed."""
        for node_id, wound in list(self._wounds.items()):
            if self._has_healed(cluster, node_id, wound):
                del self._wounds[node_id]

    @staticmethod
    def _has_healed(cluster: ClusterPort, node_id: int, wound: Wound) -> bool:
        state = cluster.image.partition(cluster.topic, 0)
        broker = cluster.image.brokers.get(node_id)
        if wound.is_open or state is None or broker is None or cluster.controller_id is None:
            return False
        is_in_sync = node_id in state.isr and broker.broker_epoch > wound.broker_epoch
        return is_in_sync and not any(flip.is_wrong(cluster) for flip in wound.flips)

    @staticmethod
    def _knows_all_in_sync(cluster: ClusterPort) -> bool:
        """Damage waits until the others are whole: who lags does not hold everything either."""
        state = cluster.image.partition(cluster.topic, 0)
        is_known = cluster.controller_id is not None and state is not None
        return is_known and state is not None and set(state.isr) == set(state.replicas)
