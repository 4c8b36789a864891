"""Victims of a storm's strikes: a fault drawn from the state of the cluster at that moment."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from tidelog.chaos.faults import storm_plan
from tidelog.chaos.faults.asymmetric_partition import AsymmetricPartition
from tidelog.chaos.faults.bit_flip import HARMLESS, BitFlip
from tidelog.chaos.faults.disk_full import DiskFull
from tidelog.chaos.faults.fault import Fault
from tidelog.chaos.faults.isolate_leader import IsolateLeader
from tidelog.chaos.faults.majority_split import MajoritySplit
from tidelog.chaos.faults.nodes import EmptyDisk, Kill, Pause, Terminate
from tidelog.chaos.faults.reach import Reach, both_ways, one_way
from tidelog.chaos.faults.ring_partition import RingPartition
from tidelog.chaos.faults.storm_plan import Strike
from tidelog.chaos.faults.together import Together
from tidelog.chaos.faults.torn_tail import TornTail
from tidelog.chaos.faults.toxics import (
    Bandwidth,
    Latency,
    LimitData,
    LinkDown,
    ResetPeer,
    Slicer,
    SlowClose,
)
from tidelog.chaos.story.cluster_port import ClusterPort, Side
from tidelog.core.chance import SeededRandom, one_of, shuffled
from tidelog.log.checkpoints import CHECKPOINT_FILE, METADATA_FILE
from tidelog.log.file_names import LOG

ROOM_BYTES_MAX = 4096
LEADER_SHARE, CONTROLLER_SHARE = 0.4, 0.6
LOG_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Target:
    """A fault, the node it holds for itself, and whether it takes records."""

    fault: Fault
    node_id: int | None = None
    is_lossy: bool = False
    needs_start: bool = True
    """True if lost records return with a start only, or already while the node runs."""


def target_of(strike: Strike, cluster: ClusterPort, *, held: Collection[int]) -> Target | None:
    """The strike's fault; None: nobody is left whom it could strike. `held` are not."""
    random = SeededRandom(strike.seed)
    if strike.kind in storm_plan.CUTS:
        return Target(_cut(strike.kind, cluster, random))
    if strike.kind in storm_plan.TOXICS:
        return Target(_TOXICS[strike.kind](Reach(_somewhere(cluster, random)), random))
    if strike.kind in storm_plan.LOSSY:
        return _lossy(strike.kind, cluster, random, held)
    node_id = _victim(cluster, random, held)
    return None if node_id is None else Target(_of_node(strike.kind, node_id, random), node_id)


def _victim(cluster: ClusterPort, random: SeededRandom, held: Collection[int]) -> int | None:
    """The leader, the active controller, or anyone."""
    drawn = random.random()
    state = cluster.image.partition(cluster.topic, 0)
    chosen: int | None = None
    if drawn < LEADER_SHARE:
        chosen = None if state is None else state.leader_id
    elif drawn < CONTROLLER_SHARE:
        chosen = cluster.controller_id
    if chosen is not None and chosen not in held:
        return chosen
    free = [one for one in cluster.node_ids if one not in held]
    return one_of(random, free) if free else None


def _of_node(kind: str, node_id: int, random: SeededRandom) -> Fault:
    match kind:
        case "kill":
            return Kill(node_id)
        case "terminate":
            return Terminate(node_id)
        case "pause":
            return Pause(node_id)
        case _:
            return DiskFull(node_id, random.randrange(0, ROOM_BYTES_MAX))


def _lossy(
    kind: str, cluster: ClusterPort, random: SeededRandom, held: Collection[int]
) -> Target | None:
    state = cluster.image.partition(cluster.topic, 0)
    free = [] if state is None else [one for one in state.replicas if one not in held]
    if not free:
        return None
    node_id, seed = one_of(random, free), random.randrange(0, storm_plan.SEEDS)
    match kind:
        case "empty_disk":
            return Target(EmptyDisk(node_id), node_id, is_lossy=True)
        case "torn_tail":
            return Target(TornTail(node_id, seed), node_id, is_lossy=True)
        case _:
            return _flip(node_id, random, seed)


def _flip(node_id: int, random: SeededRandom, seed: int) -> Target:
    if random.random() < LOG_SHARE:
        fault = BitFlip(node_id, LOG, seed)
        return Target(fault, node_id, is_lossy=True, needs_start=False)
    file_kind = one_of(random, (*HARMLESS, CHECKPOINT_FILE, METADATA_FILE))
    fault = BitFlip(node_id, file_kind, seed)
    is_lossy = file_kind not in HARMLESS
    return Target(Together((Kill(node_id), fault)), node_id, is_lossy=is_lossy)


def _cut(kind: str, cluster: ClusterPort, random: SeededRandom) -> Fault:
    nodes = shuffled(random, sorted(cluster.node_ids))
    match kind:
        case "isolate_leader":
            from_whom = random.randrange(1, 8)
            return IsolateLeader(
                from_followers=bool(from_whom & 1),
                from_controllers=bool(from_whom & 2),
                from_clients=bool(from_whom & 4),
            )
        case "asymmetric_partition":
            sides: list[Side] = [*nodes[1:], *cluster.client_groups]
            deaf = tuple(sides[: random.randrange(1, len(sides) + 1)])
            return AsymmetricPartition(silent=(nodes[0],), deaf=deaf)
        case "ring_partition":
            return RingPartition(tuple(nodes))
        case _:
            return MajoritySplit(_minority(cluster, random))


def _minority(cluster: ClusterPort, random: SeededRandom) -> tuple[Side, ...]:
    controllers = shuffled(random, sorted(cluster.controller_ids))
    brokers = shuffled(random, sorted(set(cluster.broker_ids) - set(controllers)))
    some = brokers[: random.randrange(0, len(brokers) + 1)]
    few = controllers[: random.randrange(0 if some else 1, (len(controllers) + 1) // 2)]
    clients = [one for one in cluster.client_groups if random.random() < 1 / 2]
    return (*few, *some, *clients)


def _somewhere(cluster: ClusterPort, random: SeededRandom) -> tuple[tuple[Side, Side], ...]:
    """Paths between two sides, one way or both: clients and brokers, or a node and all others."""
    brokers: list[Side] = list(cluster.broker_ids)
    nodes: list[Side] = list(cluster.node_ids)
    victim = one_of(random, brokers)
    others: list[Side] = [one for one in nodes if one != victim]
    clients: list[Side] = list(cluster.client_groups)
    side, opposite = one_of(random, ((clients, brokers), (clients, [victim]), ([victim], others)))
    if random.random() < 1 / 2:
        return both_ways(side, opposite)
    return one_way(side, opposite) if random.random() < 1 / 2 else one_way(opposite, side)


_TOXICS: Mapping[str, Callable[[Reach, SeededRandom], Fault]] = {
    "latency": lambda reach, random: Latency(
        reach, random.randrange(100, 1500), random.randrange(0, 100)
    ),
    "bandwidth": lambda reach, random: Bandwidth(reach, random.randrange(10, 200)),
    "slicer": lambda reach, _: Slicer(reach),
    "reset_peer": lambda reach, random: ResetPeer(reach, random.randrange(0, 500)),
    "limit_data": lambda reach, random: LimitData(reach, random.randrange(500, 20_000)),
    "slow_close": lambda reach, random: SlowClose(reach, random.randrange(500, 5000)),
    "link_down": lambda reach, _: LinkDown(reach),
}
