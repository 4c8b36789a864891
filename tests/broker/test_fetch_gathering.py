"""Many partitions that a broker comes to follow at once: their number costs no square."""

from __future__ import annotations

import pytest
from tests.broker.replica_stage import ReplicaStage

from tidelog.broker.partition import follower_io as following
from tidelog.broker.partition.partition import Partition
from tidelog.v1.data_pb2 import FetchPartition

pytestmark = pytest.mark.sim

PARTITIONS = 300


def test_newcomers_are_asked_for_together(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0
    next_fetch = following.next_fetch

    def counted(hosted: Partition, *, max_bytes: int) -> FetchPartition | None:
        nonlocal asked
        asked += 1
        return next_fetch(hosted, max_bytes=max_bytes)

    monkeypatch.setattr(following, "next_fetch", counted)

    async def story(stage: ReplicaStage) -> None:
        stage.create(partitions=PARTITIONS)
        await stage.until(lambda: len(stage.manager(3)._partitions.held) == PARTITIONS)
        held = stage.manager(3)._partitions.held.values()
        await stage.until(lambda: all(one.replica.follower is not None for one in held))

    ReplicaStage().run(story)
    assert asked < 2 * 15 * PARTITIONS, "two followers, each a few times"
