"""Stories: who is no voter of this cluster and speaks to its quorum. On sockets alone."""

from __future__ import annotations

from tidelog.chaos.scenarios.controllers import decides, follows, quorum, takes_over, writes_go_on
from tidelog.chaos.scenarios.strangers import HasStrangers, Strangers
from tidelog.chaos.story.scenario import SOCKETS_ONLY, Needs, scenario
from tidelog.chaos.story.scene import Scene, UnsupportedFaultError

REFUSED = "a node of another cluster was refused: check addresses and cluster.id"
LIVES = 2
"""Processes of a node beside the foreign one: each reports it once, however often it calls."""
BESIDE_S = 3.0
LEAPS, FORGED = 6, 30
FORGED_FULL = 300


@scenario("foreign", Needs(runs_on=SOCKETS_ONLY, has_separate_controllers=False))
async def foreign_node(scene: Scene) -> None:
    """A node of another cluster, with a log that is alike and ahead, takes a voter's address.

    The two others elect, decide and keep all there is, also when they start beside it; then their
    own third node comes back.
    """
    strangers = _strangers(scene)
    await scene.last(0.5, 1.5)
    victim, others = await quorum(scene)
    offset = scene.image.offset
    await scene.kill(victim)
    scene.strike("foreign_node", f"in the place of node {victim}", victim)
    await strangers.start_foreign(victim)
    await takes_over(scene, others)
    await decides(scene)
    await scene.kill(*others)
    for node_id in scene.shuffled(others):
        await scene.start(node_id)
        await scene.last(0.0, 0.5)
    await takes_over(scene, others)
    await decides(scene)
    await scene.acknowledged_again()
    await writes_go_on(scene, BESIDE_S)
    scene.promise(scene.image.offset >= offset, f"metadata up to {offset} is there")
    scene.expect(await strangers.stop_foreign(victim), "the stranger was there all the while")
    scene.over("foreign_node", f"in the place of node {victim}", victim)
    for node_id in others:
        lines = len(scene.logged(REFUSED, node_id))
        scene.expect(lines, f"node {node_id} met the stranger")
        scene.promise(lines <= LIVES, f"node {node_id} reported it in {lines} lines")
    await scene.start(victim)
    await follows(scene, victim)
    await decides(scene)
    await scene.in_sync()


@scenario("forged", Needs(runs_on=SOCKETS_ONLY))
async def forged_raft(scene: Scene) -> None:
    """Raft messages in a voter's name, terms from nowhere first, cost the quorum an election.

    It goes on, also when all are killed and start again.
    """
    strangers = _strangers(scene)
    await scene.last(0.5, 1.5)
    controller, others = await quorum(scene)
    voters = [controller, *others]
    count = FORGED_FULL if scene.cluster.is_full else FORGED
    for messages, leaps in ((LEAPS, LEAPS), (count, 0)):
        scene.strike("forged_raft", f"{messages} messages, {leaps} leaps")
        taken = await strangers.forge_raft(random=scene.random, messages=messages, leaps=leaps)
        scene.over("forged_raft", f"{messages} messages, {leaps} leaps")
        scene.expect(taken, "voters took some of them")
        scene.facts[f"forged, of {messages}"] = f"{taken} taken"
        await takes_over(scene, voters)
        await decides(scene)
        await scene.kill(*voters)
        for node_id in scene.shuffled(voters):
            await scene.start(node_id)
        await takes_over(scene, voters)
        await decides(scene)
        for node_id in voters:
            await follows(scene, node_id)
    await scene.in_sync()
    await scene.acknowledged_again()


def _strangers(scene: Scene) -> Strangers:
    if not isinstance(scene.cluster, HasStrangers):
        raise UnsupportedFaultError("only processes have ports that strangers reach")
    return scene.cluster.strangers
