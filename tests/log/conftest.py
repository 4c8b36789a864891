"""A simulated disk and logs on it."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable

import pytest

from tidelog.chaos.sim_stage.disk import SimDisk
from tidelog.log.config import LogConfig
from tidelog.log.env import Disk
from tidelog.log.partition_log import PartitionLog
from tidelog.log.system import SystemClock

OpenLog = Callable[..., Awaitable[PartitionLog]]
DIRECTORY = "/data/flights-0"
TOPIC_ID = bytes(range(16))


@pytest.fixture
def disk() -> SimDisk:
    return SimDisk(random.Random(7), 0.0)


@pytest.fixture
def open_log(disk: SimDisk) -> OpenLog:
    """Opens the log of one folder; `on` takes another disk, the rest are config fields."""

    async def open_it(
        *,
        on: Disk = disk,
        directory: str = DIRECTORY,
        topic_id: bytes = TOPIC_ID,
        **config: int,
    ) -> PartitionLog:
        return await PartitionLog.open(
            directory=directory,
            disk=on,
            clock=SystemClock(),
            config=LogConfig(**config),
            topic_id=topic_id,
        )

    return open_it
