"""`tidelog cluster start | stop | status`: the nodes of one machine, managed together.

`start` starts the nodes that do not run and returns when all are registered and a controller leads.
`stop` first announces to every node that all of them stop, so that no broker is fenced and no ISR
shrinks on the way down.
"""

from __future__ import annotations

import asyncio
import shlex
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tidelog.cli.cluster_health import health
from tidelog.cli.connection import echo_json, json_option
from tidelog.cli.counts import pluralize
from tidelog.cli.table import echo_table
from tidelog.core.errors import TidelogError
from tidelog.core.system import SystemDisk
from tidelog.node.data_directory import format_or_check
from tidelog.node.local_cluster import process as cluster_process
from tidelog.node.local_cluster.plan import (
    HTTP_PORTS,
    KAFKA_PORTS,
    NO_PORTS,
    NODES,
    PORTS,
    NodePlan,
    default_folder,
    load,
    load_or_create,
)
from tidelog.node.local_cluster.process import Started
from tidelog.raft.config import ENGINES

if TYPE_CHECKING:
    from tidelog.v1.admin_pb2 import NodeStatusResponse

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0
GIVE_UP_TIMEOUT_S = 10.0
POLL_S = 0.1
_COLUMNS = ("node", "state", "pid", "address", "kafka", "http", "roles", "leads")
NODES_MAX = 9
"""More voters make a quorum slower, not safer."""

data_dir_option = click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=default_folder,
    help="Folder of the cluster. Default: .data of the checkout.",
)


class Ports(click.ParamType[list[int]]):
    """A comma-separated list of ports, one per node; where there may be none, `none`."""

    name = "PORT,…"

    def __init__(self, *, none: Sequence[int] | None = None) -> None:
        self._none = none

    def convert(
        self, value: str | list[int], param: click.Parameter | None, ctx: click.Context | None
    ) -> list[int]:
        """See `click.ParamType.convert`."""
        if isinstance(value, list):
            return value
        if self._none is not None and value == "none":
            return list(self._none)
        try:
            ports = [int(port) for port in value.split(",")]
        except ValueError:
            self.fail(f"{value!r} is not a list of ports such as 9192,9193,9194", param, ctx)
        named = [port for port in ports if port != 0]
        if len(set(named)) < len(named) or not all(0 <= port < 65536 for port in ports):
            self.fail(f"{value!r} must name different ports from 1 to 65535, or 0", param, ctx)
        return ports


@click.group()
def cluster() -> None:
    """Start, stop and inspect a cluster on this machine."""


cluster.add_command(health)


@cluster.command()
@data_dir_option
@click.option(
    "--nodes",
    type=click.IntRange(1, NODES_MAX),
    help=f"Number of nodes of a new cluster, each broker and controller. Default: {NODES}.",
)
@click.option(
    "--ports", type=Ports(), help="gRPC ports of a new cluster, one per node; 0: any free ones."
)
@click.option(
    "--http-ports",
    type=Ports(),
    help="Metrics and health ports of a new cluster, one per node; 0: any free ones. Default:"
    f" {HTTP_PORTS[0]} and so on; with --ports 0 any free ones.",
)
@click.option(
    "--kafka-ports",
    type=Ports(none=NO_PORTS),
    help="Ports of a new cluster for Kafka's own clients, one per node; 0: any free ones; none: no"
    f" such ports. Default: {KAFKA_PORTS[0]} and so on; with --ports 0 any free ones.",
)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    help=f"Raft implementation of a new cluster's controllers. Default: {ENGINES[0]}.",
)
@json_option
def start(
    data_dir: Path,
    nodes: int | None,
    ports: list[int] | None,
    http_ports: list[int] | None,
    kafka_ports: list[int] | None,
    engine: str | None,
    *,
    as_json: bool,
) -> None:
    """Start the nodes that do not run, and wait until the cluster is ready."""
    cluster_process.require_node_packages()
    folder = data_dir.resolve()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with cluster_process.only_command(folder):
        plans = load_or_create(
            folder,
            nodes=nodes,
            ports=ports,
            http_ports=http_ports,
            kafka_ports=kafka_ports,
            engine=engine,
        )
        running = {plan.node_id: cluster_process.running_pid(plan) for plan in plans}
        missing = [plan for plan in plans if running[plan.node_id] is None]
        _refuse_what_cannot_start(missing)
        started = {plan.node_id: cluster_process.start(plan) for plan in missing}
        for plan in plans:
            pid = running[plan.node_id]
            now = f"already runs (pid {pid})"
            if pid is None:
                now = f"starts (pid {started[plan.node_id].process.pid})"
            if not as_json:
                click.echo(f"node {plan.node_id}  {plan.address}  {now}")
        try:
            controller_id = _wait_until_ready(plans, started)
        except BaseException:
            cluster_process.stop(missing, timeout_s=GIVE_UP_TIMEOUT_S)
            raise
    if as_json:
        described = [_as_json(plan, cluster_process.running_pid(plan)) for plan in plans]
        addresses = ",".join(plan.address for plan in plans)
        echo_json({"bootstrap": addresses, "nodes": described, "controller_id": controller_id})
    else:
        _print_ready(plans, controller_id)


