"""Stories: consumer groups, their members and their coordinator.

Besides the stories' own promises the history's checks hold: no partition with two owners, nothing
handed out after it went, no acknowledged commit lost, everything handed out in the end.
"""

from __future__ import annotations

from functools import partial

from tidelog.chaos.story.group_run import GroupRun
from tidelog.chaos.story.scenario import EVERY_CLIENT, Needs, scenario
from tidelog.chaos.story.scenario_run import ON_THE_WAY_S, ScenarioRun
from tidelog.chaos.topology import MEMBERS
from tidelog.chaos.workloads.group_looks import LateCommit
from tidelog.chaos.workloads.plans import GroupPlan
from tidelog.client.admin.group_methods import NOBODY_EPOCH
from tidelog.v1 import common_pb2

LETTING_GO_S = 2.0
"""Long enough that a rebalance is seen while it lasts."""
PAUSED_SESSIONS = 1.5
STILL_S = 1.5
"""Time after which it shows that a member is paused, or cut off."""
KILLS = 3
CHURNED_MEMBERS, CHURNED_S_MAX = 100, 15.0
EXTRA_EPOCHS_MAX = 3
PATIENT_MS = 15_000
"""A hundred clients in one process begin: none gives up its connection meanwhile."""
LATE_TRIES = 10
"""Attempts to have a late commit answered, not left unanswered by a busy machine."""
REFUSED_LATE = frozenset(
    {
        common_pb2.UNKNOWN_MEMBER_ID,
        common_pb2.FENCED_MEMBER_EPOCH,
        common_pb2.STALE_MEMBER_EPOCH,
        common_pb2.ILLEGAL_GENERATION,
    }
)
"""Codes by which a coordinator refuses a commit under an epoch that is over."""


@scenario("F45", Needs(group=GroupPlan(letting_go_s=LETTING_GO_S), clients=EVERY_CLIENT))
async def coordinator_killed(run: ScenarioRun) -> None:
    """A group's coordinator is killed amid a rebalance: the next one ends it, commits stay."""
    group = GroupRun(run)
    members = len(group.port.members)
    await group.is_stable_again(members, "stable at first")
    for _ in run.rounds(reduced=2, full=10):
        await group.in_sync()
        coordinator = group.coordinator
        (joining,) = await group.port.start(1)
        members += 1
        await group.comes(lambda seen: seen.state != "Stable", "it rebalances")
        killed_s = run.now_s
        await run.kill(coordinator)
        await group.another_coordinates(coordinator)
        await group.is_stable_again(members)
        run.expect(group.changes("assigned", killed_s, joining), "the rebalance ended after it")
        await run.start(coordinator)


@scenario("F46", Needs(group=GroupPlan(members=3, has_processes=True)))
async def zombie_member(run: ScenarioRun) -> None:
    """A member is paused for 1.5 sessions and returns: it reads no further, commits nothing."""
    group = GroupRun(run)
    members = len(group.port.members)
    for _ in run.rounds(reduced=1, full=10):
        before = await group.is_stable_again(members, "stable at first")
        zombie = run.one_of(list(group.port.members))
        known = next(one for one in before.members if one.client_id == zombie)
        await run.last(0.0, 1.0)
        (partition, *_) = group.port.held_by(zombie)
        paused_s = run.now_s
        await group.pause(zombie)
        await run.last(STILL_S, STILL_S)
        run.expect(group.stands_still(zombie, paused_s + ON_THE_WAY_S), "it stands still")
        await group.is_stable_again(
            members - 1, "stable without it", within_s=2 * group.port.session_s
        )
        late = LateCommit(known.member_id, known.epoch, partition, offset=0)
        await _is_refused(run, group, late)
        left_s = paused_s + PAUSED_SESSIONS * group.port.session_s - run.now_s
        await run.last(max(0.0, left_s), max(0.0, left_s))
        run.expect(group.port.held_by(zombie), "it believes that it owns what it had")
        resumed_s = run.now_s
        await group.resume(zombie)
        await run.must_come(partial(group.changes, "lost", resumed_s, zombie), "it is told: lost")
        await group.is_stable_again(members, "it joined again")
        await _is_refused(run, group, late)


async def _is_refused(run: ScenarioRun, group: GroupRun, late: LateCommit) -> None:
    """A commit under an epoch that is over is refused by the coordinator, and changes nothing."""
    for _ in range(LATE_TRIES):
        code = await group.port.commit_late(late, group.coordinator)
        run.promise(code != common_pb2.NONE, f"a commit of epoch {late.epoch} was acknowledged")
        if code in REFUSED_LATE:
            return
        await run.last(ON_THE_WAY_S, 1.0)
    run.expect(None, "a commit of an epoch that is over is answered")


@scenario("member-killed", Needs(group=GroupPlan(has_processes=True)))
async def member_killed(run: ScenarioRun) -> None:
    """A member is killed, thrice: after its grace others have its partitions, nothing is missed."""
    group = GroupRun(run)
    members = len(group.port.members)
    await group.is_stable_again(members, "stable at first")
    for _ in range(KILLS):
        await run.last(0.0, 1.0)
        killed = run.one_of([one for one in group.port.members if group.port.held_by(one)])
        lost = group.port.held_by(killed)
        killed_s = run.now_s
        await group.kill(killed)
        await group.is_stable_again(members - 1, "stable without it")
        taken = {one.partition for one in group.changes("assigned", killed_s)}
        run.promise(taken >= set(lost), f"others have {lost}, which it had")
        await group.port.start(1)
        await group.is_stable_again(members, "stable with another")


