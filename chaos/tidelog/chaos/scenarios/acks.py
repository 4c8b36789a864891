"""Story of the worth of each `acks`: the same fault, three kinds of producers."""

from __future__ import annotations

from functools import partial

from tidelog.chaos.scenarios.epochs import isolate_leader_and_return
from tidelog.chaos.story.scenario import SOCKETS_ONLY, Needs, scenario
from tidelog.chaos.story.scenario_run import Counts, ScenarioRun
from tidelog.history.history import ACKS_ALL, History

NAMES = {0: "0", 1: "1", ACKS_ALL: "all"}


@scenario("acks", Needs(runs_on=SOCKETS_ONLY, acks=(-1, 1, 0)))
async def acks_compared(run: ScenarioRun) -> None:
    """A leader is cut off under producers of acks 0, 1 and all: acknowledged and lost records."""
    run.at_the_end(partial(_compare, run))
    await isolate_leader_and_return(run, is_killed=True)


def _compare(run: ScenarioRun, history: History, _: Counts) -> tuple[bool, str]:
    there = {value for poll in history.polls if poll.is_final for _, value in poll.records}
    lost: dict[int, int] = {}
    for acks, name in NAMES.items():
        acknowledged = [one for one in history.sends if one.acks == acks and one.outcome == "ok"]
        lost[acks] = sum(one.value not in there for one in acknowledged)
        run.facts[f"acks={name}"] = (
            f"{len(acknowledged):,} acknowledged, {lost[acks]:,} of them lost"
        )
    return not lost[ACKS_ALL], f"{lost[ACKS_ALL]} records of acks=all are lost"
