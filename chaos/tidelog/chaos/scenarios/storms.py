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
from tidelog.chaos.story.scenario import Needs, scenario
from tidelog.chaos.story.scene import Scene
from tidelog.history.history import ACKS_ALL, History

SEEDS = 1 << 32
STRIKES_MIN = 3
"""Strikes of a storm: with fewer it proves nothing."""
STORMS_MAX = 4
"""A short storm may strike nobody; then there is another."""
GAP_S_MAX = 1.0
ROUND_QUIET_S = 0.5


@scenario("asymmetric")
async def leader_mute(scene: Scene) -> None:
    """The leader speaks to nobody but hears all: another leads, and none of its messages count."""
    await scene.last(0.5, 1.5)
    leader, _ = scene.cast()
    end = scene.end(leader)
    others: tuple[Side, ...] = (*scene.others(leader), *scene.cluster.client_groups)
    async with lasting(scene, AsymmetricPartition(silent=(leader,), deaf=others)):
        await scene.comes(lambda: scene.is_fenced(leader), "it is fenced")
        await scene.another_leads(leader)
        await scene.acknowledged_again()
        scene.expect(scene.end(leader) > end, "it heard producers")
    await scene.in_sync()
    await scene.acknowledged_again()


@scenario("ring")
async def ring_partition(scene: Scene) -> None:
    """In a ring of brokers each is not heard by the next: somebody leads, and all are in sync."""
    for _ in scene.rounds(reduced=2, full=10):
        await scene.last(0.5, 1.5)
        brokers = tuple(scene.shuffled(scene.cluster.broker_ids))
        before = scene.now.partition_epoch
        async with lasting(scene, RingPartition(brokers)):
            await scene.comes(partial(_is_past, scene, before), "the ISR changed")
            await scene.last(scene.lag_s, 2 * scene.lag_s)
        await scene.in_sync()
        await scene.acknowledged_again()


@scenario("swizzle")
async def swizzled_nodes(scene: Scene) -> None:
    """Nodes are cut off one by one, and return in another order: all return, nothing is lost."""
    for _ in scene.rounds(reduced=2, full=10):
        await scene.last(0.5, 1.5)
        before = scene.now.partition_epoch
        alone = tuple(
            Cut(both_ways([one], [*scene.others(one), *scene.cluster.client_groups]))
            for one in scene.cluster.broker_ids
        )
        seed = scene.random.randrange(0, SEEDS)
        async with lasting(scene, Swizzle(alone, gap_s_max=GAP_S_MAX, seed=seed)):
            await scene.last(scene.session_s + 0.5, 2 * scene.session_s)
        await scene.in_sync()
        scene.expect(_is_past(scene, before), "somebody was missed")
        await scene.acknowledged_again()


def _is_past(scene: Scene, partition_epoch: int) -> bool:
    """True if the partition's state changed since then."""
    return scene.now.partition_epoch > partition_epoch


@scenario("F53")
async def rolling_restart(scene: Scene) -> None:
    """The nodes restart in turn under load: a client that retries gets no error."""
    began = len(scene.cluster.history.sends)
    for _ in scene.rounds(reduced=1, full=10):
        for node_id in scene.shuffled(scene.cluster.node_ids):
            await scene.stop(node_id)
            scene.expect(not scene.is_up(node_id), f"node {node_id} ended")
            await scene.start(node_id)
            await scene.must_come(lambda: _is_well(scene), "ready again, all in sync")
            await scene.last(ROUND_QUIET_S, 2 * ROUND_QUIET_S)
    await scene.acknowledged_again()
    scene.at_the_end(lambda history, _: _no_error(history, began))


def _is_well(scene: Scene) -> bool:
    cluster = scene.cluster
    is_alive = all(scene.image.is_alive(one) for one in cluster.broker_ids)
    are_voting = all(cluster.term(one) >= 0 for one in cluster.controller_ids)
    is_led = cluster.controller_id is not None and are_voting
    return is_alive and is_led and set(scene.now.isr) == set(scene.now.replicas)


def _no_error(history: History, began: int) -> tuple[bool, str]:
    """Check sends of acks=all; a leader that ends takes records with it that nobody else had."""
    sends = [send for send in history.sends[began:] if send.acks == ACKS_ALL]
    failed = [send for send in sends if send.outcome != "ok"]
    reasons = sorted({send.reason for send in failed})
    return not failed, f"{len(failed)} of {len(sends)} sends were not acknowledged: {reasons}"


@scenario("F62", Needs(is_flushed=False, is_damaging=True, has_churn=True))
async def storm(scene: Scene) -> None:
    """A storm of faults, one to three at once: the promises of each hold for them together."""
    before, struck = scene.now.partition_epoch, list[str]()
    for _ in range(STORMS_MAX):
        seed = scene.random.randrange(0, SEEDS)
        storm = Storm(seed=seed, for_s=scene.cluster.load_s, min_insync_replicas=2)
        async with lasting(scene, storm):
            struck += storm.struck
        await scene.in_sync()
        await scene.acknowledged_again()
        if len(struck) >= STRIKES_MIN and _is_past(scene, before):
            break
    scene.facts["struck"] = ", ".join(struck)
    scene.expect(len(struck) >= STRIKES_MIN, f"{STRIKES_MIN} faults at least: {struck}")
    scene.expect(_is_past(scene, before), f"some of {struck} had an effect")
