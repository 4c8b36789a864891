"""`tidelog topics list | describe`: topics and partitions as tables or JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict

import click

from tidelog.cli.bootstrap import bootstrap_option
from tidelog.cli.connection import ask, echo_json, json_lines_option, json_option, one_line
from tidelog.cli.partition_states import (
    MIN_ISR,
    is_offline,
    is_under_min_isr,
    is_under_replicated,
    min_isr_of,
)
from tidelog.cli.table import echo_table, is_terminal
from tidelog.cli.units import size_text
from tidelog.core.internal_topics import INTERNAL_TOPICS

if TYPE_CHECKING:
    from tidelog.client.admin import Admin
    from tidelog.client.admin.descriptions import PartitionDescription, TopicDescription
    from tidelog.client.errors import TidelogError

_LIST_COLUMNS = ("topic", "partitions", "replication", "size", "records")
_COLUMNS = (
    *("topic", "partition", "leader", "epoch", "replicas", "isr", "elr"),
    *("start", "high watermark", "end", "size"),
)


@click.command(name="list")
@click.option("--names", "only_names", is_flag=True, help="Print only the names, a line each.")
@click.option("--internal", is_flag=True, help="List internal topics of coordinators, too.")
@json_option
@bootstrap_option
def list_topics(*, only_names: bool, internal: bool, as_json: bool, bootstrap: str) -> None:
    """List all topics: partitions, replication factor, size and number of records.

    Sizes are of the leaders' logs, and records are counted by offsets: those that compaction
    removed count. A ? stands for the size of a topic with a partition whose leader does not answer.
    """
    if only_names and not as_json:
        for name in ask(bootstrap, lambda admin: admin.list_topics(list_internal=internal)):
            click.echo(name)
        return
    described = ask(bootstrap, lambda admin: admin.describe_topics())
    summaries = [
        _summary(topic)
        for topic in _present(described)
        if internal or topic.name not in INTERNAL_TOPICS
    ]
    if as_json:
        echo_json({"topics": summaries})
        return
    rows = []
    for one in summaries:
        size, records = one["size_bytes"], one["records"]
        shown = "?" if size is None else size_text(size), "?" if records is None else records
        rows.append((one["name"], one["partitions"], one["replication_factor"], *shown))
    echo_table(_LIST_COLUMNS, rows)


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME…]")
@click.option("--under-replicated", is_flag=True, help="Only partitions with replicas not in sync.")
@click.option(
    "--under-min-isr", is_flag=True, help=f"Only partitions with fewer in sync than {MIN_ISR}."
)
@click.option("--offline", is_flag=True, help="Only partitions without a leader.")
@json_lines_option
@bootstrap_option
def describe(
    *,
    names: tuple[str, ...],
    under_replicated: bool,
    under_min_isr: bool,
    offline: bool,
    as_json: bool,
    bootstrap: str,
) -> None:
    """Show leaders, replicas, in-sync replicas, offsets and sizes of topics; of all by default.

    With several of the three conditions a partition that meets one is shown.
    """

    async def question(
        admin: Admin,
    ) -> tuple[Mapping[str, TopicDescription | TidelogError], Mapping[str, int]]:
        found = await admin.describe_topics(names)
        return found, await min_isr_of(admin, _present(found)) if under_min_isr else {}

    described, min_isr = ask(bootstrap, question)
    conditions: list[Callable[[TopicDescription, PartitionDescription], bool]] = []
    conditions += [lambda _, p: is_under_replicated(p)] if under_replicated else []
    conditions += [lambda t, p: is_under_min_isr(p, min_isr[t.name])] if under_min_isr else []
    conditions += [lambda _, p: is_offline(p)] if offline else []
    chosen = _present(described)
    if conditions:
        chosen = [_narrow(topic, conditions) for topic in chosen]
        chosen = [topic for topic in chosen if topic.partitions]
    if as_json:
        for topic in chosen:
            echo_json(_as_json(topic))
    elif chosen:
        _print_table(chosen, with_heading=len(names) == 1)
    elif conditions and len(_present(described)) == len(described):
        click.echo("no such partition", err=True)
    _report_missing(described)


def _present(described: Mapping[str, TopicDescription | TidelogError]) -> list[TopicDescription]:
    from tidelog.client.errors import TidelogError

    return [topic for topic in described.values() if not isinstance(topic, TidelogError)]


def _report_missing(described: Mapping[str, TopicDescription | TidelogError]) -> None:
    """Say which topics could not be described, and exit 1 then."""
    from tidelog.client.errors import TidelogError

    errors = [error for error in described.values() if isinstance(error, TidelogError)]
    for error in errors:
        click.echo(f"tidelog: {one_line(error)}", err=True)
    if errors:
        raise SystemExit(1)


def _narrow(
    topic: TopicDescription,
    conditions: Sequence[Callable[[TopicDescription, PartitionDescription], bool]],
) -> TopicDescription:
    """The topic with those partitions alone that meet a condition."""
    kept = tuple(p for p in topic.partitions if any(meets(topic, p) for meets in conditions))
    return replace(topic, partitions=kept)


class _Summary(TypedDict):
    """A line of the list; None: unknown."""

    name: str
    partitions: int
    replication_factor: int
    size_bytes: int | None
    records: int | None


def _summary(topic: TopicDescription) -> _Summary:
    ranges = [(p.log_start_offset, p.high_watermark) for p in topic.partitions]
    return {
        "name": topic.name,
        "partitions": len(topic.partitions),
        "replication_factor": max((len(p.replicas) for p in topic.partitions), default=0),
        "size_bytes": _total([p.size_bytes for p in topic.partitions]),
        "records": _total([None if a is None or b is None else b - a for a, b in ranges]),
    }


def _total(numbers: Sequence[int | None]) -> int | None:
    """Their sum; None if one is unknown."""
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


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
                "size_bytes": p.size_bytes,
            }
            for p in topic.partitions
        ],
    }


def _print_table(topics: Sequence[TopicDescription], *, with_heading: bool) -> None:
    if with_heading and is_terminal():
        for topic in topics:
            click.echo(f"{topic.name}  id {topic.topic_id.hex()}")
            for key, value in sorted(topic.configs.items()):
                click.echo(f"  {key}={value}")
    echo_table(_COLUMNS, [_row(topic, p) for topic in topics for p in topic.partitions])


def _row(topic: TopicDescription, p: PartitionDescription) -> tuple[object, ...]:
    offsets = (p.log_start_offset, p.high_watermark, p.log_end_offset)
    return (
        topic.name,
        p.partition,
        "none" if p.leader is None else p.leader,
        p.leader_epoch,
        *(",".join(map(str, ids)) for ids in (p.replicas, p.isr, p.elr)),
        *("?" if offset is None else offset for offset in offsets),
        "?" if p.size_bytes is None else size_text(p.size_bytes),
    )
