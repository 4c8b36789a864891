"""Metadata of a member, which a transaction's offsets are committed with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest
import pytest_asyncio
from tests.client.group_consumers import (
    AnyConsumer,
    Heard,
    SleptClock,
    consumer,
    orders_cluster,
    read,
)
from tests.client.patience import until
from tests.client.real_cluster import RealCluster

from tidelog.client import GroupMetadata, TopicPartition
from tidelog.simulation.mutants.transactions import ALL

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def cluster() -> AsyncIterator[RealCluster]:
    yield await orders_cluster()


async def test_metadata_of_records_that_are_read_again_commits_nothing(
    cluster: RealCluster,
) -> None:
    """The member lost all and has it again, unknown to an application that reads nothing now."""
    heard, clock = Heard(), SleptClock()
    reader = consumer(cluster, clock=clock)
    await reader.subscribe(["orders"], listener=heard)
    await read(reader, 20)
    before = reader.group_metadata()
    clock.slept_ms = 50_000
    await until(lambda: [what for what, _ in heard.calls] == ["assigned", "lost", "assigned"])
    assert reader.group_metadata() == before._replace(epoch=0)
    await read(reader, 20)
    assert reader.group_metadata().epoch > before.epoch
    await reader.close(timeout_ms=100)


async def test_the_mutant_that_names_the_newest_epoch_is_noticed(cluster: RealCluster) -> None:
    with ALL["metadata_of_now"].applied(), pytest.raises(AssertionError, match="epoch"):
        await test_metadata_of_records_that_are_read_again_commits_nothing(cluster)


async def test_metadata_last_until_the_group_is_left(cluster: RealCluster) -> None:
    """A listener commits what it is done with in a transaction, as the consumer closes, too."""
    found: list[GroupMetadata] = []

    class Committing(Heard):
        async def on_partitions_revoked(
            self, consumer: AnyConsumer, partitions: Sequence[TopicPartition]
        ) -> None:
            del partitions
            found.append(consumer.group_metadata())

    reader = consumer(cluster)
    await reader.subscribe(["orders"], listener=Committing())
    await read(reader, 20)
    before = reader.group_metadata()
    await reader.unsubscribe()
    assert found == [before]
    assert before.epoch > 0
    assert reader.group_metadata().epoch == -1
    await reader.close()
