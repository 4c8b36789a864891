"""Leader epochs of offsets that this broker may not have heard of yet."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.broker.coordinator.catch_up import CatchUp
from tidelog.broker.coordinator.offsets import (
    CommittedOffset,
    TopicPartition,
    Topics,
    is_ahead,
)


async def know_epochs(
    offsets: Iterable[tuple[TopicPartition, CommittedOffset]],
    topics: Topics,
    catch_up: CatchUp,
    *,
    since_ms: int,
    timeout_ms: int,
) -> None:
    """Wait for leader epochs that this broker has not heard of, unless nobody has.

    A member's leader may be newer than this broker's metadata. Raises as `CatchUp.wait`.
    """
    ahead = [one for one in offsets if is_ahead(*one, topics)]
    if ahead:
        await catch_up.wait(
            lambda: not any(is_ahead(*one, topics) for one in ahead),
            since_ms=since_ms,
            timeout_ms=timeout_ms,
        )
