"""The read barrier of a node: proven by a majority, bounded, without a write."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from tests.raft.raft_node import CONFIG, SYNC_S, Node, Run

from tidelog.core.errors import KafkaError
from tidelog.raft.replicated_log import NotLeaderError
from tidelog.simulation.engine.scheduler import Scheduler
from tidelog.v1 import common_pb2


def rounds(node: Node) -> set[int]:
    appends = [m.append_entries for _, m in node.followers.sent if m.HasField("append_entries")]
    return {append.round for append in appends}


def test_reads_that_come_together_share_a_round_and_write_nothing(node: Node, run: Run) -> None:
    async def main() -> None:
        await node.lead()
        entry = await node.log.propose(b"a", timeout_ms=1000)
        assert node.log.storage is not None
        written = node.disk.syncs, node.log.storage.wal.size_bytes
        before = rounds(node)

        barriers = [node.log.read_barrier(timeout_ms=1000) for _ in range(5)]
        assert await asyncio.gather(*barriers) == [entry.index] * 5

        assert len(rounds(node) - before) == 1
        assert (node.disk.syncs, node.log.storage.wal.size_bytes) == written

    run(main())


def test_what_a_read_counts_on_is_applied_when_it_ends(node: Node, run: Run) -> None:
    async def main() -> None:
        await node.lead()
        proposal = asyncio.create_task(node.log.propose(b"a", timeout_ms=1000))
        await asyncio.sleep(0)
        index = await node.log.read_barrier(timeout_ms=1000)
        assert node.log.applied_index >= index
        entry = await proposal
        assert await node.log.read_barrier(timeout_ms=1000) >= entry.index

    run(main())


def test_a_read_without_its_proof_in_time_ends_as_not_leader(node: Node, run: Run) -> None:
    async def main() -> None:
        await node.lead()
        node.followers.acknowledge = False
        with pytest.raises(NotLeaderError, match="within 100 ms") as caught:
            await node.log.read_barrier(timeout_ms=100)
        assert caught.value.leader_id is None

    run(main())


def test_a_leader_cut_from_its_majority_answers_no_read_however_long_it_may_take(
    node: Node, run: Run
) -> None:
    async def main() -> None:
        await node.lead()
        node.followers.acknowledge = False
        assert node.log.is_leader
        asked_s = node.loop.time()
        with pytest.raises(NotLeaderError):
            await node.log.read_barrier(timeout_ms=50_000)
        assert not node.log.is_leader
        assert node.loop.time() - asked_s <= 2 * CONFIG.election_timeout_max_ms / 1000

    run(main())


def test_a_read_that_timed_out_leaves_the_next_one_alone(node: Node, run: Run) -> None:
    async def main() -> None:
        await node.lead()
        node.followers.acknowledge = False
        with pytest.raises(NotLeaderError):
            await node.log.read_barrier(timeout_ms=50)
        node.followers.acknowledge = True
        assert await node.log.read_barrier(timeout_ms=1000) == node.log.commit_index

    run(main())


def test_who_does_not_lead_refuses_a_read_at_once(node: Node, run: Run) -> None:
    async def main() -> None:
        await node.log.start(node.machine)
        began_s = node.loop.time()
        with pytest.raises(NotLeaderError):
            await node.log.read_barrier(timeout_ms=1000)
        assert node.loop.time() == began_s

    run(main())


def test_stopping_ends_reads(node: Node, run: Run) -> None:
    async def main() -> None:
        await node.lead()
        node.followers.acknowledge = False
        read = asyncio.create_task(node.log.read_barrier(timeout_ms=50_000))
        await asyncio.sleep(SYNC_S)
        await node.log.stop()
        with pytest.raises(NotLeaderError):
            await read

    run(main())


def test_reads_are_bounded(scheduler: Scheduler) -> None:
    node = Node(scheduler, config=replace(CONFIG, max_pending_proposals=2))

    async def main() -> list[int | BaseException]:
        await node.lead()
        reads = [node.log.read_barrier(timeout_ms=1000) for _ in range(3)]
        return list(await asyncio.gather(*reads, return_exceptions=True))

    first, second, third = scheduler.run(node.loop, main())

    assert first == second == 1
    assert isinstance(third, KafkaError)
    assert third.code == common_pb2.THROTTLING_QUOTA_EXCEEDED
