"""`tidelog sim`: run seeds of a simulation suite, or replay one of them.

Owns the commands' options, output and exit codes; `tidelog.simulation.suites` does the work.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import click

from tidelog.cli.connection import echo_json, json_option
from tidelog.cli.counts import pluralize
from tidelog.core.provenance import checked_out_commit
from tidelog.core.system import SystemClock
from tidelog.raft.config import ENGINES
from tidelog.simulation.cluster.scenarios import SCENARIOS
from tidelog.simulation.mutants import cluster, groups, raft, transactions, wire
from tidelog.simulation.mutants.hunt import Verdict, hunt
from tidelog.simulation.mutants.hunt import summary as summary_of
from tidelog.simulation.suites import ledger as ledgers
from tidelog.simulation.suites.findings import SeedResult
from tidelog.simulation.suites.suite import (
    NAMES,
    WORKERS,
    Suite,
    SuiteConfig,
    SuiteResult,
    run_suite,
    suite_named,
)
from tidelog.simulation.suites.worker import silence_nodes

SHOW_EVERY_SEEDS = 100
MUTANT_SEEDS = range(100)

MUTANTS_OF = {
    "raft": raft,
    "cluster": cluster,
    "groups": groups,
    "wire": wire,
    "transactions": transactions,
}
MUTANT_NAMES = [name for module in MUTANTS_OF.values() for name in module.ALL]

suite_option = click.option(
    "--suite", type=click.Choice(NAMES), required=True, help="Simulation suite to run."
)
engine_option = click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default=ENGINES[0],
    show_default=True,
    help="Raft implementation of the controllers.",
)
scenario_option = click.option(
    "--scenario",
    type=click.Choice(list(SCENARIOS)),
    metavar="NAME",
    help="Cluster suite only: run this scenario instead of a random storm.",
)


class SeedRange(click.ParamType[range]):
    """A range of seeds `FIRST:END`; END is excluded."""

    name = "FIRST:END"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> range:
        """See `click.ParamType`."""
        if isinstance(value, range):
            return value
        first, _, end = str(value).partition(":")
        try:
            seeds = range(int(first), int(end))
        except ValueError:
            self.fail(f"{value!r} is not FIRST:END, as in 0:100", param, ctx)
        if not seeds:
            self.fail(f"{value!r} contains no seed", param, ctx)
        return seeds


@click.group()
def sim() -> None:
    """Simulate whole clusters on virtual time."""


@sim.command()
@suite_option
@engine_option
@scenario_option
@click.option(
    "--seeds", type=SeedRange(), required=True, help="END is excluded: 0:100 is a hundred."
)
@click.option("--json", "is_json", is_flag=True, help="Print only the JSON summary.")
@click.option("--workers", type=click.IntRange(1), default=WORKERS, show_default=True)
@click.option(
    "--ledger",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Append the run to this file of JSON lines.",
)
def run(
    *,
    suite: str,
    engine: str,
    scenario: str | None,
    seeds: range,
    is_json: bool,
    workers: int,
    ledger: Path | None,
) -> None:
    """Run seeds; the last line is a JSON summary.

    Exit code 1: an invariant did not hold, or a required event never happened in 100 or more seeds.
    """
    chosen = suite_named(suite)
    choice = _choice(chosen, scenario)
    config = SuiteConfig(chosen, seeds, choice=choice, engine=engine, workers=workers)
    progress = _Progress(suite, is_silent=is_json)
    commit = checked_out_commit()
    result = asyncio.run(run_suite(config, progress.on_result))
    if ledger is not None:
        ledgers.append(ledger, result, commit=commit, clock=SystemClock())
    if not is_json:
        _show_uncovered(result)
    click.echo(json.dumps(result.summary()))
    sys.exit(0 if result.is_good else 1)


@sim.command()
@suite_option
@engine_option
@scenario_option
@click.option("--seed", type=int, required=True)
@json_option
def replay(*, suite: str, engine: str, scenario: str | None, seed: int, as_json: bool) -> None:
    """Run one seed again and show what happens, second by second.

    Exit code 1: an invariant did not hold. With --json only the result is shown.
    """
    silence_nodes()
    chosen = suite_named(suite)
    choice = _choice(chosen, scenario)
    result = chosen.run_seed(
        seed,
        choice=choice,
        engine=engine,
        has_faults=True,
        timeline_sink=None if as_json else click.echo,
    )
    if as_json:
        violation = result.violation
        echo_json(
            {
                "suite": suite,
                "seed": seed,
                "operations": result.operations,
                "acknowledged": result.acknowledged,
                "virtual_s": result.virtual_s,
                "steps": result.steps,
                "trace_hash": result.trace_hash,
                "violation": None
                if violation is None
                else f"{violation.invariant}: {violation.what}",
            }
        )
    else:
        click.echo(
            f"{suite} seed {seed}: {pluralize(result.operations, 'operation')}, "
            f"{pluralize(result.acknowledged, 'command')} acknowledged, "
            f"{result.virtual_s} virtual s, {pluralize(result.steps, 'step')}, {result.trace_hash}"
        )
    sys.exit(0 if result.violation is None else 1)


@sim.command()
@suite_option
@click.option(
    "--seeds",
    type=SeedRange(),
    default=MUTANT_SEEDS,
    show_default=f"{MUTANT_SEEDS.start}:{MUTANT_SEEDS.stop}",
    help="END is excluded; a mutant that they do not catch is a miss.",
)
@click.option("--json", "is_json", is_flag=True, help="Print only the JSON line of verdicts.")
@click.option("--workers", type=click.IntRange(1), default=WORKERS, show_default=True)
@click.option(
    "--mutant",
    "names",
    type=click.Choice(MUTANT_NAMES),
    multiple=True,
    metavar="NAME",
    help="Run only this mutant; may be repeated.",
)
def mutants(
    *, suite: str, seeds: range, is_json: bool, workers: int, names: tuple[str, ...]
) -> None:
    """Break one rule after another, and check that a seed fails for each.

    Each mutant first runs without faults, where every check must pass. The last line is a JSON
    object of verdicts. Exit code 1: a mutant was not caught, or failed a check without faults.
    """
    known = MUTANTS_OF[suite]
    foreign = [name for name in names if name not in known.ALL]
    if foreign:
        raise click.UsageError(f"the {suite} suite has no mutant {foreign[0]!r}")
    chosen = [known.ALL[name] for name in names or known.MUTANTS]

    def show(verdict: Verdict) -> None:
        if not is_json:
            click.echo(f"{suite}: {verdict}")

    verdicts = asyncio.run(
        hunt(suite_named(suite), chosen, seeds, workers=workers, on_verdict=show)
    )
    click.echo(json.dumps(summary_of(suite_named(suite), verdicts)))
    sys.exit(0 if all(verdict.is_caught for verdict in verdicts) else 1)


def _choice(suite: Suite, scenario: str | None) -> str:
    """The scenario, or the random storm."""
    if scenario is not None and scenario not in suite.choices:
        raise click.UsageError(f"the {suite.name} suite has no scenario {scenario}")
    return scenario or suite.default


class _Progress:
    def __init__(self, suite: str, *, is_silent: bool) -> None:
        self._suite = suite
        self._is_silent = is_silent
        self._count = 0

    def on_result(self, result: SeedResult) -> None:
        self._count += 1
        if self._is_silent:
            return
        if result.violation is not None:
            invariant, what = result.violation.invariant, result.violation.what
            click.echo(f"{self._suite} seed {result.seed}: {invariant}: {what}")
        if self._count % SHOW_EVERY_SEEDS == 0:
            click.echo(f"{self._suite}: {self._count} seeds")


def _show_uncovered(result: SuiteResult) -> None:
    for name in result.missing_coverage():
        click.echo(f"never happened in {result.seeds} seeds: {name}")
