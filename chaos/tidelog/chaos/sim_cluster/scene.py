"""What a scenario has in hand: the faults, and eyes for whether each of them bit.

Owns what is seen of the story's partition, partition 0 of one topic: answers, log lines of nodes,
replicas. A fault that was not observed is reported as "unobserved": a story that did not happen
proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from tidelog.broker.hosted_partition import HostedPartition
from tidelog.broker.partition.leader import ACKS_ALL, Leader
from tidelog.chaos.history import History
from tidelog.chaos.sim_cluster.budget import folder_of
from tidelog.chaos.sim_cluster.inside import held_by, log_of
from tidelog.chaos.sim_cluster.strikes import UNTIL_S_MAX, Strikes
from tidelog.chaos.sim_cluster.world import World
from tidelog.chaos.sim_stage.clock import SimRandom
from tidelog.chaos.sim_stage.disk import SimDisk
from tidelog.chaos.sim_stage.network import Host
from tidelog.chaos.workloads.workload import Workload
from tidelog.log.partition_log import PartitionLog
from tidelog.metadata.image import PartitionImage
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import ProduceRequest, ProduceResponse

UNOBSERVED = "unobserved"
ON_THE_WAY_S = 0.2
"""Within this time whatever was on a link has arrived."""
Counts = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Answer:
    """A broker's to a producer, of one partition."""

    at_s: float
    node_id: int
    code: int
    acks: int


@dataclass(frozen=True, slots=True)
class LogLine:
    """Of a node's own log."""

    node_id: int
    event: str
    fields: Mapping[str, Any]


