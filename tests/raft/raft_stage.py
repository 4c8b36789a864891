"""Voters on disks in memory, clocks moved by hand and a network that does only what it is told.

Owns what happens between two steps of an engine, as the driver does: persist, then tell. Used by
the golden traces; decides nothing about Raft.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tidelog.core.chance import SeededRandom
from tidelog.core.errors import invariant
from tidelog.raft.config import RaftConfig
from tidelog.raft.durable_state import SnapshotId
from tidelog.raft.engine import Engine, Ready
from tidelog.raft.pysyncobj.engine import SyncObj
from tidelog.raft.storage import Storage
from tidelog.raft.voter import Voter
from tidelog.simulation.engine.disk import SimDisk
from tidelog.v1.raft_pb2 import RaftMessage

DIRECTORY = "/data/meta"
ENGINES: dict[str, Callable[..., Engine]] = {"tidelog": Voter, "pysyncobj": SyncObj}


class FixedRandom:
    """Implements `Random`: node 1 is always the first whose time-out passes, then 2, then 3."""

    def __init__(self, node_id: int) -> None:
        self._value = min(0.9, 0.3 * (node_id - 1))

    def random(self) -> float:
        return self._value

    def randrange(self, start: int, stop: int) -> int:
        return start

    def uniform(self, low: float, high: float) -> float:
        return low + (high - low) * self._value

    def randbytes(self, length: int) -> bytes:
        return bytes(length)


@dataclass(slots=True)
class Happened:
    """What one step of a voter did, all of it persisted."""

    node_id: int
    ready: Ready
    has_synced: bool


@dataclass(slots=True)
class Machine:
    """A node: its disk and clock outlive its process."""

    node_id: int
    disk: SimDisk
    now_s: float = 0.0
    lives: int = 0
    storage: Storage | None = None
    engine: Engine | None = None
    applied_index: int = 0
    applied: list[bytes] = field(default_factory=list)

    @property
    def is_running(self) -> bool:
        return self.engine is not None


class Stage:
    """All machines, what is in flight between them, and who can reach whom."""

    def __init__(self, *, engine: str, config: RaftConfig) -> None:
        self.engine = engine
        self.config = config
        self.machines: dict[int, Machine] = {}
        self.in_flight: list[RaftMessage] = []
        self.disconnected: set[frozenset[int]] = set()
        self.cut: set[tuple[int, int]] = set()
        """Sender and receiver: what is sent is lost, and neither hears of it."""

    def add(self, count: int) -> None:
        for node_id in range(1, count + 1):
            self.machines[node_id] = Machine(node_id, self._new_disk(node_id))

    def running(self, node_id: int) -> tuple[Machine, Storage, Engine]:
        machine = self.machines[node_id]
        assert machine.storage is not None, f"{node_id} does not run"
        assert machine.engine is not None
        return machine, machine.storage, machine.engine

    async def open(self, node_id: int) -> Storage:
        """The node's storage, for the first process or another one."""
        machine = self.machines[node_id]
        machine.lives += 1
        return await Storage.open(
            disk=machine.disk,
            directory=DIRECTORY,
            node_id=node_id,
            wall_ms=1000 * machine.lives,
            reserve_bytes=self.config.wal_reserve_bytes,
        )

    async def start(self, node_id: int) -> None:
        machine = self.machines[node_id]
        storage = machine.storage = await self.open(node_id)
        machine.applied, machine.applied_index = [], 0
        self._restore(machine, storage)
        machine.engine = self._make_engine(machine, storage)

    def stop(self, node_id: int) -> None:
        """Power off: what was not synced is lost, and so is what is in flight to the node."""
        machine, storage, _ = self.running(node_id)
        storage.close()
        machine.disk.crash()
        machine.storage = machine.engine = None

    def wipe(self, node_id: int) -> None:
        """Put in an empty disk."""
        if self.machines[node_id].is_running:
            self.stop(node_id)
        self.machines[node_id].disk = self._new_disk(node_id)

    async def step(
        self,
        node_id: int,
        *,
        received: Sequence[RaftMessage] = (),
        proposals: Sequence[bytes] = (),
        reads: Sequence[int] = (),
    ) -> list[Happened]:
        """Step until the node waits for something: the driver goes on after every sync."""
        happened = [await self._step_once(node_id, received, proposals, reads)]
        while happened[-1].has_synced or happened[-1].ready.next_step_in_s == 0:
            happened.append(await self._step_once(node_id, (), (), ()))
            assert len(happened) < 100, f"{node_id} steps forever"
        return happened

    async def deliver(self, messages: Iterable[RaftMessage]) -> list[Happened]:
        """Hand over these messages: one step for each receiver, in order of their ids."""
        inboxes: dict[int, list[RaftMessage]] = {}
        for message in messages:
            if self._arrives(message):
                inboxes.setdefault(message.receiver_id, []).append(message)
        happened: list[Happened] = []
        for node_id, received in sorted(inboxes.items()):
            happened += await self.step(node_id, received=received)
        return happened

    async def write_snapshot(self, node_id: int) -> SnapshotId:
        """Of all that is applied, and cut the log behind it, as the driver would."""
        machine, storage, _ = self.running(node_id)
        index = machine.applied_index
        snapshot = SnapshotId(index, storage.wal.term_at(index) or 0)
        await storage.snapshots.write(snapshot, iter(list(machine.applied)))
        base_index = index - self.config.retained_entries
        if base_index > storage.wal.base_index:
            await storage.wal.compact(base_index=base_index)
        return snapshot

    async def _step_once(
        self,
        node_id: int,
        received: Sequence[RaftMessage],
        proposals: Sequence[bytes],
        reads: Sequence[int],
    ) -> Happened:
        machine, storage, engine = self.running(node_id)
        ready = engine.step(
            now_s=machine.now_s,
            connected=self._connected(node_id),
            received=received,
            proposals=proposals,
            reads=reads,
        )
        has_synced = storage.is_dirty
        if has_synced:
            await storage.sync()
        self.in_flight += [m for m in (*ready.at_once, *ready.messages) if self._is_sent(m)]
        if ready.restored is not None:
            invariant(ready.restored == storage.snapshots.latest, "installed", ready.restored)
            self._restore(machine, storage)
        for entry in ready.committed:
            invariant(entry.index == machine.applied_index + 1, "in order", node_id, entry.index)
            machine.applied_index = entry.index
            if entry.command is not None:
                machine.applied.append(entry.command)
        return Happened(node_id, ready, has_synced)

    def _restore(self, machine: Machine, storage: Storage) -> None:
        if storage.snapshots.latest is not None:
            machine.applied = list(storage.snapshots.records())
            machine.applied_index = storage.snapshots.latest.index

    def _make_engine(self, machine: Machine, storage: Storage) -> Engine:
        return ENGINES[self.engine](
            sorted(self.machines),
            log=storage.wal,
            snapshots=storage.snapshots,
            random=FixedRandom(machine.node_id),
            config=self.config,
        )

    def _connected(self, node_id: int) -> list[int]:
        return [
            peer_id
            for peer_id, machine in sorted(self.machines.items())
            if peer_id != node_id
            and machine.is_running
            and frozenset((node_id, peer_id)) not in self.disconnected
        ]

    def _is_sent(self, message: RaftMessage) -> bool:
        """Whether it can be on its way at all."""
        is_cut = (message.sender_id, message.receiver_id) in self.cut
        return not is_cut and message.receiver_id in self._connected(message.sender_id)

    def _arrives(self, message: RaftMessage) -> bool:
        return self.machines[message.receiver_id].is_running

    def _new_disk(self, node_id: int) -> SimDisk:
        return SimDisk(SeededRandom(node_id), sync_latency_s=0)
