"""`tidelog cluster health`: whether a cluster serves everything, and if not, what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import click

from tidelog.cli.bootstrap import bootstrap_option
from tidelog.cli.connection import ask, echo_json, json_option
from tidelog.cli.counts import pluralize
from tidelog.cli.partition_states import (
    is_offline,
    is_under_min_isr,
    is_under_replicated,
    min_isr_of,
)

if TYPE_CHECKING:
    from tidelog.client.admin import Admin
    from tidelog.client.admin.descriptions import ClusterDescription, TopicDescription
    from tidelog.client.admin.quorum import QuorumDescription

NAMES_SHOWN_MAX = 5
"""The maximum number of partitions that a reason names."""


class State(NamedTuple):
    """The cluster as one broker describes it, and each controller by its own answer."""

    cluster: ClusterDescription
    quorum: QuorumDescription
    topics: list[TopicDescription]
    min_isr: Mapping[str, int]


@click.command()
@json_option
@bootstrap_option
def health(*, as_json: bool, bootstrap: str) -> None:
    """Say whether all brokers and controllers run and all partitions are led and in sync.

    Exit code 1: they do not, and a line on stdout for each reason, or no broker answers.
    """
    state = ask(bootstrap, _look)
    reasons = list(reasons_of(state))
    cluster, partitions = state.cluster, sum(len(topic.partitions) for topic in state.topics)
    if as_json:
        counts = {"brokers": len(cluster.brokers), "controllers": len(cluster.controllers)}
        more = {"topics": len(state.topics), "partitions": partitions}
        echo_json({"healthy": not reasons, "reasons": reasons, **counts, **more})
    elif reasons:
        for reason in reasons:
            click.echo(reason)
    else:
        click.echo(
            f"healthy: {pluralize(len(cluster.brokers), 'broker')}, "
            f"{pluralize(len(cluster.controllers), 'controller')}, "
            f"{pluralize(len(state.topics), 'topic')}, {pluralize(partitions, 'partition')}"
        )
    click.get_current_context().exit(int(bool(reasons)))


async def _look(admin: Admin) -> State:
    from tidelog.client.results import require_all

    cluster = await admin.describe_cluster()
    topics = list(require_all(await admin.describe_topics()).values())
    quorum = await admin.describe_quorum()
    return State(cluster, quorum, topics, await min_isr_of(admin, topics))


def reasons_of(state: State) -> Iterator[str]:
    """The reasons for which the cluster is not healthy, the worst first; none if it is."""
    named = [(topic, p) for topic in state.topics for p in topic.partitions]
    conditions = {
        "without a leader": [(t, p) for t, p in named if is_offline(p)],
        "below min.insync.replicas": [
            (t, p) for t, p in named if is_under_min_isr(p, state.min_isr[t.name])
        ],
        "under-replicated": [(t, p) for t, p in named if is_under_replicated(p)],
        "with a damaged log": [(t, p) for t, p in named if p.damaged],
        "with a replica on a failed disk": [(t, p) for t, p in named if p.offline],
    }
    if state.quorum.leader_id is None:
        yield "no controller leads"
    for voter in state.quorum.voters:
        if voter.status is None:
            yield f"controller {voter.node_id} does not answer at {voter.address}"
    for broker in state.cluster.brokers:
        if broker.is_fenced:
            yield f"broker {broker.broker_id} is fenced"
    yield from state.cluster.obstacles
    for condition, found in conditions.items():
        if found:
            names = _names(f"{topic.name}-{p.partition}" for topic, p in found)
            yield f"{pluralize(len(found), 'partition')} {condition}: {names}"


def _names(names: Iterable[str]) -> str:
    """A few names, and the number of the others."""
    every = list(names)
    further = len(every) - NAMES_SHOWN_MAX
    more = f" and {further} more" if further > 0 else ""
    return ", ".join(every[:NAMES_SHOWN_MAX]) + more
