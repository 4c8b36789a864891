"""`tidelog groups reset-offsets`: other offsets for a group, shown, and committed on demand."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from tidelog.cli.bootstrap import bootstrap_option
from tidelog.cli.connection import ask, echo_json, json_option
from tidelog.cli.start_offset import parse_time
from tidelog.cli.table import echo_table
from tidelog.cli.topic_partitions import Selection, TopicSelection, partitions_of

if TYPE_CHECKING:
    from tidelog.client.admin import Admin
    from tidelog.client.groups.listener import OffsetAndMetadata
    from tidelog.client.records import TopicPartition

_DURATION = re.compile(
    r"P(?:(?P<days>\d{1,6})D)?"
    r"(?:T(?:(?P<hours>\d{1,6})H)?(?:(?P<minutes>\d{1,6})M)?(?:(?P<seconds>\d{1,6})S)?)?"
)


class Reset(NamedTuple):
    """The one place that the options name; the others are None or False."""

    to_earliest: bool
    to_latest: bool
    to_current: bool
    to_offset: int | None
    shift_by: int | None
    to_datetime: str | None
    by_duration: str | None
    from_file: Path | None

    @property
    def named(self) -> int:
        """Number of places that are named."""
        return sum(one is not None and one is not False for one in self)


class Partition(NamedTuple):
    """A partition that is reset: the ends of its log, and what is committed."""

    start: int
    end: int
    committed: int | None


@click.command(name="reset-offsets")
@click.argument("group")
@click.option(
    *("-t", "--topic", "topics"),
    type=TopicSelection(),
    multiple=True,
    metavar="TOPIC[:0,2]",
    help="Topic, or some of its partitions; may be repeated.",
)
@click.option("--all-topics", is_flag=True, help="Every topic with a committed offset.")
@click.option("--to-earliest", is_flag=True, help="To the log start.")
@click.option("--to-latest", is_flag=True, help="To the high watermark.")
@click.option("--to-current", is_flag=True, help="To the committed offset.")
@click.option("--to-offset", type=click.IntRange(min=0), metavar="N", help="To this offset.")
@click.option("--shift-by", type=int, metavar="±N", help="So many offsets on, or back.")
@click.option("--to-datetime", metavar="ISO", help="To the first record at or after a time.")
@click.option("--by-duration", metavar="PT1H", help="To the first record of this last span.")
@click.option(
    "--from-file",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="F",
    help="To the offsets of a file of lines topic,partition,offset.",
)
@click.option(
    "--export",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="F",
    help="Write the new offsets to such a file.",
)
@click.option("--execute", is_flag=True, help="Commit them; without it nothing is changed.")
@json_option
@bootstrap_option
def reset_offsets(
    *,
    group: str,
    topics: tuple[Selection, ...],
    all_topics: bool,
    export: Path | None,
    execute: bool,
    as_json: bool,
    bootstrap: str,
    **places: Any,  # the options that `Reset` names
) -> None:
    """Show the offsets that a GROUP would have, and commit them with --execute.

    The group must have no members then. Each offset is held to the log's ends. Name one place, and
    topics unless a file names them.
    """
    reset = Reset(**places)
    if reset.named != 1:
        raise click.UsageError(
            "name one of --to-earliest, --to-latest, --to-current, --to-offset, --shift-by, "
            "--to-datetime, --by-duration and --from-file"
        )
    named = _read_file(reset.from_file) if reset.from_file is not None else None
    if bool(topics) + all_topics + (named is not None) != 1:
        raise click.UsageError("name topics by --topic, or all by --all-topics, or a file")

    async def question(admin: Admin) -> list[dict[str, object]]:
        wanted = await _wanted(admin, group, topics, all_topics=all_topics, named=named)
        partitions = await _look_up(admin, group, wanted)
        after = await _after(admin, reset, partitions, named)
        if execute:
            await _commit(admin, group, after)
        return [
            {
                "topic": tp.topic,
                "partition": tp.partition,
                "before": partitions[tp].committed,
                "after": offset,
            }
            for tp, offset in after.items()
        ]

    rows = ask(bootstrap, question)
    if export is not None:
        lines = [f"{one['topic']},{one['partition']},{one['after']}\n" for one in rows]
        export.write_text("".join(lines), encoding="utf-8")
    if as_json:
        echo_json({"group": group, "executed": execute, "offsets": rows})
        return
    echo_table(("topic", "partition", "before", "after"), [list(one.values()) for one in rows])
    if not execute:
        click.echo("nothing was changed: add --execute to commit these offsets", err=True)


async def _wanted(
    admin: Admin,
    group: str,
    topics: Sequence[Selection],
    *,
    all_topics: bool,
    named: Mapping[TopicPartition, int] | None,
) -> list[TopicPartition]:
    from tidelog.client.records import TopicPartition

    if named is not None:
        return list(named)
    if all_topics:
        committed = list(await admin.list_group_offsets(group))
        if not committed:
            raise click.ClickException(
                f"group {group!r} has no committed offsets: check its name, or name topics"
            )
        return committed
    known: list[TopicPartition] = []
    for topic, numbers in topics:
        if numbers is None:
            described = await admin.describe_topic(topic)
            known += [TopicPartition(topic, one.partition) for one in described.partitions]
    return [TopicPartition(*one) for one in partitions_of(topics, known)]


async def _look_up(
    admin: Admin, group: str, wanted: Sequence[TopicPartition]
) -> dict[TopicPartition, Partition]:
    from tidelog.client.results import require_all

    committed = await admin.list_group_offsets(group)
    starts = require_all(await admin.list_offsets(wanted, at="earliest"))
    ends = require_all(await admin.list_offsets(wanted, at="latest"))
    return {
        tp: Partition(
            starts[tp].offset, ends[tp].offset, committed[tp].offset if tp in committed else None
        )
        for tp in wanted
    }


async def _after(
    admin: Admin,
    reset: Reset,
    partitions: Mapping[TopicPartition, Partition],
    named: Mapping[TopicPartition, int] | None,
) -> dict[TopicPartition, int]:
    """Find the new offset of each partition; those without one keep what they have."""
    since = _since(reset)
    times: Mapping[TopicPartition, Any] = {}
    if since is not None:
        times = await admin.list_offsets(list(partitions), at=since)
    after: dict[TopicPartition, int] = {}
    for tp, one in partitions.items():
        offset = named[tp] if named is not None else _place(reset, one, times.get(tp))
        if offset is not None:
            after[tp] = max(one.start, min(offset, one.end))
    return after


def _place(reset: Reset, one: Partition, at_time: Any) -> int | None:
    if at_time is not None:
        if isinstance(at_time, Exception):
            raise at_time
        found: int = at_time.offset
        return one.end if found < 0 else found
    if reset.to_earliest:
        return one.start
    if reset.to_latest:
        return one.end
    if reset.to_offset is not None:
        return reset.to_offset
    if one.committed is None:
        return None  # nothing to stay at, or to shift
    return one.committed + (reset.shift_by or 0)


def _since(reset: Reset) -> datetime | None:
    if reset.to_datetime is not None:
        return parse_time(reset.to_datetime, "--to-datetime")
    if reset.by_duration is None:
        return None
    found = _DURATION.fullmatch(reset.by_duration)
    parts = {} if found is None else {k: int(v) for k, v in found.groupdict().items() if v}
    if not parts:
        raise click.UsageError(f"--by-duration {reset.by_duration!r}: write PT1H, P2DT30M, …")
    return datetime.now(UTC) - timedelta(**parts)


def _read_file(path: Path) -> dict[TopicPartition, int]:
    from tidelog.client.records import TopicPartition

    found: dict[TopicPartition, int] = {}
    with path.open(newline="", encoding="utf-8") as lines:
        for number, row in enumerate(csv.reader(lines), start=1):
            if not row:
                continue
            if len(row) != 3 or not (row[1].isdecimal() and row[2].isdecimal()):
                raise click.UsageError(f"{path}:{number}: write topic,partition,offset")
            tp = TopicPartition(row[0], int(row[1]))
            if tp in found:
                raise click.UsageError(f"{path}:{number}: {tp.topic}-{tp.partition} came before")
            found[tp] = int(row[2])
    return found


async def _commit(admin: Admin, group: str, after: Mapping[TopicPartition, int]) -> None:
    from tidelog.client.results import require_all

    offsets: dict[tuple[str, int], OffsetAndMetadata | int] = {
        (tp.topic, tp.partition): offset for tp, offset in after.items()
    }
    require_all(await admin.alter_group_offsets(group, offsets))