@scenario("F47", Needs(group=GroupPlan(partitions=20, request_timeout_ms=PATIENT_MS)))
async def member_churn(run: ScenarioRun) -> None:
    """A hundred members join at once, and leave at once: stable in 15 s, an epoch each at most."""
    group = GroupRun(run)
    members = len(group.port.members)
    for _ in run.rounds(reduced=1, full=5):
        before = await group.is_stable_again(members, "stable at first")
        run.strike("churn", f"{CHURNED_MEMBERS} join")
        joined = await group.port.start(CHURNED_MEMBERS)
        crowd = await group.is_stable_again(
            members + CHURNED_MEMBERS, "stable with all", within_s=CHURNED_S_MAX
        )
        run.over("churn", f"{CHURNED_MEMBERS} join")
        _has_few_epochs(run, crowd.epoch - before.epoch)
        run.strike("churn", f"{CHURNED_MEMBERS} leave")
        await group.port.stop(*joined)
        after = await group.is_stable_again(members, "stable without", within_s=CHURNED_S_MAX)
        run.over("churn", f"{CHURNED_MEMBERS} leave")
        _has_few_epochs(run, after.epoch - crowd.epoch)


def _has_few_epochs(run: ScenarioRun, epochs: int) -> None:
    run.facts[f"epochs for {CHURNED_MEMBERS} changes"] = str(epochs)
    few = epochs <= CHURNED_MEMBERS + EXTRA_EPOCHS_MAX * run.cluster.patience
    run.promise(few, f"{CHURNED_MEMBERS} members came or went, and {epochs} epochs began")


@scenario("coordinator-cut-off", Needs(group=GroupPlan()))
async def coordinator_cut_off(run: ScenarioRun) -> None:
    """A coordinator is cut from the members, then from all but them: it grants nothing."""
    group = GroupRun(run)
    members = len(group.port.members)
    await group.is_stable_again(members, "stable at first")
    await _cut_from_members(run, group)
    await group.is_stable_again(members)
    await group.in_sync()
    for is_idle in (True, False):
        await _cut_from_nodes(run, group, is_idle=is_idle)
        await group.is_stable_again(members)
        await group.in_sync()


async def _cut_from_members(run: ScenarioRun, group: GroupRun) -> None:
    """Members that hear nothing for a session own nothing, before their coordinator says so."""
    holding = [one for one in group.port.members if group.port.held_by(one)]
    cut_s, paths = run.now_s, run.between([group.coordinator], [MEMBERS])
    await run.cut(paths)
    await run.last(STILL_S, STILL_S)
    through = [one for one in group.port.commits if one.outcome == "ok" and one.member]
    is_cut = all(one.invoked_s <= cut_s + ON_THE_WAY_S for one in through)
    run.expect(is_cut, "no commit comes through")
    for name in holding:
        await run.must_come(
            partial(group.changes, "lost", cut_s, name),
            "all are told: lost",
            within_s=2 * group.port.session_s,
        )
    await run.mend(paths)


async def _cut_from_nodes(run: ScenarioRun, group: GroupRun, *, is_idle: bool) -> None:
    """It still answers members, while another is elected: nothing it says of the group counts.

    Idle: nothing is committed, so that nothing but its own silence tells it that it is over.
    """
    if is_idle:
        await run.hush()
        await run.last(group.port.session_s / 2, group.port.session_s / 2)
    old, members = group.coordinator, len(group.port.members)
    known = next(one for one in group.seen.members if one.assignment)
    late = LateCommit(known.member_id, known.epoch, known.assignment[0].partition, offset=0)
    paths = run.between([old], run.others(old))
    await run.cut(paths)
    if not is_idle:
        await _acknowledges_nothing(run, group, late, old)
    await group.another_coordinates(old)
    await group.goes_over(old, members)
    await _acknowledges_nothing(run, group, late, old)
    acknowledged = _count_acknowledged(group)
    run.load.is_held = False
    await run.must_come(
        lambda: _count_acknowledged(group) > acknowledged, "the other one acknowledges commits"
    )
    run.expect(group.is_coordinated_by_another(old), "another coordinates meanwhile")
    await run.mend(paths)


async def _acknowledges_nothing(
    run: ScenarioRun, group: GroupRun, late: LateCommit, node_id: int
) -> None:
    """A node that no replica hears takes no commit: of a member, or, of none left, of nobody."""
    for one in (late, LateCommit("", NOBODY_EPOCH, late.partition, offset=0)):
        await run.last(ON_THE_WAY_S, ON_THE_WAY_S)
        code = await group.port.commit_late(one, node_id)
        run.promise(code != common_pb2.NONE, f"node {node_id} acknowledged a commit")


def _count_acknowledged(group: GroupRun) -> int:
    return sum(one.outcome == "ok" for one in group.port.commits)
