"""Stories: logs that part from each other, and become one again by leader epochs alone."""

from __future__ import annotations

from functools import partial

from tidelog.chaos.story.scenario import EVERY_CLIENT, SIM_ONLY, Needs, scenario
from tidelog.chaos.story.scenario_run import ScenarioRun

ELECTIONS = 5
WRITTEN_ALONE_MIN = 3


@scenario("F12", Needs(clients=EVERY_CLIENT))
async def log_truncation(run: ScenarioRun) -> None:
    """An isolated leader with a tail nobody has returns, alive or dead: only the tail goes."""
    for is_killed in (False, True):
        await isolate_leader_and_return(run, is_killed=is_killed)


async def isolate_leader_and_return(run: ScenarioRun, *, is_killed: bool) -> None:
    """A leader is cut from all other nodes, not from clients; another leads; it returns."""
    await run.last(0.5, 1.5)
    leader, followers = run.cast()
    paths = run.between([leader], run.others(leader))
    await run.cut(paths)
    # In this order: the next leader's log is soon the longer one.
    await run.comes(partial(_has_a_tail, run, leader, followers), "a tail")
    await run.comes(partial(run.is_fenced, leader), "it is isolated")
    await run.another_leads(leader)
    await run.acknowledged_again()
    if is_killed:
        await run.kill(leader)
    before = run.count_truncated(leader)
    await run.mend(paths)
    await run.start(leader)
    await run.comes(partial(_was_cut, run, leader, before), "the tail was truncated")
    await run.in_sync()
    whose = "of the dead" if is_killed else "of the living"
    run.facts[f"records truncated, {whose}"] = str(run.count_truncated(leader) - before)


def _was_cut(run: ScenarioRun, node_id: int, before: int = 0) -> bool:
    return run.count_truncated(node_id) > before


def _has_a_tail(run: ScenarioRun, leader: int, followers: list[int]) -> bool:
    return run.end(leader) > max(run.end(one) for one in followers)


async def a_tail(run: ScenarioRun) -> int:
    """The leader gets a tail nobody else has, and dies; who it was. Another leads."""
    leader, followers = run.cast()
    paths = run.between([leader], followers)
    await run.cut(paths)
    most = max(run.end(one) for one in followers)
    await run.comes(
        lambda: run.end(leader) > max(run.end(one) for one in followers) >= most,
        "a tail",
        within_s=run.lag_s,
    )
    await run.kill(leader)
    await run.mend(paths)
    await run.another_leads(leader)
    return leader


@scenario("F13", Needs(runs_on=SIM_ONLY))
async def late_high_watermark(run: ScenarioRun) -> None:
    """A follower that had not heard of the high watermark restarts and leads: it kept every record.

    KIP-101, scenario 1.
    """
    leader, (first, second) = run.cast()
    await run.kill(second)
    await run.comes(partial(run.is_out, second), "two are in sync")
    await run.comes(
        lambda: run.end(first) > run.high_watermark(first) >= 0, "it has more than it knows of"
    )
    end = run.end(first)
    await run.kill(first, leader)
    await run.start(first)
    await run.must_come(partial(run.is_led_by, first), "the restarted one leads")
    await run.comes(partial(run.logged_here, "leading", first), "and knows it")
    began = int(run.logged_here("leading", first)[-1].fields["start_offset"])
    run.promise(began >= end, f"it begins at {began}, it had {end}")
    await run.start(leader, second)
    await run.in_sync()


@scenario("F14", Needs(runs_on=SIM_ONLY))
async def two_leaders_die(run: ScenarioRun) -> None:
    """Two leaders die, one with a tail, one without power; a third leads: one lineage is left.

    KIP-101, scenario 2.
    """
    await run.last(0.5, 1.0)
    first = await a_tail(run)
    await run.acknowledged_again()
    second = run.leader
    await run.cut_power(second)
    third = await run.another_leads(second)
    for node_id in run.shuffled([first, second]):
        await run.start(node_id)
        await run.last(0.0, 0.5)
    await run.comes(partial(_was_cut, run, first), "the first one's tail was truncated")
    await run.in_sync()
    run.expect(len({first, second, third}) == 3, "three leaders")


