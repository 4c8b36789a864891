"""Stories: a machine with other work to do, on which nodes get little of a processor."""

from __future__ import annotations

from tidelog.chaos.faults.fault import lasting
from tidelog.chaos.faults.starve import Starve
from tidelog.chaos.story.scenario import Needs, scenario
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.history.history import ACKS_ALL, History

SHARE = 0.1
"""Share of a processor for each node."""
LOOK_S = 0.5
FENCED = "silent brokers fenced"


@scenario("starved", Needs(has_separate_controllers=False))
async def starved_nodes(run: ScenarioRun) -> None:
    """Each node has a tenth of a processor: nobody is elected or fenced, every send ends well."""
    await run.last(0.5, 1.5)
    await run.cluster.look()
    cluster, before = run.cluster, run.now
    began, terms, fenced = len(cluster.history.sends), _terms(run), len(run.find_log_lines(FENCED))
    async with lasting(run, Starve(tuple(cluster.node_ids), SHARE)):
        ends_s = run.now_s + cluster.load_s
        while run.now_s < ends_s:
            await run.last(LOOK_S, LOOK_S)
            await cluster.look()
    await run.acknowledged_again()
    fenced = len(run.find_log_lines(FENCED)) - fenced
    passed = {node_id: _terms(run)[node_id] - term for node_id, term in terms.items()}
    run.facts["elections"] = str(max(passed.values()))
    run.facts["fenced"] = str(fenced)
    run.promise(not any(passed.values()), f"no controller is elected: terms passed {passed}")
    run.promise(not fenced, f"no live broker is fenced: {fenced} were")
    run.promise(run.now.leader_epoch == before.leader_epoch, "the leader goes on leading")
    run.at_the_end(lambda history, _: _no_failed_send(history, began))


def _terms(run: ScenarioRun) -> dict[int, int]:
    return {node_id: run.cluster.term(node_id) for node_id in run.cluster.controller_ids}


def _no_failed_send(history: History, began: int) -> tuple[bool, str]:
    sends = [send for send in history.sends[began:] if send.acks == ACKS_ALL]
    failed = [send for send in sends if send.outcome != "ok"]
    reasons = sorted({send.reason for send in failed})
    return not failed, f"{len(failed)} of {len(sends)} sends failed: {reasons}"
