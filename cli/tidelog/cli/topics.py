"""`tidelog topics create | list | describe | alter | delete | delete-records | elect-leaders`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tidelog.cli.bootstrap import bootstrap_option
from tidelog.cli.configs import parse_configs
from tidelog.cli.connection import ask, echo_json, echo_results, json_lines_option, json_option
from tidelog.cli.counts import pluralize
from tidelog.cli.topic_views import describe, list_topics

if TYPE_CHECKING:
    from tidelog.client.admin import Admin
    from tidelog.client.admin.descriptions import CreatedTopic
    from tidelog.client.errors import TidelogError
    from tidelog.client.records import TopicPartition


@click.group()
def topics() -> None:
    """Create, list, describe, alter and delete topics."""


topics.add_command(list_topics)
topics.add_command(describe)


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
@click.option(
    "--config",
    "configs",
    multiple=True,
    metavar="KEY=VALUE",
    help="May be repeated; retention.ms=7d and segment.bytes=512MiB are understood.",
)
@assignment_option
@json_option
@bootstrap_option
def create(
    *,
    name: str,
    partitions: int | None,
    replication_factor: int | None,
    configs: tuple[str, ...],
    assignments: list[list[int]],
    as_json: bool,
    bootstrap: str,
) -> None:
    """Create topic NAME; returns when every partition has a leader."""
    parsed = parse_configs(configs)

    async def question(admin: Admin) -> CreatedTopic:
        return await admin.create_topic(
            name,
            partitions=partitions or 0,
            replication_factor=replication_factor or 0,
            configs=parsed,
            assignments=assignments,
        )

    created = ask(bootstrap, question)
    if as_json:
        echo_json(
            {
                "name": created.name,
                "topic_id": created.topic_id.hex(),
                "partitions": created.partitions,
                "replication_factor": created.replication_factor,
            }
        )
    else:
        click.echo(
            f"created {created.name}: {pluralize(created.partitions, 'partition')}, "
            f"replication factor {created.replication_factor}"
        )


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
@json_option
@bootstrap_option
def alter(
    *, name: str, count: int, assignments: list[list[int]], as_json: bool, bootstrap: str
) -> None:
    """Add partitions to topic NAME; from then on a key may map to another partition.

    Assignments for existing partitions are ignored.
    """

    async def question(admin: Admin) -> None:
        new = assignments
        if assignments:
            topic = await admin.describe_topic(name)
            new = assignments[len(topic.partitions) :]
        await admin.create_partitions(name, count, assignments=new)

    ask(bootstrap, question)
    if as_json:
        echo_json({"name": name, "partitions": count})
    else:
        click.echo(f"{name} has {pluralize(count, 'partition')} now")


@topics.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@json_lines_option
@bootstrap_option
def delete(*, names: tuple[str, ...], as_json: bool, bootstrap: str) -> None:
    """Delete topics with all their records; a line for each. Exit 1 when one was not deleted."""
    echo_results(
        ask(bootstrap, lambda admin: admin.delete_topics(names)),
        lambda name, _: f"deleted {name}",
        name_of=str,
        json_of=(lambda name, _: {"name": name}) if as_json else None,
    )


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
@json_lines_option
@bootstrap_option
def delete_records(
    *, name: str, partitions: tuple[int, ...], offset: int, as_json: bool, bootstrap: str
) -> None:
    """Delete the oldest records of topic NAME; prints where each partition begins now.

    Exit 1 when a partition refused.
    """

    async def question(admin: Admin) -> dict[TopicPartition, int | TidelogError]:
        numbers = partitions
        if not numbers:
            topic = await admin.describe_topic(name)
            numbers = tuple(p.partition for p in topic.partitions)
        return await admin.delete_records({(name, number): offset for number in numbers})

    echo_results(
        ask(bootstrap, question),
        lambda tp, low: f"{_tp_name(tp)} begins at offset {low}",
        name_of=_tp_name,
        json_of=(lambda tp, low: {**_tp_json(tp), "log_start_offset": low}) if as_json else None,
    )


@topics.command()
@click.option(
    "--topic",
    "names",
    multiple=True,
    help="May be repeated. Default: all; --unclean leaves internal ones out.",
)
@click.option(
    "--unclean",
    is_flag=True,
    help="Elect any live replica of a leaderless partition: committed records it lacks are LOST.",
)
@json_lines_option
@bootstrap_option
def elect_leaders(*, names: tuple[str, ...], unclean: bool, as_json: bool, bootstrap: str) -> None:
    """Elect preferred replicas that are in sync; prints a line for each partition that changed.

    Exit 1 when a partition that needed a leader has none.
    """
    from tidelog.client.errors import ElectionNotNeededError

    elected = ask(bootstrap, lambda admin: admin.elect_leaders(names, unclean=unclean))
    echo_results(
        {tp: e for tp, e in elected.items() if not isinstance(e, ElectionNotNeededError)},
        lambda tp, _: f"{_tp_name(tp)}: elected",
        name_of=_tp_name,
        json_of=(lambda tp, _: _tp_json(tp)) if as_json else None,
    )


def _tp_name(tp: TopicPartition) -> str:
    return f"{tp.topic}-{tp.partition}"


def _tp_json(tp: TopicPartition) -> dict[str, object]:
    return {"topic": tp.topic, "partition": tp.partition}
