"""Promises that wait for a sync: kept in order, and no more of them than may wait."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from tidelog.raft.config import RaftConfig
from tidelog.raft.syncing import Syncing
from tidelog.v1.raft_pb2 import RaftMessage

PROMISES_MAX = 3


class SlowStorage:
    """Nothing of it is stored until the test says so."""

    def __init__(self) -> None:
        self.written: Any = 0
        self.stored = -1

    def is_stored(self, written: int) -> bool:
        return written <= self.stored


def test_no_more_promises_wait_for_a_sync_than_may() -> None:
    storage = SlowStorage()
    syncing = Syncing(
        cast("Any", storage),
        cast("Any", SimpleNamespace()),
        config=RaftConfig(cluster_id="c", max_promises=PROMISES_MAX),
        on_done=lambda: None,
    )
    for number in range(10):
        storage.written = number
        syncing.promise([RaftMessage(term=number)])
    assert list(syncing.take_kept()) == []
    storage.stored = 1
    assert [message.term for message in syncing.take_kept()] == [0, 1]
    syncing.promise([RaftMessage(term=number) for number in (10, 11, 12)])
    storage.stored = 9
    assert [message.term for message in syncing.take_kept()] == [2, 10, 11], "12 found no room"
