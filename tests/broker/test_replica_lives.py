"""Lives of replicas: work on a folder waits for its turn, and for all earlier work there."""

from __future__ import annotations

import gc
import warnings

import pytest
from tests.broker.replica_stage import ReplicaStage

pytestmark = pytest.mark.sim


def test_a_manager_that_ends_while_logs_wait_to_open_leaves_no_coroutine_behind() -> None:
    async def story(stage: ReplicaStage) -> None:
        stage.create(replicas=(1,), partitions=20)
        await stage.until(lambda: len(stage.manager(1)._partitions.held) == 20)
        assert any(not held.is_settled for held in stage.manager(1)._partitions.held.values())
        await stage.manager(1)._background.stop()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuntimeWarning)
        ReplicaStage().run(story)
        gc.collect()

    assert [str(warning.message) for warning in caught] == []