@scenario("F15", Needs(runs_on=SIM_ONLY, is_lossy=True))
async def unclean_leaders(run: ScenarioRun) -> None:
    """Unclean leaders follow each other, each alone with its log: no divergence stays (KIP-279)."""
    replicas = run.now.replicas
    run.load.is_held = True
    await run.kill(*replicas)
    for node_id in (*replicas, replicas[0]):
        await run.start(node_id)
        await run.comes(partial(run.is_led_by, node_id), "it leads alone")
        run.load.is_held = False
        end = run.end(node_id)
        await run.comes(partial(run.ends_after, node_id, end + WRITTEN_ALONE_MIN), "it writes")
        await run.kill(node_id)
    for node_id in run.shuffled(replicas):
        await run.start(node_id)
    await run.in_sync()
    unclean = run.find_log_lines("leader elected that may lack committed records")
    run.expect(len(unclean) >= len(replicas) - 1, f"{len(unclean)} unclean elections")
    run.expect(any(map(run.count_truncated, replicas)), "a tail was truncated")


@scenario("F16")
async def missed_epoch(run: ScenarioRun) -> None:
    """A follower misses an epoch after which the same leader returns: it notices (KAFKA-7164)."""
    await run.last(0.3, 1.0)
    leader, (deaf, other) = run.cast()
    epoch = run.epoch(deaf)
    paths = run.between([deaf], run.others(deaf))
    await run.cut(paths)
    await run.comes(partial(run.is_out, deaf), "it left the ISR")
    await run.stop(leader)
    run.expect(run.is_led_by(other), "the other one leads meanwhile")
    await run.start(leader)
    await run.comes(partial(run.isr_is, leader, other), "the old leader is in sync")
    await run.stop(other)
    run.expect(run.is_led_by(leader), "the old leader leads again")
    run.expect(run.epoch(deaf) == epoch, "it heard of nothing")
    await run.mend(paths)
    await run.start(other)
    await run.must_come(lambda: run.epoch(deaf) >= epoch + 2, "it follows in the newest epoch")
    await run.in_sync()


@scenario("F17")
async def elections_without_writes(run: ScenarioRun) -> None:
    """Five elections without a write between them: followers are in sync at once (KAFKA-10706)."""
    await run.last(0.3, 1.0)
    await run.hush()
    await run.comes(partial(_are_alike, run), "all hold the same")
    epoch, end = run.now.leader_epoch, run.end(run.leader)
    for _ in range(ELECTIONS):
        leader = run.leader
        await run.stop(leader)
        await run.another_leads(leader)
        await run.start(leader)
        await run.in_sync()
    run.expect(run.now.leader_epoch >= epoch + ELECTIONS, "an epoch an election")
    ends = {run.end(one) for one in run.now.replicas}
    run.expect(ends == {end}, f"nobody wrote: {ends}, {end}")
    run.load.is_held = False
    await run.acknowledged_again()


def _are_alike(run: ScenarioRun) -> bool:
    return len({run.end(one) for one in run.now.replicas}) == 1


@scenario("F18", Needs(runs_on=SIM_ONLY))
async def truncation_without_records(run: ScenarioRun) -> None:
    """A tail is cut though answers bring no records: nothing above it is ever taken as committed.

    KAFKA-14704, KAFKA-15510.
    """
    await run.last(0.5, 1.0)
    leader = await a_tail(run)
    await run.hush()
    others = [one for one in run.now.replicas if one != leader]
    await run.comes(lambda: len({run.end(one) for one in others}) == 1, "both hold the same")
    end = run.end(run.leader)
    await run.start(leader)
    await run.comes(partial(_was_cut, run, leader), "the tail was truncated")
    await run.in_sync()
    run.expect({run.end(one) for one in run.now.replicas} == {end}, "no record came")
    run.promise(run.high_watermark(leader) <= end, "its high watermark is not above")
    run.load.is_held = False
    await run.acknowledged_again()
