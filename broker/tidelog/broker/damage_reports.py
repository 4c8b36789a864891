"""Damaged logs, told to the controllers until they know: one ReportDamage request at a time.

Owns which partitions are to be reported. A report carries the newest partition epoch known here, so
that one that comes late, when the log is healed, tells nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from tidelog.broker.hosted_partition import HostedPartition
from tidelog.broker.partition_map import PartitionMap
from tidelog.broker.replica_config import ReplicaConfig
from tidelog.log.env import Random
from tidelog.log.errors import TidelogError
from tidelog.v1 import common_pb2
from tidelog.v1.controller_pb2 import ReportDamageRequest, ReportDamageResponse

ReportDamage = Callable[[ReportDamageRequest], Awaitable[ReportDamageResponse]]
# After these there is nothing to report any more.
_GONE = frozenset({common_pb2.UNKNOWN_TOPIC_ID, common_pb2.UNKNOWN_TOPIC_OR_PARTITION})

log = structlog.get_logger(__name__)


class DamageReports:
    """Sends what `submit` is told of, again and again until it is known or healed."""

    def __init__(
        self,
        *,
        broker_id: int,
        partitions: PartitionMap,
        report_damage: ReportDamage,
        random: Random,
        config: ReplicaConfig,
    ) -> None:
        self.broker_epoch = -1
        self._broker_id = broker_id
        self._partitions = partitions
        self._report_damage = report_damage
        self._random = random
        self._config = config
        self._waiting: dict[tuple[bytes, int], HostedPartition] = {}
        self._submitted = asyncio.Event()

    @property
    def is_idle(self) -> bool:
        """Whether the controllers know of all damage that was found."""
        return not self._waiting

    def submit(self, partition: HostedPartition) -> None:
        """Its log was found damaged."""
        self._waiting[partition.topic_id, partition.partition] = partition
        self._submitted.set()

    async def run(self) -> None:
        """Report until cancelled."""
        while True:
            await self._submitted.wait()
            self._submitted.clear()
            while self._waiting:
                await self._send()
                if self._waiting:
                    backoff_ms = self._config.alter_partition_backoff_ms
                    await asyncio.sleep(backoff_ms * (0.5 + self._random.random()) / 1000)

    async def _send(self) -> None:
        keys, request = self._take()
        if not keys:
            return
        try:
            response = await self._report_damage(request)
        except TidelogError as error:
            log.info("damage report not answered", error=str(error))
            return
        if response.error.code != common_pb2.NONE or len(response.partitions) != len(keys):
            log.info("damage report refused", error=response.error.message)
            return
        for key, result in zip(keys, response.partitions, strict=True):
            if result.error.code == common_pb2.NONE or result.error.code in _GONE:
                self._waiting.pop(key, None)
            else:
                log.info("damage report refused", error=result.error.message)

    def _take(self) -> tuple[list[tuple[bytes, int]], ReportDamageRequest]:
        """What is still damaged and not known to be, in the order of the request."""
        keys = []
        request = ReportDamageRequest(broker_id=self._broker_id, broker_epoch=self.broker_epoch)
        for key, hosted in list(self._waiting.items()):
            damage = hosted.damage
            state = self._partitions.image.partition(hosted.topic, hosted.partition)
            is_held = self._partitions.held.get((hosted.topic, hosted.partition)) is hosted
            if damage is None or not is_held or state is None:
                del self._waiting[key]
                continue
            keys.append(key)
            request.partitions.add(
                topic=hosted.topic,
                topic_id=hosted.topic_id,
                partition=hosted.partition,
                partition_epoch=state.partition_epoch,
                first_bad_offset=damage.first_bad_offset,
            )
        return keys, request
