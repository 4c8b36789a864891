"""The data folder of a node of another cluster whose metadata log is alike by chance, and ahead.

Every entry has the index and the term of one of the node in whose place it stands, and says
something else; some of later terms follow, so that it would win each vote.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tidelog.core.system import SystemDisk
from tidelog.node.config import NodeConfig
from tidelog.node.data_directory import format_or_check
from tidelog.node.quorum import METADATA_DIRECTORY
from tidelog.raft.durable_state import NO_OP, REGULAR, WalEntry
from tidelog.raft.log_origin import term_start
from tidelog.raft.wal import Wal
from tidelog.v1.metadata_records_pb2 import MetadataBatch

FOREIGN = "foreign"
TERMS_AHEAD = 3
WALL_MS = 1
RESERVE_BYTES = 1 << 20


async def make_foreign_data(config: NodeConfig, *, own_data: Path) -> None:
    """Make `config`'s folder; the node whose data `own_data` is must be down.

    Errors: `ValueError` when its log has no beginning any more.
    """
    disk, folder = SystemDisk(), Path(config.data_dir)
    shutil.rmtree(folder, ignore_errors=True)
    await format_or_check(disk, config)
    metadata = folder / METADATA_DIRECTORY
    own = own_data / METADATA_DIRECTORY
    entries = await _entries(disk, own, copy=folder / "own", node_id=config.node_id)
    wal = await _open(disk, metadata, node_id=config.node_id)
    first, command = term_start(config.cluster_id), REGULAR + MetadataBatch().SerializeToString()
    last_term = entries[-1].term + TERMS_AHEAD
    wal.write_rejoined()
    wal.write_vote(term=last_term, voted_for=None)
    for entry in entries:
        alike = first if entry.command[: len(NO_OP)] == NO_OP else command
        wal.write_entry(alike, index=entry.log_index, term=entry.term)
    for ahead in range(1, TERMS_AHEAD + 1):
        for content in (first, command):
            wal.write_entry(content, index=wal.last_index + 1, term=entries[-1].term + ahead)
    await wal.sync()
    wal.close()


async def _entries(disk: SystemDisk, own: Path, *, copy: Path, node_id: int) -> list[WalEntry]:
    """Read from a copy, since who opens a log writes to it."""
    shutil.copytree(own, copy)
    wal = await _open(disk, copy, node_id=node_id)
    wal.close()
    shutil.rmtree(copy)
    if wal.base_index or not wal.entries:
        raise ValueError(f"{own}: the log has no beginning any more")
    return wal.entries


async def _open(disk: SystemDisk, folder: Path, *, node_id: int) -> Wal:
    return await Wal.open(
        disk=disk,
        directory=str(folder),
        node_id=node_id,
        wall_ms=WALL_MS,
        reserve_bytes=RESERVE_BYTES,
    )
