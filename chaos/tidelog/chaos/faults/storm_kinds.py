"""Table of a storm's kinds: how each draws its victim and details from the state at the strike."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from tidelog.chaos.faults.asymmetric_partition import AsymmetricPartition
from tidelog.chaos.faults.bit_flip import HARMLESS, BitFlip
from tidelog.chaos.faults.disk_full import DiskFull
from tidelog.chaos.faults.drawer import Kind, draw_victim
from tidelog.chaos.faults.fault import Fault
from tidelog.chaos.faults.isolate_leader import IsolateLeader
from tidelog.chaos.faults.majority_split import MajoritySplit
from tidelog.chaos.faults.nodes import EmptyDisk, Kill, Pause, Terminate
from tidelog.chaos.faults.reach import Reach, both_ways, one_way
from tidelog.chaos.faults.ring_partition import RingPartition
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
LOG_SHARE = 0.5
SEEDS = 1 << 32
PROCESS, CUT, LOSSY, TOXIC = "process", "cut", "lossy", "toxic"


@dataclass(frozen=True, slots=True)
class Target:
    """A fault, the node it holds for itself, and whether it takes records."""

    fault: Fault
    node_id: int | None = None
    is_lossy: bool = False
    needs_start: bool = True
    """True if lost records return with a start only, or already while the node runs."""


@dataclass(frozen=True, slots=True)
class Moment:
    """State of a strike: the cluster, the strike's own chance, and nodes that others hold."""

    cluster: ClusterPort
    random: SeededRandom
    held: Collection[int]


StormDraw = Callable[[Moment], Target | None]
"""None: nobody is left whom it could strike."""


def _of_node(fault: Callable[[int, SeededRandom], Fault]) -> StormDraw:
    def draw(at: Moment) -> Target | None:
        cluster = at.cluster
        state = cluster.image.partition(cluster.topic, 0)
        node_id = draw_victim(
            at.random,
            cluster.node_ids,
            leader=lambda: None if state is None else state.leader_id,
            controller=lambda: cluster.controller_id,
            held=at.held,
            tries_next=False,  # seeds of storms keep their victims
        )
        return None if node_id is None else Target(fault(node_id, at.random), node_id)

    return draw


def _of_replica(target: Callable[[int, int, SeededRandom], Target]) -> StormDraw:
    def draw(at: Moment) -> Target | None:
        state = at.cluster.image.partition(at.cluster.topic, 0)
        free = [] if state is None else [one for one in state.replicas if one not in at.held]
        if not free:
            return None
        node_id, seed = one_of(at.random, free), at.random.randrange(0, SEEDS)
        return target(node_id, seed, at.random)

    return draw


def _of_links(fault: Callable[[ClusterPort, SeededRandom, list[int]], Fault]) -> StormDraw:
    def draw(at: Moment) -> Target:
        nodes = shuffled(at.random, sorted(at.cluster.node_ids))
        return Target(fault(at.cluster, at.random, nodes))

    return draw


def _of_reach(fault: Callable[[Reach, SeededRandom], Fault]) -> StormDraw:
    def draw(at: Moment) -> Target:
        reach = Reach(_somewhere(at.cluster, at.random))
        return Target(fault(reach, at.random))

    return draw


def _flip(node_id: int, seed: int, random: SeededRandom) -> Target:
    if random.random() < LOG_SHARE:
        fault = BitFlip(node_id, LOG, seed)
        return Target(fault, node_id, is_lossy=True, needs_start=False)
    file_kind = one_of(random, (*HARMLESS, CHECKPOINT_FILE, METADATA_FILE))
    fault = BitFlip(node_id, file_kind, seed)
    is_lossy = file_kind not in HARMLESS
    return Target(Together((Kill(node_id), fault)), node_id, is_lossy=is_lossy)


def _isolate_leader(_: ClusterPort, random: SeededRandom, __: list[int]) -> Fault:
    from_whom = random.randrange(1, 8)
    return IsolateLeader(
        from_followers=bool(from_whom & 1),
        from_controllers=bool(from_whom & 2),
        from_clients=bool(from_whom & 4),
    )


