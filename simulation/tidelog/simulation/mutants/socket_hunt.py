"""The hunt for mutants on real processes: whether a run notices that a rule is broken.

Each mutant first runs without a fault, where it must go unnoticed. Then its scenario is run, seed
after seed, until a run's verdict is a violation. Owns the order of runs and what a verdict holds.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tidelog.chaos.report.record import RunRecord
from tidelog.chaos.sockets.run_plan import RunPlan
from tidelog.simulation.mutants import cluster, raft
from tidelog.simulation.mutants.on_sockets import CONTROL

Runner = Callable[[RunPlan], Awaitable[RunRecord]]


@dataclass(frozen=True, slots=True)
class Hunted:
    """Result of hunting one mutant."""

    name: str
    scenario: str
    control: str
    """The verdict without a fault: anything but ok, and it is not hunted."""
    runs: int
    """Runs of the scenario, until it was caught; every run if it was not."""
    anomalies: tuple[str, ...] = ()
    """Kinds of anomalies that caught it."""

    @property
    def is_caught(self) -> bool:
        """By the faults, and only by them."""
        return bool(self.anomalies) and self.control == "ok"

    def summary(self) -> dict[str, object]:
        """As JSON."""
        return {
            "name": self.name,
            "scenario": self.scenario,
            "caught": self.is_caught,
            "control": self.control,
            "runs": self.runs,
            "anomalies": list(self.anomalies),
        }


def patch_of(mutant: str) -> str:
    """Return the function that breaks a rule in a node's process, as `module:name`."""
    return {**raft.ALL, **cluster.ALL}[mutant].patch


async def hunt(
    mutant: str, scenario: str, *, patch: str, seeds: range, load_s: float, run: Runner
) -> Hunted:
    """The control with the first seed, then the scenario with each, until it is caught."""
    control = await run(RunPlan(CONTROL, seed=seeds[0], load_s=load_s, mutant=patch))
    if control.verdict != "ok":
        return Hunted(mutant, scenario, control.verdict, runs=0)
    for runs, seed in enumerate(seeds, start=1):
        record = await run(RunPlan(scenario, seed=seed, load_s=load_s, mutant=patch))
        if record.verdict == "violation":
            kinds = sorted({anomaly.kind for anomaly in record.anomalies})
            return Hunted(mutant, scenario, control.verdict, runs, tuple(kinds))
    return Hunted(mutant, scenario, control.verdict, len(seeds))
