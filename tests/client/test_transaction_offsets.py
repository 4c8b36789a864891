"""Offsets of a group in a producer's transaction, against the coordinator's core."""

from __future__ import annotations

import asyncio

import pytest
from tests.client.meddler import Mishap
from tests.client.test_transactions import code_of, lost, producer
from tests.client.transaction_broker import ADDRESS, TransactionBroker

from tidelog.client import GroupMetadata, OffsetAndMetadata, errors

NOBODY = GroupMetadata("g", "", -1, None)


async def test_offsets_go_with_the_transaction() -> None:
    broker = TransactionBroker()
    member = GroupMetadata("g", "m", 4, "i")
    async with producer(broker) as p:
        async with p.transaction():
            broker.mishaps.append(lost("TransactionalOffsetCommit", is_after_work=True))
            offsets: dict[tuple[str, int], OffsetAndMetadata | int]
            offsets = {("in", 0): 5, ("in", 1): OffsetAndMetadata(6, "note", 2)}
            await p.send_offsets_to_transaction(offsets, member)
        sent = broker.offsets[-1]
        assert (sent.transactional_id, sent.producer_id, sent.producer_epoch) == ("id", 7, 0)
        assert (sent.group_id, sent.member_id, sent.member_epoch) == ("g", "m", 4)
        assert sent.instance_id == "i"
        assert [one.offset for topic in sent.topics for one in topic.partitions] == [5, 6]
        assert broker.state() == "CompleteCommit"
        async with p.transaction():
            await p.send_offsets_to_transaction({("in", 0): 7}, NOBODY)
        assert (broker.offsets[-1].member_epoch, broker.offsets[-1].producer_epoch) == (-1, 1)


@pytest.mark.parametrize("code", ["STALE_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"])
async def test_offsets_of_a_member_that_lost_its_partitions_leave_only_the_abort(code: str) -> None:
    broker = TransactionBroker()
    async with producer(broker) as p:
        broker.mishaps.append(Mishap("TransactionalOffsetCommit", code=code_of(code)))

        async def work() -> None:
            async with p.transaction():
                await p.send("t", b"a", partition=0)
                await p.send_offsets_to_transaction({("in", 0): 5}, NOBODY)

        with pytest.raises(errors.CommitFailedError):
            await work()
        assert broker.state() == "CompleteAbort"
        await p.begin_transaction()
        with pytest.raises(errors.CommitFailedError):
            await p.send_offsets_to_transaction({("in", 0): 5}, GroupMetadata("g", "m", 0, None))
        with pytest.raises(errors.TransactionAbortedError):
            await p.commit_transaction()


async def test_commit_waits_for_offsets_that_are_on_their_way() -> None:
    broker = TransactionBroker()
    async with producer(broker) as p:
        await p.begin_transaction()
        held = broker.held[ADDRESS, "TransactionalOffsetCommit"] = asyncio.Event()
        sending = asyncio.create_task(p.send_offsets_to_transaction({("in", 0): 5}, NOBODY))
        await asyncio.sleep(0.05)
        committing = asyncio.create_task(p.commit_transaction())
        await asyncio.sleep(0.05)
        assert not broker.requests("EndTransaction")
        held.set()
        await asyncio.gather(sending, committing)
        assert broker.state() == "CompleteCommit"
