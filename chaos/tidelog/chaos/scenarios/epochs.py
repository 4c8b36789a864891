"""Stories: logs that part from each other, and become one again by leader epochs alone."""

from __future__ import annotations

from functools import partial

from tidelog.chaos.story.scenario import SIM_ONLY, Needs, scenario
from tidelog.chaos.story.scene import Scene

ELECTIONS = 5
WRITTEN_ALONE_MIN = 3


@scenario("F12")
async def log_truncation(scene: Scene) -> None:
    """An isolated leader with a tail nobody has returns, alive or dead: only the tail goes."""
    for is_killed in (False, True):
        await isolate_leader_and_return(scene, is_killed=is_killed)


async def isolate_leader_and_return(scene: Scene, *, is_killed: bool) -> None:
    """A leader is cut from all other nodes, not from clients; another leads; it returns."""
    await scene.last(0.5, 1.5)
    leader, followers = scene.cast()
    paths = scene.between([leader], scene.others(leader))
    await scene.cut(paths)
    # In this order: the next leader's log is soon the longer one.
    await scene.comes(partial(_has_a_tail, scene, leader, followers), "a tail")
    await scene.comes(partial(scene.is_fenced, leader), "it is isolated")
    await scene.another_leads(leader)
    await scene.acknowledged_again()
    if is_killed:
        await scene.kill(leader)
    before = scene.truncated(leader)
    await scene.mend(paths)
    await scene.start(leader)
    await scene.comes(partial(_was_cut, scene, leader, before), "the tail was truncated")
    await scene.in_sync()
    whose = "of the dead" if is_killed else "of the living"
    scene.facts[f"records truncated, {whose}"] = str(scene.truncated(leader) - before)


def _was_cut(scene: Scene, node_id: int, before: int = 0) -> bool:
    return scene.truncated(node_id) > before


def _has_a_tail(scene: Scene, leader: int, followers: list[int]) -> bool:
    return scene.end(leader) > max(scene.end(one) for one in followers)


async def a_tail(scene: Scene) -> int:
    """The leader gets a tail nobody else has, and dies; who it was. Another leads."""
    leader, followers = scene.cast()
    paths = scene.between([leader], followers)
    await scene.cut(paths)
    most = max(scene.end(one) for one in followers)
    await scene.comes(
        lambda: scene.end(leader) > max(scene.end(one) for one in followers) >= most,
        "a tail",
        within_s=scene.lag_s,
    )
    await scene.kill(leader)
    await scene.mend(paths)
    await scene.another_leads(leader)
    return leader


@scenario("F13", Needs(runs_on=SIM_ONLY))
async def late_high_watermark(scene: Scene) -> None:
    """A follower that had not heard of the high watermark restarts and leads: it kept every record.

    KIP-101, scenario 1.
    """
    leader, (first, second) = scene.cast()
    await scene.kill(second)
    await scene.comes(partial(scene.is_out, second), "two are in sync")
    await scene.comes(
        lambda: scene.end(first) > scene.high_watermark(first) >= 0, "it has more than it knows of"
    )
    end = scene.end(first)
    await scene.kill(first, leader)
    await scene.start(first)
    await scene.must_come(partial(scene.is_led_by, first), "the restarted one leads")
    await scene.comes(partial(scene.logged_here, "leading", first), "and knows it")
    began = int(scene.logged_here("leading", first)[-1].fields["start_offset"])
    scene.promise(began >= end, f"it begins at {began}, it had {end}")
    await scene.start(leader, second)
    await scene.in_sync()


@scenario("F14", Needs(runs_on=SIM_ONLY))
async def two_leaders_die(scene: Scene) -> None:
    """Two leaders die, one with a tail, one without power; a third leads: one lineage is left.

    KIP-101, scenario 2.
    """
    await scene.last(0.5, 1.0)
    first = await a_tail(scene)
    await scene.acknowledged_again()
    second = scene.leader
    await scene.cut_power(second)
    third = await scene.another_leads(second)
    for node_id in scene.shuffled([first, second]):
        await scene.start(node_id)
        await scene.last(0.0, 0.5)
    await scene.comes(partial(_was_cut, scene, first), "the first one's tail was truncated")
    await scene.in_sync()
    scene.expect(len({first, second, third}) == 3, "three leaders")


