"""`tidelog chaos`: inject faults into real processes behind Toxiproxy, and check the results.

Owns the commands' options, output and exit codes; `tidelog.chaos.sockets` does the work.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click

from tidelog.benchmarks.machine import command_text
from tidelog.chaos.report.record import RunRecord
from tidelog.chaos.scenarios.catalogue import id_of, runnable_on
from tidelog.chaos.sockets import ledger as ledgers
from tidelog.chaos.sockets.run_plan import RunPlan
from tidelog.chaos.sockets.summary import summary
from tidelog.chaos.story.scenario import CLIENT_KINDS, GRPC_CLIENT, SOCKETS
from tidelog.cli.chaos_output import Folder, Progress
from tidelog.cli.units import Seconds
from tidelog.core.provenance import checked_out_commit
from tidelog.raft.config import ENGINES
from tidelog.simulation.mutants.on_sockets import HUNTS
from tidelog.simulation.mutants.socket_hunt import Hunted, hunt, patch_of
from tidelog.simulation.suites.worker import silence_nodes

ALL = "all"
SMOKE = "smoke"
SMOKE_IDS = ("F01", "control", "F12", "F40", "F46")
"""A leader killed, no fault, a tail cut, answers lost, a member paused. `make test` runs the first,
and one of the others in turn."""
LOAD_S = 8.0
MUTANT_RUNS = 6


class ScenarioName(click.ParamType[tuple[str, ...]]):
    """The id or name of a scenario, or the name of a set: the ids it stands for."""

    name = "SCENARIO"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        """See `click.ParamType`."""
        known = runnable_on(SOCKETS)
        if value == ALL:
            return tuple(known)
        if value == SMOKE:
            return SMOKE_IDS
        try:
            found = id_of(str(value))
        except KeyError:
            self.fail(f"no scenario is called {value!r}: see `tidelog chaos list`", param, ctx)
        if found not in known:
            self.fail(f"{found} runs in the simulation only: tidelog sim run", param, ctx)
        return (found,)


@click.group()
def chaos() -> None:
    """Inject faults into real processes on real sockets, and show what was lost."""


@chaos.command("list")
@click.option("--json", "is_json", is_flag=True, help="One JSON object per line.")
def list_scenarios(*, is_json: bool) -> None:
    """List the scenarios: id, name and claim."""
    for key, scenario in runnable_on(SOCKETS).items():
        if is_json:
            line = {"id": key, "name": scenario.name, "claim": scenario.claim}
            click.echo(json.dumps(line))
        else:
            click.echo(f"{key:<8} {scenario.name}\n         {scenario.claim}")


@chaos.command()
@click.argument("scenarios", type=ScenarioName(), nargs=-1, required=True)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the first run.")
@click.option(
    "--runs",
    type=click.IntRange(1),
    default=1,
    help="Runs per scenario; seeds count up from --seed.",
)
@click.option(
    "--duration",
    "duration_s",
    type=Seconds(min_s=1.0),
    default=LOAD_S,
    show_default=True,
    metavar="SPAN",
    help="Minimum load per run: 8 (seconds), 5m; a scenario that needs longer takes longer.",
)
@click.option("--full", "is_full", is_flag=True, help="Run the catalogue's number of rounds.")
@click.option(
    "--combined",
    "is_combined",
    is_flag=True,
    help="Start three nodes that are broker and controller.",
)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default=ENGINES[0],
    show_default=True,
    help="The controllers' implementation of Raft.",
)
@click.option(
    "--client",
    type=click.Choice(CLIENT_KINDS),
    default=GRPC_CLIENT,
    show_default=True,
    help="Clients: Tidelog's own by gRPC, or aiokafka by Kafka's protocol.",
)
@click.option("--json", "is_json", is_flag=True, help="Print only the JSON summary.")
@click.option(
    "--report",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of reports and histories. Default: a new folder below .chaos.",
)
@click.option(
    "--ledger",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Append the summary to this file of JSON lines.",
)
def run(
    *,
    scenarios: tuple[tuple[str, ...], ...],
    seed: int,
    runs: int,
    duration_s: float,
    is_full: bool,
    is_combined: bool,
    engine: str,
    client: str,
    is_json: bool,
    folder: Path | None,
    ledger: Path | None,
) -> None:
    """Run scenarios one after the other: by id, by name, `smoke`, or `all`.

    Each starts nodes of its own. The last line is a JSON summary. The exit code is 0 only when the
    verdict is ok, and 1 for a violation or when a fault had no observed effect (inconclusive).
    """
    ids = list(dict.fromkeys(key for keys in scenarios for key in keys))
    _refuse_other_clients(ids, client)
    usual = RunPlan(
        "",
        seed,
        load_s=duration_s,
        is_full=is_full,
        is_combined=is_combined,
        engine=engine,
        client=client,
    )
    plans = [replace(usual, scenario_id=key, seed=seed + n) for key in ids for n in range(runs)]
    reports = Folder(folder or _new_folder())
    progress = Progress(len(plans), is_silent=is_json)
    commit = checked_out_commit()
    records = asyncio.run(_run_all(plans, reports, progress))
    progress.end(reports.path)
    line = summary(records)
    if ledger is not None:
        load_s = sum(record.load_s for record in records)
        command = command_text(sys.argv[1:])
        ledgers.append(ledger, line, commit=commit, command=command, load_s=load_s)
    click.echo(json.dumps(line))
    sys.exit(0 if line["verdict"] == "ok" else 1)


@chaos.command()
@click.option("--mutant", "names", type=click.Choice(list(HUNTS)), multiple=True, metavar="NAME")
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the first run.")
@click.option("--runs", type=click.IntRange(1), default=MUTANT_RUNS, show_default=True)
@click.option("--json", "is_json", is_flag=True, help="Print only the JSON line of verdicts.")
@click.option("--report", "folder", type=click.Path(file_okay=False, path_type=Path))
def mutants(
    *, names: tuple[str, ...], seed: int, runs: int, is_json: bool, folder: Path | None
) -> None:
    """Break a rule in all nodes, and check that the scenario written for it fails.

    Each mutant first runs without a fault, where every check must pass. The last line is a JSON
    object of verdicts. Exit code 1: a mutant was not caught, or failed a check without a fault.
    """
    chosen = names or tuple(HUNTS)
    reports = Folder(folder or _new_folder())
    progress = Progress(None, is_silent=is_json)

    async def run_one(plan: RunPlan) -> RunRecord:
        return await _run(plan, reports, progress)

    async def hunt_all() -> list[Hunted]:
        seeds = range(seed, seed + runs)
        return [
            await hunt(
                name,
                HUNTS[name],
                patch=patch_of(name),
                seeds=seeds,
                load_s=LOAD_S,
                run=run_one,
            )
            for name in chosen
        ]

    hunted = asyncio.run(hunt_all())
    progress.end(reports.path)
    click.echo(json.dumps({"mutants": [one.summary() for one in hunted]}))
    sys.exit(0 if all(one.is_caught for one in hunted) else 1)


def _refuse_other_clients(ids: Sequence[str], client: str) -> None:
    """Raise a usage error if some scenario is not run with these clients."""
    able = [key for key, one in runnable_on(SOCKETS).items() if client in one.needs.clients]
    refused = [key for key in ids if key not in able]
    if refused:
        raise click.BadParameter(
            f"{', '.join(refused)} cannot be run with {client}; these can: {', '.join(able)}",
            param_hint="--client",
        )


async def _run_all(
    plans: Sequence[RunPlan], reports: Folder, progress: Progress
) -> list[RunRecord]:
    return [await _run(plan, reports, progress) for plan in plans]


async def _run(plan: RunPlan, reports: Folder, progress: Progress) -> RunRecord:
    from tidelog.chaos.sockets.run import run_scenario

    silence_nodes()  # This process opens the replicas' logs to compare them.
    progress.begin(plan)
    record = await run_scenario(plan, folder=reports.folder_of(plan), on_note=progress.note)
    reports.write(plan, record)
    progress.show_result(record)
    return record


def _new_folder() -> Path:
    return Path(".chaos") / datetime.now(UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