def _asymmetric_partition(cluster: ClusterPort, random: SeededRandom, nodes: list[int]) -> Fault:
    sides: list[Side] = [*nodes[1:], *cluster.client_groups]
    deaf = tuple(sides[: random.randrange(1, len(sides) + 1)])
    return AsymmetricPartition(silent=(nodes[0],), deaf=deaf)


def _majority_split(cluster: ClusterPort, random: SeededRandom, _: list[int]) -> Fault:
    controllers = shuffled(random, sorted(cluster.controller_ids))
    brokers = shuffled(random, sorted(set(cluster.broker_ids) - set(controllers)))
    some = brokers[: random.randrange(0, len(brokers) + 1)]
    few = controllers[: random.randrange(0 if some else 1, (len(controllers) + 1) // 2)]
    clients = [one for one in cluster.client_groups if random.random() < 1 / 2]
    return MajoritySplit((*few, *some, *clients))


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


def _process(name: str, fault: Callable[[int], Fault], *excludes: str) -> Kind[StormDraw]:
    draw = _of_node(lambda node_id, _: fault(node_id))
    return Kind(name, draw, group=PROCESS, excludes=frozenset(excludes), may_repeat=True)


def _cut(
    name: str, fault: Callable[[ClusterPort, SeededRandom, list[int]], Fault]
) -> Kind[StormDraw]:
    return Kind(name, _of_links(fault), group=CUT, excludes=frozenset({CUT}))


def _lossy(name: str, target: Callable[[int, int, SeededRandom], Target]) -> Kind[StormDraw]:
    return Kind(name, _of_replica(target), group=LOSSY, excludes=frozenset({LOSSY}))


def _toxic(name: str, fault: Callable[[Reach, SeededRandom], Fault]) -> Kind[StormDraw]:
    return Kind(name, _of_reach(fault), group=TOXIC)


TABLE: tuple[Kind[StormDraw], ...] = (
    _process("kill", Kill),
    _process("terminate", Terminate),
    # A proxy that waits for a stopped receiver cannot let go of a toxic.
    _process("pause", Pause, TOXIC),
    _cut("isolate_leader", _isolate_leader),
    _cut("asymmetric_partition", _asymmetric_partition),
    _cut("ring_partition", lambda _, __, nodes: RingPartition(tuple(nodes))),
    _cut("majority_split", _majority_split),
    _lossy("empty_disk", lambda one, _, __: Target(EmptyDisk(one), one, is_lossy=True)),
    _lossy("torn_tail", lambda one, seed, _: Target(TornTail(one, seed), one, is_lossy=True)),
    _lossy("bit_flip", _flip),
    _toxic(
        "latency",
        lambda reach, random: Latency(reach, random.randrange(100, 1500), random.randrange(0, 100)),
    ),
    _toxic("bandwidth", lambda reach, random: Bandwidth(reach, random.randrange(10, 200))),
    _toxic("slicer", lambda reach, _: Slicer(reach)),
    _toxic("reset_peer", lambda reach, random: ResetPeer(reach, random.randrange(0, 500))),
    _toxic("limit_data", lambda reach, random: LimitData(reach, random.randrange(500, 20_000))),
    _toxic("slow_close", lambda reach, random: SlowClose(reach, random.randrange(500, 5000))),
    _toxic("link_down", lambda reach, _: LinkDown(reach)),
    Kind(
        "disk_full",
        _of_node(lambda node_id, random: DiskFull(node_id, random.randrange(0, ROOM_BYTES_MAX))),
    ),
)
ROWS = {kind.name: kind for kind in TABLE}


def names_of(*groups: str) -> tuple[str, ...]:
    """Names of the kinds of these groups, in the table's order."""
    return tuple(kind.name for kind in TABLE if kind.group in groups)


TOXICS = names_of(TOXIC)
MENU = names_of(PROCESS, CUT, LOSSY)
"""Kinds that every cluster supports."""
KINDS = tuple(ROWS)
