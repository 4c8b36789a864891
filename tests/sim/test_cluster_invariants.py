"""Break a rule of the product, or what a node holds, and see that the invariant notices."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.cluster_view import ClusterView
from tests.sim.sim_story import TOPIC, Story

from tidelog.broker.partition import leader_io as leading
from tidelog.broker.partition.partition import Partition
from tidelog.broker.partition.purgatory import DelayedAnswer, OffsetWaiters
from tidelog.broker.replica import leader, replica
from tidelog.broker.replica.isr import IsrState
from tidelog.chaos.invariants.elections import may_have_lost
from tidelog.chaos.node_inside import held_by, log_of
from tidelog.client import Consumer, Producer
from tidelog.core.errors import TidelogError
from tidelog.log.file_names import LOG, file_name
from tidelog.log.partition_log import PartitionLog
from tidelog.log.segment_walk import ReadResult
from tidelog.metadata.image import PartitionImage
from tidelog.simulation.cluster import invariants as shell
from tidelog.simulation.cluster.cluster import Machine, SimCluster
from tidelog.simulation.cluster.inside import Cursor
from tidelog.simulation.cluster.invariants import Invariants
from tidelog.simulation.cluster.invariants_replicas import _LastState
from tidelog.v1.data_pb2 import ListOffsetsRequest, ListOffsetsResponse

pytestmark = pytest.mark.sim


class Watched:
    """A simulated cluster with its invariants."""

    def __init__(self, seed: int, *, every: int = 1) -> None:
        self.found: list[tuple[str, str]] = []
        self.cluster = SimCluster(seed=seed)
        self.invariants = Invariants(self.cluster, self._report)
        self._every, self._count = every, 0
        self.cluster.scheduler.after_step = self._after_step

    @property
    def kinds(self) -> set[str]:
        """The invariants that do not hold."""
        return {invariant for invariant, _ in self.found}

    def lose_a_leader(self) -> None:
        """Read along while a leader crashes under load and comes back, until all are in sync."""
        self.cluster.run(_lose_a_leader(self.cluster))

    def replica(self, node_id: int) -> tuple[Machine, Partition, PartitionLog]:
        """A node's first partition that holds something."""
        machine = self.cluster.machines[node_id]
        assert machine.node is not None
        for hosted in held_by(machine.node).values():
            log = log_of(hosted)
            if log is not None and log.log_end_offset > 1:
                return machine, hosted, log
        raise AssertionError("no partition holds anything")

    def seen(self) -> list[_LastState]:
        """What the invariants remember of all replicas."""
        return [seen for of in self.invariants.replicas._seen.values() for seen in of.values()]

    def look_anew(self) -> None:
        """As after a step in which everything changed."""
        for seen in self.seen():
            seen.state = None
        self.invariants.after_step()

    def _report(self, invariant: str, what: str) -> None:
        self.found.append((invariant, what))

    def _after_step(self) -> None:
        self._count += 1
        if self._count % self._every == 0:
            self.invariants.after_step()


async def _lose_a_leader(cluster: SimCluster) -> None:
    view, story = ClusterView(cluster), Story(cluster)
    leader_id = (await story.create())[0]
    await view.until_in_sync(TOPIC)
    watching = asyncio.create_task(_watch(story))
    await story.produce(10)
    producing = asyncio.create_task(story.produce(30))
    await asyncio.sleep(0.05)
    cluster.crash(leader_id)
    await producing
    assert await story.read() == story.acked
    cluster.start(leader_id)
    await view.until_in_sync(TOPIC)
    await story.produce(10)
    assert await story.read() == story.acked
    await asyncio.sleep(2)  # followers hear of the high watermark
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    await story.admin.close()


async def _watch(story: Story) -> None:
    """Read along from the first record on."""
    bootstrap = [story.cluster.address(one) for one in story.cluster.node_ids]
    async with Consumer(bootstrap, auto_offset_reset="none", **story.ports) as consumer:
        consumer.assign([(TOPIC, 0)])
        consumer.seek((TOPIC, 0), 0)
        async for _ in consumer:
            pass


@pytest.fixture
def watched() -> Iterator[Watched]:
    watched = Watched(1)
    yield watched
    watched.cluster.close()


@pytest.fixture
def played(watched: Watched) -> Watched:
    """After a scenario in which all was well."""
    watched.lose_a_leader()
    watched.invariants.at_quiet()
    assert watched.found == []
    return watched


@pytest.mark.parametrize("every", [1, 50])
@pytest.mark.parametrize("seed", [2, 7])
def test_nothing_is_reported_of_a_right_cluster(seed: int, every: int) -> None:
    watched = Watched(seed, every=every)
    watched.lose_a_leader()
    watched.invariants.at_quiet()
    watched.cluster.close()

    assert watched.found == []
    assert watched.invariants.book.seen["committed"] > 5
    assert watched.invariants.book.seen["compared"] > 5


# Rules of the product, broken


