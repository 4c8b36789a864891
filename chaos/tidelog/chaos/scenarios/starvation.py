"""Stories: a machine with other work to do, on which nodes get little of a processor."""

from __future__ import annotations

from tidelog.chaos.faults.fault import lasting
from tidelog.chaos.faults.starve import Starve
from tidelog.chaos.story.scenario import Needs, scenario
from tidelog.chaos.story.scene import Scene
from tidelog.history.history import ACKS_ALL, History

SHARE = 0.1
"""Share of a processor for each node."""
LOOK_S = 0.5
FENCED = "silent brokers fenced"


@scenario("starved", Needs(has_separate_controllers=False))
async def starved_nodes(scene: Scene) -> None:
    """Each node has a tenth of a processor: nobody is elected or fenced, every send ends well."""
    await scene.last(0.5, 1.5)
    await scene.cluster.look()
    cluster, before = scene.cluster, scene.now
    began, terms, fenced = len(cluster.history.sends), _terms(scene), len(scene.logged(FENCED))
    async with lasting(scene, Starve(tuple(cluster.node_ids), SHARE)):
        ends_s = scene.now_s + cluster.load_s
        while scene.now_s < ends_s:
            await scene.last(LOOK_S, LOOK_S)
            await cluster.look()
    await scene.acknowledged_again()
    fenced = len(scene.logged(FENCED)) - fenced
    passed = {node_id: _terms(scene)[node_id] - term for node_id, term in terms.items()}
    scene.facts["elections"] = str(max(passed.values()))
    scene.facts["fenced"] = str(fenced)
    scene.promise(not any(passed.values()), f"no controller is elected: terms passed {passed}")
    scene.promise(not fenced, f"no live broker is fenced: {fenced} were")
    scene.promise(scene.now.leader_epoch == before.leader_epoch, "the leader goes on leading")
    scene.at_the_end(lambda history, _: _no_failed_send(history, began))


def _terms(scene: Scene) -> dict[int, int]:
    return {node_id: scene.cluster.term(node_id) for node_id in scene.cluster.controller_ids}


def _no_failed_send(history: History, began: int) -> tuple[bool, str]:
    sends = [send for send in history.sends[began:] if send.acks == ACKS_ALL]
    failed = [send for send in sends if send.outcome != "ok"]
    reasons = sorted({send.reason for send in failed})
    return not failed, f"{len(failed)} of {len(sends)} sends failed: {reasons}"
