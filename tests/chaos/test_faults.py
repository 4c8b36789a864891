"""Each fault: what it does, that nothing of it is left, and what it does not take."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from tests.chaos.fault_cluster_port import FOLDER, FakeClusterPort, FakeSocketPort
from tests.log.partition_logs import batch
from tests.virtual_time import RunVirtually

from tidelog.chaos.faults.asymmetric_partition import AsymmetricPartition
from tidelog.chaos.faults.bit_flip import FILE_KINDS, JOURNAL, BitFlip
from tidelog.chaos.faults.cut import Cut
from tidelog.chaos.faults.delay import Delay
from tidelog.chaos.faults.disk_full import DiskFull
from tidelog.chaos.faults.fault import Fault, FaultError, lasting
from tidelog.chaos.faults.flap import Flap
from tidelog.chaos.faults.isolate_leader import IsolateLeader
from tidelog.chaos.faults.majority_split import MajoritySplit
from tidelog.chaos.faults.nodes import EmptyDisk, Kill, Pause, Terminate
from tidelog.chaos.faults.reach import Reach, both_ways, one_way
from tidelog.chaos.faults.ring_partition import RingPartition
from tidelog.chaos.faults.sequence import Sequence as InSequence
from tidelog.chaos.faults.sequence import Step
from tidelog.chaos.faults.slow_disks import SlowDisks
from tidelog.chaos.faults.starve import Starve
from tidelog.chaos.faults.stored_batches import spans
from tidelog.chaos.faults.swizzle import Swizzle
from tidelog.chaos.faults.together import Together
from tidelog.chaos.faults.torn_tail import TornTail
from tidelog.chaos.faults.toxics import (
    Bandwidth,
    Latency,
    LimitData,
    LinkDown,
    ResetPeer,
    Slicer,
    SlowClose,
    Timeout,
)
from tidelog.chaos.story.cluster_port import Path
from tidelog.chaos.story.scenario_run import ScenarioRun, UnsupportedFaultError
from tidelog.chaos.topology import CLIENTS, COMBINED
from tidelog.node.start_record import FILE_NAME

LEADER = 4
LOG_PATH = f"{FOLDER}/00000000000000000000.log"
REACH = Reach(both_ways([4], [5, CLIENTS]))
TOXICS: Sequence[Callable[[], Fault]] = (
    lambda: Latency(REACH, 100, 50),
    lambda: Bandwidth(REACH, 20),
    lambda: SlowClose(REACH, 1000),
    lambda: Timeout(REACH),
    lambda: ResetPeer(REACH),
    lambda: Slicer(REACH),
    lambda: LimitData(REACH, 1000),
    lambda: LinkDown(REACH),
)
EVERYWHERE: Sequence[Callable[[], Fault]] = (
    lambda: Cut(both_ways([4], [5])),
    lambda: AsymmetricPartition(silent=(4,), deaf=(5, 6, CLIENTS)),
    lambda: RingPartition((4, 5, 6)),
    lambda: RingPartition((1, 2, 3, 4), is_both_ways=True),
    lambda: MajoritySplit((1, 4, CLIENTS)),
    lambda: IsolateLeader(from_controllers=True, from_clients=True),
    lambda: Kill(4),
    lambda: Terminate(4),
    lambda: Pause(4),
    lambda: Starve((4, 5), 0.1),
    lambda: EmptyDisk(5),
    lambda: TornTail(5),
    lambda: BitFlip(5, ".log"),
    lambda: DiskFull(4, 100),
    lambda: SlowDisks((1, 2, 3), 0.5),
    lambda: Delay(both_ways([4], [5, CLIENTS])),
    lambda: Flap(Cut(one_way([4], [5])), times=3, down_s=1, up_s=1),
    lambda: Together((Kill(4), Cut(one_way([5], [6])))),
    lambda: InSequence((Step(Kill(4), last_s=1, quiet_s=1), Step(Pause(5), last_s=1))),
    lambda: Swizzle((Kill(4), Pause(5), Cut(one_way([1], [2]))), gap_s_max=1.0),
)


def _name(make: Callable[[], Fault]) -> str:
    return make().kind


def _cluster() -> FakeSocketPort:
    cluster = FakeSocketPort()
    stored = batch(b"first") + batch(b"second", base_offset=1)
    for node_id in cluster.broker_ids:
        cluster.stored[node_id, LOG_PATH] = stored
        cluster.stored[node_id, f"data/{FILE_NAME}"] = b"boot"
    return cluster


@pytest.mark.parametrize("make", [*TOXICS, *EVERYWHERE], ids=_name)
def test_nothing_is_left_of_a_healed_fault(
    make: Callable[[], Fault], run_virtually: RunVirtually
) -> None:
    cluster = _cluster()
    fault = make()

    async def story() -> None:
        async with lasting(ScenarioRun(cluster), fault):
            pass
        await fault.heal(ScenarioRun(cluster))

    run_virtually(story())

    assert cluster.reported
    assert cluster.is_whole()


@pytest.mark.parametrize("make", [*TOXICS, *EVERYWHERE], ids=_name)
def test_to_heal_what_never_struck_takes_nothing_from_others(
    make: Callable[[], Fault], run_virtually: RunVirtually
) -> None:
    cluster = _cluster()
    cluster.cuts.update(both_ways([1, 2, 3, 4, 5, 6, CLIENTS], [1, 2, 3, 4, 5, 6, CLIENTS]))
    before = cluster.cuts.copy()

    run_virtually(make().heal(ScenarioRun(cluster)))

    assert cluster.cuts == before


@pytest.mark.parametrize("make", TOXICS, ids=_name)
def test_a_toxic_is_refused_where_the_network_is_simulated(
    make: Callable[[], Fault], run_virtually: RunVirtually
) -> None:
    cluster = FakeClusterPort()

    with pytest.raises(UnsupportedFaultError, match="needs proxies"):
        run_virtually(make().inject(ScenarioRun(cluster)))

    run_virtually(make().heal(ScenarioRun(cluster)))
    assert not cluster.reported


@pytest.mark.parametrize("make", [Kill, Terminate, Pause, EmptyDisk, TornTail])
def test_a_node_that_came_back_meanwhile_stays(
    make: Callable[[int], Fault], run_virtually: RunVirtually
) -> None:
    cluster = _cluster()
    fault = make(5)

    async def story() -> None:
        await fault.inject(ScenarioRun(cluster))
        if not cluster.is_up(5):
            await cluster.start(5)
        await fault.heal(ScenarioRun(cluster))

    run_virtually(story())

    assert cluster.is_whole()


def test_a_paused_node_that_died_is_not_told_to_go_on(run_virtually: RunVirtually) -> None:
    cluster, fault = _cluster(), Pause(4)

    async def story() -> None:
        await fault.inject(ScenarioRun(cluster))
        await cluster.kill(4)
        await fault.heal(ScenarioRun(cluster))

    run_virtually(story())

    assert cluster.down == {4}


def test_a_pause_ends_with_the_fault_that_paused(run_virtually: RunVirtually) -> None:
    cluster, first, second = _cluster(), Pause(4), Pause(4)

    async def story() -> None:
        await first.inject(ScenarioRun(cluster))
        await second.inject(ScenarioRun(cluster))
        assert (first.has_struck, second.has_struck) == (True, False)
        await second.heal(ScenarioRun(cluster))
        assert cluster.paused == {4}
        await first.heal(ScenarioRun(cluster))

    run_virtually(story())

    assert cluster.is_whole()


def test_a_node_that_was_down_is_not_counted_as_killed(run_virtually: RunVirtually) -> None:
    cluster = _cluster()

    async def story() -> None:
        await cluster.kill(4)
        await Kill(4).inject(ScenarioRun(cluster))

    run_virtually(story())

    assert not cluster.counted


def test_what_one_says_goes_up_its_own_links_and_down_the_others(
    run_virtually: RunVirtually,
) -> None:
    cluster = _cluster()

    run_virtually(Latency(Reach(((4, 5),)), 100).inject(ScenarioRun(cluster)))

    lies = {(link.name, stream) for link, _, stream in cluster.proxies.toxics}
    assert lies == {("node-4.node-5.broker", "upstream"), ("node-5.node-4.broker", "downstream")}


def test_roles_tell_links_to_one_node_apart(run_virtually: RunVirtually) -> None:
    cluster = FakeSocketPort(COMBINED)
    reach = Reach(((1, 2),), roles=frozenset({"controller"}))

    run_virtually(Timeout(reach).inject(ScenarioRun(cluster)))

    assert {link.role for link, *_ in cluster.proxies.toxics} == {"controller"}


def test_a_toxic_that_lies_nowhere_is_told(run_virtually: RunVirtually) -> None:
    cluster = FakeSocketPort()

    with pytest.raises(FaultError, match="no link carries 1 ▶ clients"):
        run_virtually(Timeout(Reach(((1, CLIENTS),))).inject(ScenarioRun(cluster)))


@pytest.mark.parametrize(
    ("sides", "whom"),
    [
        ({"from_followers": True}, {5, 6}),
        ({"from_followers": False, "from_controllers": True}, {1, 2, 3}),
        ({"from_followers": False, "from_clients": True}, {CLIENTS}),
    ],
)
def test_a_leader_is_cut_from_whom_it_should_be_and_nobody_else(
    sides: dict[str, bool], whom: set[int | str], run_virtually: RunVirtually
) -> None:
    cluster = _cluster()

    run_virtually(IsolateLeader(**sides).inject(ScenarioRun(cluster)))

    assert set(+cluster.cuts) == {*one_way([LEADER], [*whom]), *one_way([*whom], [LEADER])}


def test_who_led_when_it_struck_is_healed_though_another_leads(run_virtually: RunVirtually) -> None:
    cluster, fault = _cluster(), IsolateLeader()

    async def story() -> None:
        await fault.inject(ScenarioRun(cluster))
        cluster.become(leader_id=5)
        await fault.heal(ScenarioRun(cluster))

    run_virtually(story())

    assert cluster.is_whole()
    assert fault.leader == LEADER


def test_without_a_leader_nobody_is_isolated(run_virtually: RunVirtually) -> None:
    cluster = _cluster()
    cluster.become(leader_id=None)

    with pytest.raises(FaultError, match="nobody leads"):
        run_virtually(IsolateLeader().inject(ScenarioRun(cluster)))


def test_in_a_ring_each_loses_one_direction_only(run_virtually: RunVirtually) -> None:
    cluster = _cluster()

    run_virtually(RingPartition((6, 4, 5)).inject(ScenarioRun(cluster)))

    assert set(+cluster.cuts) == {(6, 4), (4, 5), (5, 6)}


def test_a_half_of_the_controllers_is_no_minority(run_virtually: RunVirtually) -> None:
    cluster = _cluster()

    with pytest.raises(FaultError, match="no minority"):
        run_virtually(MajoritySplit((1, 2)).inject(ScenarioRun(cluster)))

    assert cluster.is_whole()


def test_a_torn_tail_keeps_all_batches_but_a_part_of_the_last(run_virtually: RunVirtually) -> None:
    for seed in range(50):
        cluster = _cluster()
        before = cluster.content(5, LOG_PATH)
        first, last = spans(before)

        run_virtually(TornTail(5, seed).inject(ScenarioRun(cluster)))

        left = cluster.content(5, LOG_PATH)
        assert before.startswith(left)
        assert last.start < len(left) < last.end
        assert spans(left) == [first]
        assert not cluster.content(5, f"data/{FILE_NAME}")  # its start tells of a loss


def test_a_torn_tail_of_an_empty_log_is_refused_and_the_node_returns(
    run_virtually: RunVirtually,
) -> None:
    cluster = FakeSocketPort()

    async def story() -> None:
        async with lasting(ScenarioRun(cluster), TornTail(5)):
            raise AssertionError

    with pytest.raises(FaultError, match="holds no batch"):
        run_virtually(story())

    assert cluster.is_whole()


def test_a_flip_in_a_log_is_one_that_a_crc_covers(run_virtually: RunVirtually) -> None:
    for seed in range(100):
        cluster, fault = _cluster(), BitFlip(5, ".log", seed)
        before = cluster.content(5, LOG_PATH)

        run_virtually(fault.inject(ScenarioRun(cluster)))

        assert fault.flip is not None
        assert fault.flip.is_wrong(cluster)
        after = cluster.content(5, LOG_PATH)
        changed = [at for at, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
        assert changed == [fault.flip.byte]
        assert any(one.guarded_from <= changed[0] < one.end for one in spans(before))


def test_a_journal_is_flipped_where_it_was_written(run_virtually: RunVirtually) -> None:
    cluster = _cluster()
    cluster.stored[1, "data/raft.wal"] = b"written" + bytes(10_000)

    for seed in range(20):
        fault = BitFlip(1, JOURNAL, seed)
        run_virtually(fault.inject(ScenarioRun(cluster)))
        assert fault.flip is not None
        assert fault.flip.byte < len(b"written")


def test_a_flap_comes_as_often_as_it_should(run_virtually: RunVirtually) -> None:
    cluster = _cluster()

    run_virtually(
        Flap(Cut(one_way([4], [5])), times=7, down_s=1, up_s=1).inject(ScenarioRun(cluster))
    )

    assert cluster.reported == ["cut"] * 7
    assert cluster.is_whole()


def test_a_swizzle_strikes_a_subset_and_ends_in_another_order(run_virtually: RunVirtually) -> None:
    orders = set()
    for seed in range(40):
        cluster = _cluster()
        began: list[Path] = []
        ended: list[Path] = []
        cuts = [Cut(((4, one),)) for one in (1, 2, 3, 5, 6)]
        fault = Swizzle(tuple(cuts), gap_s_max=1.0, seed=seed)

        async def story(
            fault: Swizzle = fault,
            cluster: FakeSocketPort = cluster,
            began: list[Path] = began,
            ended: list[Path] = ended,
        ) -> None:
            plain_cut, plain_mend = cluster.cut, cluster.mend

            async def cut(paths: Sequence[Path]) -> None:
                began.extend(paths)
                await plain_cut(paths)

            async def mend(paths: Sequence[Path]) -> None:
                ended.extend(paths)
                await plain_mend(paths)

            cluster.cut, cluster.mend = cut, mend  # type: ignore[assignment, method-assign]
            async with lasting(ScenarioRun(cluster), fault):
                assert len(began) >= 2

        run_virtually(story())

        assert sorted(began, key=str) == sorted(ended, key=str)
        assert cluster.is_whole()
        orders.add(began == ended)
    assert orders == {True, False}


@pytest.mark.parametrize(
    "make",
    [
        lambda: Reach(()),
        lambda: Reach(((4, 5),), toxicity=0),
        lambda: Reach(((4, 5),), toxicity=1.1),
        lambda: Reach(((4, 5),), roles=frozenset()),
        lambda: Latency(REACH, 0),
        lambda: Latency(REACH, 10, 11),
        lambda: Bandwidth(REACH, 0),
        lambda: SlowClose(REACH, 0),
        lambda: Timeout(REACH, -1),
        lambda: ResetPeer(REACH, -1),
        lambda: Slicer(REACH, 0),
        lambda: Slicer(REACH, 10, 10),
        lambda: Slicer(REACH, 10, 1, -1),
        lambda: LimitData(REACH, -1),
        lambda: LinkDown(Reach(((4, 5),), toxicity=0.5)),
        lambda: Cut(()),
        lambda: AsymmetricPartition(silent=(), deaf=(1,)),
        lambda: AsymmetricPartition(silent=(1, 2), deaf=(2, 3)),
        lambda: RingPartition((1, 2)),
        lambda: RingPartition((1, 2, 3), is_both_ways=True),
        lambda: RingPartition((1, 2, 2)),
        lambda: MajoritySplit(()),
        lambda: IsolateLeader(from_followers=False),
        lambda: DiskFull(4, -1),
        lambda: BitFlip(4, ".txt"),
        lambda: Flap(Kill(4), times=0, down_s=1, up_s=1),
        lambda: Flap(Kill(4), times=1, down_s=0, up_s=1),
        lambda: Together(()),
        lambda: InSequence(()),
        lambda: Step(Kill(4), last_s=-1),
        lambda: Swizzle((Kill(4),), gap_s_max=1),
        lambda: Swizzle((Kill(4), Kill(5)), gap_s_max=-1),
    ],
)
def test_what_makes_no_sense_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(FaultError):
        make()


def test_every_kind_of_file_can_be_flipped(run_virtually: RunVirtually) -> None:
    for kind in FILE_KINDS:
        cluster = _cluster()
        cluster.stored[1, "data/raft.wal"] = b"written"
        cluster.stored[1, f"{FOLDER}/x{kind}"] = batch(b"first")
        fault = BitFlip(1, kind)

        run_virtually(fault.inject(ScenarioRun(cluster)))

        assert fault.flip is not None, kind
