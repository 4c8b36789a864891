"""Stories: who is no voter of this cluster and speaks to its quorum. On sockets alone."""

from __future__ import annotations

from tidelog.chaos.scenarios.controllers import decides, follows, quorum, takes_over, writes_go_on
from tidelog.chaos.scenarios.strangers import HasStrangers, Strangers
from tidelog.chaos.story.scenario import SOCKETS_ONLY, Needs, scenario
from tidelog.chaos.story.scenario_run import ScenarioRun, UnsupportedFaultError

REFUSED = "a node of another cluster was refused: check addresses and cluster.id"
LIVES = 2
"""Processes of a node beside the foreign one: each reports it once, however often it calls."""
BESIDE_S = 3.0
LEAPS, FORGED = 6, 30
FORGED_FULL = 300


@scenario("foreign", Needs(runs_on=SOCKETS_ONLY, has_separate_controllers=False))
async def foreign_node(run: ScenarioRun) -> None:
    """A node of another cluster, with a log that is alike and ahead, takes a voter's address.

    The two others elect, decide and keep all there is, also when they start beside it; then their
    own third node comes back.
    """
    strangers = _strangers(run)
    await run.last(0.5, 1.5)
    victim, others = await quorum(run)
    offset = run.image.offset
    await run.kill(victim)
    run.strike("foreign_node", f"in the place of node {victim}", victim)
    await strangers.start_foreign(victim)
    await takes_over(run, others)
    await decides(run)
    await run.kill(*others)
    for node_id in run.shuffled(others):
        await run.start(node_id)
        await run.last(0.0, 0.5)
    await takes_over(run, others)
    await decides(run)
    await run.acknowledged_again()
    await writes_go_on(run, BESIDE_S)
    run.promise(run.image.offset >= offset, f"metadata up to {offset} is there")
    run.expect(await strangers.stop_foreign(victim), "the stranger was there all the while")
    run.over("foreign_node", f"in the place of node {victim}", victim)
    for node_id in others:
        lines = len(run.find_log_lines(REFUSED, node_id))
        run.expect(lines, f"node {node_id} met the stranger")
        run.promise(lines <= LIVES, f"node {node_id} reported it in {lines} lines")
    await run.start(victim)
    await follows(run, victim)
    await decides(run)
    await run.in_sync()


@scenario("forged", Needs(runs_on=SOCKETS_ONLY))
async def forged_raft(run: ScenarioRun) -> None:
    """Raft messages in a voter's name, terms from nowhere first, cost the quorum an election.

    It goes on, also when all are killed and start again.
    """
    strangers = _strangers(run)
    await run.last(0.5, 1.5)
    controller, others = await quorum(run)
    voters = [controller, *others]
    count = FORGED_FULL if run.cluster.is_full else FORGED
    for messages, leaps in ((LEAPS, LEAPS), (count, 0)):
        run.strike("forged_raft", f"{messages} messages, {leaps} leaps")
        taken = await strangers.forge_raft(random=run.random, messages=messages, leaps=leaps)
        run.over("forged_raft", f"{messages} messages, {leaps} leaps")
        run.expect(taken, "voters took some of them")
        run.facts[f"forged, of {messages}"] = f"{taken} taken"
        await takes_over(run, voters)
        await decides(run)
        await run.kill(*voters)
        for node_id in run.shuffled(voters):
            await run.start(node_id)
        await takes_over(run, voters)
        await decides(run)
        for node_id in voters:
            await follows(run, node_id)
    await run.in_sync()
    await run.acknowledged_again()


def _strangers(run: ScenarioRun) -> Strangers:
    if not isinstance(run.cluster, HasStrangers):
        raise UnsupportedFaultError("only processes have ports that strangers reach")
    return run.cluster.strangers
