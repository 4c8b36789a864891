"""A simulated disk and logs on it."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.log.cleaned_logs import StillClock
from tests.log.partition_logs import DIRECTORY, NOW_MS, TOPIC_ID, OpenLog

from tidelog.core.env import Clock, Disk
from tidelog.log.config import LogConfig
from tidelog.log.log_folder import ONLY_LIFE, Life
from tidelog.log.partition_log import PartitionLog
from tidelog.simulation.engine.disk import SimDisk


@pytest.fixture
def disk() -> SimDisk:
    return SimDisk(random.Random(7), 0.0)


@pytest.fixture
def clock() -> StillClock:
    return StillClock(NOW_MS)


@pytest.fixture
def open_log(disk: SimDisk, clock: Clock) -> OpenLog:
    async def open_it(
        *,
        on: Disk = disk,
        directory: str = DIRECTORY,
        topic_id: bytes = TOPIC_ID,
        life: Life = ONLY_LIFE,
        **config: Any,  # fields of LogConfig
    ) -> PartitionLog:
        return await PartitionLog.open(
            directory=directory,
            disk=on,
            clock=clock,
            config=LogConfig(**config),
            topic_id=topic_id,
            life=life,
        )

    return open_it
