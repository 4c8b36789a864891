"""Stories: partitions of odd shapes, restarts one by one, and storms that a seed draws."""

from __future__ import annotations

from functools import partial

from tidelog.chaos.faults.asymmetric_partition import AsymmetricPartition
from tidelog.chaos.faults.cut import Cut
from tidelog.chaos.faults.fault import lasting
from tidelog.chaos.faults.reach import both_ways
from tidelog.chaos.faults.ring_partition import RingPartition
from tidelog.chaos.faults.storm import Storm
from tidelog.chaos.faults.swizzle import Swizzle
from tidelog.chaos.story.cluster_port import Side
from tidelog.chaos.story.scenario import EVERY_CLIENT, Needs, scenario
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.history.history import ACKS_ALL, History

SEEDS = 1 << 32
STRIKES_MIN = 3
"""Strikes of a storm: with fewer it proves nothing."""
STORMS_MAX = 4
"""A short storm may strike nobody; then there is another."""
GAP_S_MAX = 1.0
ROUND_QUIET_S = 0.5


@scenario("asymmetric")
async def leader_mute(run: ScenarioRun) -> None:
    """The leader speaks to nobody but hears all: another leads, and none of its messages count."""
    await run.last(0.5, 1.5)
    leader, _ = run.cast()
    end = run.end(leader)
    others: tuple[Side, ...] = (*run.others(leader), *run.cluster.client_groups)
    async with lasting(run, AsymmetricPartition(silent=(leader,), deaf=others)):
        await run.comes(lambda: run.is_fenced(leader), "it is fenced")
        await run.another_leads(leader)
        await run.acknowledged_again()
        run.expect(run.end(leader) > end, "it heard producers")
    await run.in_sync()
    await run.acknowledged_again()


@scenario("ring")
async def ring_partition(run: ScenarioRun) -> None:
    """In a ring of brokers each is not heard by the next: somebody leads, and all are in sync."""
    for _ in run.rounds(reduced=2, full=10):
        await run.last(0.5, 1.5)
        brokers = tuple(run.shuffled(run.cluster.broker_ids))
        before = run.now.partition_epoch
        async with lasting(run, RingPartition(brokers)):
            await run.comes(partial(_is_past, run, before), "the ISR changed")
            await run.last(run.lag_s, 2 * run.lag_s)
        await run.in_sync()
        await run.acknowledged_again()


@scenario("swizzle")
async def swizzled_nodes(run: ScenarioRun) -> None:
    """Nodes are cut off one by one, and return in another order: all return, nothing is lost."""
    for _ in run.rounds(reduced=2, full=10):
        await run.last(0.5, 1.5)
        before = run.now.partition_epoch
        alone = tuple(
            Cut(both_ways([one], [*run.others(one), *run.cluster.client_groups]))
            for one in run.cluster.broker_ids
        )
        seed = run.random.randrange(0, SEEDS)
        async with lasting(run, Swizzle(alone, gap_s_max=GAP_S_MAX, seed=seed)):
            await run.last(run.session_s + 0.5, 2 * run.session_s)
        await run.in_sync()
        run.expect(_is_past(run, before), "somebody was missed")
        await run.acknowledged_again()


def _is_past(run: ScenarioRun, partition_epoch: int) -> bool:
    """True if the partition's state changed since then."""
    return run.now.partition_epoch > partition_epoch


@scenario("F53", Needs(clients=EVERY_CLIENT))
async def rolling_restart(run: ScenarioRun) -> None:
    """The nodes restart in turn under load: a client that retries gets no error."""
    began = len(run.cluster.history.sends)
    for _ in run.rounds(reduced=1, full=10):
        for node_id in run.shuffled(run.cluster.node_ids):
            await run.stop(node_id)
            run.expect(not run.is_up(node_id), f"node {node_id} ended")
            await run.start(node_id)
            await run.must_come(lambda: _is_well(run), "ready again, all in sync")
            await run.last(ROUND_QUIET_S, 2 * ROUND_QUIET_S)
    await run.acknowledged_again()
    run.at_the_end(lambda history, _: _no_error(history, began))


def _is_well(run: ScenarioRun) -> bool:
    cluster = run.cluster
    is_alive = all(run.image.is_alive(one) for one in cluster.broker_ids)
    are_voting = all(cluster.term(one) >= 0 for one in cluster.controller_ids)
    is_led = cluster.controller_id is not None and are_voting
    return is_alive and is_led and set(run.now.isr) == set(run.now.replicas)


def _no_error(history: History, began: int) -> tuple[bool, str]:
    """Check sends of acks=all; a leader that ends takes records with it that nobody else had."""
    sends = [send for send in history.sends[began:] if send.acks == ACKS_ALL]
    failed = [send for send in sends if send.outcome != "ok"]
    reasons = sorted({send.reason for send in failed})
    return not failed, f"{len(failed)} of {len(sends)} sends were not acknowledged: {reasons}"


@scenario("F62", Needs(is_flushed=False, is_damaging=True, has_churn=True))
async def storm(run: ScenarioRun) -> None:
    """A storm of faults, one to three at once: the promises of each hold for them together."""
    before, struck = run.now.partition_epoch, list[str]()
    for _ in range(STORMS_MAX):
        seed = run.random.randrange(0, SEEDS)
        storm = Storm(seed=seed, for_s=run.cluster.load_s, min_insync_replicas=2)
        async with lasting(run, storm):
            struck += storm.struck
        await run.in_sync()
        await run.acknowledged_again()
        if len(struck) >= STRIKES_MIN and _is_past(run, before):
            break
    run.facts["struck"] = ", ".join(struck)
    run.expect(len(struck) >= STRIKES_MIN, f"{STRIKES_MIN} faults at least: {struck}")
    run.expect(_is_past(run, before), f"some of {struck} had an effect")
