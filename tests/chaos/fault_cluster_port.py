"""A port without a cluster: it believes all that is done to it, and knows what is in force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.metadata.broker_endpoints import reached_at

from tidelog.chaos.faults.proxies import ProxyToxic
from tidelog.chaos.story.cluster_port import Answer, Load, LogLine, Path, ReplicaView
from tidelog.chaos.topology import Direction, Link, Topology
from tidelog.core.chance import SeededRandom
from tidelog.history.history import History
from tidelog.metadata.image import BrokerImage, MetadataImage, PartitionImage, TopicImage

TOPIC = "steady"
FOLDER = f"data/{TOPIC}-0"
FIRST_EPOCH = 10


class FakeLoad:
    """No clients."""

    is_held = False
    unended = 0
    group = None
    transactions = None

    async def recreate(self, topic: str) -> None:
        raise NotImplementedError

    async def create(self, topic: str, *, within_s: float) -> bool:
        raise NotImplementedError

    async def decide(self, topic: str, *, within_s: float) -> bool:
        raise NotImplementedError


@dataclass
class FakeProxies:
    """What lies on which link."""

    links: Sequence[Link]
    toxics: dict[tuple[Link, str, Direction], ProxyToxic] = field(default_factory=dict)
    disabled: set[Link] = field(default_factory=set)

    async def add(self, links: Iterable[Link], toxic: ProxyToxic) -> None:
        for link in links:
            key = (link, toxic.kind, toxic.stream)
            assert key not in self.toxics, f"twice: {key}"
            self.toxics[key] = toxic

    async def remove(self, links: Iterable[Link], toxic: ProxyToxic) -> None:
        for link in links:
            self.toxics.pop((link, toxic.kind, toxic.stream), None)

    async def disable(self, links: Iterable[Link]) -> None:
        self.disabled.update(links)

    async def enable(self, links: Iterable[Link]) -> None:
        self.disabled.difference_update(links)

    async def reset(self) -> None:
        self.toxics.clear()
        self.disabled.clear()

    async def bytes_carried(self) -> Mapping[Link, tuple[int, int]]:
        return {}


class FakeClusterPort:
    """See the module. A node that starts is registered anew and in the ISR at once."""

    def __init__(self, topology: Topology | None = None, *, seed: int = 1) -> None:
        topology = topology or Topology()
        self.node_ids = topology.node_ids
        self.broker_ids = topology.broker_ids
        self.controller_ids = topology.controller_ids
        self.client_groups = topology.client_groups
        self.topic = TOPIC
        self.session_s = self.lag_s = 2.0
        self.now_s = 0.0
        self.random = SeededRandom(seed)
        self.load: Load = FakeLoad()
        self.history = History()
        self.is_full = False
        self.load_s = 10.0
        self.patience = 1.0
        self.lines: Sequence[LogLine] = ()
        self.answers: Sequence[Answer] = ()
        self.controller_id: int | None = topology.controller_ids[0]
        self.counted: Counter[tuple[str, str]] = Counter()
        self.reported: list[str] = []
        """The kinds, in order."""
        self.down: set[int] = set()
        self.paused: set[int] = set()
        self.shares: dict[int, float] = {}
        self.cuts: Counter[Path] = Counter()
        self.delays: Counter[Path] = Counter()
        self.full: set[int] = set()
        self.slow: dict[int, float] = {}
        self.wiped: list[int] = []
        self.stored: dict[tuple[int, str], bytes] = {}
        self.image = self._image()

    def _image(self) -> MetadataImage:
        brokers = {
            one: BrokerImage(
                one, bytes(16), FIRST_EPOCH, reached_at(f"host:{one}"), "", is_fenced=False
            )
            for one in self.broker_ids
        }
        replicas = tuple(self.broker_ids)
        state = PartitionImage(0, replicas, replicas, replicas[0], 0, 0)
        topic = TopicImage(TOPIC, bytes(16), (state,), {})
        return MetadataImage(offset=1, brokers=brokers, topics={TOPIC: topic})

    # What a test asks

    @property
    def state(self) -> PartitionImage:
        found = self.image.partition(TOPIC, 0)
        assert found is not None
        return found

    def is_whole(self) -> bool:
        """Nothing is left of any fault but what disks lost."""
        return not (
            self.down
            or self.paused
            or self.shares
            or self.slow
            or +self.cuts
            or +self.delays
            or self.full
            or +self.counted
        )

    def become(self, **changes: Any) -> None:  # of a `PartitionImage`
        """Change the partition's state."""
        topic = replace(self.image.topics[TOPIC], partitions=(replace(self.state, **changes),))
        self.image = replace(self.image, topics={TOPIC: topic})

    # What it is told

    def count(self, kind: str, what: str = "", *_: int) -> None:
        self.counted[kind, what] += 1
        self.reported.append(kind)

    def over(self, kind: str, what: str = "", *_: int) -> None:
        self.counted -= Counter({(kind, what): 1})

    def report(self, kind: str, what: str) -> None:
        raise AssertionError(f"{kind}: {what}")

    async def kill(self, node_id: int) -> bool:
        was_up = node_id not in self.down
        self.down.add(node_id)
        self.paused.discard(node_id)
        if node_id in self.broker_ids:
            self.become(isr=tuple(one for one in self.state.isr if one != node_id))
        return was_up

    async def stop(self, node_id: int) -> None:
        await self.kill(node_id)

    async def start(self, node_id: int) -> None:
        was_up = node_id not in self.down
        self.down.discard(node_id)
        if was_up or node_id not in self.broker_ids:
            return
        known = self.image.brokers[node_id]
        anew = replace(known, broker_epoch=known.broker_epoch + 1)
        self.image = replace(self.image, brokers={**self.image.brokers, node_id: anew})
        self.become(isr=(*self.state.isr, node_id))

    async def pause(self, node_id: int) -> int | None:
        if node_id in self.down or node_id in self.paused:
            return None
        self.paused.add(node_id)
        return node_id

    async def resume(self, node_id: int, process: int | None = None) -> None:
        assert node_id not in self.down, f"node {node_id} is down"
        self.paused.discard(node_id)

    async def starve(self, node_id: int, share: float) -> str:
        self.shares[node_id] = share
        return "held"

    async def feed(self, node_id: int) -> None:
        self.shares.pop(node_id, None)

    async def cut(self, paths: Iterable[Path]) -> None:
        self.cuts.update(paths)

    async def mend(self, paths: Iterable[Path]) -> None:
        for path in paths:
            assert self.cuts[path] > 0, f"{path} is not cut"
            self.cuts[path] -= 1

    async def delay(self, paths: Iterable[Path]) -> None:
        self.delays.update(paths)

    async def hasten(self, paths: Iterable[Path]) -> None:
        for path in paths:
            assert self.delays[path] > 0, f"{path} is not delayed"
            self.delays[path] -= 1

    async def wipe(self, node_id: int) -> None:
        assert node_id in self.down, f"node {node_id} is up"
        self.wiped.append(node_id)

    async def fill(self, node_id: int, *, room_bytes: int) -> None:
        self.full.add(node_id)

    async def make_room(self, node_id: int) -> None:
        self.full.discard(node_id)

    async def slow_disk(self, node_id: int, sync_s: float | None) -> None:
        if sync_s is None:
            self.slow.pop(node_id, None)
        else:
            self.slow[node_id] = sync_s

    def files(self, node_id: int, kind: str) -> list[str]:
        return sorted(path for one, path in self.stored if one == node_id and path.endswith(kind))

    def journal(self, node_id: int) -> str:
        return "data/raft.wal"

    def length(self, node_id: int, path: str) -> int:
        return len(self.content(node_id, path))

    def content(self, node_id: int, path: str) -> bytes:
        return self.stored.get((node_id, path), b"")

    async def overwrite(self, node_id: int, path: str, at: int, data: bytes) -> None:
        content = bytearray(self.content(node_id, path))
        content[at : at + len(data)] = data
        self.stored[node_id, path] = bytes(content)

    async def flip(self, node_id: int, path: str, byte: int, bit: int) -> None:
        flipped = self.content(node_id, path)[byte] ^ 1 << bit
        await self.overwrite(node_id, path, byte, bytes([flipped]))

    async def vanish(self, node_id: int, path: str) -> None:
        self.stored.pop((node_id, path), None)

    async def truncate(self, node_id: int, path: str, length: int) -> None:
        self.stored[node_id, path] = self.content(node_id, path)[:length]

    async def look(self) -> None:
        pass

    def is_up(self, node_id: int) -> bool:
        return node_id not in self.down

    def replica(self, node_id: int) -> ReplicaView | None:
        return None

    def term(self, node_id: int) -> int:
        return -1 if node_id in self.down else 1

    def is_active(self, node_id: int) -> bool:
        return node_id == self.controller_id

    def metadata_offset(self, node_id: int) -> int:
        return self.image.offset


class FakeSocketPort(FakeClusterPort):
    """One behind proxies."""

    def __init__(self, topology: Topology | None = None, *, seed: int = 1) -> None:
        super().__init__(topology, seed=seed)
        self.proxies = FakeProxies((topology or Topology()).links())

    def is_whole(self) -> bool:
        return super().is_whole() and not self.proxies.toxics and not self.proxies.disabled
