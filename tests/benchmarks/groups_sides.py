"""The two sides of the figures of groups: our nodes, and an Apache Kafka that the caller runs.

A side makes topics, names a group's coordinator, and says how its client programs are started. Its
nodes may be killed and started again; a peer's by a command of the caller:

    COMMAND pid ID      prints the process id of a broker
    COMMAND start ID    starts it again, returns when it was launched
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from tests.integration.local_cluster import LocalCluster

from tidelog.client import Admin, require_all
from tidelog.client.errors import TidelogError

SETTLE_S = 120.0
OFFSETS_TOPIC = "__consumer_offsets"
PROTOCOLS = ("classic", "consumer")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Side(Protocol):
    """Nodes and clients of one system."""

    name: str
    bootstrap: str
    client: str
    """Module of its client programs."""
    kills_max: int
    """Runs of a member's kill at most, each of which lasts a session."""

    async def create_topic(self, topic: str, partitions: int, *, replicas: int = 3) -> None:
        """Create it, with min.insync.replicas 2 where there are 3 replicas."""

    async def coordinator(self, group: str) -> int:
        """Node id of the group's coordinator."""

    async def pid(self, node_id: int) -> int | None:
        """Process of a node; None: it is not known."""

    async def restart(self, node_id: int, topic: str = OFFSETS_TOPIC) -> None:
        """Start a killed node, and wait until the replicas of `topic` are in sync again."""

    def command(self, program: str, *words: object) -> list[str]:
        """Command line of a client program; the bootstrap is its first word."""


class TidelogSide:
    """Three nodes of ours."""

    name = "tidelog"
    client = "tests.benchmarks.groups_client"
    kills_max = sys.maxsize

    def __init__(self, cluster: LocalCluster) -> None:
        self.cluster = cluster
        self.bootstrap = cluster.bootstrap
        self._pids: dict[int, int | None] = {}

    async def create_topic(self, topic: str, partitions: int, *, replicas: int = 3) -> None:
        """See `Side`."""
        configs = {"min.insync.replicas": "2" if replicas == 3 else "1"}
        async with Admin(self.bootstrap) as admin:
            await admin.create_topic(
                topic, partitions=partitions, replication_factor=replicas, configs=configs
            )

    def topic(self, topic: str) -> str:
        """Name of a topic on this side."""
        return topic

    async def coordinator(self, group: str) -> int:
        """See `Side`."""
        async with Admin(self.bootstrap) as admin:
            return require_all(await admin.describe_groups([group]))[group].coordinator

    async def pid(self, node_id: int) -> int | None:
        """See `Side`."""
        if self._pids.get(node_id) is None:
            self._pids = await asyncio.to_thread(self.cluster.pids)
        return self._pids[node_id]

    async def restart(self, node_id: int, topic: str = OFFSETS_TOPIC) -> None:
        """See `Side`."""
        self._pids.clear()
        started = await asyncio.to_thread(self.cluster.start)
        if started.returncode:
            raise RuntimeError(started.stderr)
        async with Admin(self.bootstrap) as admin, asyncio.timeout(SETTLE_S):
            while not await _is_whole(admin, topic):  # noqa: ASYNC110
                await asyncio.sleep(0.1)

    def command(self, program: str, *words: object) -> list[str]:
        """See `Side`."""
        return _command(sys.executable, self.client, program, self.bootstrap, *words)


async def _is_whole(admin: Admin, name: str) -> bool:
    try:
        topic = await admin.describe_topic(name)
    except TidelogError:
        return False
    return all(len(one.isr) == len(one.replicas) for one in topic.partitions)


