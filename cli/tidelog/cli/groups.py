"""`tidelog groups list | describe | delete | delete-offsets | reset-offsets | log`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tidelog.cli.bootstrap import bootstrap_option
from tidelog.cli.connection import ask, echo_json, echo_results, json_lines_option, json_option
from tidelog.cli.group_log import group_log
from tidelog.cli.group_resets import reset_offsets
from tidelog.cli.group_views import describe_group, described
from tidelog.cli.table import echo_table
from tidelog.cli.topic_partitions import TopicSelection, partitions_of

if TYPE_CHECKING:
    from tidelog.client.admin import Admin
    from tidelog.client.admin.group_methods import Outcomes
    from tidelog.client.errors import TidelogError
    from tidelog.client.groups.group_state import GroupListing

_LISTED = ("group", "type", "state", "members", "coordinator")


@click.group()
def groups() -> None:
    """List, describe, reset and delete consumer groups."""


groups.add_command(reset_offsets)
groups.add_command(group_log)


@groups.command(name="list")
@json_option
@bootstrap_option
def list_groups(*, as_json: bool, bootstrap: str) -> None:
    """List every group: its protocol, state, number of members, and its coordinator's broker id."""

    async def question(admin: Admin) -> list[GroupListing]:
        return await admin.list_groups()

    found = ask(bootstrap, question)
    if as_json:
        echo_json({"groups": [dict(zip(_LISTED, one, strict=True)) for one in found]})
    else:
        echo_table(_LISTED, found)


@groups.command()
@click.argument("group")
@json_option
@bootstrap_option
def describe(*, group: str, as_json: bool, bootstrap: str) -> None:
    """Describe a GROUP: its members, committed offsets with their lag, and last rebalances."""

    async def question(admin: Admin) -> dict[str, Any]:
        return await described(admin, group)

    found = ask(bootstrap, question)
    if as_json:
        echo_json(found)
    else:
        describe_group(found)


@groups.command()
@click.argument("named", nargs=-1, required=True, metavar="GROUP…")
@json_lines_option
@bootstrap_option
def delete(*, named: tuple[str, ...], as_json: bool, bootstrap: str) -> None:
    """Delete each GROUP, which must have no members, with its committed offsets."""

    async def question(admin: Admin) -> dict[str, TidelogError | None]:
        return await admin.delete_groups(named)

    echo_results(
        ask(bootstrap, question),
        lambda name, _: f"deleted {name}",
        name_of=str,
        json_of=(lambda name, _: {"group": name}) if as_json else None,
    )


@groups.command(name="delete-offsets")
@click.argument("group")
@click.option(
    *("-t", "--topic", "topics"),
    type=TopicSelection(),
    multiple=True,
    required=True,
    metavar="TOPIC[:0,2]",
    help="Topic, or some of its partitions; may be repeated.",
)
@json_lines_option
@bootstrap_option
def delete_offsets(
    *, group: str, topics: tuple[tuple[str, list[int] | None], ...], as_json: bool, bootstrap: str
) -> None:
    """Delete committed offsets of a GROUP for topics to which it is not subscribed."""

    async def question(admin: Admin) -> Outcomes:
        committed = await admin.list_group_offsets(group)
        wanted = partitions_of(topics, committed)
        return await admin.delete_group_offsets(group, wanted)

    echo_results(
        ask(bootstrap, question),
        lambda tp, _: f"deleted {tp.topic}-{tp.partition}",
        name_of=lambda tp: f"{tp.topic}-{tp.partition}",
        json_of=(lambda tp, _: {"topic": tp.topic, "partition": tp.partition}) if as_json else None,
    )