@cluster.command()
@data_dir_option
@json_option
def stop(data_dir: Path, *, as_json: bool) -> None:
    """Stop all nodes together: writes end, no ISR changes, data stays."""
    from tidelog.node.local_cluster import calls as cluster_calls

    folder = data_dir.resolve()
    plans = load(folder)
    alive: list[NodePlan] = []
    killed: Sequence[NodePlan] = ()
    if plans:
        with cluster_process.only_command(folder):
            deadline_s = time.monotonic() + STOP_TIMEOUT_S
            alive = [plan for plan in plans if cluster_process.running_pid(plan) is not None]
            if alive:
                with _progress("waiting for the nodes to stop"):
                    cluster_calls.prepare_stop(alive)
                    left_s = deadline_s - time.monotonic()
                    killed = cluster_process.stop(alive, timeout_s=left_s)
    if killed:
        names = ", ".join(str(plan.node_id) for plan in killed)
        raise click.ClickException(
            f"node {names} did not stop in {STOP_TIMEOUT_S:.0f} s and was killed; its log is"
            f" {_short(killed[0].log_path)}, and the next start recovers its data"
        )
    if as_json:
        echo_json({"stopped": [plan.node_id for plan in alive], "nodes": len(plans)})
    elif not plans:
        click.echo(f"no cluster in {_short(folder)}")
    elif not alive:
        click.echo("no node runs")
    else:
        click.echo(f"stopped {len(alive)} of {pluralize(len(plans), 'node')}")


@cluster.command()
@data_dir_option
@json_option
def status(data_dir: Path, *, as_json: bool) -> None:
    """Show every node, dead ones included."""
    from tidelog.node.local_cluster import calls as cluster_calls

    folder = data_dir.resolve()
    plans = load(folder)
    pids = [cluster_process.running_pid(plan) for plan in plans]
    if as_json:
        nodes = [_as_json(plan, pid) for plan, pid in zip(plans, pids, strict=True)]
        bootstrap = ",".join(plan.address for plan in plans)
        echo_json({"bootstrap": bootstrap, "nodes": nodes})
    elif not plans:
        click.echo(f"no cluster in {_short(folder)}; `tidelog cluster start` creates one")
    else:
        echo_table(_COLUMNS, _rows(plans, pids, cluster_calls.statuses(plans)))


def _refuse_what_cannot_start(plans: Sequence[NodePlan]) -> None:
    for plan in plans:
        cluster_process.refuse_taken_port(plan)
    disk = SystemDisk()
    try:
        for plan in plans:
            if disk.list(plan.config.data_dir):  # the node formats a missing or empty folder itself
                asyncio.run(format_or_check(disk, plan.config))
    except TidelogError as error:
        raise click.ClickException(str(error)) from error
    finally:
        disk.close()


