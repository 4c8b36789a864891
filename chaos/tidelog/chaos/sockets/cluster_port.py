"""A cluster of processes as stories meet it: `ClusterPort` over a `SocketCluster`.

Owns how what stories do reaches processes, proxies and files, and when each fault lasted. What is
seen is as of the newest round of samples.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath

from tidelog.chaos.faults.proxies import Proxies
from tidelog.chaos.report.record import Band
from tidelog.chaos.scenarios.strangers import Strangers
from tidelog.chaos.sockets.bands import Bands
from tidelog.chaos.sockets.cluster import SETTINGS, SocketCluster
from tidelog.chaos.sockets.cpu_share import CpuShare, hold
from tidelog.chaos.sockets.path_toxics import cuts, delays
from tidelog.chaos.sockets.port_strangers import PortStrangers
from tidelog.chaos.sockets.sampler import Sampler
from tidelog.chaos.story.cluster_port import Answer, Load, LogLine, Path, ReplicaView
from tidelog.chaos.story.samples import NodeSample
from tidelog.core.env import Random
from tidelog.history.history import History
from tidelog.metadata.image import EMPTY_IMAGE, MetadataImage
from tidelog.node.quorum import METADATA_DIRECTORY
from tidelog.raft.wal import FILE_NAME

PATIENCE = 5.0
"""Nodes, clients and checks share two cores with whatever else runs there."""
Note = Callable[[str, str], None]
Report = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class RunClients:
    """The clients of a run, as stories see them."""

    topic: str
    load: Load
    history: History
    answers: Sequence[Answer]


class SocketClusterPort:
    """`note` takes a line of the diary, `report` what must not be so; the rest is the run's."""

    def __init__(
        self,
        cluster: SocketCluster,
        sampler: Sampler,
        *,
        clients: RunClients,
        random: Random,
        note: Note,
        report: Report,
        load_s: float,
        is_full: bool = False,
    ) -> None:
        self.topic = clients.topic
        self.load = clients.load
        self.history = clients.history
        self.answers = clients.answers
        self.random = random
        self.is_full = is_full
        self.load_s = load_s
        self.report = report
        self._cluster = cluster
        self._sampler = sampler
        self._note = note
        self._bands = Bands()
        self._cuts = cuts(cluster.proxies)
        self._delays = delays(cluster.proxies)
        self._held: dict[int, CpuShare] = {}
        self._paused: dict[int, int] = {}
        """By node, the pid that was paused."""

    @property
    def node_ids(self) -> Sequence[int]:
        """See `ClusterPort`."""
        return self._cluster.topology.node_ids

    @property
    def broker_ids(self) -> Sequence[int]:
        """See `ClusterPort`."""
        return self._cluster.topology.broker_ids

    @property
    def controller_ids(self) -> Sequence[int]:
        """See `ClusterPort`."""
        return self._cluster.topology.controller_ids

    @property
    def client_groups(self) -> Sequence[str]:
        """See `ClusterPort`."""
        return self._cluster.topology.client_groups

    @property
    def session_s(self) -> float:
        """See `ClusterPort`."""
        return float(str(SETTINGS["broker.session.timeout.ms"])) / 1000

    @property
    def lag_s(self) -> float:
        """See `ClusterPort`."""
        return float(str(SETTINGS["replica.lag.time.max.ms"])) / 1000

    @property
    def now_s(self) -> float:
        """CLOCK_MONOTONIC."""
        return self._cluster.now_s

    @property
    def patience(self) -> float:
        """See `ClusterPort`."""
        return PATIENCE

    @property
    def strangers(self) -> Strangers:
        """Untrusted clients with the nodes' addresses."""
        return PortStrangers(self._cluster, self.topic, self._sampler.sample)

    @property
    def proxies(self) -> Proxies:
        """Proxies of every link, for faults that are Toxiproxy's own."""
        return self._cluster.proxies

    # The run's record

    def count(self, kind: str, what: str = "", *node_ids: int) -> None:
        """See `ClusterPort`."""
        self._note("fault", f"{kind}: {what}")
        self._bands.open(kind, what, node_ids, at_s=self.now_s)

    def over(self, kind: str, what: str = "", *_: int) -> None:
        """See `ClusterPort`."""
        self._bands.close(kind, what, at_s=self.now_s)

    def bands(self, began_s: float) -> list[Band]:
        """When what was counted struck and was over, in seconds since then."""
        return self._bands.since(began_s)

    async def heal(self) -> None:
        """Take every fault back, and start nodes that are down."""
        await self._cluster.proxies.reset()
        self._cuts.forget()
        self._delays.forget()
        for node_id in self.node_ids:
            await self.make_room(node_id)
            await self.slow_disk(node_id, None)
            await self.resume(node_id)
            await self.feed(node_id)
            await self.start(node_id)
        self._bands.close_all(at_s=self.now_s)

    # Processes

    async def kill(self, node_id: int) -> bool:
        """See `ClusterPort`."""
        return await self._cluster.kill(node_id)

    async def stop(self, node_id: int) -> None:
        """See `ClusterPort`."""
        await self._cluster.stop(node_id)

    async def start(self, node_id: int) -> None:
        """See `ClusterPort`."""
        if not self.is_up(node_id):
            await self._cluster.start(node_id)

    async def pause(self, node_id: int) -> int | None:
        """See `ClusterPort`."""
        pid = self._cluster.pid(node_id)
        if pid is None or self._paused.get(node_id) == pid:
            return None
        self._paused[node_id] = pid
        await self._cluster.pause(node_id)
        return pid

    async def resume(self, node_id: int, process: int | None = None) -> None:
        """See `ClusterPort`."""
        if process is None or process == self._cluster.pid(node_id):
            self._paused.pop(node_id, None)
            await self._cluster.resume(node_id)

    async def starve(self, node_id: int, share: float) -> str:
        """See `ClusterPort`; a process that begins later is not held."""
        pid = self._cluster.pid(node_id)
        if pid is None:
            return "down"
        await self.feed(node_id)
        held = self._held[node_id] = hold(pid, share)
        return held.way

    async def feed(self, node_id: int) -> None:
        """See `ClusterPort`."""
        held = self._held.pop(node_id, None)
        if held is not None:
            await held.release()

    # Links

    async def cut(self, paths: Iterable[Path]) -> None:
        """See `ClusterPort`."""
        await self._cuts.add(paths)

    async def mend(self, paths: Iterable[Path]) -> None:
        """See `ClusterPort`."""
        await self._cuts.remove(paths)

    async def delay(self, paths: Iterable[Path]) -> None:
        """See `ClusterPort`."""
        await self._delays.add(paths)

    async def hasten(self, paths: Iterable[Path]) -> None:
        """See `ClusterPort`."""
        await self._delays.remove(paths)

    # Disks

    async def wipe(self, node_id: int) -> None:
        """See `ClusterPort`."""
        await self._cluster.wipe(node_id)

    async def fill(self, node_id: int, *, room_bytes: int) -> None:
        """See `ClusterPort`; rounded to pages. Errors: `DiskUnavailableError`."""
        await self._cluster.fill(node_id, room_bytes=room_bytes)

    async def make_room(self, node_id: int) -> None:
        """See `ClusterPort`."""
        await self._cluster.make_room(node_id)

    async def slow_disk(self, node_id: int, sync_s: float | None) -> None:
        """See `ClusterPort`."""
        await self._cluster.slow_disk(node_id, sync_s)

    def files(self, node_id: int, kind: str) -> list[str]:
        """See `ClusterPort`."""
        folder = self._cluster.data_dir(node_id) / f"{self.topic}-0"
        paths = [path for path in folder.glob(f"*{kind}") if path.name.endswith(kind)]
        return sorted(str(path) for path in paths if self.length(node_id, str(path)))

    def journal(self, node_id: int) -> str:
        """See `ClusterPort`."""
        return str(self._cluster.data_dir(node_id) / METADATA_DIRECTORY / FILE_NAME)

    def length(self, _: int, path: str) -> int:
        """See `ClusterPort`."""
        try:
            return FilePath(path).stat().st_size
        except FileNotFoundError:
            return 0

    def content(self, _: int, path: str) -> bytes:
        """See `ClusterPort`."""
        try:
            return FilePath(path).read_bytes()
        except FileNotFoundError:
            return b""

    async def overwrite(self, _: int, path: str, at: int, data: bytes) -> None:
        """See `ClusterPort`."""
        _write(path, at, data)

    async def flip(self, node_id: int, path: str, byte: int, bit: int) -> None:
        """See `ClusterPort`."""
        flipped = self.content(node_id, path)[byte] ^ 1 << bit
        _write(path, byte, bytes([flipped]))

    async def vanish(self, _: int, path: str) -> None:
        """See `ClusterPort`."""
        _remove(path)

    async def truncate(self, _: int, path: str, length: int) -> None:
        """See `ClusterPort`."""
        os.truncate(path, length)

    # Eyes

    async def look(self) -> None:
        """See `ClusterPort`."""
        await self._sampler.look()

    @property
    def image(self) -> MetadataImage:
        """See `ClusterPort`."""
        samples = map(self._sampler.sample, self.controller_ids)
        images = (one.image for one in samples if one is not None)
        return max(images, key=lambda image: image.offset, default=EMPTY_IMAGE)

    @property
    def controller_id(self) -> int | None:
        """See `ClusterPort`."""
        active = [
            (one.term, one.node_id) for one in self._sampler.samples() if one.is_active_controller
        ]
        return max(active)[1] if active else None

    def sample(self, node_id: int) -> NodeSample | None:
        """The newest of its present process, for stories of memory and files."""
        return self._sampler.sample(node_id)

    def is_up(self, node_id: int) -> bool:
        """See `ClusterPort`."""
        return self._cluster.is_up(node_id)

    def replica(self, node_id: int) -> ReplicaView | None:
        """See `ClusterPort`."""
        sample = self._sampler.sample(node_id)
        found = None if sample is None else sample.replica(self.topic, 0)
        if found is None:
            return None
        return ReplicaView(
            is_leader=found.role == "leader",
            leader_epoch=found.leader_epoch,
            log_end_offset=found.log_end_offset,
            high_watermark=found.high_watermark,
            proposed_isr=found.proposed_isr,
            is_failed=found.is_failed,
        )

    def term(self, node_id: int) -> int:
        """See `ClusterPort`."""
        sample = self._sampler.sample(node_id)
        return -1 if sample is None else sample.term

    def is_active(self, node_id: int) -> bool:
        """See `ClusterPort`."""
        sample = self._sampler.sample(node_id)
        return sample is not None and sample.is_active_controller

    def metadata_offset(self, node_id: int) -> int:
        """See `ClusterPort`."""
        sample = self._sampler.sample(node_id)
        return -1 if sample is None or sample.term < 0 else sample.image.offset

    @property
    def lines(self) -> Sequence[LogLine]:
        """See `ClusterPort`."""
        return self._sampler.lines


def _write(path: str, at: int, data: bytes) -> None:
    with FilePath(path).open("r+b") as file:
        file.seek(at)
        file.write(data)


def _remove(path: str) -> None:
    FilePath(path).unlink(missing_ok=True)
