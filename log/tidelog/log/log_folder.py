"""The folder of one log: its owner, its small files, and its removal.

Owns `partition.metadata`, and the reading and writing of `checkpoint` and `.clean`. The topic id is
in two files, so that either may be lost; without both the owner of the records is unknown, and the
log is not served. Nor is a log in another partition's folder: somebody swapped the two.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from tidelog.core.env import Disk, make_directory_durably, write_atomically
from tidelog.core.errors import InconsistentTopicIdError, StorageError
from tidelog.core.memory_reads import reading
from tidelog.log.checkpoints import (
    CHECKPOINT_FILE,
    CLEAN_FILE,
    LOSSY_FILE,
    METADATA_FILE,
    NO_LIFE,
    Checkpoint,
    CleanMarker,
    decode_checkpoint,
    decode_clean_marker,
    decode_partition,
    decode_topic_id,
    encode_checkpoint,
    encode_clean_marker,
    encode_partition_metadata,
    encode_topic_id,
)
from tidelog.log.file_names import LOG, SEGMENT_KINDS, SNAPSHOT, offsets_in, partition_in

_MAX_SMALL_FILE_BYTES = 16 << 20


class Left(NamedTuple):
    """State left by the process's previous life; None where a file is missing or damaged."""

    checkpoint: Checkpoint | None
    clean_marker: CleanMarker | None
    trouble: str | None
    """Reason not to serve the records: their owner is unknown or another partition."""
    is_foreign: bool = False
    """True when the records, and so all offsets, are another partition's."""


class Life(NamedTuple):
    """A life of the node's process; its number is on stable storage before any log is opened.

    A clean marker is valid only in the life that wrote it and in the next one. So a marker of the
    previous life may stay while the log is written to; a marker of this life must be removed first,
    durably. Numbers are never reused.
    """

    number: int = NO_LIFE
    before: int = NO_LIFE
    """Number of the previous life."""
    page_cache_survived: bool = False
    """True when no power was lost since the logs were last opened: unsynced writes survived."""

    def believes(self, marker: CleanMarker) -> bool:
        """True when the marker is of the previous life, or of this one before a reopening."""
        return marker.life in (self.before, self.number)

    def again(self) -> Life:
        """Life for reopening a log that this life opened before: only its own marker is valid."""
        return self._replace(before=self.number)


ONLY_LIFE = Life()
"""Life where lives are not counted: a marker is removed, durably, before the first write."""


