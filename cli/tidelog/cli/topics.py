"""`tidelog topics create | list | describe | alter | delete | delete-records | elect-leaders`."""

from __future__ import annotations

import json

import click

from tidelog.cli.bootstrap import bootstrap_option
from tidelog.cli.configs import parse_configs
from tidelog.cli.connection import API_TIMEOUT_MS, echo_results, run
from tidelog.client.admin import Admin
from tidelog.client.admin.descriptions import PartitionDescription, TopicDescription
from tidelog.client.errors import ElectionNotNeededError, TidelogError
from tidelog.client.records import TopicPartition


@click.group()
def topics() -> None:
    """Create, list, describe, alter and delete topics."""


def _replicas(_context: click.Context, _parameter: click.Parameter, text: str) -> list[list[int]]:
    try:
        return [[int(one) for one in part.split(":")] for part in text.split(",")] if text else []
    except ValueError:
        raise click.BadParameter("broker ids, as in 1:2:3,2:3:1") from None


assignment_option = click.option(
    "--replica-assignment",
    "assignments",
    default="",
    metavar="1:2:3,2:3:1,…",
    callback=_replicas,
    help="The brokers of each partition from 0 on, the preferred leader first.",
)


@topics.command()
@click.argument("name")
@click.option("--partitions", type=click.IntRange(min=1), help="Default: the cluster's.")
@click.option("--replication-factor", type=click.IntRange(min=1), help="Default: the cluster's.")
@click.option("--config", "configs", multiple=True, metavar="KEY=VALUE", help="May be repeated.")
@assignment_option
@bootstrap_option
def create(
    *,
    name: str,
    partitions: int | None,
    replication_factor: int | None,
    configs: tuple[str, ...],
    assignments: list[list[int]],
    bootstrap: str,
) -> None:
    """Create topic NAME; returns when every partition has a leader."""
    parsed = parse_configs(configs)

    async def work() -> None:
        async with Admin(bootstrap, api_timeout_ms=API_TIMEOUT_MS) as admin:
            created = await admin.create_topic(
                name,
                partitions=partitions or 0,
                replication_factor=replication_factor or 0,
                configs=parsed,
                assignments=assignments,
            )
        click.echo(
            f"created {created.name}: {created.partitions} partitions, "
            f"replication factor {created.replication_factor}"
        )

    run(work())


@topics.command(name="list")
@bootstrap_option
def list_topics(*, bootstrap: str) -> None:
    """Print the name of every topic, a line each."""

    async def work() -> list[str]:
        async with Admin(bootstrap, api_timeout_ms=API_TIMEOUT_MS) as admin:
            return await admin.list_topics()

    for name in run(work()):
        click.echo(name)


@topics.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@bootstrap_option
def describe(*, name: str, as_json: bool, bootstrap: str) -> None:
    """Show leaders, replicas, in-sync replicas and offsets of topic NAME."""

    async def work() -> TopicDescription:
        async with Admin(bootstrap, api_timeout_ms=API_TIMEOUT_MS) as admin:
            return await admin.describe_topic(name)

    topic = run(work())
    if as_json:
        click.echo(json.dumps(_as_json(topic)))
    else:
        _print_table(topic)


@topics.command()
@click.argument("name")
@click.option(
    "--partitions",
    "count",
    type=click.IntRange(min=1),
    required=True,
    help="New total number of partitions.",
)
@assignment_option
@bootstrap_option
def alter(*, name: str, count: int, assignments: list[list[int]], bootstrap: str) -> None:
    """Add partitions to topic NAME; from then on a key may map to another partition.

    Assignments for existing partitions are ignored.
    """

    async def work() -> None:
        async with Admin(bootstrap, api_timeout_ms=API_TIMEOUT_MS) as admin:
            new = assignments
            if assignments:
                topic = await admin.describe_topic(name)
                new = assignments[len(topic.partitions) :]
            await admin.create_partitions(name, count, assignments=new)

    run(work())
    click.echo(f"{name} has {count} partitions now")


