"""`tidelog events`: the events of leaders, ISRs, logs and requests, with their causes."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime

import click

from tidelog.cli.bootstrap import bootstrap_option
from tidelog.cli.connection import API_TIMEOUT_MS, json_lines_option, run
from tidelog.cli.units import parse_duration_ms
from tidelog.client.admin import Admin
from tidelog.client.admin.events import ClusterEvent, EventFilter, same_event
from tidelog.core.journal import NODE_KINDS, Kind

_FOLLOW_INTERVAL_S = 0.5
_PRINTED_MAX = 10_000
"""Metadata events that `--follow` remembers, since other nodes may report them later."""


def _span_ms(_ctx: click.Context, _param: click.Parameter, value: str | None) -> int | None:
    """Parse a duration such as 10m into milliseconds."""
    if value is None:
        return None
    try:
        return parse_duration_ms(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command()
@click.option("--topic", help="Only events of this topic.")
@click.option("--partition", type=click.IntRange(min=0), help="Only events of this partition.")
@click.option("--group", help="Only events of this consumer group.")
@click.option(
    "--node",
    "nodes",
    type=int,
    multiple=True,
    help="Only events that this node reports; may be repeated.",
)
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(sorted(kind.value for kind in Kind)),
    multiple=True,
    help="Only events of this kind; may be repeated.",
)
@click.option(
    "--since",
    "since_ms",
    callback=_span_ms,
    metavar="SPAN",
    help="Only events of the last 30s, 10m, 2h, 7d.",
)
@click.option("--follow", is_flag=True, help="Continue with new events until Ctrl-C.")
@json_lines_option
@bootstrap_option
def events(
    *,
    topic: str | None,
    partition: int | None,
    group: str | None,
    nodes: tuple[int, ...],
    kinds: tuple[str, ...],
    since_ms: int | None,
    follow: bool,
    as_json: bool,
    bootstrap: str,
) -> None:
    """Show what happened and why, from the journals of all nodes, ordered by time.

    The controllers report leaders, ISRs, fencing and registrations with the cause of each decision.
    Each node reports where epochs begin, truncations, damage, failed disks and refused requests;
    coordinators report members and rebalances of their groups. A node keeps a bounded number of
    events, and loses its own when its process ends.
    """
    wanted = EventFilter(
        topic=topic,
        partition=partition,
        kinds=kinds,
        since_ms=0 if since_ms is None else int(time.time() * 1000) - since_ms,
        nodes=nodes,
        group=group,
    )
    printer = _EventPrinter(_json_line if as_json else _text_line)
    run(_print_events(bootstrap, wanted, printer, follow=follow))


async def _print_events(
    bootstrap: str, wanted: EventFilter, printer: _EventPrinter, *, follow: bool
) -> None:
    async with Admin(bootstrap, api_timeout_ms=API_TIMEOUT_MS) as admin:
        story = await admin.list_events(wanted)
        for node_id in story.silent_nodes:
            click.echo(f"node {node_id} does not answer", err=True)
        printer.write(story.events)
        while follow:
            await asyncio.sleep(_FOLLOW_INTERVAL_S)
            story = await admin.list_events(wanted, after=story.position)
            printer.write(story.events)


class _EventPrinter:
    """Writes each event once, whichever nodes report it, and when."""

    def __init__(self, line: Callable[[ClusterEvent], str]) -> None:
        self._line = line
        self._known: dict[object, None] = {}

    def write(self, happened: tuple[ClusterEvent, ...]) -> None:
        for event in happened:
            identity = same_event(event)
            if identity is not None:
                if identity in self._known:
                    continue
                self._known[identity] = None
            sys.stdout.write(self._line(event) + "\n")
        while len(self._known) > _PRINTED_MAX:
            del self._known[next(iter(self._known))]
        sys.stdout.flush()


def _json_line(event: ClusterEvent) -> str:
    return json.dumps(asdict(event))


def _text_line(event: ClusterEvent) -> str:
    at = datetime.fromtimestamp(event.time_ms / 1000, UTC)
    what = f"{at:%Y-%m-%d %H:%M:%S}.{event.time_ms % 1000:03}  {event.kind:<12} {_subject(event)}"
    if event.kind != "refusal" and (event.before or event.after):
        what += f"  {event.before} → {event.after}" if event.before else f"  → {event.after}"
    if event.leader_epoch is not None:
        what += f"  (epoch {event.leader_epoch})"
    times = f"  ×{event.count}" if event.count > 1 else ""
    return f"{what}  {event.cause}{times}"


def _subject(event: ClusterEvent) -> str:
    """The subject of an event, with the node if the event is that node's own."""
    subject = event.topic or ""
    if event.group is not None:
        subject = f"group {event.group}"
    elif event.topic and event.partition is not None:
        subject = f"{event.topic}-{event.partition}"
    elif event.broker_id is not None:
        subject = f"broker {event.broker_id}"
    if event.kind in NODE_KINDS:
        subject = f"{subject} on {event.nodes[0]}".strip()
    return subject
