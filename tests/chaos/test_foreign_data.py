"""The stranger of `foreign-node`: its log is alike at each index, ahead, and no part of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.chaos.sockets.foreign_data import FOREIGN, TERMS_AHEAD, make_foreign_data
from tidelog.core.errors import StorageError
from tidelog.core.system import SystemDisk
from tidelog.net.listeners import one_listener
from tidelog.node.config import NodeConfig
from tidelog.node.quorum import METADATA_DIRECTORY
from tidelog.raft.durable_state import REGULAR
from tidelog.raft.log_origin import term_start
from tidelog.raft.storage import Storage

OWN = "own"
RESERVE_BYTES = 64 * 1024


async def opened(folder: Path, *, cluster_id: str) -> Storage:
    return await Storage.open(
        disk=SystemDisk(),
        directory=str(folder / METADATA_DIRECTORY),
        node_id=3,
        wall_ms=1,
        reserve_bytes=RESERVE_BYTES,
        cluster_id=cluster_id,
    )


async def test_a_strangers_log_is_alike_and_ahead_and_neither_opens_in_the_others_cluster(
    tmp_path: Path,
) -> None:
    own, foreign = tmp_path / "own", tmp_path / "foreign"
    storage = await opened(own, cluster_id=OWN)
    storage.wal.write_vote(term=2, voted_for=None)
    for index, (term, command) in enumerate(
        [(1, term_start(OWN)), (1, REGULAR + b"a"), (2, term_start(OWN)), (2, REGULAR + b"b")],
        start=1,
    ):
        storage.wal.write_entry(command, index=index, term=term)
    await storage.sync()
    storage.close()
    before = (own / METADATA_DIRECTORY / "raft.wal").read_bytes()

    config = NodeConfig(
        node_id=3,
        cluster_id=FOREIGN,
        listeners=one_listener("127.0.0.1:1"),
        data_dir=str(foreign),
        controller_voters={3: "127.0.0.1:1"},
    )
    await make_foreign_data(config, own_data=own)

    assert (own / METADATA_DIRECTORY / "raft.wal").read_bytes() == before
    stranger = await opened(foreign, cluster_id=FOREIGN)
    terms = [entry.term for entry in stranger.wal.entries]
    assert terms[:4] == [1, 1, 2, 2]
    assert stranger.wal.last_term == 2 + TERMS_AHEAD
    assert not stranger.wal.is_rejoining
    stranger.close()
    with pytest.raises(StorageError, match="is not of cluster 'own'"):
        await opened(foreign, cluster_id=OWN)


async def test_a_log_without_a_beginning_is_no_model(tmp_path: Path) -> None:
    storage = await opened(tmp_path / "own", cluster_id=OWN)
    storage.close()
    config = NodeConfig(
        node_id=3,
        cluster_id=FOREIGN,
        listeners=one_listener("127.0.0.1:1"),
        data_dir=str(tmp_path / "foreign"),
        controller_voters={3: "127.0.0.1:1"},
    )
    with pytest.raises(ValueError, match="no beginning"):
        await make_foreign_data(config, own_data=tmp_path / "own")