def _wait_until_ready(plans: Sequence[NodePlan], started: Mapping[int, Started]) -> int:
    """Return the id of the active controller, once all nodes are registered and agree on it."""
    from tidelog.node.local_cluster import calls as cluster_calls

    deadline_s = time.monotonic() + START_TIMEOUT_S
    with _progress("waiting for the nodes to register"):
        while True:
            answers = cluster_calls.statuses(plans)
            leaders = {
                a.controller_id if a and a.HasField("controller_id") else None for a in answers
            }
            if all(a and a.ready for a in answers) and len(leaders) == 1:
                leader = leaders.pop()
                if leader is not None:
                    return leader
            _raise_if_ended(plans, started)
            if time.monotonic() > deadline_s:
                waiting = [
                    p.node_id for p, a in zip(plans, answers, strict=True) if not (a and a.ready)
                ]
                raise click.ClickException(
                    f"not ready after {START_TIMEOUT_S:.0f} s, waiting for node"
                    f" {waiting or 'leader'}: see node-*.log in {_short(plans[0].folder)}"
                )
            time.sleep(POLL_S)


def _raise_if_ended(plans: Sequence[NodePlan], started: Mapping[int, Started]) -> None:
    for plan in plans:
        mine = started.get(plan.node_id)
        if mine is not None and mine.process.poll() is not None:
            raise click.ClickException(
                f"node {plan.node_id} ended: {cluster_process.last_words(plan, mine)}"
                f" (its log is {_short(plan.log_path)})"
            )


def _print_ready(plans: Sequence[NodePlan], controller_id: int) -> None:
    addresses = ",".join(plan.address for plan in plans)
    is_default = plans[0].address.rpartition(":")[2] == str(PORTS[0])
    tidelog = "tidelog" if shutil.which("tidelog") else _short(Path(sys.argv[0]))
    bootstrap = "" if is_default else f" --bootstrap {addresses}"
    of_kafka = ",".join(plan.kafka_address for plan in plans if plan.kafka_address is not None)
    kafka = f"\nKafka's own clients: bootstrap.servers={of_kafka}" if of_kafka else ""
    click.echo(
        f"ready: {pluralize(len(plans), 'node')} at {addresses}, controller {controller_id} leads,"
        f" data in {_short(plans[0].folder)}. Try:\n"
        f"  {tidelog} topics create greetings{bootstrap}\n"
        f"  echo hello | {tidelog} produce greetings{bootstrap}\n"
        f"  {tidelog} consume greetings --from-beginning --timeout 2{bootstrap}{kafka}"
    )


def _as_json(plan: NodePlan, pid: int | None) -> dict[str, object]:
    return {
        "node_id": plan.node_id,
        "pid": pid,
        "address": plan.address,
        "listeners": [
            {"name": one.name, "protocol": one.protocol, "address": one.advertised}
            for one in plan.config.listeners
        ],
        "http_port": plan.config.http_port,
        "roles": list(plan.config.process_roles),
        "alive": pid is not None,
    }


def _rows(
    plans: Sequence[NodePlan],
    pids: Sequence[int | None],
    answers: Sequence[NodeStatusResponse | None],
) -> list[tuple[object, ...]]:
    leaders = {a.controller_id for a in answers if a and a.ready and a.HasField("controller_id")}
    rows: list[tuple[object, ...]] = []
    for plan, pid, answer in zip(plans, pids, answers, strict=True):
        state = "dead" if pid is None else "silent" if answer is None else "fenced"
        if answer is not None and answer.ready:
            state = "ready"
        roles = ",".join(plan.config.process_roles)
        leads = "yes" if plan.node_id in leaders else ""
        http_port = plan.config.http_port or "-"
        kafka = plan.kafka_address or "-"
        rows.append((plan.node_id, state, pid or "-", plan.address, kafka, http_port, roles, leads))
    return rows


def _progress(text: str) -> AbstractContextManager[object]:
    from rich.console import Console

    return Console(stderr=True).status(text)


def _short(path: Path) -> str:
    """Quote a path for a shell; a path below the working directory becomes relative to it."""
    absolute = path.absolute()
    here = Path.cwd()
    shown = absolute.relative_to(here) if absolute.is_relative_to(here) else absolute
    return shlex.quote(str(shown))
