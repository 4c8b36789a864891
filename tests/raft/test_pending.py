"""What callers wait for: every proposal and every read ends once, and in the right way."""

from __future__ import annotations

import asyncio

import pytest

from tidelog.core.errors import KafkaError
from tidelog.raft.config import RaftConfig
from tidelog.raft.engine import ConfirmedRead, EngineEntry
from tidelog.raft.pending import Proposals, Reads
from tidelog.raft.replicated_log import NotLeaderError, ProposalUnknownError

NOT_LEADER = NotLeaderError("it does not lead", leader_id=2)


async def test_another_terms_entry_at_its_index_leaves_a_proposal_unknown() -> None:
    proposals = Proposals(RaftConfig())
    proposal = proposals.add(b"a")
    proposals.keep(proposals.take(), [7], term=3)

    proposals.on_committed(EngineEntry(index=7, term=4, command=b"b"))

    with pytest.raises(ProposalUnknownError, match="replaced it"):
        await proposal.result


async def test_a_proposal_ends_with_its_own_entry_and_no_other() -> None:
    proposals = Proposals(RaftConfig())
    first, second = proposals.add(b"a"), proposals.add(b"b")
    proposals.keep(proposals.take(), [7, 8], term=3)

    proposals.on_committed(EngineEntry(index=7, term=3, command=b"a"))

    assert (await first.result).index == 7
    assert not second.result.done()


async def test_what_was_not_appended_is_refused_and_what_was_is_unknown() -> None:
    proposals = Proposals(RaftConfig())
    appended = proposals.add(b"a")
    proposals.keep(proposals.take(), [7], term=3)
    waiting = proposals.add(b"b")

    proposals.fail_all("this node stopped", NOT_LEADER)

    with pytest.raises(ProposalUnknownError):
        await appended.result
    with pytest.raises(NotLeaderError):
        await waiting.result


async def test_a_proposal_nobody_waits_for_any_more_is_not_appended() -> None:
    proposals = Proposals(RaftConfig())
    proposal = proposals.add(b"a")
    proposal.result.cancel()

    assert proposals.take() == []


async def test_a_confirmed_read_waits_until_its_index_is_applied() -> None:
    reads = Reads(RaftConfig())
    read = reads.add()
    (read_id,) = reads.take()

    reads.on_confirmed([ConfirmedRead(read_id, 9)])
    reads.on_applied(8)
    assert not read.done()

    reads.on_applied(9)
    assert await read == 9


async def test_reads_end_with_the_leadership_taken_confirmed_or_not() -> None:
    reads = Reads(RaftConfig())
    confirmed = reads.add()
    reads.on_confirmed([ConfirmedRead(read_id, 9) for read_id in reads.take()])
    taken = reads.add()
    reads.take()
    new = reads.add()

    reads.fail_all(NOT_LEADER)

    for read in (confirmed, taken, new):
        with pytest.raises(NotLeaderError):
            await read
    assert reads.take() == []


async def test_what_a_step_took_that_never_ended_is_unknown() -> None:
    proposals = Proposals(RaftConfig())
    proposal = proposals.add(b"a")
    proposals.take()

    proposals.fail_all("this node stopped", NOT_LEADER)

    with pytest.raises(ProposalUnknownError, match="stopped"):
        await proposal.result


async def test_confirmed_reads_that_wait_to_be_applied_count_for_the_bound() -> None:
    reads = Reads(RaftConfig(max_pending_proposals=2))
    for read_id in (1, 2):
        reads.add()
        reads.take()
        reads.on_confirmed([ConfirmedRead(read_id, 9)])

    with pytest.raises(KafkaError, match="2 reads are pending already"):
        reads.add()
    reads.on_applied(9)
    reads.add()


@pytest.mark.parametrize("is_confirmed", [False, True])
async def test_a_read_nobody_waits_for_any_more_leaves_its_place_to_others(
    is_confirmed: bool,
) -> None:
    reads = Reads(RaftConfig(max_pending_proposals=1))
    late = reads.add()
    taken = reads.take()
    if is_confirmed:
        reads.on_confirmed([ConfirmedRead(read_id, 9) for read_id in taken])
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(late, 0.001)
    reads.on_applied(8)
    read = reads.add()
    reads.on_confirmed([ConfirmedRead(read_id, 9) for read_id in (*taken, *reads.take())])
    reads.on_applied(9)
    assert await read == 9
