"""The size of a log in the answer of its leader to ListOffsets."""

from __future__ import annotations

from tests.broker.replica_stage import ReplicaStage
from tests.broker.test_replica_manager import one_partition


def test_a_leader_tells_the_size_of_its_log() -> None:
    async def story(stage: ReplicaStage) -> None:
        await one_partition(stage)
        assert (await stage.offsets(1)).size_bytes == 0
        await stage.must_produce(1, b"a" * 1000)
        listed = await stage.offsets(1)
        assert listed.size_bytes == stage.hosted(1).log.size_in_bytes > 1000

    ReplicaStage().run(story)