def _commit_what_the_leader_holds(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(leader, "committed_offset", lambda own, followers: own)


def _let_anyone_join_the_isr(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(leader, "may_join_isr", lambda *args, **kwargs: True)
    patch.setattr(leader.Leader, "_awaited", lambda self, now_ms: ())


def _wait_for_nobody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(IsrState, "maximal", property(lambda self: self.committed[:1]))


def _let_everyone_lead(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(replica.Replica, "_follow", lambda self, event: self._lead(event, 0))


def _serve_what_is_not_committed(patch: pytest.MonkeyPatch) -> None:
    right = leading._records

    def wrong(hosted: Partition, asked: Any, **limits: Any) -> ReadResult:
        limits["upper_bound"] = hosted.log.log_end_offset
        return right(hosted, asked, **limits)

    patch.setattr(leading, "_records", wrong)


def _acknowledge_at_once(patch: pytest.MonkeyPatch) -> None:
    def add(self: OffsetWaiters, offset: int, answer: DelayedAnswer, index: int) -> None:
        answer.expect(index, offset)
        answer.resolve(index, None)

    patch.setattr(OffsetWaiters, "add", add)


@pytest.mark.parametrize(
    ("mutant", "invariant"),
    [
        (_commit_what_the_leader_holds, "I11"),
        (_commit_what_the_leader_holds, "I3"),
        (_wait_for_nobody, "I5"),
        (_let_everyone_lead, "I10"),
        (_serve_what_is_not_committed, "I13"),
        (_acknowledge_at_once, "I12"),
    ],
)
def test_a_broken_rule_is_noticed(
    watched: Watched,
    monkeypatch: pytest.MonkeyPatch,
    mutant: Callable[[pytest.MonkeyPatch], None],
    invariant: str,
) -> None:
    mutant(monkeypatch)
    try:
        play_until_noticed(watched)
    finally:
        monkeypatch.undo()

    assert invariant in watched.kinds


def play_until_noticed(watched: Watched) -> None:
    """Until the first report: what a broken cluster does after it need not end."""

    class Enough(BaseException):
        """Ends the run."""

    inner = watched.cluster.scheduler.after_step
    assert inner is not None

    def after_step() -> None:
        inner()
        if len(watched.kinds) > 2 or watched.cluster.scheduler.steps > 12_000:
            raise Enough

    watched.cluster.scheduler.after_step = after_step
    try:
        watched.lose_a_leader()
    except (Enough, Exception):  # noqa: BLE001  # whatever a broken cluster ends with
        return


def test_a_high_watermark_that_rises_with_too_few_in_sync_is_noticed(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leader.Leader, "has_min_insync", lambda self: True)
    cluster = watched.cluster

    async def lose_one_of_three() -> None:
        view = ClusterView(cluster)
        await view.until_ready()
        await view.create_topic("t", partitions=1, min_insync_replicas=3)
        cluster.crash(3 if await view.leader("t", 0) != 3 else 2)
        await asyncio.sleep(35)
        client = cluster.client
        async with Producer(
            [cluster.address(one) for one in cluster.node_ids],
            transport=client.transport,
            clock=client.clock,
            random=client.random,
        ) as producer:
            try:
                await producer.send("t", value=b"v", partition=0)
            except TidelogError:
                return

    cluster.run(lose_one_of_three())

    assert "I12" in watched.kinds


@pytest.mark.parametrize(
    ("leader_id", "epoch", "is_lossy", "may_lose"),
    [
        (1, 6, True, False),
        (2, 6, False, False),
        (3, 6, True, True),
        (2, 7, True, True),
        (2, 7, False, False),
        (3, 6, False, False),
        (4, 6, False, True),
        (None, 6, True, False),
        (None, 7, True, True),
        (3, 5, True, False),
    ],
)
def test_what_is_committed_may_go_with_an_unclean_election_alone(
    leader_id: int | None, epoch: int, is_lossy: bool, may_lose: bool
) -> None:
    was = PartitionImage(
        partition=0,
        replicas=(1, 2, 3, 4),
        isr=(1,),
        elr=(2,),
        leader_id=None,
        leader_epoch=5,
        partition_epoch=8,
        last_known_leader_id=3,
    )
    state = replace(was, leader_id=leader_id, leader_epoch=epoch)

    assert may_have_lost(was, state, is_lossy=is_lossy) == may_lose


def test_an_end_that_goes_back_with_a_newer_leader_is_noticed(played: Watched) -> None:
    machine, hosted, _ = played.replica(2)
    assert machine.node is not None
    replies, held = played.invariants._replies, held_by(machine.node)
    asked = ListOffsetsRequest.Partition(topic=hosted.topic, partition=hosted.partition)

    def list_offsets(offset: int, epoch: int) -> set[str]:
        listed = ListOffsetsResponse.Partition(offset=offset, leader_epoch=epoch)
        response = ListOffsetsResponse(partitions=[listed])
        replies.on_listed("n", held, ListOffsetsRequest(partitions=[asked]), response)
        return played.kinds

    assert list_offsets(7000, epoch=105) == set()
    assert list_offsets(6999, epoch=104) == set()
    assert list_offsets(6999, epoch=106) == {"I11"}


# What nodes hold, changed behind everyone's back


def test_a_log_that_is_not_as_committed_is_noticed(played: Watched) -> None:
    machine, _, log = played.replica(2)
    path = f"{log.directory}/{file_name(log.segments[0].base_offset, LOG)}"
    machine.disk._content(path).written[65] ^= 1  # of its record
    machine.disk._content(path).written[15] ^= 1  # its leader epoch

    for seen in played.seen():
        seen.cursor = Cursor()
    played.look_anew()
    assert "I1" in played.kinds

    played.found.clear()
    played.invariants.at_quiet()
    assert {"I1", "I27", "I26"} <= played.kinds


def test_a_header_that_a_flipped_bit_changed_hides_nothing_of_what_follows_it(
    played: Watched,
) -> None:
    machine, hosted, log = played.replica(2)
    path = f"{log.directory}/{file_name(log.segments[0].base_offset, LOG)}"
    machine.disk.flip(path, 5, 0)  # its base offset is now far above the high watermark
    seen = played.invariants.replicas._seen[2][hosted]
    seen.cursor = Cursor()

    played.look_anew()

    assert played.found == []
    assert seen.cursor.offset == log.high_watermark > 1


def test_an_epoch_cache_that_is_not_the_logs_is_noticed(played: Watched) -> None:
    _, _, log = played.replica(2)
    log._epochs._entries[0] = log._epochs._entries[0]._replace(epoch=77)

    played.invariants.at_quiet()

    assert "I9" in played.kinds


def test_a_high_watermark_beyond_the_log_and_one_that_falls_are_noticed(played: Watched) -> None:
    _, _, log = played.replica(2)
    log._stable.high_watermark += 1
    played.invariants.after_step()
    assert played.kinds == {"I11"}

    played.found.clear()
    log._stable.high_watermark -= 2
    played.invariants.after_step()
    assert played.kinds == {"I11"}


def test_a_look_up_that_finds_nothing_is_noticed(
    played: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PartitionLog, "offset_for_time", lambda *args, **kwargs: None)

    played.invariants.at_quiet()

    assert played.kinds == {"I26"}


def test_what_is_gone_from_everywhere_is_noticed(played: Watched) -> None:
    _, hosted, _ = played.replica(2)
    page = played.invariants.book.page(hosted)
    assert page is not None
    last = page.batches[max(page.batches)]
    page.batches[page.end] = last._replace(base_offset=page.end)

    played.invariants.at_quiet()

    assert played.kinds == {"I6"}


def test_a_leader_and_a_candidate_that_lack_what_is_committed_are_noticed(played: Watched) -> None:
    _, hosted, _ = played.replica(2)
    page = played.invariants.book.page(hosted)
    assert page is not None
    page.order.end += 1

    played.look_anew()
    assert "I2" in played.kinds

    state = played.invariants.images.newest.topics[hosted.topic].partitions[hosted.partition]
    played.invariants.replicas._leading.check_candidates(hosted.topic_id, state)
    assert "I3" in played.kinds


def test_a_leader_that_holds_something_else_is_noticed(played: Watched) -> None:
    _, hosted, _ = played.replica(2)
    page = played.invariants.book.page(hosted)
    assert page is not None
    offset = max(page.batches)
    page.batches[offset] = page.batches[offset]._replace(crc=1)

    played.look_anew()

    assert "I2" in played.kinds


def test_a_leaders_log_that_shrinks_and_epochs_that_fall_are_noticed(played: Watched) -> None:
    for node_id in played.cluster.node_ids:
        machine = played.cluster.machines[node_id]
        assert machine.node is not None
        for hosted in held_by(machine.node).values():
            seen = played.invariants.replicas._seen[node_id][hosted]
            assert seen.state is not None
            seen.state = seen.state._replace(end=seen.state.end + 1)
    played.invariants.after_step()
    assert played.kinds == {"I8"}

    played.found.clear()
    for seen in played.seen():
        seen.leader_epoch += 1
    played.look_anew()
    assert played.kinds == {"I15"}


def test_what_waits_without_bound_is_noticed(
    played: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell, "TASKS_MAX", 3)

    played.invariants.at_quiet()

    assert played.kinds == {"I30"}


def test_an_acknowledgement_of_another_batch_is_noticed(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = leading.append

    def wrong(*args: Any, **kwargs: Any) -> Any:
        done = right(*args, **kwargs)
        return done._replace(base_offset=max(0, done.base_offset - 1))

    monkeypatch.setattr("tidelog.broker.partition.appender.leading.append", wrong)
    play_until_noticed(watched)

    assert "I20" in watched.kinds