@scenario("F15", Needs(runs_on=SIM_ONLY, is_lossy=True))
async def unclean_leaders(scene: Scene) -> None:
    """Unclean leaders follow each other, each alone with its log: no divergence stays (KIP-279)."""
    replicas = scene.now.replicas
    scene.load.is_held = True
    await scene.kill(*replicas)
    for node_id in (*replicas, replicas[0]):
        await scene.start(node_id)
        await scene.comes(partial(scene.is_led_by, node_id), "it leads alone")
        scene.load.is_held = False
        end = scene.end(node_id)
        await scene.comes(partial(scene.ends_after, node_id, end + WRITTEN_ALONE_MIN), "it writes")
        await scene.kill(node_id)
    for node_id in scene.shuffled(replicas):
        await scene.start(node_id)
    await scene.in_sync()
    unclean = scene.logged("leader elected that may lack committed records")
    scene.expect(len(unclean) >= len(replicas) - 1, f"{len(unclean)} unclean elections")
    scene.expect(any(map(scene.truncated, replicas)), "a tail was truncated")


@scenario("F16")
async def missed_epoch(scene: Scene) -> None:
    """A follower misses an epoch after which the same leader returns: it notices (KAFKA-7164)."""
    await scene.last(0.3, 1.0)
    leader, (deaf, other) = scene.cast()
    epoch = scene.epoch(deaf)
    paths = scene.between([deaf], scene.others(deaf))
    await scene.cut(paths)
    await scene.comes(partial(scene.is_out, deaf), "it left the ISR")
    await scene.stop(leader)
    scene.expect(scene.is_led_by(other), "the other one leads meanwhile")
    await scene.start(leader)
    await scene.comes(partial(scene.isr_is, leader, other), "the old leader is in sync")
    await scene.stop(other)
    scene.expect(scene.is_led_by(leader), "the old leader leads again")
    scene.expect(scene.epoch(deaf) == epoch, "it heard of nothing")
    await scene.mend(paths)
    await scene.start(other)
    await scene.must_come(lambda: scene.epoch(deaf) >= epoch + 2, "it follows in the newest epoch")
    await scene.in_sync()


@scenario("F17")
async def elections_without_writes(scene: Scene) -> None:
    """Five elections without a write between them: followers are in sync at once (KAFKA-10706)."""
    await scene.last(0.3, 1.0)
    await scene.hush()
    await scene.comes(partial(_are_alike, scene), "all hold the same")
    epoch, end = scene.now.leader_epoch, scene.end(scene.leader)
    for _ in range(ELECTIONS):
        leader = scene.leader
        await scene.stop(leader)
        await scene.another_leads(leader)
        await scene.start(leader)
        await scene.in_sync()
    scene.expect(scene.now.leader_epoch >= epoch + ELECTIONS, "an epoch an election")
    ends = {scene.end(one) for one in scene.now.replicas}
    scene.expect(ends == {end}, f"nobody wrote: {ends}, {end}")
    scene.load.is_held = False
    await scene.acknowledged_again()


def _are_alike(scene: Scene) -> bool:
    return len({scene.end(one) for one in scene.now.replicas}) == 1


@scenario("F18", Needs(runs_on=SIM_ONLY))
async def truncation_without_records(scene: Scene) -> None:
    """A tail is cut though answers bring no records: nothing above it is ever taken as committed.

    KAFKA-14704, KAFKA-15510.
    """
    await scene.last(0.5, 1.0)
    leader = await a_tail(scene)
    await scene.hush()
    others = [one for one in scene.now.replicas if one != leader]
    await scene.comes(lambda: len({scene.end(one) for one in others}) == 1, "both hold the same")
    end = scene.end(scene.leader)
    await scene.start(leader)
    await scene.comes(partial(_was_cut, scene, leader), "the tail was truncated")
    await scene.in_sync()
    scene.expect({scene.end(one) for one in scene.now.replicas} == {end}, "no record came")
    scene.promise(scene.high_watermark(leader) <= end, "its high watermark is not above")
    scene.load.is_held = False
    await scene.acknowledged_again()
