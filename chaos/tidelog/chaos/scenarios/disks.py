"""Stories: disks that refuse, and everything going down at once."""

from __future__ import annotations

from functools import partial
from typing import Literal

from tidelog.chaos.story.scenario import SIM_ONLY, Needs, scenario
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.log.file_names import LOG

ROOM_BYTES_MAX = 600
FAILING: tuple[Literal["write", "sync"], ...] = ("write", "sync")


@scenario("F36", Needs(disk_bytes=16 << 20, is_damaging=True))
async def disk_full(run: ScenarioRun) -> None:
    """The leader's disk is full: leadership moves; with space again it works again."""
    await run.last(0.5, 1.5)
    leader, _ = run.cast()
    await run.fill(leader, room_bytes=run.random.randrange(0, ROOM_BYTES_MAX))
    await run.comes(partial(run.logged_here, "partition offline", leader), "it went offline")
    await run.another_leads(leader)
    run.promise(leader in run.now.offline, f"controllers know: {run.now}")
    await run.acknowledged_again()
    await run.last(0.5, 2.0)
    await run.make_room(leader)
    if run.happens(0.5):
        await run.kill(leader)
        await run.last(0.0, 0.5)
        await run.start(leader)
    await run.in_sync()


@scenario("F37", Needs(runs_on=SIM_ONLY, is_flushed=True))
async def disk_error(run: ScenarioRun) -> None:
    """The leader's disk fails a write or a sync: its log is out of use for good, another leads."""
    await run.last(0.5, 1.5)
    leader, _ = run.cast()
    action, path = run.one_of(FAILING), run.files(leader, LOG)[-1]
    run.strike("disk_error", f"node {leader}: {action} {path}", leader)
    await run.machines.fail_next(leader, action, path)
    await run.comes(partial(run.logged_here, "partition offline", leader), "it went offline")
    offline = run.logged_here("partition offline", leader)
    run.expect("Input/output" in str(offline[0].fields), "EIO took it offline")
    await run.another_leads(leader)
    await run.acknowledged_again()
    await run.last(1.0, 2.0)
    replica = run.cluster.replica(leader)
    run.promise(replica is not None and replica.is_failed, "it is not tried again")
    await run.machines.mend_disk(leader)
    await run.kill(leader)
    await run.start(leader)
    await run.in_sync()


@scenario("F39", Needs(runs_on=SIM_ONLY, is_flushed=True))
async def power_outage(run: ScenarioRun) -> None:
    """Every machine loses power at once: with flush.messages=1 no acknowledged record is lost."""
    await run.last(1.0, 2.0)
    brokers, controllers = run.cluster.broker_ids, run.cluster.controller_ids
    # At one moment; while no controller runs the budget cannot tell who may.
    nodes = [*run.shuffled(brokers), *run.shuffled(controllers)]
    for node_id in nodes:
        await run.cut_power(node_id)
    before = len(run.cluster.lines)
    for node_id in run.shuffled(nodes):
        await run.last(0.0, 0.5)
        await run.start(node_id)
    await run.must_come(lambda: run.image.offset > 0, "the metadata is there")
    await run.comes(lambda: _lossy_starts(run, before) >= set(brokers), "starts that tell of it")
    await run.in_sync()
    await run.acknowledged_again()


def _lossy_starts(run: ScenarioRun, before: int) -> set[int]:
    """Nodes that started since then, and reported that their machine lost power."""
    starts = [line for line in run.cluster.lines[before:] if line.event == "broker starts"]
    return {line.node_id for line in starts if line.fields["disk"] != "kept"}


@scenario("F61", Needs(has_separate_controllers=False))
async def total_outage(run: ScenarioRun) -> None:
    """The nodes are killed at once and return in any order: nothing is lost, all is ready again."""
    for _ in run.rounds(reduced=2, full=100):
        await run.last(0.5, 1.5)
        offset = run.image.offset
        nodes = run.shuffled(run.cluster.node_ids)
        await run.kill(*nodes)
        run.expect(not any(map(run.is_up, nodes)), "all are down")
        for node_id in nodes:
            await run.last(0.0, 1.0)
            await run.start(node_id)
        await run.must_come(partial(_has_grown, run, offset), "the metadata grows")
        await run.in_sync()
        await run.acknowledged_again()


def _has_grown(run: ScenarioRun, offset: int) -> bool:
    return run.image.offset > offset
