"""Folders of replicas on disk: `<topic>-<partition>`, and their removal.

A folder to be removed is renamed first, atomically, and emptied afterwards: a crash in between
leaves nothing that could be mistaken for a replica. Owns only names, never the contents; no name
leads outside the data folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from tidelog.core.env import Clock, Disk
from tidelog.core.errors import InconsistentTopicIdError, StorageError
from tidelog.core.logs import get_logger
from tidelog.log.config import LogConfig
from tidelog.log.log_folder import ONLY_LIFE, owner_of
from tidelog.log.partition_log import PartitionLog, delete_log

DELETED_SUFFIX = "-delete"
NAME_CHARACTERS_MAX = 255
SPACE_BYTES_MIN = 1 << 20
"""Free space required before a log that failed for lack of space is reopened."""
_PROBE = ".space"
_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")

log = get_logger(__name__)


class LogDirectory:
    """Replica folders in one data folder."""

    def __init__(self, *, log_dir: str, disk: Disk, clock: Clock) -> None:
        self.life = ONLY_LIFE
        self._opened: set[str] = set()
        """Folders whose logs were opened in this life."""
        self._log_dir = log_dir
        self._disk = disk
        self._clock = clock

    async def open_log(
        self, topic: str, partition: int, *, topic_id: bytes, config: LogConfig
    ) -> PartitionLog:
        """Open or create the replica's log; first remove one of an earlier topic of this name.

        Raises the errors of `PartitionLog.open`.
        """
        with suppress(InconsistentTopicIdError):
            return await self._open(topic, partition, topic_id=topic_id, config=config)
        await self.remove(topic, partition, tag=f"before-{topic_id.hex()}")
        return await self._open(topic, partition, topic_id=topic_id, config=config)

    async def remove(self, topic: str, partition: int, *, tag: str) -> None:
        """Rename the folder of a closed log out of the way, durably, then remove it."""
        end = f"-{partition}.{tag}{DELETED_SUFFIX}"
        target = f"{self._log_dir}/{topic[: NAME_CHARACTERS_MAX - len(end)]}{end}"
        source = self._path(topic, partition)
        if self._disk.exists(source):
            self._opened.discard(source)
            self._disk.remove_tree(target)
            self._disk.rename(source, target)
            await self._disk.sync_directory(self._log_dir)
            await delete_log(self._disk, target)

    async def remove_leftovers(self) -> None:
        """Remove folders that an earlier run renamed but did not remove."""
        self._remove_probe()
        for name in self._disk.list(self._log_dir):
            if name.endswith(DELETED_SUFFIX):
                try:
                    await delete_log(self._disk, f"{self._log_dir}/{name}")
                except StorageError as error:
                    log.warning("folder not removed", folder=name, error=str(error))

    def has_space(self) -> bool:
        """True when there is space for more than an index and a batch; tests it by writing."""
        try:
            probe = self._disk.open(self._probe_path, create=True)
            try:
                probe.write_at(0, bytes(SPACE_BYTES_MIN))
            finally:
                probe.close()
        except StorageError:
            return False
        finally:
            self._remove_probe()
        return True

    @property
    def _probe_path(self) -> str:
        return f"{self._log_dir}/{_PROBE}"

    def _remove_probe(self) -> None:
        try:
            if self._disk.exists(self._probe_path):
                self._disk.remove(self._probe_path)
        except StorageError as error:
            log.warning("file not removed", path=self._probe_path, error=str(error))

    def list_owned(self) -> Iterator[tuple[str, int, bytes]]:
        """Topic, partition and topic id of every folder with a known owner."""
        for name in self._disk.list(self._log_dir):
            topic, _, partition = name.rpartition("-")
            if is_topic(topic) and partition.isdecimal() and name == _name(topic, int(partition)):
                topic_id = self._topic_id(name)
                if topic_id is not None:
                    yield topic, int(partition), topic_id

    async def _open(
        self, topic: str, partition: int, *, topic_id: bytes, config: LogConfig
    ) -> PartitionLog:
        directory = self._path(topic, partition)
        life = self.life.again() if directory in self._opened else self.life
        self._opened.add(directory)
        return await PartitionLog.open(
            directory=directory,
            disk=self._disk,
            clock=self._clock,
            config=config,
            topic_id=topic_id,
            life=life,
        )

    def _path(self, topic: str, partition: int) -> str:
        """Path of a replica's folder; raises `StorageError` for an invalid name."""
        if not is_topic(topic) or partition < 0:
            raise StorageError(
                f"{topic[:NAME_CHARACTERS_MAX]!r}-{partition} is not a valid folder name"
            )
        return f"{self._log_dir}/{_name(topic, partition)}"

    def _topic_id(self, folder: str) -> bytes | None:
        try:
            return owner_of(self._disk, f"{self._log_dir}/{folder}")
        except StorageError:
            return None


def is_topic(name: str) -> bool:
    """True when `name` is valid as a topic's name, and so as part of a path."""
    return _TOPIC.fullmatch(name) is not None and name not in (".", "..")


def _name(topic: str, partition: int) -> str:
    return f"{topic}-{partition}"
