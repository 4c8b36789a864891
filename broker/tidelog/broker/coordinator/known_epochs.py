"""Leader epochs of committed offsets that this broker may not have heard of, or that never were.

A commit may name any epoch, as in Kafka: those of tools and other clusters name what no leader of
the partition has had. Members of ours read from no leader older than the commit (KIP-320), so they
would wait for that leader: they are told the newest epoch instead.
"""

from __future__ import annotations

from tidelog.broker.coordinator.catch_up import CatchUp
from tidelog.broker.coordinator.offsets import OffsetResult, Topics
from tidelog.core.env import Clock


class KnownEpochs:
    """Looks at epochs in answers of a coordinator."""

    def __init__(self, topics: Topics, catch_up: CatchUp, clock: Clock, *, timeout_ms: int) -> None:
        self._topics = topics
        self._catch_up = catch_up
        self._clock = clock
        self._timeout_ms = timeout_ms

    async def known(self, results: list[OffsetResult]) -> list[OffsetResult]:
        """The same offsets, none with an epoch that no leader of its partition has had.

        Those not heard of yet are waited for: a member's leader may be newer than this broker's
        metadata. Raises as `CatchUp.wait`.
        """
        ahead = [one for one in results if self._is_ahead(one)]
        if not ahead:
            return results
        await self._catch_up.wait(
            lambda: not any(map(self._is_ahead, ahead)),
            since_ms=self._clock.monotonic_ms(),
            timeout_ms=self._timeout_ms,
        )
        return [self._lowered(one) if self._is_ahead(one) else one for one in results]

    def _is_ahead(self, result: OffsetResult) -> bool:
        epoch = result.committed.leader_epoch
        return epoch > 0 and epoch > self._newest(result)

    def _lowered(self, result: OffsetResult) -> OffsetResult:
        committed = result.committed._replace(leader_epoch=self._newest(result))
        return result._replace(committed=committed)

    def _newest(self, result: OffsetResult) -> int:
        """Newest epoch by this broker's metadata; of a partition that is gone, that committed."""
        name, topic_id, number = result.partition
        found_id = topic_id or self._topics.topic_id(name)
        if found_id is None or not 0 <= number < self._topics.partition_count(found_id):
            return result.committed.leader_epoch
        return self._topics.leader_epoch(found_id, number)
