"""One set of calls that both protocols have: what a case of `semantics_*` asks, and is answered.

Codes are Kafka's numbers, as both protocols tell them. An adapter translates, and judges nothing.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from tidelog.core.errors import TidelogError
from tidelog.simulation.cluster.cluster import SimCluster
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import ErrorCode

LATEST, EARLIEST, NEWEST_TIME = -1, -2, -3
"""Timestamps that stand for offsets."""
SET, DELETE, APPEND, SUBTRACT = range(4)
"""Operations on a config, as Kafka numbers them."""
NOT_YET = frozenset(
    {
        common_pb2.COORDINATOR_NOT_AVAILABLE,
        common_pb2.COORDINATOR_LOAD_IN_PROGRESS,
        common_pb2.NOT_COORDINATOR,
    }
)
Offsets = Mapping[tuple[str, int], int]


class Produced(NamedTuple):
    """Answer to a produce; the time is -1 unless the broker gave it."""

    code: int
    base_offset: int = -1
    append_ms: int = -1
    blamed: Mapping[int, str] = {}
    """Messages by the places of the records to blame."""


class Fetched(NamedTuple):
    """Answer to a fetch of one partition."""

    code: int
    high_watermark: int
    log_start: int
    records: bytes


class Found(NamedTuple):
    """Offset by time or by what stands for one; both are -1 where there is none."""

    code: int
    offset: int = -1
    timestamp_ms: int = -1


class Committed(NamedTuple):
    """Committed offset of a partition; -1 is none."""

    offset: int
    epoch: int = -1
    text: str = ""


class Beat(NamedTuple):
    """Answer to a heartbeat; the assignment is None where nothing changes."""

    code: int
    member_id: str
    epoch: int
    assignment: dict[bytes, list[int]] | None


class Heartbeat(NamedTuple):
    """Heartbeat of a member of the consumer protocol; a join has epoch 0 and topics."""

    group_id: str
    member_id: str
    epoch: int = 0
    topics: Sequence[str] | None = None
    owned: Mapping[bytes, Sequence[int]] | None = None
    instance_id: str | None = None


class Group(NamedTuple):
    """What is told of a group."""

    code: int
    state: str
    members: frozenset[str]


class NewTopic(NamedTuple):
    """Topic to create: by counts, or by the brokers of each partition."""

    name: str
    partitions: int = 1
    replicas: int = 3
    configs: Mapping[str, str] = {}
    brokers: Sequence[Sequence[int]] = ()


class Calls(ABC):
    """Calls to the brokers of a cluster by one protocol. `node` is a broker's id."""

    name: str
    no_batch: str
    """The code of a produce that has no batch of the format: Kafka's clients would send what
    is CORRUPT_MESSAGE again."""

    def __init__(self, cluster: SimCluster) -> None:
        self.cluster = cluster

    # Data

    @abstractmethod
    async def produce(
        self,
        node: int,
        topic: str,
        records: bytes,
        *,
        partition: int = 0,
        acks: int = -1,
        topic_id: bytes = b"",
    ) -> Produced:
        """Append batches; with a topic id, to that topic alone."""

    @abstractmethod
    async def fetch(
        self,
        node: int,
        topic: str,
        offset: int,
        *,
        partition: int = 0,
        max_bytes: int = 1 << 20,
        wait_ms: int = 0,
        epoch: int | None = None,
        topic_id: bytes = b"",
    ) -> Fetched:
        """Read one partition; with a topic id, of that topic alone."""

    @abstractmethod
    async def find(
        self,
        node: int,
        topic: str,
        timestamp: int,
        *,
        partition: int = 0,
        epoch: int | None = None,
    ) -> Found:
        """Look an offset up."""

    @abstractmethod
    async def end_of_epoch(self, node: int, topic: str, epoch: int) -> tuple[int, int, int]:
        """Code, the largest known epoch up to this one, and where it ends."""

    @abstractmethod
    async def producer_id(self, node: int) -> tuple[int, int, int]:
        """Code, a producer's id and its epoch."""

    @abstractmethod
    async def producers(self, node: int, topic: str) -> tuple[int, set[tuple[int, int, int]]]:
        """Code; id, epoch and last sequence of the producers of partition 0."""

    @abstractmethod
    async def delete_records(self, node: int, topic: str, offset: int) -> tuple[int, int]:
        """Delete what is before an offset of partition 0; code and the new start."""

    # Groups

    @abstractmethod
    async def coordinator(self, node: int, group_id: str) -> tuple[int, int]:
        """Code and broker id of a group's coordinator."""

    @abstractmethod
    async def commit(
        self,
        node: int,
        group_id: str,
        offsets: Mapping[tuple[str, int], Committed],
        *,
        member_id: str = "",
        epoch: int = -1,
    ) -> set[int]:
        """Commit offsets; all codes of the answer."""

    @abstractmethod
    async def committed(
        self, node: int, group_id: str, asked: Sequence[tuple[str, int]] | None = None
    ) -> tuple[int, dict[tuple[str, int], Committed]]:
        """Code, and the committed offsets of these partitions or of all."""

    @abstractmethod
    async def forget(self, node: int, group_id: str, topic: str) -> set[int]:
        """Delete committed offsets of partition 0; all codes of the answer."""

    @abstractmethod
    async def beat(self, node: int, heartbeat: Heartbeat) -> Beat:
        """Send a heartbeat of the consumer protocol."""

    @abstractmethod
    async def groups(self, node: int) -> dict[str, tuple[str, str]]:
        """Type and state of the groups that this broker coordinates."""

    @abstractmethod
    async def describe(self, node: int, group_id: str) -> Group:
        """Describe a group of the consumer protocol."""

    @abstractmethod
    async def delete_group(self, node: int, group_id: str) -> int:
        """Delete a group; the code."""

    # Administration

    @abstractmethod
    async def create(self, node: int, topic: NewTopic, *, is_dry: bool = False) -> int:
        """Create a topic, or only say whether it could be; the code."""

    @abstractmethod
    async def delete(self, node: int, topic: str) -> int:
        """Delete a topic; the code."""

    @abstractmethod
    async def grow(self, node: int, topic: str, count: int) -> int:
        """Give a topic so many partitions; the code."""

    @abstractmethod
    async def alter(
        self,
        node: int,
        topic: str,
        changes: Mapping[str, tuple[int, str | None]],
        *,
        is_dry: bool = False,
    ) -> int:
        """Change a topic's configs, each by an operation and a value; the code."""

    @abstractmethod
    async def configs(self, node: int, topic: str) -> tuple[int, dict[str, str]]:
        """Code, and the configs of a topic that are in effect."""

    @abstractmethod
    async def elect(self, node: int, topic: str, partition: int = 0) -> int:
        """Elect the preferred leader; the code of the partition."""

    @abstractmethod
    async def leaders(self, node: int, topic: str) -> tuple[int, list[int]]:
        """Code, and the leader of each partition, without creating the topic."""

    # What cases do by these

    async def made(self, topic: str, partitions: int = 1, **configs: str) -> int:
        """Create a topic that is led by broker 1 at partition 0, and wait until it is; the id."""
        brokers = [[(number + place) % 3 + 1 for place in range(3)] for number in range(partitions)]
        keys = {key.replace("_", "."): value for key, value in configs.items()}
        assert await self.create(1, NewTopic(topic, configs=keys, brokers=brokers)) == 0
        await until(lambda: self._is_led(topic))
        return 1

    async def _is_led(self, topic: str) -> bool:
        return (await self.find(1, topic, LATEST)).code == 0

    async def home(self, group_id: str) -> int:
        """The broker that coordinates a group, once it has loaded it."""
        node = -1

        async def is_loaded() -> bool:
            nonlocal node
            code, node = await self.coordinator(1, group_id)
            return not code and (await self.committed(node, group_id))[0] not in NOT_YET

        await until(is_loaded)
        return node

    async def is_up(self) -> bool:
        """True when all brokers are up and take commands."""
        try:
            return await self.create(1, NewTopic("probe"), is_dry=True) == 0
        except (TidelogError, ConnectionError):
            return False


async def until(is_so: Callable[[], Awaitable[bool]], within_s: float = 120) -> None:
    """Ask until it is so."""
    end_s = asyncio.get_running_loop().time() + within_s
    while not await is_so():
        assert asyncio.get_running_loop().time() < end_s
        await asyncio.sleep(0.2)


def codes(*names: str) -> set[int]:
    """Numbers of codes."""
    return {int(ErrorCode.Value(name)) for name in names}