@topics.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@bootstrap_option
def delete(*, names: tuple[str, ...], bootstrap: str) -> None:
    """Delete topics with all their records; a line for each. Exit 1 when one was not deleted."""

    async def work() -> dict[str, TidelogError | None]:
        async with Admin(bootstrap, api_timeout_ms=API_TIMEOUT_MS) as admin:
            return await admin.delete_topics(names)

    echo_results(run(work()), lambda name, _: f"deleted {name}", name_of=str)


@topics.command()
@click.argument("name")
@click.option(
    "--partition", "partitions", type=click.IntRange(min=0), multiple=True, help="Default: all."
)
@click.option(
    "--before",
    "offset",
    type=click.IntRange(min=-1),
    required=True,
    metavar="OFFSET",
    help="Delete the records below this offset; -1: all committed records.",
)
@bootstrap_option
def delete_records(*, name: str, partitions: tuple[int, ...], offset: int, bootstrap: str) -> None:
    """Delete the oldest records of topic NAME; prints where each partition begins now.

    Exit 1 when a partition refused.
    """

    async def work() -> dict[TopicPartition, int | TidelogError]:
        async with Admin(bootstrap, api_timeout_ms=API_TIMEOUT_MS) as admin:
            numbers = partitions
            if not numbers:
                topic = await admin.describe_topic(name)
                numbers = tuple(p.partition for p in topic.partitions)
            return await admin.delete_records({(name, number): offset for number in numbers})

    echo_results(
        run(work()), lambda tp, low: f"{_tp_name(tp)} begins at offset {low}", name_of=_tp_name
    )


@topics.command()
@click.option("--topic", "names", multiple=True, help="May be repeated. Default: all.")
@click.option(
    "--unclean",
    is_flag=True,
    help="Elect any live replica of a leaderless partition: committed records it lacks are LOST.",
)
@bootstrap_option
def elect_leaders(*, names: tuple[str, ...], unclean: bool, bootstrap: str) -> None:
    """Elect preferred replicas that are in sync; prints a line for each partition that changed.

    Exit 1 when a partition that needed a leader has none.
    """

    async def work() -> dict[TopicPartition, TidelogError | None]:
        async with Admin(bootstrap, api_timeout_ms=API_TIMEOUT_MS) as admin:
            return await admin.elect_leaders(names, unclean=unclean)

    results = {
        tp: error
        for tp, error in run(work()).items()
        if not isinstance(error, ElectionNotNeededError)
    }
    echo_results(results, lambda tp, _: f"{_tp_name(tp)}: elected", name_of=_tp_name)


def _tp_name(tp: TopicPartition) -> str:
    return f"{tp.topic}-{tp.partition}"


def _as_json(topic: TopicDescription) -> dict[str, object]:
    return {
        "name": topic.name,
        "topic_id": topic.topic_id.hex(),
        "configs": dict(topic.configs),
        "partitions": [
            {
                "partition": p.partition,
                "leader": p.leader,
                "leader_epoch": p.leader_epoch,
                "replicas": list(p.replicas),
                "isr": list(p.isr),
                "elr": list(p.elr),
                "last_known_leader": p.last_known_leader,
                "damaged": list(p.damaged),
                "offline": list(p.offline),
                "high_watermark": p.high_watermark,
                "log_start_offset": p.log_start_offset,
                "log_end_offset": p.log_end_offset,
            }
            for p in topic.partitions
        ],
    }


def _print_table(topic: TopicDescription) -> None:
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    table = Table(
        *("partition", "leader", "epoch", "replicas", "isr", "elr"),
        *("start", "high watermark", "end"),
        box=SIMPLE,
    )
    for p in topic.partitions:
        table.add_row(*_row(p))
    click.echo(f"{topic.name}  id {topic.topic_id.hex()}")
    for key, value in sorted(topic.configs.items()):
        click.echo(f"  {key}={value}")
    Console().print(table)


def _row(p: PartitionDescription) -> list[str]:
    offsets = (p.log_start_offset, p.high_watermark, p.log_end_offset)
    return [
        str(p.partition),
        "none" if p.leader is None else str(p.leader),
        str(p.leader_epoch),
        ", ".join(map(str, p.replicas)),
        ", ".join(map(str, p.isr)),
        ", ".join(map(str, p.elr)),
        *("?" if offset is None else str(offset) for offset in offsets),
    ]