class KafkaSide:
    """A running Apache Kafka, by confluent-kafka, in one of its two protocols."""

    client = "tests.benchmarks.groups_peer_client"
    kills_max = 3

    def __init__(self, bootstrap: str, protocol: str, control: str | None) -> None:
        self.name = f"kafka {protocol}"
        self.bootstrap = bootstrap
        self._protocol = protocol
        self._control = None if control is None else shlex.split(control)

    @property
    def is_controlled(self) -> bool:
        """True if its brokers can be killed."""
        return self._control is not None

    def _admin(self) -> Any:  # of confluent-kafka; a new one finds brokers that were away
        return confluent("confluent_kafka.admin").AdminClient(
            {"bootstrap.servers": self.bootstrap, "log_level": 0, "reconnect.backoff.max.ms": 100}
        )

    async def create_topic(self, topic: str, partitions: int, *, replicas: int = 3) -> None:
        """See `Side`."""
        new_topic = confluent("confluent_kafka.admin").NewTopic
        config = {"min.insync.replicas": "2" if replicas == 3 else "1"}
        new = new_topic(self.topic(topic), partitions, replicas, config=config)
        try:
            admin = self._admin()  # its futures fail once it is gone
            created = admin.create_topics([new])[self.topic(topic)]
            await asyncio.to_thread(created.result)
        except confluent("confluent_kafka").KafkaException as error:
            raise RuntimeError(f"{self.topic(topic)} was not created: {error}") from error
        await asyncio.sleep(2.0)  # until every broker knows it

    def topic(self, topic: str) -> str:
        """Name of a topic: each protocol has its own in the one cluster."""
        return f"{topic}-{self._protocol}"

    async def coordinator(self, group: str) -> int:
        """See `Side`."""
        deadline_s = time.monotonic() + SETTLE_S
        while (found := await asyncio.to_thread(self._find, self.topic(group))) is None:
            if time.monotonic() > deadline_s:
                raise RuntimeError(f"no broker names the coordinator of {self.topic(group)}")
            await asyncio.sleep(0.5)
        return found

    def _find(self, group: str) -> int | None:
        try:
            admin = self._admin()
            described = admin.describe_consumer_groups([group])[group].result()
        except confluent("confluent_kafka").KafkaException:
            return None  # its brokers look for each other
        return int(described.coordinator.id)

    async def pid(self, node_id: int) -> int | None:
        """See `Side`."""
        if self._control is None:
            return None
        return int(await asyncio.to_thread(self._ask, "pid", node_id))

    async def restart(self, node_id: int, topic: str = OFFSETS_TOPIC) -> None:
        """See `Side`."""
        await asyncio.to_thread(self._ask, "start", node_id)
        deadline_s = time.monotonic() + SETTLE_S
        while not await asyncio.to_thread(self._is_whole, topic):
            if time.monotonic() > deadline_s:
                raise RuntimeError(f"replicas of {topic} did not get in sync")
            await asyncio.sleep(0.2)

    def _is_whole(self, name: str) -> bool:
        with contextlib.suppress(confluent("confluent_kafka").KafkaException):
            topic = self._admin().list_topics(name, timeout=10).topics[name]
            return all(len(one.isrs) == len(one.replicas) for one in topic.partitions.values())
        return False

    def _ask(self, verb: str, node_id: int) -> str:
        assert self._control is not None  # its callers know a pid
        done = subprocess.run(
            [*self._control, verb, str(node_id)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{shlex.join(self._control)} {verb} {node_id}: {done.stderr}")
        return done.stdout

    def command(self, program: str, *words: object) -> list[str]:
        """See `Side`."""
        found = _command(sys.executable, self.client, program, self.bootstrap, *words)
        return [*found, f"--protocol={self._protocol}"]


def _command(python: str, module: str, program: str, *words: object) -> list[str]:
    return [python, "-m", module, program, *map(str, words)]


def confluent(module: str) -> Any:  # a library that is no dependency
    """Import a module of confluent-kafka. SystemExit, which says what to do, without it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise SystemExit(
            f"a peer is measured by confluent-kafka, which cannot be imported ({error}): install "
            "it into a folder of its own, and name that in PYTHONPATH"
        ) from error


@contextlib.contextmanager
def three_nodes(*options: str) -> Iterator[TidelogSide]:
    """Three nodes in a folder that goes away."""
    with tempfile.TemporaryDirectory(prefix="groups-") as folder:
        cluster = LocalCluster(Path(folder, "data"))
        try:
            started = cluster.start(*options)
            if started.returncode:
                raise SystemExit(started.stderr)
            yield TidelogSide(cluster)
        finally:
            cluster.stop()


def cpu_s(pids: Sequence[int]) -> float:
    """Processor seconds of processes so far."""
    return sum(_cpu_s(pid) for pid in pids)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S
