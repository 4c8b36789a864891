"""Stories: who still hears whom. Controllers are nodes of their own."""

from __future__ import annotations

from functools import partial

from tidelog.chaos.faults.cut import Cut
from tidelog.chaos.faults.flap import Flap
from tidelog.chaos.faults.reach import both_ways
from tidelog.chaos.story.scenario import scenario
from tidelog.chaos.story.scenario_run import ON_THE_WAY_S, ScenarioRun
from tidelog.history.history import ACKS_ALL
from tidelog.v1 import common_pb2


@scenario("F04")
async def leader_cut_from_followers(run: ScenarioRun) -> None:
    """The leader is cut from its followers, not from controllers and clients: it cannot commit."""
    await run.last(0.5, 1.5)
    leader, followers = run.cast()
    paths = run.between([leader], followers)
    await run.cut(paths)
    await run.comes(partial(run.isr_is, leader), "the ISR shrank to the leader")
    high_watermark = run.high_watermark(leader)
    await run.must_come(
        lambda: run.count_answers(common_pb2.NOT_ENOUGH_REPLICAS, by=leader), "NOT_ENOUGH_REPLICAS"
    )
    run.promise(run.high_watermark(leader) == high_watermark, "the high watermark stands still")
    await run.mend(paths)
    await run.in_sync()
    await run.acknowledged_again()


@scenario("F05")
async def leader_cut_from_controllers(run: ScenarioRun) -> None:
    """The leader is cut from controllers only: fenced, it acknowledges nothing of the old epoch."""
    await run.last(0.5, 1.5)
    leader, _ = run.cast()
    paths = run.between([leader], run.cluster.controller_ids)
    await run.cut(paths)
    await run.comes(partial(run.is_fenced, leader), "it is fenced")
    await run.another_leads(leader)
    await _acknowledges_nothing(run, leader)
    await run.acknowledged_again()
    await run.mend(paths)
    await run.in_sync()


@scenario("F06")
async def split_with_clients(run: ScenarioRun) -> None:
    """Clients and the old leader are on the minority's side: nothing is acknowledged there."""
    await run.last(0.5, 1.5)
    leader, _ = run.cast()
    paths = run.between([leader, *run.clients], run.others(leader))
    await run.cut(paths)
    await run.comes(partial(run.is_fenced, leader), "it is fenced")
    await run.another_leads(leader)
    since_s = run.now_s + ON_THE_WAY_S
    await _acknowledges_nothing(run, leader)
    sends = [one for one in run.cluster.history.sends if (one.ended_s or 0.0) >= since_s]
    acknowledged = [one for one in sends if (one.outcome, one.acks) == ("ok", ACKS_ALL)]
    run.promise(not acknowledged, "nothing was acknowledged to anybody")
    await run.mend(paths)
    await run.in_sync()
    await run.acknowledged_again()


async def _acknowledges_nothing(run: ScenarioRun, leader: int) -> None:
    """For some time from now on, though it believes to lead."""
    since_s, end = run.now_s + ON_THE_WAY_S, run.end(leader)
    await run.last(2.0, 3.0)
    run.expect(run.epoch(leader) < run.now.leader_epoch, "it knows of no newer epoch")
    run.expect(run.end(leader) >= end, "it goes on as a leader")
    answered = run.count_answers(common_pb2.NONE, by=leader, since_s=since_s, acks=ACKS_ALL)
    run.promise(not answered, f"node {leader} acknowledged {answered} times in the old epoch")


@scenario("F08")
async def slow_follower(run: ScenarioRun) -> None:
    """A follower gets its answers late: it leaves the ISR alone, writes go on, and it returns."""
    await run.last(0.5, 1.5)
    leader, (follower, _) = run.cast()
    paths = [(leader, follower)]
    await run.delay(paths)
    await run.comes(partial(run.is_out, follower), "it left the ISR")
    run.promise(not run.is_fenced(follower), "it is not fenced")
    await run.acknowledged_again()
    await run.hasten(paths)
    await run.in_sync()


@scenario("F09")
async def flapping_link(run: ScenarioRun) -> None:
    """A link flaps: no new epoch, and the ISR changes no more often than the lag allows."""
    leader, (follower, _) = run.cast()
    began_s, before = run.now_s, run.now
    link = Cut(both_ways([leader], [follower]))
    times, seed = len(run.rounds(reduced=12, full=100)), run.random.randrange(0, 2**32)
    await Flap(link, times=times, down_s=0.8, up_s=0.2, seed=seed).inject(run)
    await run.in_sync()
    windows = 1 + (run.now_s - began_s) / run.lag_s
    changes = run.now.partition_epoch - before.partition_epoch
    run.expect(run.find_log_lines("fetch failed", follower), "fetches failed")
    run.promise(changes <= 2 * windows, f"{changes} changes of the ISR in {windows:.1f} windows")
    run.promise(run.now.leader_epoch == before.leader_epoch, "the leader's epoch stands")


@scenario("F10")
async def isr_expansion_race(run: ScenarioRun) -> None:
    """A follower dies while its return to the ISR is decided: nothing is committed past it."""
    leader, (follower, _) = run.cast()
    paths = run.between([leader], [follower])
    before = run.image.brokers[follower].broker_epoch
    await run.kill(follower)
    await run.comes(partial(run.is_out, follower), "it left the ISR")
    await run.cut(paths)
    await run.start(follower)
    await run.comes(partial(_lives_again, run, follower, before), "it is registered again")
    await run.last(ON_THE_WAY_S, ON_THE_WAY_S)
    undecided = run.cluster.controller_ids
    await run.pause(*undecided)
    await run.mend(paths)
    await run.comes(lambda: follower in run.proposed_isr(leader), "its return is proposed")
    await run.kill(follower)
    run.expect(follower in run.proposed_isr(leader), "it died before it was decided")
    await run.last(ON_THE_WAY_S, ON_THE_WAY_S)
    high_watermark = run.high_watermark(leader)
    await run.last(ON_THE_WAY_S, ON_THE_WAY_S)
    run.promise(run.high_watermark(leader) == high_watermark, "nothing is committed past it")
    await run.resume(*undecided)
    await run.last(run.session_s + 1.0, run.failover_s)
    await run.must_come(partial(run.is_out, follower), "it is out of the ISR")
    await run.acknowledged_again()
    await run.start(follower)
    await run.in_sync()


def _lives_again(run: ScenarioRun, node_id: int, broker_epoch: int) -> bool:
    is_another = run.image.brokers[node_id].broker_epoch > broker_epoch
    return is_another and run.image.is_alive(node_id)