class LogFolder:
    """Folder of one log. Raises `StorageError` where the disk refuses."""

    def __init__(self, disk: Disk, directory: str, topic_id: bytes, life: Life) -> None:
        self._life = life
        self._disk = disk
        self._directory = directory
        self._partition = partition_in(directory)
        self.topic_id = topic_id
        self.may_have_lost = False
        """True when acknowledged records may be lost and the controller does not know yet."""
        self._is_for_next_start = False

    async def enter(self) -> Left:
        """Create the folder, or check that it belongs to the topic; remove a marker of this life.

        Raises `KafkaError` INCONSISTENT_TOPIC_ID when it belongs to another topic.
        """
        if not self._disk.exists(self._directory):
            await self.claim()
            return Left(None, None, None)
        names = frozenset(self._disk.list(self._directory))
        checkpoint = decode_checkpoint(await self._read(CHECKPOINT_FILE, names))
        marker = decode_clean_marker(await self._read(CLEAN_FILE, names))
        metadata = await self._read(METADATA_FILE, names)
        named_owner, partition = decode_topic_id(metadata), decode_partition(metadata)
        owner = _owner(checkpoint, named_owner)
        if owner not in (None, self.topic_id):
            raise InconsistentTopicIdError(
                f"{self._directory} belongs to topic id {owner.hex() if owner else None}, not "
                f"{self.topic_id.hex()}",
            )
        is_of_this_life = marker is not None and marker.life == self._life.number
        if CLEAN_FILE in names and (is_of_this_life or self._life.number == NO_LIFE):
            # Before the first write: otherwise this or the next life would still trust it.
            self._disk.remove(self._path(CLEAN_FILE))
            await self._disk.sync_directory(self._directory)
        if owner is None and offsets_in(names, LOG):
            return Left(checkpoint, None, "no file names the topic that owns this log")
        if named_owner != self.topic_id or partition is None:
            await self.claim()
        elif self._partition not in (None, partition):
            swapped = (
                f"this is the log of partition {partition}, not {self._partition}: somebody moved "
                "its folder; stop the node and move it back, or delete it to fetch it again"
            )
            return Left(None, None, swapped, is_foreign=True)
        is_believed = marker is not None and self._life.believes(marker)
        return Left(checkpoint, marker if is_believed else None, None)

    async def claim(self) -> None:
        """Write the owner of this folder."""
        await make_directory_durably(self._disk, self._directory)
        metadata = encode_topic_id(self.topic_id)
        if self._partition is not None:
            metadata = encode_partition_metadata(self.topic_id, self._partition)
        await write_atomically(self._disk, self._path(METADATA_FILE), metadata)

    async def save(self, checkpoint: Checkpoint) -> None:
        """Write the checkpoint to stable storage."""
        await write_atomically(
            self._disk, self._path(CHECKPOINT_FILE), encode_checkpoint(checkpoint)
        )

    def note_loss(self) -> None:
        """Best effort: mark that unsynced data may be lost, for the next start to find."""
        self._is_for_next_start = True
        with suppress(StorageError):
            self._disk.open(self._path(LOSSY_FILE), create=True).close()

    def forget_loss(self) -> None:
        """Clear `may_have_lost`: the controller knows it now; a later `note_loss` is kept."""
        if not self._is_for_next_start:
            self._disk.remove(self._path(LOSSY_FILE))
        self.may_have_lost = False

    async def mark_clean(self, log_end_offset: int) -> None:
        """Mark the log as closed, with everything in it on stable storage."""
        names = self._disk.list(self._directory)
        sizes = {
            name: self._disk.size(self._path(name))
            for name in names
            if name.endswith((*SEGMENT_KINDS, SNAPSHOT))
        }
        marker = encode_clean_marker(CleanMarker(log_end_offset, sizes, self._life.number))
        await write_atomically(self._disk, self._path(CLEAN_FILE), marker)

    def _path(self, name: str) -> str:
        return f"{self._directory}/{name}"

    async def _read(self, name: str, names: Collection[str]) -> bytes:
        """Read a small file; empty when it is not among `names`."""
        if name not in names:
            return b""
        file = self._disk.open(self._path(name))
        try:
            return await reading(self._disk, partial(file.read_at, 0, _MAX_SMALL_FILE_BYTES))
        finally:
            file.close()


def owner_of(disk: Disk, directory: str) -> bytes | None:
    """Read the topic id of the log in a folder, as its start would; None when there is none."""
    checkpoint = decode_checkpoint(_read(disk, f"{directory}/{CHECKPOINT_FILE}"))
    return _owner(checkpoint, decode_topic_id(_read(disk, f"{directory}/{METADATA_FILE}")))


def _owner(checkpoint: Checkpoint | None, named_owner: bytes | None) -> bytes | None:
    """Prefer the checkpoint, which is sealed: a flipped bit in the other file changes its topic."""
    return named_owner if checkpoint is None else checkpoint.topic_id


def _read(disk: Disk, path: str) -> bytes:
    """Read a small file; empty when it does not exist."""
    if not disk.exists(path):
        return b""
    file = disk.open(path)
    try:
        return file.read_at(0, _MAX_SMALL_FILE_BYTES)
    finally:
        file.close()


async def delete_log(disk: Disk, directory: str) -> None:
    """Remove a closed log. The file that names its owner goes last: a crash leaves no orphan."""
    for name in disk.list(directory):
        if name != METADATA_FILE:
            await disk.discard(f"{directory}/{name}")
    await disk.sync_directory(directory)
    disk.remove_tree(directory)
    await disk.sync_directory(directory.rsplit("/", 1)[0])
