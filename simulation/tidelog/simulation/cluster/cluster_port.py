"""The simulated cluster as stories meet it: `ClusterPort` and `Machines` over a simulation.

Owns what stories hear: answers and nodes' log lines. Strikes as random storms do, and within the
same fault budget.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping, Sequence
from typing import Any, Literal

from tidelog.broker.replica.leader import Leader
from tidelog.chaos.faults.bit_flip import Flip
from tidelog.chaos.node_inside import held_by, log_of, quorum_of
from tidelog.chaos.story.cluster_port import Answer, Load, LogLine, Path, ReplicaView, Side
from tidelog.chaos.story.scenario_run import UNOBSERVED
from tidelog.chaos.topology import CLIENTS, MEMBERS
from tidelog.core.chance import SeededRandom
from tidelog.history.history import ACKS_ALL, History
from tidelog.log.file_names import LOG
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.quorum_controller import QuorumController
from tidelog.node.quorum import METADATA_DIRECTORY
from tidelog.raft.wal import FILE_NAME
from tidelog.simulation.cluster.cluster import DATA_DIRECTORY
from tidelog.simulation.cluster.fault_actions import FaultActions
from tidelog.simulation.cluster.inside import active_controller, folder_of, partition_of
from tidelog.simulation.engine.disk import SimDisk
from tidelog.simulation.engine.late_calls import LateCalls
from tidelog.simulation.engine.network import Host
from tidelog.v1.data_pb2 import ProduceRequest, ProduceResponse

STEP_COST_S = 200e-6
"""Cost of a callback on a processor of its own: that of a busy node with many partitions."""


class SimClusterPort:
    """`ClusterPort` and `Machines` of a seed's simulation. Clients are one group here.

    A path may also end at one client alone, named by its host.
    """

    def __init__(self, actions: FaultActions, load: Load | None = None) -> None:
        self._actions = actions
        self._simulation = actions.simulation
        self._load = load
        self._answers: list[Answer] = []
        self._lines: list[LogLine] = []
        self._tap = self._simulation.cluster.network.tap

    def listen(self) -> None:
        """Keep what producers are answered from now on: `answers` of a story."""
        self._simulation.cluster.network.tap = self._on_call

    @property
    def node_ids(self) -> Sequence[int]:
        """See `ClusterPort`."""
        return self._simulation.config.node_ids

    @property
    def broker_ids(self) -> Sequence[int]:
        """See `ClusterPort`."""
        return self._simulation.config.broker_ids

    @property
    def controller_ids(self) -> Sequence[int]:
        """See `ClusterPort`."""
        return self._simulation.config.controller_ids

    @property
    def client_groups(self) -> Sequence[str]:
        """See `ClusterPort`."""
        return (CLIENTS,)

    @property
    def topic(self) -> str:
        """See `ClusterPort`."""
        return self._simulation.config.topics[0].name

    @property
    def session_s(self) -> float:
        """See `ClusterPort`."""
        return self._simulation.config.session_timeout_ms / 1000

    @property
    def lag_s(self) -> float:
        """See `ClusterPort`."""
        return self._simulation.config.replica.replica_lag_time_max_ms / 1000

    @property
    def now_s(self) -> float:
        """Virtual time."""
        return self._simulation.now_s

    @property
    def random(self) -> SeededRandom:
        """See `ClusterPort`."""
        return self._actions.random

    @property
    def load(self) -> Load:
        """See `ClusterPort`. Raises `LookupError` in a target that has none."""
        if self._load is None:
            raise LookupError("this target has no load of a story")
        return self._load

    @property
    def history(self) -> History:
        """See `ClusterPort`."""
        return self._simulation.history

    @property
    def is_full(self) -> bool:
        """Seeds are run by the thousand instead."""
        return False

    @property
    def load_s(self) -> float:
        """See `ClusterPort`."""
        return self._simulation.config.storm_s

    @property
    def patience(self) -> float:
        """Virtual time is exact."""
        return 1.0

    def count(self, kind: str, what: str = "", *_: int) -> None:
        """See `ClusterPort`."""
        self._actions.count(kind, what)

    def over(self, kind: str, what: str = "", *_: int) -> None:
        """See `ClusterPort`."""
        self._simulation.timeline.note("fault", f"{kind} {what} is over")

    def report(self, kind: str, what: str) -> None:
        """See `ClusterPort`."""
        self._simulation.findings.report(kind, what)

    # Processes

    async def kill(self, node_id: int) -> bool:
        """See `ClusterPort`."""
        return self._actions.kill(node_id)

    async def stop(self, node_id: int) -> None:
        """See `ClusterPort`."""
        await self._actions.stop(node_id)

    async def start(self, node_id: int) -> None:
        """See `ClusterPort`."""
        self._simulation.start(node_id)

    async def pause(self, node_id: int) -> int | None:
        """See `ClusterPort`."""
        return self._actions.pause_now(node_id)

    async def resume(self, node_id: int, process: int | None = None) -> None:
        """See `ClusterPort`."""
        self._actions.resume(node_id, process)

    async def starve(self, node_id: int, share: float) -> str:
        """Every callback takes as much longer."""
        self._set_step_cost(node_id, STEP_COST_S / share)
        return f"{STEP_COST_S / share * 1000:.1f} ms a callback"

    async def feed(self, node_id: int) -> None:
        """See `ClusterPort`."""
        self._set_step_cost(node_id, 0.0)

    def _set_step_cost(self, node_id: int, seconds: float) -> None:
        host = self._simulation.machine(node_id).host
        if host is not None:
            host.loop.step_cost_s = seconds

    async def cut_power(self, node_id: int) -> bool:
        """See `Machines`."""
        return self._actions.cut_power(node_id)

    async def end_at(self, node_id: int, operation: int, *, has_power_cut: bool) -> bool:
        """See `Machines`."""
        disk, budget = self._disk(node_id), self._simulation.budget
        if not has_power_cut:
            disk.faults.end_at(operation)
            return True
        if not budget.may_lose_power(node_id):
            return False
        budget.plan_cut(node_id)
        disk.crash_at(operation)
        return True

    async def spare(self, node_id: int) -> None:
        """See `Machines`."""
        faults = self._disk(node_id).faults
        if faults.is_cut_due:
            faults.heal()
        self._simulation.budget.cancel_cut(node_id)

    def has_recovered(self) -> bool:
        """See `Machines`."""
        return not any(self._simulation.budget.outstanding())

    # Links

    async def cut(self, paths: Iterable[Path]) -> None:
        """See `ClusterPort`."""
        self._actions.cut_now(self._links(paths))

    async def mend(self, paths: Iterable[Path]) -> None:
        """See `ClusterPort`."""
        self._actions.mend(self._links(paths))

    async def delay(self, paths: Iterable[Path]) -> None:
        """Until `hasten`, and then all at once."""
        for link in self._links(paths):
            self._simulation.cluster.network.clog(*link)

    async def hasten(self, paths: Iterable[Path]) -> None:
        """See `ClusterPort`."""
        for link in self._links(paths):
            self._simulation.cluster.network.unclog(*link)

    def hold_calls(self, node_id: int, method: str, *, most: int) -> LateCalls:
        """See `CallHolder`."""
        network = self._simulation.cluster.network
        return network.hold_calls(self._actions.host(node_id), method, most=most)

    def deliver_late(self, held: LateCalls) -> None:
        """See `CallHolder`."""
        self._simulation.cluster.network.deliver_late(held)

    def _links(self, paths: Iterable[Path]) -> list[tuple[str, str]]:
        return [
            (source, target)
            for path in paths
            for source in self._hosts(path[0])
            for target in self._hosts(path[1])
        ]

    def _hosts(self, side: Side) -> Sequence[str]:
        if isinstance(side, int):
            return [self._actions.host(side)]
        hosts = self._simulation.client_hosts
        if side == MEMBERS:
            return self._simulation.client_processes
        return hosts if side == CLIENTS else [one for one in hosts if one == side]

    # Disks

    def _disk(self, node_id: int) -> SimDisk:
        return self._simulation.machine(node_id).disk

    async def wipe(self, node_id: int) -> None:
        """As a power cut that leaves nothing, to the budget."""
        if not self._simulation.budget.may_lose_power(node_id):
            self.report(UNOBSERVED, f"the budget has no room for an empty disk on node {node_id}")
        self._simulation.budget.note_cut(node_id)
        disk = self._disk(node_id)
        for name in disk.names(DATA_DIRECTORY):
            disk.vanish(f"{DATA_DIRECTORY}/{name}")

    async def fill(self, node_id: int, *, room_bytes: int) -> None:
        """See `ClusterPort`."""
        disk = self._disk(node_id)
        disk.capacity_bytes = disk.used_bytes() + room_bytes

    async def make_room(self, node_id: int) -> None:
        """See `ClusterPort`."""
        self._disk(node_id).capacity_bytes = None

    async def fail_next(self, node_id: int, action: Literal["write", "sync"], path: str) -> None:
        """See `Machines`."""
        self._simulation.budget.note_failed_sync(node_id, self.topic, 0)
        self._disk(node_id).faults.fail(action, path, count=1)

    async def mend_disk(self, node_id: int) -> None:
        """See `Machines`."""
        self._disk(node_id).faults.heal()

    async def slow_disk(self, node_id: int, sync_s: float | None) -> None:
        """See `ClusterPort`."""
        usual_s = self._simulation.config.sync_latency_s_max
        self._disk(node_id).slow_down(usual_s if sync_s is None else sync_s)

    def files(self, node_id: int, kind: str) -> list[str]:
        """See `ClusterPort`."""
        disk, folder = self._disk(node_id), folder_of(self.topic, 0)
        paths = [f"{folder}/{name}" for name in disk.names(folder) if name.endswith(kind)]
        return [path for path in paths if disk.length(path)]

    def journal(self, _: int) -> str:
        """See `ClusterPort`."""
        return f"{DATA_DIRECTORY}/{METADATA_DIRECTORY}/{FILE_NAME}"

    def length(self, node_id: int, path: str) -> int:
        """See `ClusterPort`."""
        return self._disk(node_id).length(path)

    def content(self, node_id: int, path: str) -> bytes:
        """See `ClusterPort`."""
        return self._disk(node_id).look(path, 0, self.length(node_id, path))

    async def overwrite(self, node_id: int, path: str, at: int, data: bytes) -> None:
        """See `ClusterPort`."""
        self._disk(node_id).open(path).write_at(at, data)

    async def flip(self, node_id: int, path: str, byte: int, bit: int) -> None:
        """Within the budget if it is a segment's, of any partition."""
        disk = self._disk(node_id)
        if not path.endswith(LOG):
            disk.flip(path, byte, bit)
            return
        topic, partition = partition_of(path)
        self._ask_to_damage(node_id, topic, partition)
        disk.flip(path, byte, bit)
        flip = Flip(node_id, path, byte, *disk.look(path, byte, 1))
        self._simulation.budget.note_flip(topic, partition, flip)

    async def vanish(self, node_id: int, path: str) -> None:
        """Within the budget if it is a segment."""
        if path.endswith(LOG):
            self._ask_to_damage(node_id, self.topic, 0)
            self._simulation.budget.note_damage(node_id, self.topic, 0)
        self._disk(node_id).vanish(path)

    async def truncate(self, node_id: int, path: str, length: int) -> None:
        """As `vanish`."""
        if path.endswith(LOG):
            self._ask_to_damage(node_id, self.topic, 0)
            self._simulation.budget.note_damage(node_id, self.topic, 0)
        self._disk(node_id).open(path).truncate(length)

    def _ask_to_damage(self, node_id: int, topic: str, partition: int) -> None:
        if not self._simulation.budget.may_damage(node_id, topic, partition):
            self.report(UNOBSERVED, f"the budget has no room for damage on node {node_id}")

    # Eyes

    async def look(self) -> None:
        """Everything is seen as it is."""

    @property
    def image(self) -> MetadataImage:
        """See `ClusterPort`."""
        return self._simulation.image

    @property
    def controller_id(self) -> int | None:
        """See `ClusterPort`."""
        return active_controller(self._simulation.cluster)

    def is_up(self, node_id: int) -> bool:
        """See `ClusterPort`."""
        return self._simulation.is_up(node_id)

    def replica(self, node_id: int) -> ReplicaView | None:
        """See `ClusterPort`."""
        node = self._simulation.machine(node_id).node
        hosted = None if node is None else held_by(node).get((self.topic, 0))
        log = None if hosted is None else log_of(hosted)
        if hosted is None or log is None:
            return None
        role = hosted.replica.role
        return ReplicaView(
            is_leader=isinstance(role, Leader),
            leader_epoch=-1 if role is None else role.leader_epoch,
            log_end_offset=log.log_end_offset,
            high_watermark=log.high_watermark,
            proposed_isr=(role.isr.proposed or ()) if isinstance(role, Leader) else (),
            is_failed=hosted.is_failed,
        )

    def term(self, node_id: int) -> int:
        """See `ClusterPort`."""
        quorum = self._quorum(node_id)
        return -1 if quorum is None else quorum.term

    def is_active(self, node_id: int) -> bool:
        """See `ClusterPort`."""
        quorum = self._quorum(node_id)
        return quorum is not None and quorum.is_active

    def metadata_offset(self, node_id: int) -> int:
        """See `ClusterPort`."""
        quorum = self._quorum(node_id)
        return -1 if quorum is None else quorum.image.offset

    def _quorum(self, node_id: int) -> QuorumController | None:
        node = self._simulation.machine(node_id).node
        return None if node is None else quorum_of(node)

    @property
    def lines(self) -> Sequence[LogLine]:
        """See `ClusterPort`."""
        return self._lines

    @property
    def answers(self) -> Sequence[Answer]:
        """See `ClusterPort`."""
        return self._answers

    # Ears

    def hear(self, who: str, line: MutableMapping[str, Any]) -> None:
        """A node logs a line."""
        name, _, number = who.partition("-")
        if name == "node":
            fields = {key: value for key, value in line.items() if key != "event"}
            self._lines.append(LogLine(int(number), self.now_s, str(line["event"]), fields))

    def _on_call(self, server: Host, request: object, response: object) -> None:
        if self._tap is not None:
            self._tap(server, request, response)
        if isinstance(request, ProduceRequest) and isinstance(response, ProduceResponse):
            acks = request.acks if request.HasField("acks") else ACKS_ALL
            node_id = int(server.name.rpartition("-")[2])
            for result in response.partitions:
                self._answers.append(Answer(self.now_s, node_id, result.error.code, acks))
