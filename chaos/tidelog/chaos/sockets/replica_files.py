"""The files of all replicas, after their nodes were stopped in order, compared with each other.

I1, I8, I9, I11, I26, I27 by `tidelog.chaos.invariants.replica_logs`; I3: none in sync is short; I6,
with the history: nothing that acks=all acknowledged is missing at its offset. Logs are opened in
copies: the evidence is only read.
"""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from tidelog.chaos.invariants.invariant import Report
from tidelog.chaos.invariants.replica_logs import ReplicaLogChecks, StoredLog, stored_batches
from tidelog.core.errors import CorruptMessageError, KafkaError, StorageError
from tidelog.core.system import SystemClock, SystemDisk
from tidelog.history.history import ACKS_ALL, History
from tidelog.log.checkpoints import CHECKPOINT_FILE, Checkpoint, decode_checkpoint
from tidelog.log.config import LogConfig
from tidelog.log.file_names import INDEX, TIME_INDEX
from tidelog.log.partition_log import PartitionLog
from tidelog.metadata.image import MetadataImage, PartitionImage, TopicImage
from tidelog.metadata.topic_rules import effective_config
from tidelog.node.start_record import life_after
from tidelog.records.records import iter_records

Key = tuple[str, int]
"""Topic id, hexadecimal, and partition."""


@dataclass(slots=True)
class Compared:
    """Amounts compared; nothing is no proof."""

    partitions: int = 0
    replicas: int = 0
    compared_batches: int = 0
    compared_bytes: int = 0
    """Compared bytes of pairs of replicas below the high watermark, each byte counted once."""
    found_records: int = 0
    """Acknowledged ones, each at its offset."""
    remade_indexes: int = 0
    """Files that the look-ups found wrong, and logs recreated: 0 unless a fault damaged some."""


@dataclass(frozen=True, slots=True)
class _Partition:
    topic: TopicImage
    state: PartitionImage
    config: LogConfig

    @property
    def name(self) -> str:
        """Also of its folders."""
        return f"{self.topic.name}-{self.state.partition}"


