"""Figures of consumer groups: `python -m tests.benchmarks.groups_bench [ROW …]`.

Starts three nodes of its own for each row, as processes, on free ports and in a folder that goes
away. Clients are processes of their own. Rows and aims: `groups_rows`; what each does:
`groups_joins`, `groups_kills`, `groups_commits`, `groups_load`.

With `--peer BOOTSTRAP` a running Apache Kafka is measured after ours in the same sitting, in both
of its protocols, by confluent-kafka, which must be importable (PYTHONPATH). Its brokers are killed
and looked at only with `--peer-control COMMAND`, see `groups_sides`. `first` and `load` are ours
alone.

Machines are shared and noisy: each figure has the load average that it found.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.benchmarks import groups_commits, groups_joins, groups_kills, groups_load
from tests.benchmarks.groups_programs import ProgramError
from tests.benchmarks.groups_rows import ROWS, Figure, failed, judged, spread, table
from tests.benchmarks.groups_sides import (
    PROTOCOLS,
    KafkaSide,
    Side,
    TidelogSide,
    confluent,
    three_nodes,
)

from tidelog.client.errors import TidelogError

CHURN = ("one-more", "member-killed")


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much of each is measured."""

    runs: int = 30
    """Of members and coordinators that come and go."""
    few: int = 3
    """Of what takes longer: first members, joins of many, loads."""
    seconds: float = 10.0
    """Of commits at once."""
    members: int = groups_joins.CROWD
    peer_runs: int = 5
    """Runs of a peer, whose brokers take half a minute to come back."""
    peer_members: int = groups_joins.CROWD


@dataclass(frozen=True, slots=True)
class Peer:
    """A running Apache Kafka."""

    bootstrap: str
    control: str | None


Measures = Mapping[str, Figure]  # by row


def _measures(side: Side, amounts: Amounts) -> dict[str, Callable[[], Awaitable[Measures]]]:
    """What measures a row, or several at once, by the name of the first."""
    is_ours = isinstance(side, TidelogSide)
    members = amounts.members if is_ours else amounts.peer_members
    runs = amounts.runs if is_ours else amounts.peer_runs

    async def named(name: str, measuring: Awaitable[Figure]) -> Measures:
        return {name: await measuring}

    found: dict[str, Callable[[], Awaitable[Measures]]] = {
        "commit": lambda: named("commit", groups_commits.one_by_one(side)),
        "commits": lambda: named("commits", groups_commits.at_once(side, amounts.seconds)),
        "offsets": lambda: named("offsets", groups_commits.large(side, amounts.seconds)),
        "join": lambda: named("join", groups_joins.join(side, amounts.few)),
        "one-more": lambda: groups_kills.churn(side, runs),
        "crowd": lambda: named("crowd", groups_joins.crowd(side, members)),
        "coordinator-killed": lambda: named(
            "coordinator-killed", groups_kills.coordinator_killed(side, runs)
        ),
    }
    if isinstance(side, TidelogSide):
        found["load"] = lambda: named("load", groups_load.load(side, amounts.few))
    return found


def groups_figures(
    runs: int, rows: Sequence[str] = (), *, peer: Peer | None = None, amounts: Amounts | None = None
) -> Iterator[Figure]:
    """Figures of the named rows, or of all."""
    amounts = amounts or Amounts(runs=runs)
    wanted = set(rows or ROWS)
    if wanted & set(CHURN):
        wanted.update(CHURN)
    if "first" in wanted:
        yield _first(amounts.few)
    for row in ROWS:
        if row in wanted - {"first", "member-killed"}:
            with three_nodes() as ours:  # without another row's topics
                yield from _figures(ours, {row}, amounts)
    if peer is not None:
        for protocol in PROTOCOLS:
            theirs = KafkaSide(peer.bootstrap, protocol, peer.control)
            without = set() if peer.control else {"coordinator-killed"}
            yield from _figures(theirs, wanted - without, amounts)


def _first(runs: int) -> Figure:
    """Each on new nodes."""
    load, took_s = os.getloadavg()[0], []
    for _ in range(runs):
        with three_nodes() as side:
            took_s.append(asyncio.run(groups_joins.first_member(side)))
    return judged("first", TidelogSide.name, spread(took_s, "s"), load=load)


def _figures(side: Side, wanted: set[str], amounts: Amounts) -> Iterator[Figure]:
    for name, measure in _measures(side, amounts).items():
        if name not in wanted:
            continue
        sys.stderr.write(f"{side.name}: {ROWS[name].title}\n")
        load = os.getloadavg()[0]
        try:
            found = asyncio.run(_awaited(measure))
        except (ProgramError, TidelogError, RuntimeError, TimeoutError) as error:
            yield failed(name, side.name, f"{type(error).__name__}: {error}")
            continue
        for row, measures in found.items():
            yield judged(row, side.name, measures, load=load)


async def _awaited(measure: Callable[[], Awaitable[Measures]]) -> Measures:
    return await measure()


def main() -> None:
    """Measure what the command line names; exit code 1 when a row could not be measured."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("rows", nargs="*", choices=[[], *ROWS], metavar="ROW")
    parser.add_argument("--runs", type=int, default=30, help="of kills and of one more member")
    parser.add_argument("--few", type=int, default=3, help="of first, join and load")
    parser.add_argument("--seconds", type=float, default=10.0, help="of commits at once")
    parser.add_argument("--members", type=int, default=groups_joins.CROWD, help="of the crowd")
    parser.add_argument("--peer", metavar="BOOTSTRAP", help="a running Apache Kafka")
    parser.add_argument("--peer-control", metavar="COMMAND", help="kills and starts its brokers")
    parser.add_argument("--peer-runs", type=int, default=5)
    parser.add_argument("--peer-members", type=int, default=groups_joins.CROWD)
    parser.add_argument("--json", action="store_true", help="JSON lines alone")
    options = parser.parse_args()
    peer = None
    if options.peer is not None:
        confluent("confluent_kafka")
        peer = Peer(options.peer, options.peer_control)
    amounts = Amounts(
        runs=options.runs,
        few=options.few,
        seconds=options.seconds,
        members=options.members,
        peer_runs=options.peer_runs,
        peer_members=options.peer_members,
    )
    figures = []
    for figure in groups_figures(options.runs, options.rows, peer=peer, amounts=amounts):
        figures.append(figure)
        sys.stdout.write(json.dumps(figure) + "\n")
        sys.stdout.flush()
    if not options.json:
        sys.stdout.write(table(figures) + "\n")
    sys.exit(any("error" in one for one in figures))


if __name__ == "__main__":
    main()
