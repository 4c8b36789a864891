"""`tidelog bench run`: every figure beside its aim, and beside Kafka's in the same session.

Owns the options, the exit code and the output, and ends every process that it started.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidelog.benchmarks.efforts import EFFORTS, Effort
from tidelog.benchmarks.errors import RunFailedError
from tidelog.benchmarks.machine import machine_facts
from tidelog.benchmarks.peer import Peer
from tidelog.benchmarks.plan import Group, Kind, groups, warm_up
from tidelog.benchmarks.plan_wire import wire_groups
from tidelog.benchmarks.report import CHART_NAME, VERDICTS, chart, markdown, number
from tidelog.benchmarks.rows import Result
from tidelog.benchmarks.signals import ignore_interrupts, raise_on_sigterm
from tidelog.cli.table import echo_table
from tidelog.core.errors import TidelogError

if TYPE_CHECKING:
    from tidelog.benchmarks.session import BenchSession

_COLUMNS = ("figure", "Tidelog", "Kafka", "unit", "ratio", "aim", "verdict")


@click.group()
def bench() -> None:
    """Measure Tidelog on this machine, beside a peer."""


@bench.command()
@click.option("--quick", "effort", flag_value="quick", help="Take at most ten minutes in all.")
@click.option("--full", "effort", flag_value="full", help="Make five long runs of each row.")
@click.option(
    "--peer",
    "peer_command",
    envvar="TIDELOG_KAFKA_PEER",
    help="The command that runs Kafka's side; see docs/BENCHMARKS.md.",
)
@click.option("--json", "is_json", is_flag=True, help="Print only the JSON line of rows.")
@click.option(
    "--report",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write bench.md and bench.svg into this folder.",
)
@click.option(
    "--only",
    metavar="WORD",
    help="Only groups of rows whose name contains WORD; `wire`: Kafka's clients against both.",
)
def run(
    *, effort: str | None, peer_command: str | None, is_json: bool, report: Path | None,
    only: str | None,
) -> None:  # fmt: skip
    """Start a cluster, put loads on it and measure; the last line is a JSON object of rows.

    Exit code 1: a row did not run. An aim that is not met is not an error.
    """
    chosen = EFFORTS[effort or "default"]
    found = groups(chosen) if only is None else _named(chosen, only)
    if peer_command is None and any(group.kind is Kind.WIRE for group in found):
        raise click.UsageError("the clients of 'wire' are the peer's: give --peer")
    from tidelog.benchmarks.session import BenchSession

    session = BenchSession(chosen, found, _peer(peer_command), report=_reporter())
    with raise_on_sigterm():
        _measure(session, warm_up(chosen))
    results = session.results()
    if report is not None:
        _write(report, results)
    if not is_json:
        echo_table(_COLUMNS, map(_row, results))
    click.echo(json.dumps({"rows": [result.as_json() for result in results]}))
    sys.exit(1 if session.errors else 0)


def _named(effort: Effort, word: str) -> list[Group]:
    """The groups with this word in their names, those of Kafka's protocol too."""
    every = [*groups(effort), *wire_groups(effort)]
    found = [group for group in every if word in group.name]
    if not found:
        raise click.UsageError(f"no group of rows has {word!r} in its name")
    return found


def _reporter() -> Callable[[str], None]:
    """Make a function that prints progress on stderr, with the minutes since the start."""
    from rich.console import Console

    console, began_s = Console(stderr=True, highlight=False, soft_wrap=True), time.monotonic()

    def report(text: str) -> None:
        passed_s = int(time.monotonic() - began_s)
        console.print(f"{passed_s // 60:3}:{passed_s % 60:02} {text}", markup=False)

    return report


def _peer(command: str | None) -> Peer | None:
    try:
        return Peer.of(command) if command else None
    except ValueError as error:
        raise click.UsageError(f"--peer {command!r}: {error}") from error


def _measure(session: BenchSession, warming: Group) -> None:
    session.measure_starts()
    if not any(group.is_on_the_cluster for group in session.groups):
        return
    from tidelog.benchmarks.own_cluster import OwnCluster

    try:
        with OwnCluster() as cluster, _peer_up(session):
            cluster.start()
            session.measure_loads(cluster, warming)
    except (RunFailedError, TidelogError, OSError) as error:
        session.no_cluster(str(error))


@contextlib.contextmanager
def _peer_up(session: BenchSession) -> Iterator[None]:
    """Run the peer's nodes inside the block; if they do not start, its columns stay empty."""
    peer = session.peer
    if peer is None:
        yield
        return
    try:
        try:
            peer.up()
        except RunFailedError as error:
            session.no_peer(str(error))
        yield
    finally:
        with ignore_interrupts(), contextlib.suppress(RunFailedError):
            peer.down()


def _row(result: Result) -> tuple[object, ...]:
    return (
        result.row.figure,
        *(number(side.value) if side else "-" for side in (result.ours, result.kafka)),
        result.row.unit,
        "" if result.ratio is None else f"{result.ratio:.2f}",
        result.as_json()["aim"],
        "; ".join([VERDICTS[result.is_met], *result.errors]).strip("; "),
    )


def _write(folder: Path, results: Sequence[Result]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    page = markdown(results, machine_facts())
    (folder / "bench.md").write_text(page, encoding="utf-8")
    (folder / CHART_NAME).write_text(chart(results), encoding="utf-8")