class Scene(Strikes):
    """The world as a scenario meets it."""

    def __init__(self, world: World, workload: Workload, random: SimRandom) -> None:
        super().__init__(world, random)
        self.workload = workload
        self.topic = world.config.topics[0].name
        self.answers: list[Answer] = []
        self.lines: list[LogLine] = []
        self._last_words: list[Callable[[History, Counts], tuple[bool, str]]] = []
        self._tap = world.cluster.network.tap
        world.cluster.network.tap = self._on_call

    # What must be seen

    def expect(self, is_seen: object, what: str) -> None:
        """Report it, unless it is."""
        if not is_seen:
            self.world.findings.report(UNOBSERVED, what)

    async def comes(
        self, condition: Callable[[], object], what: str, *, within_s: float = UNTIL_S_MAX
    ) -> None:
        """Wait for it; a report when it does not come."""
        self.expect(await self.until(condition, within_s=within_s), what)

    def at_the_end(self, judge: Callable[[History, Counts], tuple[bool, str]]) -> None:
        """Ask `judge`, when all is read, whether it is so, and what."""
        self._last_words.append(judge)

    def conclude(self, history: History, counts: Counts) -> None:
        """All is read."""
        for judge in self._last_words:
            self.expect(*judge(history, counts))

    # The partition

    @property
    def now(self) -> PartitionImage:
        """Its state; `LookupError` while no controller knows of it."""
        return self.state(self.topic)

    def is_led_by(self, *node_ids: int) -> bool:
        """Whether one of them leads, as far as anyone knows."""
        found = self.world.image.partition(self.topic, 0)
        return found is not None and found.leader_id in node_ids

    def isr_is(self, *node_ids: int) -> bool:
        """Whether these are in sync, and nobody else."""
        found = self.world.image.partition(self.topic, 0)
        return found is not None and set(found.isr) == set(node_ids)

    def is_in_sync(self, node_id: int) -> bool:
        """Whether it is in the ISR."""
        found = self.world.image.partition(self.topic, 0)
        return found is not None and node_id in found.isr

    def is_out(self, node_id: int) -> bool:
        """Whether it is known not to be in the ISR."""
        found = self.world.image.partition(self.topic, 0)
        return found is not None and node_id not in found.isr

    def cast(self) -> tuple[int, list[int]]:
        """The leader and the followers."""
        leader = self.leader(self.topic)
        return leader, [one for one in self.now.replicas if one != leader]

    @property
    def session_s(self) -> float:
        """How long a broker may be silent."""
        return self.world.config.session_timeout_ms / 1000

    @property
    def lag_s(self) -> float:
        """How long a follower may lag."""
        return self.world.config.replica.replica_lag_time_max_ms / 1000

    @property
    def failover_s(self) -> float:
        """Within this time another leader was elected, though a controller had to be, first."""
        return 2 * self.session_s + 2.0

    async def another_leads(self, leader: int) -> int:
        """Wait for it; who does."""
        others = [one for one in self.now.replicas if one != leader]
        await self.comes(
            lambda: self.is_led_by(*others), f"no leader but {leader}", within_s=self.failover_s
        )
        return self.leader(self.topic)

    async def in_sync(self) -> None:
        """Wait until all replicas are."""
        self.expect(await self.until_in_sync(self.topic), f"all in sync: {self.now}")

    # Replicas

    def replica(self, node_id: int) -> HostedPartition | None:
        """Of a node that runs and holds it."""
        node = self.world.machine(node_id).node
        return None if node is None else held_by(node).get((self.topic, 0))

    def log(self, node_id: int) -> PartitionLog | None:
        """Its log, if it is open."""
        hosted = self.replica(node_id)
        return None if hosted is None else log_of(hosted)

    def is_open(self, node_id: int) -> bool:
        """Whether its log is."""
        return self.log(node_id) is not None

    def ends_after(self, node_id: int, offset: int) -> bool:
        """Whether its log does."""
        return self.end(node_id) > offset

    def end(self, node_id: int) -> int:
        """Where its log ends; -1 while it has none."""
        log = self.log(node_id)
        return -1 if log is None else log.log_end_offset

    def high_watermark(self, node_id: int) -> int:
        """What it knows to be committed; -1 while it has no log."""
        log = self.log(node_id)
        return -1 if log is None else log.high_watermark

    def epoch(self, node_id: int) -> int:
        """In which leader epoch it has its role; -1 while it has none."""
        hosted = self.replica(node_id)
        role = None if hosted is None else hosted.replica.role
        return -1 if role is None else role.leader_epoch

    def proposed_isr(self, leader: int) -> tuple[int, ...]:
        """What it asks the controllers for."""
        hosted = self.replica(leader)
        role = None if hosted is None else hosted.replica.role
        return (role.isr.proposed or ()) if isinstance(role, Leader) else ()

    def disk(self, node_id: int) -> SimDisk:
        """Of a node's machine."""
        return self.world.machine(node_id).disk

    @property
    def folder(self) -> str:
        """Where each replica lies."""
        return folder_of(self.topic, 0)

    def files(self, node_id: int, kind: str) -> list[str]:
        """The paths of its files of this kind that are not empty."""
        disk = self.disk(node_id)
        paths = [f"{self.folder}/{name}" for name in disk.names(self.folder) if name.endswith(kind)]
        return [path for path in paths if disk.length(path)]

    # Clients

    def answered(
        self, *codes: int, by: int | None = None, since_s: float = 0.0, acks: int | None = None
    ) -> int:
        """How often producers were answered so."""
        return sum(
            one.code in codes
            and by in (None, one.node_id)
            and one.at_s >= since_s
            and acks in (None, one.acks)
            for one in self.answers
        )

    async def acknowledged_again(self) -> None:
        """Wait for success with acks=all."""
        now_s = self.now_s
        await self.comes(
            lambda: self.answered(common_pb2.NONE, since_s=now_s, acks=ACKS_ALL) > 0,
            "acknowledged again",
        )

    async def hush(self) -> None:
        """Producers begin nothing more, and all they began has ended. `workload.is_held` on."""
        self.workload.is_held = True
        await self.comes(lambda: not self.workload.unended, "all sends ended", within_s=30.0)

    def told(self, event: str, node_id: int | None = None, **fields: object) -> list[LogLine]:
        """What nodes logged."""
        return [
            line
            for line in self.lines
            if line.event == event
            and node_id in (None, line.node_id)
            and all(line.fields.get(name) == value for name, value in fields.items())
        ]

    def told_here(self, event: str, node_id: int | None = None) -> list[LogLine]:
        """The same, of the story's partition."""
        return self.told(event, node_id, partition=f"{self.topic}-0")

    # Ears

    def hear(self, who: str, line: MutableMapping[str, Any]) -> None:
        """A node logs a line."""
        name, _, number = who.partition("-")
        if name == "node":
            fields = {key: value for key, value in line.items() if key != "event"}
            self.lines.append(LogLine(int(number), str(line["event"]), fields))

    def _on_call(self, server: Host, request: object, response: object) -> None:
        if self._tap is not None:
            self._tap(server, request, response)
        if isinstance(request, ProduceRequest) and isinstance(response, ProduceResponse):
            acks = request.acks if request.HasField("acks") else ACKS_ALL
            node_id = int(server.name.rpartition("-")[2])
            for result in response.partitions:
                self.answers.append(Answer(self.now_s, node_id, result.error.code, acks))