class ReplicaFiles:
    """`report` is called for each violation.

    All faults are healed, and nothing was at work when the nodes stopped: what is missing has no
    excuse.
    """

    def __init__(self, *, data_dirs: Mapping[int, Path], report: Report) -> None:
        self._data_dirs = data_dirs
        self._report = report
        self._logs = ReplicaLogChecks(report)
        self._compared = Compared()

    async def compare(
        self, image: MetadataImage, history: History, *, high_watermarks: Mapping[Key, int]
    ) -> Compared:
        """Compare every partition of the last image, on brokers whose folder is known.

        `high_watermarks`: the highest any replica was seen with; a replica may have saved less.
        Raises `OSError` when there is no room for copies of one partition's replicas.
        """
        acknowledged = _group_acknowledged(history)
        for topic, state in image.partitions():
            config = effective_config(topic, image)
            partition = _Partition(topic, state, config)
            if config.unclean_leader_election_enable:  # What was committed may be gone.
                await self._compare(partition, high_watermark=0, expected={})
                continue
            await self._compare(
                partition,
                high_watermark=high_watermarks.get((topic.topic_id.hex(), state.partition), 0),
                expected=acknowledged.get((topic.name, state.partition), {}),
            )
        self._compared.compared_batches = self._logs.compared_batches
        self._compared.compared_bytes = self._logs.compared_bytes
        return self._compared

    async def _compare(
        self, partition: _Partition, *, high_watermark: int, expected: Mapping[int, bytes]
    ) -> None:
        self._compared.partitions += 1
        state = partition.state
        with TemporaryDirectory(prefix="tidelog-replicas-") as scratch:
            async with self._open_logs(partition, Path(scratch)) as logs:
                in_sync = [logs[one] for one in state.isr if one in logs]
                end = max([high_watermark, *(one.log.high_watermark for one in in_sync)])
                for node_id, one in logs.items():
                    self._logs.check(one)
                    source = self._data_dirs[node_id] / partition.name
                    self._compared.remade_indexes += _count_changed(source, Path(one.log.directory))
                for one, other in pairwise(in_sync):
                    self._logs.check_pair(one, other, end=end)
                for node_id, one in logs.items():
                    if node_id not in state.isr and in_sync:
                        self._logs.check_pair(in_sync[0], one)
                self._check_end(in_sync, end)
                if in_sync:
                    self._check_expected(in_sync[0], expected, end=end)
                elif expected:
                    what = f"{len(expected)} records were acknowledged"
                    self._report("I6", f"{partition.name}: nobody is in sync, {what}")

    @asynccontextmanager
    async def _open_logs(
        self, partition: _Partition, scratch: Path
    ) -> AsyncIterator[dict[int, StoredLog]]:
        """The replicas' logs, by node; what cannot be opened is reported and left out."""
        disk = SystemDisk()
        logs: dict[int, StoredLog] = {}
        try:
            for node_id in partition.state.replicas:
                if node_id in self._data_dirs:
                    stored = await self._open(partition, disk, scratch, node_id)
                    if stored is not None:
                        logs[node_id] = stored
            yield logs
        finally:
            for stored in logs.values():
                await stored.log.close()
            disk.close()

    async def _open(
        self, partition: _Partition, disk: SystemDisk, scratch: Path, node_id: int
    ) -> StoredLog | None:
        name = f"{partition.name} on node {node_id}"
        source = self._data_dirs[node_id] / partition.name
        copy = scratch / str(node_id) / partition.name
        if not source.is_dir():
            self._report("I6", f"{name}: no folder")
            return None
        shutil.copytree(source, copy)
        try:
            log = await PartitionLog.open(
                directory=str(copy),
                disk=disk,
                clock=SystemClock(),
                config=partition.config,
                topic_id=partition.topic.topic_id,
                life=life_after(disk, str(self._data_dirs[node_id])),
            )
        except (KafkaError, StorageError) as error:
            self._report("I26", f"{name} cannot be opened: {error}")
            return None
        checkpoint = _checkpoint(source)
        if log.damage is not None:
            self._report("I27", f"{name}: {log.damage}")
        elif not log.was_clean or checkpoint is None:
            self._report("I29", f"{name} was not closed in order")
        batches = list(stored_batches(log, lambda path, size: _first_bytes(source, path, size)))
        self._compared.replicas += 1
        return StoredLog(name, log, batches, () if checkpoint is None else checkpoint.epochs)

    def _check_end(self, in_sync: Sequence[StoredLog], end: int) -> None:
        """I3. Two that are both too short are the same."""
        for one in in_sync:
            if one.log.log_end_offset < end:
                what = f"ends at {one.log.log_end_offset}, {end} was committed"
                self._report("I3", f"{one.name} {what}")

    def _check_expected(
        self, stored: StoredLog, expected: Mapping[int, bytes], *, end: int
    ) -> None:
        """I6. Others in sync hold the same."""
        there = dict(_records(stored, end))
        for offset, value in expected.items():
            if offset not in there:
                self._report("I6", f"{stored.name}: {value!r} is not at {offset}, nothing is")
            elif there[offset] != value:
                found = there[offset]
                self._report("I6", f"{stored.name}: {value!r} is not at {offset}, {found!r} is")
            else:
                self._compared.found_records += 1


def _group_acknowledged(history: History) -> dict[Key, dict[int, bytes]]:
    """By topic and partition of the newest incarnation: what acks=all acknowledged, by offset."""
    newest: dict[str, int] = {}
    for send in history.sends:
        newest[send.topic] = max(send.incarnation, newest.get(send.topic, 0))
    found: dict[Key, dict[int, bytes]] = {}
    for send in history.sends:
        is_sure = send.outcome == "ok" and send.acks == ACKS_ALL and send.offset is not None
        if is_sure and send.incarnation == newest[send.topic] and send.offset is not None:
            found.setdefault((send.topic, send.partition), {})[send.offset] = send.value
    return found


def _records(stored: StoredLog, end: int) -> Iterator[tuple[int, bytes | None]]:
    for _, batch in stored.between(0, end):
        try:
            yield from ((record.offset, record.value) for record in iter_records(batch))
        except CorruptMessageError:
            continue  # `check` has reported it.


def _checkpoint(source: Path) -> Checkpoint | None:
    path = source / CHECKPOINT_FILE
    return decode_checkpoint(path.read_bytes()) if path.exists() else None


def _count_changed(source: Path, copy: Path) -> int:
    """Number of index files that differ; the active segment's are longer while it is open."""
    indexes = [one for kind in (INDEX, TIME_INDEX) for one in source.glob(f"*{kind}")]
    return sum(
        not (copy / index.name).read_bytes().startswith(index.read_bytes()) for index in indexes
    )


def _first_bytes(source: Path, path: str, size: int) -> bytes:
    with (source / Path(path).name).open("rb") as file:
        return file.read(size)
