"""The lag of the groups that this broker coordinates, looked up now and then.

Each round reads committed offsets first and asks the partitions' leaders for their high watermarks
then, itself among them: all brokers at once, each in bundles. A broker that does not answer in time
leaves its partitions without a lag until a later round. What a round found is exchanged as a whole,
and dropped when the leadership under it ends. Owns no metric: see `group_metrics`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias

from tidelog.broker.coordinator.group_shard import GroupShard
from tidelog.broker.coordinator.image_topics import ImageTopics
from tidelog.broker.coordinator.lag_plan import (
    CommittedRow,
    LagRow,
    PartitionId,
    answered,
    committed_rows,
    questions,
    with_lag,
)
from tidelog.broker.coordinator.runtime import Hosted, Status
from tidelog.core.env import Clock
from tidelog.core.errors import TidelogError
from tidelog.core.logs import get_logger
from tidelog.metadata.image import MetadataImage
from tidelog.v1.data_pb2 import ListOffsetsRequest, ListOffsetsResponse

log = get_logger(__name__)

ROWS_MAX = 5_000
"""Committed offsets whose lag is looked up; further ones are counted."""
ANSWERS_TIMEOUT_MS = 2_000
"""Time in which a broker has to answer all that it is asked in a round."""
GROUPS_PER_TURN = 100
"""Groups that are read before other work has the loop."""

HostedGroups: TypeAlias = Hosted[GroupShard]
Active: TypeAlias = Callable[[], Iterator[HostedGroups]]
AskBroker: TypeAlias = Callable[[int, ListOffsetsRequest], Awaitable[ListOffsetsResponse]]
"""ListOffsets to a broker by its id. Raises `KafkaError`."""


@dataclass(slots=True)
class _Round:
    """A look at all groups."""

    rows: dict[HostedGroups, list[CommittedRow]] = field(default_factory=dict)
    high_watermarks: dict[PartitionId, int] = field(default_factory=dict)
    left_out: int = 0


class GroupLag:
    """Lag by group, topic and partition, as of the last round."""

    def __init__(
        self,
        *,
        refresh_ms: int,
        image: Callable[[], MetadataImage],
        ask: AskBroker,
        clock: Clock,
    ) -> None:
        self.left_out = 0
        """Committed offsets beyond `ROWS_MAX` in the last round."""
        self.unknown = 0
        """Partitions of groups whose high watermark was not answered in the last round."""
        self.round_ms = 0
        """Duration of the last round."""
        self._refresh_ms = refresh_ms
        self._image = image
        self._topics = ImageTopics(image)
        self._ask = ask
        self._clock = clock
        self._rows: dict[HostedGroups, list[LagRow]] = {}

    def rows(self) -> Sequence[LagRow]:
        """List what the last round found, of shards that are still led by this broker."""
        active = (rows for one, rows in self._rows.items() if one.status is Status.ACTIVE)
        return [row for rows in active for row in rows]

    async def run(self, active: Active) -> None:
        """Look at the active shards again and again."""
        while True:
            await asyncio.sleep(self._refresh_ms / 1000)
            await self.refresh(active)

    async def refresh(self, active: Active) -> None:
        """Look once at the active shards."""
        began_ms = self._clock.monotonic_ms()
        look = _Round()
        for hosted in active():
            await self._read(look, hosted)
        rows = [row for of_shard in look.rows.values() for row in of_shard]
        asked = questions(rows, self._image())
        await asyncio.gather(*(self._ask_one(look, *one) for one in asked.items()))
        found: dict[HostedGroups, list[LagRow]] = {}
        for hosted, of_shard in look.rows.items():
            found[hosted] = [with_lag(row, look.high_watermarks) for row in of_shard]
            await asyncio.sleep(0)
        self._rows, self.left_out = found, look.left_out
        self.unknown = sum(row.lag is None for rows in found.values() for row in rows)
        self.round_ms = self._clock.monotonic_ms() - began_ms

    async def _read(self, look: _Round, hosted: HostedGroups) -> None:
        offsets, rows = hosted.shard.offsets, look.rows.setdefault(hosted, [])
        room = ROWS_MAX - sum(map(len, look.rows.values()))
        for number, group_id in enumerate(offsets.names, start=1):
            some = list(islice(committed_rows(offsets, group_id, self._topics), room))
            rows += some
            room -= len(some)
            look.left_out += 0 if room else offsets.count(group_id) - len(some)
            if number % GROUPS_PER_TURN == 0:
                await asyncio.sleep(0)

    async def _ask_one(
        self, look: _Round, broker_id: int, requests: Sequence[ListOffsetsRequest]
    ) -> None:
        """Ask one broker, until it fails or its time is over."""
        try:
            async with asyncio.timeout(ANSWERS_TIMEOUT_MS / 1000):
                for request in requests:
                    response = await self._ask(broker_id, request)
                    look.high_watermarks.update(answered(request, response))
        except (TimeoutError, TidelogError) as error:
            log.info("lag not known", broker_id=broker_id, error=str(error))
