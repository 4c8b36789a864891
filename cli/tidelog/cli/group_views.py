"""A group as `tidelog groups describe` shows it: members, offsets with their lag, rebalances."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from tidelog.cli.table import echo_table

if TYPE_CHECKING:
    from tidelog.client.admin import Admin
    from tidelog.client.groups.group_state import GroupDescription, GroupOffset
    from tidelog.client.records import TopicPartition

_OFFSETS = (
    "topic",
    "partition",
    "committed",
    "log_start_offset",
    "high_watermark",
    "lag",
    "member_id",
    "metadata",
)


async def described(admin: Admin, group_id: str) -> dict[str, Any]:
    """Describe a group for JSON. Raises KafkaError."""
    from tidelog.client.results import require_all

    group = require_all(await admin.describe_groups([group_id]))[group_id]
    offsets = await admin.list_group_offsets(group_id)
    failure = {"assignment_failure": group.assignment_failure} if group.assignment_failure else {}
    return {
        **failure,
        "group": group.group_id,
        "type": group.type,
        "state": group.state,
        "epoch": group.epoch,
        "assignor": group.assignor,
        "coordinator": group.coordinator,
        "members": [_member(one) for one in group.members],
        "offsets": await _offsets(admin, group, offsets),
        "rebalances": [
            {"time_ms": one.time_ms, "epoch": one.epoch, "cause": one.cause}
            for one in group.rebalances
        ],
    }


def _member(one: Any) -> dict[str, Any]:  # a GroupMemberDescription
    return {
        "member_id": one.member_id,
        "instance_id": one.instance_id,
        "client_id": one.client_id,
        "host": one.host,
        "epoch": one.epoch,
        "topics": list(one.topics),
        "pattern": one.pattern,
        "assignment": _named(one.assignment),
        "target": _named(one.target),
    }


def _named(partitions: Iterable[TopicPartition]) -> list[dict[str, Any]]:
    return [{"topic": tp.topic, "partition": tp.partition} for tp in partitions]


async def _offsets(
    admin: Admin, group: GroupDescription, offsets: Mapping[TopicPartition, GroupOffset]
) -> list[dict[str, Any]]:
    """List committed offsets and partitions that members own, in order."""
    owners = {tp: one.member_id for one in group.members for tp in one.assignment}
    partitions = sorted({*offsets, *owners})
    ends_of = await _log_ends(admin, {tp.topic for tp in partitions})
    rows: list[dict[str, Any]] = []
    for tp in partitions:
        one, (start, end) = offsets.get(tp), ends_of.get(tp, (None, None))
        committed = None if one is None else one.offset
        rows.append(
            {
                "topic": tp.topic,
                "partition": tp.partition,
                "committed": committed,
                "log_start_offset": start,
                "high_watermark": end,
                "lag": None if committed is None or end is None else max(0, end - committed),
                "member_id": owners.get(tp),
                "metadata": None if one is None else one.metadata,
                "committed_ms": None if one is None else one.committed_ms,
            }
        )
    return rows


async def _log_ends(
    admin: Admin, topics: Collection[str]
) -> dict[TopicPartition, tuple[int | None, int | None]]:
    """Look up log starts and high watermarks; None where no leader answers, at once."""
    from tidelog.client.errors import TidelogError
    from tidelog.client.records import TopicPartition

    described = await admin.describe_topics(sorted(topics)) if topics else {}
    return {
        TopicPartition(name, one.partition): (one.log_start_offset, one.high_watermark)
        for name, topic in described.items()
        if not isinstance(topic, TidelogError)
        for one in topic.partitions
    }


def describe_group(group: Mapping[str, Any]) -> None:
    """Print a group as tables."""
    click.echo(
        f"{group['group']}: {group['state']}, {group['type']} protocol, epoch {group['epoch']}, "
        f"assignor {group['assignor'] or 'none yet'}, coordinator {group['coordinator']}"
    )
    if "assignment_failure" in group:
        click.echo(f"no assignment: {group['assignment_failure']}")
    if group["members"]:
        click.echo()
        echo_table(
            ("member_id", "instance_id", "client_id", "host", "epoch", "subscribed", "partitions"),
            [
                (
                    one["member_id"],
                    one["instance_id"],
                    one["client_id"],
                    one["host"],
                    one["epoch"],
                    ",".join(
                        [*one["topics"], *([f"/{one['pattern']}/"] if one["pattern"] else [])]
                    ),
                    ",".join(f"{tp['topic']}-{tp['partition']}" for tp in one["assignment"]),
                )
                for one in group["members"]
            ],
        )
    if group["offsets"]:
        click.echo()
        echo_table(_OFFSETS, [[row[name] for name in _OFFSETS] for row in group["offsets"]])
    if group["rebalances"]:
        click.echo()
        rows = [(_time(one["time_ms"]), one["epoch"], one["cause"]) for one in group["rebalances"]]
        echo_table(("time", "epoch", "cause"), rows)


def _time(time_ms: int) -> str:
    return datetime.fromtimestamp(time_ms / 1000).astimezone().isoformat(timespec="seconds")
