"""Internal topics whose own largest batch is small: an end for every request, and final answers."""

from __future__ import annotations

from tests.client.real_cluster import RealCluster, started
from tests.node.group_calls import GroupCalls
from tests.node.transaction_calls import TransactionCalls

from tidelog.broker.transactions.transaction import Producer
from tidelog.core.internal_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC

NUMBERS = range(12)
LIMITS = [90, *range(150, 260, 6)]
"""From where not even an id fits up to where all partitions do."""


async def limited(limit: int, name: str) -> tuple[RealCluster, TransactionCalls]:
    cluster = await started()
    await cluster.create("orders", partitions=len(NUMBERS), min_insync_replicas=1)
    calls = TransactionCalls(cluster)
    await calls.coordinator()
    await GroupCalls(cluster).coordinator()
    await cluster.configure(name, max_message_bytes=limit)
    return cluster, calls


async def test_what_was_added_to_a_transaction_can_be_decided_at_every_limit() -> None:
    cluster, _ = await limited(LIMITS[0], TRANSACTIONS_TOPIC)
    seen = set()
    for limit in LIMITS:
        await cluster.configure(TRANSACTIONS_TOPIC, max_message_bytes=limit)
        for is_commit in (True, False):
            calls = TransactionCalls(cluster, f"t{limit}-{is_commit}")
            producer = await calls.init()
            if isinstance(producer, str):
                assert producer == "MESSAGE_TOO_LARGE"
                seen.add(producer)
                continue
            added = [await calls.add(producer, [("orders", number)]) for number in NUMBERS]
            seen.update(added)
            assert set(added) <= {"NONE", "INVALID_REQUEST"}
            if "NONE" in added:
                assert isinstance(await calls.end(producer, commit=is_commit), Producer), limit
    assert seen == {"MESSAGE_TOO_LARGE", "INVALID_REQUEST", "NONE"}


async def test_a_commit_of_offsets_that_is_too_large_is_refused_for_good() -> None:
    """As in Kafka 4.3.1; a smaller one of the same group succeeds."""
    cluster, _ = await limited(300, OFFSETS_TOPIC)
    calls = GroupCalls(cluster)
    refused = await calls.commit({("orders", number): 1 for number in NUMBERS})
    assert set(refused) == {"MESSAGE_TOO_LARGE"}
    assert await calls.committed() == {}
    assert await calls.commit({("orders", 0): 1}) == ["NONE"]
    assert await calls.committed() == {("orders", 0): 1}
