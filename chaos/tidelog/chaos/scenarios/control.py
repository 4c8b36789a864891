"""The story in which nothing happens: what is noticed here is wrong without any fault."""

from __future__ import annotations

from tidelog.chaos.story.scenario import SOCKETS_ONLY, Needs, scenario
from tidelog.chaos.story.scenario_run import ScenarioRun


@scenario("control", Needs(runs_on=SOCKETS_ONLY))
async def no_fault(run: ScenarioRun) -> None:
    """Nothing strikes: everything is acknowledged, read, and the same everywhere."""
    before = run.now
    await run.last(run.cluster.load_s, run.cluster.load_s)
    run.promise(run.now == before, "leader, ISR and epochs stay as they are")
    await run.acknowledged_again()
